"""Weights in NumPy's .npz files make the same compiled file as in safetensors; golden numbers and inputs may be in such files, too."""
import struct
import zipfile

from common import BIN, Checks, MODELS, WORK, compile_seed2, read_safetensors, run, write_npz, write_safetensors

checks = Checks()
folder = MODELS / "seed2"
weights = read_safetensors(folder / "weights.safetensors")


def shortened(kind):
    """The weights in that type, rounded to F16 or truncated to BF16."""
    def data(content):
        if kind == "F16":
            return struct.pack(f"<{len(content) // 4}e", *struct.unpack(f"<{len(content) // 4}f", content))
        return b"".join(content[i + 2:i + 4] for i in range(0, len(content), 4))
    return {name: (kind, shape, data(content)) for name, (_, shape, content) in weights.items()}


want = compile_seed2(folder / "weights.safetensors")
for name, compression in (("stored.npz", zipfile.ZIP_STORED), ("compressed.npz", zipfile.ZIP_DEFLATED), ("other.safetensors", zipfile.ZIP_DEFLATED)):
    write_npz(WORK / name, weights, compression)
    checks.that(compile_seed2(WORK / name) == want, f"{name}: another file than from safetensors")
for kind in ("F16", "BF16"):
    write_safetensors(WORK / "weights.safetensors", shortened(kind))
    write_npz(WORK / "weights.npz", shortened(kind), zipfile.ZIP_DEFLATED)
    checks.that(compile_seed2(WORK / "weights.npz") == compile_seed2(WORK / "weights.safetensors"), f"{kind}: another file than from safetensors")


# Matrices in column-major order, as NumPy stores transposed ones.
def by_columns(kind, shape, content):
    rows, columns = shape if len(shape) == 2 else (1, 1)
    size = len(content) // (rows * columns)
    return kind, shape, b"".join(content[i:i + size] for j in range(columns) for i in range(j * size, len(content), columns * size))


checks.that(by_columns("F16", [2, 3], b"aabbccddeeff")[2] == b"aaddbbeeccff", "columns are made wrongly")
for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
    write_npz(WORK / "columns.npz", {name: by_columns(*tensor) for name, tensor in weights.items()}, compression, fortran_order=True)
    checks.that(compile_seed2(WORK / "columns.npz") == want, "by columns: another file than from safetensors")

# Several files, of both kinds.
names = sorted(weights)
parts = [{name: weights[name] for name in names[i::3]} for i in range(3)]
write_npz(WORK / "0.npz", parts[0])
write_npz(WORK / "1.npz", parts[1], zipfile.ZIP_DEFLATED)
write_safetensors(WORK / "2.safetensors", parts[2])
files = [WORK / "0.npz", WORK / "1.npz", WORK / "2.safetensors"]
checks.that(compile_seed2(*files) == want, "three files: another file than from one")
status, _, err = compile_seed2(*files, WORK / "stored.npz", ok=False)
checks.that(status == 1 and "0.npz" in err and "stored.npz" in err, f"a tensor in two files: {err}")

# Errors, damage included, are listed as with safetensors.
bias = "feed_forward.ffn.0.bias"
wrong = weights | {"optimizer.step": ("I64", [], bytes(8)), bias: ("I32", *weights[bias][1:])}
write_npz(WORK / "wrong.npz", wrong, zipfile.ZIP_DEFLATED)
status, _, err = compile_seed2(WORK / "wrong.npz", ok=False)
for words in ("wrong.npz: 2 tensors do not fit", "'optimizer.step' of shape [] is not used", f"'{bias}' has dtype I32"):
    checks.that(status == 1 and words in err, f"{words} is not said: {err}")
with zipfile.ZipFile(WORK / "stored.npz") as archive:
    largest = max(archive.infolist(), key=lambda info: info.file_size)
damaged = bytearray((WORK / "stored.npz").read_bytes())
damaged[largest.header_offset + largest.file_size] ^= 1
(WORK / "damaged.npz").write_bytes(damaged)
status, _, err = compile_seed2(WORK / "damaged.npz", ok=False)
checks.that(status == 1 and f"member '{largest.filename}': CRC error" in err, f"a damaged file: {err}")


# Members that are no tensors are refused only if they are needed, or not ignored; folders are skipped.
def add_members(path, *names):
    with zipfile.ZipFile(path, "a") as archive:
        for name in names:
            archive.writestr(name, "")


odd = {"words": ("<U5", [3], bytes(60)), "time": ("<M8[ns]", [], bytes(8))}
write_npz(WORK / "odd.npz", parts[0] | odd)
write_npz(WORK / "1.npz", parts[1])
add_members(WORK / "odd.npz", "folder/", "README.md")
add_members(WORK / "1.npz", "README.md")
files = [WORK / "odd.npz", WORK / "1.npz", WORK / "2.safetensors"]
ignore = ["--ignore", "words", "--ignore", "time", "--ignore", "README.md"]
checks.that(compile_seed2(*files, options=ignore) == want, "other members: another file than without them")
status, _, err = compile_seed2(*files, ok=False)
for words in ("4 tensors do not fit", "'words' of shape [3] is not used", "'time' of shape [] is not used", "'README.md' is not used"):
    checks.that(status == 1 and words in err, f"{words} is not said: {err}")
matrix = next(name for name, (_, shape, _) in weights.items() if len(shape) == 2 and shape[0] != shape[1])
shape = weights[matrix][1]
wrong = weights | {bias: (">f4", *weights[bias][1:]), matrix: (">f4", shape[::-1], weights[matrix][2])} | odd
write_npz(WORK / "wrong.npz", wrong)
status, _, err = compile_seed2(WORK / "wrong.npz", options=ignore, ok=False)
for words in ("2 tensors do not fit", f"'{bias}' is big-endian", f"'{matrix}' is big-endian", f"has shape {shape[::-1]}, but the model needs {shape}"):
    checks.that(status == 1 and words in err, f"{words} is not said: {err}")
write_npz(WORK / "wrong.npz", weights | {matrix: ("F32", shape[::-1], weights[matrix][2])}, fortran_order=True)
status, _, err = compile_seed2(WORK / "wrong.npz", ok=False)
words = f"'{matrix}' has shape {shape[::-1]}, but the model needs {shape}"
checks.that(status == 1 and words in err and "1 tensor does" in err, f"{words} is not said: {err}")

# Golden numbers, and inputs.
io = read_safetensors(folder / "io.safetensors")
write_npz(WORK / "io.npz", io, zipfile.ZIP_DEFLATED)
compile_seed2(WORK / "compressed.npz")
run(BIN / "xf-run", WORK / "model", "--golden", WORK / "io.npz")
for inputs in (folder / "io.safetensors", WORK / "io.npz"):
    run(BIN / "xf-run", WORK / "model", "--inputs", inputs, "--outputs", WORK / f"{inputs.name}.out")
checks.that((WORK / "io.npz.out").read_bytes() == (WORK / "io.safetensors.out").read_bytes(), "inputs of both kinds give different results")
status, _, err = run(BIN / "xf-run", WORK / "model", "--inputs", WORK / "io.npz", "--outputs", WORK / "out.npz", ok=False)
checks.that(status == 1 and "out.npz: results are written as safetensors" in err and not (WORK / "out.npz").exists(), f"results in .npz: {err}")
write_npz(WORK / "io.npz", io | {"in.note": ("|O", [], b"")})
for options in (["--golden", WORK / "io.npz"], ["--inputs", WORK / "io.npz", "--outputs", WORK / "out"]):
    status, _, err = run(BIN / "xf-run", WORK / "model", *options, ok=False)
    checks.that(status == 1 and "io.npz: tensor 'in.note' holds Python objects" in err, f"{options}: {err}")
checks.end()
