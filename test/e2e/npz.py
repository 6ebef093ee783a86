"""Weights in NumPy's .npz files make the same compiled file as in safetensors; golden numbers and inputs may be in such files, too."""
import struct
import zipfile

from common import BIN, Checks, MODELS, WORK, compile_model, read_safetensors, run, write_npz, write_safetensors

checks = Checks()
folder = MODELS / "seed2"
weights = read_safetensors(folder / "weights.safetensors")


def compile_with(*files, ok=True):
    given = [word for file in files for word in ("--weights", file)]
    done = compile_model(folder / "seed2.xf", WORK / "model", "--config", folder / "config.json", *given, "--emit=model", ok=ok)
    return (WORK / "model").read_bytes() if ok else done


def shortened(kind):
    """The weights in that type; what does not fit is cut off."""
    def data(content):
        if kind == "F16":
            return struct.pack(f"<{len(content) // 4}e", *struct.unpack(f"<{len(content) // 4}f", content))
        return b"".join(content[i + 2:i + 4] for i in range(0, len(content), 4))
    return {name: (kind, shape, data(content)) for name, (_, shape, content) in weights.items()}


want = compile_with(folder / "weights.safetensors")
for name, compression in (("stored.npz", zipfile.ZIP_STORED), ("compressed.npz", zipfile.ZIP_DEFLATED), ("other.safetensors", zipfile.ZIP_DEFLATED)):
    write_npz(WORK / name, weights, compression)
    checks.that(compile_with(WORK / name) == want, f"{name}: another file than from safetensors")
for kind in ("F16", "BF16"):
    write_safetensors(WORK / "weights.safetensors", shortened(kind))
    write_npz(WORK / "weights.npz", shortened(kind), zipfile.ZIP_DEFLATED)
    checks.that(compile_with(WORK / "weights.npz") == compile_with(WORK / "weights.safetensors"), f"{kind}: another file than from safetensors")

# Several files, of both kinds.
names = sorted(weights)
parts = [{name: weights[name] for name in names[i::3]} for i in range(3)]
write_npz(WORK / "0.npz", parts[0])
write_npz(WORK / "1.npz", parts[1], zipfile.ZIP_DEFLATED)
write_safetensors(WORK / "2.safetensors", parts[2])
files = [WORK / "0.npz", WORK / "1.npz", WORK / "2.safetensors"]
checks.that(compile_with(*files) == want, "three files: another file than from one")
status, _, err = compile_with(*files, WORK / "stored.npz", ok=False)
checks.that(status == 1 and "0.npz" in err and "stored.npz" in err, f"a tensor in two files: {err}")

# What is wrong is listed as it is with safetensors, damage included.
bias = "feed_forward.ffn.0.bias"
wrong = weights | {"optimizer.step": ("I64", [], bytes(8)), bias: ("I32", *weights[bias][1:])}
write_npz(WORK / "wrong.npz", wrong, zipfile.ZIP_DEFLATED)
status, _, err = compile_with(WORK / "wrong.npz", ok=False)
for words in ("wrong.npz: 2 tensors do not fit", "'optimizer.step' of shape [] is not used", f"'{bias}' has dtype I32"):
    checks.that(status == 1 and words in err, f"{words} is not said: {err}")
with zipfile.ZipFile(WORK / "stored.npz") as archive:
    largest = max(archive.infolist(), key=lambda info: info.file_size)
damaged = bytearray((WORK / "stored.npz").read_bytes())
damaged[largest.header_offset + largest.file_size] ^= 1
(WORK / "damaged.npz").write_bytes(damaged)
status, _, err = compile_with(WORK / "damaged.npz", ok=False)
checks.that(status == 1 and f"member '{largest.filename}': CRC error" in err, f"a damaged file: {err}")

# Golden numbers, and inputs.
io = read_safetensors(folder / "io.safetensors")
write_npz(WORK / "io.npz", io, zipfile.ZIP_DEFLATED)
compile_with(WORK / "compressed.npz")
run(BIN / "xf-run", WORK / "model", "--golden", WORK / "io.npz")
for inputs in (folder / "io.safetensors", WORK / "io.npz"):
    run(BIN / "xf-run", WORK / "model", "--inputs", inputs, "--outputs", WORK / f"{inputs.name}.out")
checks.that((WORK / "io.npz.out").read_bytes() == (WORK / "io.safetensors.out").read_bytes(), "inputs of both kinds give different results")
checks.end()
