"""Kinds of output, and the errors for ones that are damaged or cannot be written."""
import ctypes
import os
import shutil
import struct
import subprocess

from common import BIN, MODELS, WORK, Checks, compile_model, kept_g2p, run

checks = Checks()
seed = MODELS / "seed3"
options = ["--config", seed / "config.json", "--weights", seed / "weights.safetensors"]
golden = ["--golden", seed / "io.safetensors"]
description = seed / "seed3.xf"

for kind in ("exe", "so", "model"):
    compile_model(description, WORK / kind, *options, f"--emit={kind}")
    run(BIN / "xf-run", WORK / kind, *golden)
for kind in ("xf", "fused", "llvm", "asm"):
    _, text, _ = compile_model(description, "-", "--config", seed / "config.json", f"--emit={kind}")
    checks.that(len(text) > 1000, f"--emit={kind} is empty")

# The generated code needs nothing from outside.
compile_model(description, WORK / "seed3.o", *options, "--emit=obj", isas=None)
nm = shutil.which("llvm-nm-22") or "/usr/lib/llvm-22/bin/llvm-nm"
_, undefined, _ = run(nm, "--undefined-only", WORK / "seed3.o")
checks.that(undefined.strip() == "", f"undefined symbols: {undefined}")

# Its header states how large the inputs of its entries may be, but no dimensions that only the compiler names.
sizes = [line for line in (WORK / "seed3.h").read_text().splitlines() if "Largest sizes" in line]
checks.that(sizes == [" * Largest sizes: B 32 (sentences of 4 beams: 8), S 80, T 80."], f"the header says {sizes}")

# Any phase can be resumed.
compile_model(description, WORK / "model.mlir", "--config", seed / "config.json", "--emit=xf")
compile_model(WORK / "model.mlir", WORK / "resumed", "--weights", seed / "weights.safetensors", "--emit=model")
run(BIN / "xf-run", WORK / "resumed", *golden)
for option, value in (("--set", "n=1"), ("--config", seed / "config.json"), ("--limit", "S=5"), ("--model", "Seed3")):
    status, _, err = compile_model(WORK / "model.mlir", WORK / "ignored", "--random-weights", 1, option, value, ok=False)
    checks.that(status == 1 and f"{option} is for descriptions" in err, f"IR with {option}: {status} {err}")
compile_model(WORK / "model.mlir", WORK / "kernel.mlir", "--emit=fused")
compile_model(WORK / "kernel.mlir", WORK / "resumed", "--weights", seed / "weights.safetensors", "--emit=model")
run(BIN / "xf-run", WORK / "resumed", *golden)

# The IR of both phases round-trips, and the pipelines run on their own.
for name in ("model.mlir", "kernel.mlir"):
    run(BIN / "xf-opt", WORK / name, "--verify-roundtrip", "-o", WORK / "again.mlir")
run(BIN / "xf-opt", WORK / "model.mlir", "--pass-pipeline=builtin.module(xf-step-pipeline,xf-kernel-pipeline)", "-o", WORK / "again.mlir")

# The library has the C API.
library = ctypes.CDLL(str(WORK / "so"))
model = ctypes.c_void_p()
checks.that(library.xf_open_self(ctypes.byref(model)) == 0, "the library does not find its model")
library.xf_model_free(model)

# Damaged files are reported.
whole = (WORK / "model").read_bytes()
for length in (0, 7, 100, 4096, len(whole) // 2, len(whole) - 1):
    (WORK / "cut").write_bytes(whole[:length])
    status, _, err = run(BIN / "xf-run", WORK / "cut", *golden, ok=False)
    checks.that(status == 1 and "error" in err, f"cut to {length} bytes: status {status}, {err}")
(WORK / "cut").write_bytes(whole[:8] + struct.pack("<I", 999) + whole[12:])
status, _, err = run(BIN / "xf-run", WORK / "cut", *golden, ok=False)
checks.that(status == 1 and "version" in err, f"another ABI version: status {status}, {err}")

# Output that cannot be written.
program = kept_g2p()
with open("/dev/full", "w") as full:
    done = subprocess.run([program], input="hello\n" * 50, stdout=full, stderr=subprocess.PIPE, text=True)
checks.that(done.returncode not in (0, -6, -11) and done.stderr, f"full disk: {done.returncode} {done.stderr}")
reader, writer = os.pipe()
os.close(reader)
done = subprocess.run([program], input="hello\n" * 50, stdout=writer, stderr=subprocess.PIPE, text=True)
checks.that(done.returncode not in (0, -6, -11), f"closed pipe: {done.returncode}")

status, _, err = compile_model(description, "/nonexistent/folder/out", *options, ok=False)
checks.that(status == 1 and "/nonexistent" in err, f"no such folder: {err}")
checks.end()
