"""Files that are read for a compilation or a run: what of them is refused, how early, and with how little memory."""
import struct

from common import BIN, Checks, WORK, compile_model, run, write_safetensors

checks = Checks()
(WORK / "product.xf").write_text("model Product() {\n  out: Linear(4, 4)\n  entry run(x: f32[B <= 8, 4]) -> y = out(x)\n}\n")
compile_model(WORK / "product.xf", WORK / "product", "--random-weights", "1", "--emit=model")

# Options are judged before weights are read.
status, _, err = compile_model(WORK / "product.xf", WORK / "m", "--weights", WORK / "nowhere", "--type", "f16", ok=False)
checks.that(status == 1 and "--type f16 is for GPUs" in err, f"a type, and weights: {status} {err}")

# An input has one value.
four = ("F32", [1, 4], struct.pack("<4f", 1, 2, 3, 4))
write_safetensors(WORK / "twice", {"in.x": four, "x": four})
status, _, err = run(BIN / "xf-run", WORK / "product", "--inputs", WORK / "twice", "--outputs", WORK / "y", ok=False)
checks.that(status == 1 and "twice: tensors 'in.x' and 'x' are the same input" in err and not (WORK / "y").exists(), f"an input twice: {status} {err}")
checks.end()
