"""Contents of checkpoints that are accepted (position tables or none, F16 and BF16, tensors to ignore) and refused."""
import math
import struct

from common import BIN, Checks, MODELS, WORK, compile_model, read_safetensors, results, run, write_safetensors

checks = Checks()
folder = MODELS / "seed3"
weights = read_safetensors(folder / "weights.safetensors")
golden = ["--golden", folder / "io.safetensors"]


def compile_with(tensors, *options, ok=True):
    write_safetensors(WORK / "weights", tensors)
    return compile_model(folder / "seed3.xf", WORK / "model", "--config", folder / "config.json", "--weights", WORK / "weights",
                         "--emit=model", *options, ok=ok)


def table(rows, columns=64):
    values = [(math.sin if i % 2 == 0 else math.cos)(p / 10000 ** (2 * i / columns)) for p in range(rows) for i in range(columns)]
    return struct.pack(f"<{len(values)}f", *values)


# A position table in the checkpoint is used: the right one gives the golden numbers, whatever its shape; zeros do not.
paths = ("encoder.pe.pe", "decoder.pe.pe")
for shape in ([80, 64], [1, 80, 64], [80, 1, 64], [1, 100, 64]):
    rows = max(shape)
    compile_with(weights | {path: ("F32", shape, table(rows)) for path in paths})
    run(BIN / "xf-run", WORK / "model", *golden)
compile_with(weights | {path: ("F32", [1, 80, 64], bytes(80 * 64 * 4)) for path in paths})
checks.that(run(BIN / "xf-run", WORK / "model", *golden, ok=False)[0] == 1, "a stored position table is not used")
for reference in ([], ["--reference"]):
    compile_with(weights | {"encoder.pe.pe": ("F32", [1, 80, 64], table(80))})
    run(BIN / "xf-run", WORK / "model", *golden, *reference)


def rounded(kind):
    """The weights rounded to that type, stored in it and in f32."""
    narrow, wide = {}, {}
    for name, (_, shape, data) in weights.items():
        values = struct.unpack(f"<{len(data) // 4}f", data)
        if kind == "F16":
            half = struct.pack(f"<{len(values)}e", *values)
            values = struct.unpack(f"<{len(values)}e", half)
        else:
            bits = [(b + 0x7fff + (b >> 16 & 1)) >> 16 for b, in struct.iter_unpack("<I", data)]
            half = struct.pack(f"<{len(bits)}H", *bits)
            values = struct.unpack(f"<{len(bits)}f", b"".join(b"\0\0" + half[i:i + 2] for i in range(0, len(half), 2)))
        narrow[name] = (kind, shape, half)
        wide[name] = ("F32", shape, struct.pack(f"<{len(values)}f", *values))
    return narrow, wide


def outputs():
    io = read_safetensors(folder / "io.safetensors")
    return results(WORK / "model", {name: value for name, value in io.items() if name.startswith("in.")}, ok=True)


for kind in ("F16", "BF16"):
    narrow, wide = rounded(kind)
    compile_with(narrow)
    got = outputs()
    compile_with(wide)
    checks.that(got == outputs(), f"{kind}: other bits than the same values in F32")

# All tensors that do not fit are listed.
name = "decoder.layers.0.ff.linear_1.weight"
broken = dict(weights)
del broken["out.bias"]
broken[name] = ("F32", [64, 256], weights[name][2])
broken["encoder.norm.alpha"] = ("I32", [64], weights["encoder.norm.alpha"][2])
broken["optimizer.step"] = ("F32", [], bytes(4))
status, _, err = compile_with(broken, ok=False)
for words in ("out.bias", name, "[64, 256]", "[256, 64]", "encoder.norm.alpha", "I32", "optimizer.step"):
    checks.that(status == 1 and words in err, f"{words} is not named: {err}")
beta = "encoder.norm.beta"
status, _, err = compile_with(weights | {beta: ("F32", [64], struct.pack("<f", float("nan")) + weights[beta][2][4:])}, ok=False)
checks.that(status == 1 and f"tensor '{beta}' holds nan at [0]" in err, f"a value is not named: {err}")
extra = weights | {"optimizer.step": ("F32", [], bytes(4)), "optimizer.lr": ("I64", [], bytes(8))}
checks.that(compile_with(extra, "--ignore", "optimizer.lr", ok=False)[0] == 1, "a tensor that is not used is not refused")
compile_with(extra, "--ignore", "optimizer.*")
run(BIN / "xf-run", WORK / "model", *golden)
# An unknown type does not matter where it is not used.
compile_with(weights | {"scale": ("F8_E4M3", [3], bytes(3))}, "--ignore", "scale")
run(BIN / "xf-run", WORK / "model", *golden)
status, _, err = compile_with(weights | {"out.bias": ("C64", *weights["out.bias"][1:])}, ok=False)
checks.that(status == 1 and "tensor 'out.bias' has the unknown dtype 'C64'" in err, f"an unknown dtype: {status}, {err}")
# A scalar parameter of PyTorch.
(WORK / "scaled.xf").write_text('import "part.xf"\nmodel Scaled(d = 4) {\n  param s: f32[1]\n  entry run(x: f32[B, d]) -> y = scaled(x, s)\n}\n')
(WORK / "part.xf").write_text("scaled(x, s) = x * s\n")
write_safetensors(WORK / "number", {"s": ("F32", [], struct.pack("<f", 2.5))})
compile_model(WORK / "scaled.xf", WORK / "scaled", "--weights", WORK / "number", "--emit=model")
write_safetensors(WORK / "x", {"in.x": ("F32", [1, 4], struct.pack("<4f", 1, 2, 3, 4))})
run(BIN / "xf-run", WORK / "scaled", "--inputs", WORK / "x", "--outputs", WORK / "y")
checks.that(read_safetensors(WORK / "y")["y"][2] == struct.pack("<4f", 2.5, 5, 7.5, 10), "a number is read wrongly")

# Inputs are not overwritten.
for output, command in (("part.xf", [BIN / "xfc", WORK / "scaled.xf", "--weights", WORK / "number", "-o"]), ("number", [BIN / "xfc", WORK / "scaled.xf", "--weights", WORK / "number", "-o"]),
                        ("x", [BIN / "xf-run", WORK / "scaled", "--inputs", WORK / "x", "--outputs"])):
    before = (WORK / output).read_bytes()
    status, _, err = run(*command, WORK / output, ok=False)
    checks.that(status == 1 and "would be overwritten" in err and (WORK / output).read_bytes() == before, f"{output}: {status} {err}")
checks.end()
