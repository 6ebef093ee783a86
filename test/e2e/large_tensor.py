"""Weights are packed by rows: compiling a model takes less memory than its largest tensor, whatever the type and the file it comes from."""
import json
import os
import resource
import struct
import zipfile

from common import BIN, Checks, WORK, run

rows, columns = 65536, 1024
# All rows are looked up and multiplied with, some of them twice.
(WORK / "large.xf").write_text(f"""model Large() {{
  table: Embedding({rows}, {columns})
  entry tag(tokens: token[B, S <= 8]) -> logits = table(tokens) @ concat(table.weight[0:1000], table.weight, axis = 0).T
}}
""")
(WORK / "turned.xf").write_text(f"model Turned() {{\n  param w: f32[{columns}, {rows}]\n  entry run(x: f32[B <= 8, {columns}]) -> y = x @ w\n}}\n")
size = 4 * rows * columns
for model, name, shape in (("large", "table.weight", [rows, columns]), ("turned", "w", [columns, rows])):
    header = json.dumps({name: {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}).encode()
    with open(WORK / f"{model}.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        os.truncate(file.fileno(), 8 + len(header) + size)  # zeros that occupy no disk
npy = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns})}}".encode()
with zipfile.ZipFile(WORK / "large.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
    with archive.open("table.weight.npy", "w") as member:
        member.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(npy)) + npy)
        for _ in range(rows // 1024):
            member.write(bytes(4096 * columns))

checks = Checks()
for weights, kinds in (("large.safetensors", ("f32", "bf16", "int8", "int8-weights")), ("large.npz", ("int8",)), ("turned.safetensors", ("f32", "int8"))):
    for kind in kinds:
        run(BIN / "xfc", WORK / f"{weights.split('.')[0]}.xf", "--weights", WORK / weights, "--type", kind, "--emit=model", "-o", "/dev/null")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10  # the maximum of all runs so far
        print(f"{weights}, {kind}: {peak >> 20} MB")
        checks.that(peak < size, f"{weights}, {kind}: {peak} bytes of memory, for a tensor of {size}")
checks.end()
