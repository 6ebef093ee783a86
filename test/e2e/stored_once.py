"""A weight that the checkpoint has as [in, out] is in the file once, as one that it has as [out, in], and is read back from there."""
import random
import struct

from common import BIN, Checks, WORK, compile_model, read_safetensors, run, write_safetensors

DESCRIPTION = """model Product(d = 256, n = 515) {
  param a: f32[%s]
  param b: f32[%s]
  param c: f32[%s]
  entry run(x: f32[B <= 4, d]) -> y, z { y = x @ a%s
    z = x @ concat(b%s, c%s, axis = 0).T }
}
"""
checks = Checks()
d, n = 256, 515
random.seed(7)


def matrix(rows, columns):
    return [[random.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


def packed(rows):
    return "F32", [len(rows), len(rows[0])], b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)


wide = {name: matrix(n, d) for name in "abc"}
write_safetensors(WORK / "in", {"x": packed(matrix(3, d))})
description, weights, model = WORK / "product.xf", WORK / "weights", WORK / "model"
for kind in ("f32", "bf16", "int8", "int8-weights"):
    found = {}
    for transposed in (False, True):
        shape, before, behind = ("d, n", "", ".T") if transposed else ("n, d", ".T", "")
        description.write_text(DESCRIPTION % (shape, shape, shape, before, behind, behind))
        write_safetensors(weights, {name: packed([list(column) for column in zip(*rows)] if transposed else rows) for name, rows in wide.items()})
        compile_model(description, model, "--weights", weights, "--emit=model", "--type", kind)
        outputs = []
        for options in ((), ("--reference",)):
            run(BIN / "xf-run", model, "--inputs", WORK / "in", "--outputs", WORK / "out", *options)
            outputs.append({name: data for name, (_, _, data) in read_safetensors(WORK / "out").items()})
        found[transposed] = model.stat().st_size, *outputs
    (plain, *results), (other, *others) = found[False], found[True]
    checks.that(abs(plain - other) < 4096, f"{kind}: {other} bytes, as [out, in] {plain}")
    checks.that(results[0] == others[0], f"{kind}: other results")
    values = [[struct.unpack(f"<{len(y) // 4}f", y) for y in (result["y"], result["z"])] for result in (results[1], others[1])]
    distance = max(abs(u - v) for one, two in zip(*values) for u, v in zip(one, two))
    checks.that(distance < 1e-4, f"{kind}: the reference reads weights back that are {distance} apart")
checks.end()
