"""Files that are read for a compilation or a run: what is refused, how early, and with how little memory."""
import os
import resource
import struct

from common import BIN, Checks, WORK, compile_model, run, write_safetensors

checks = Checks()
(WORK / "product.xf").write_text("model Product() {\n  out: Linear(4, 4)\n  entry run(x: f32[B <= 8, 4]) -> y = out(x)\n}\n")
compile_model(WORK / "product.xf", WORK / "product", "--random-weights", "1", "--emit=model")

# Options are checked before weights are read.
status, _, err = compile_model(WORK / "product.xf", WORK / "m", "--weights", WORK / "nowhere", "--type", "f16", ok=False)
checks.that(status == 1 and "--type f16 is for GPUs" in err, f"a type, and weights: {status} {err}")

# An index that is a pipe is refused without waiting for it.
os.mkfifo(WORK / "pipe.json")
status, _, err = compile_model(WORK / "product.xf", WORK / "m", "--weights", WORK / "pipe.json", ok=False)
checks.that(status == 1 and "pipe.json: not a regular file" in err, f"a pipe: {status} {err}")

# An input has one value.
four = ("F32", [1, 4], struct.pack("<4f", 1, 2, 3, 4))
write_safetensors(WORK / "twice", {"in.x": four, "x": four})
status, _, err = run(BIN / "xf-run", WORK / "product", "--inputs", WORK / "twice", "--outputs", WORK / "y", ok=False)
checks.that(status == 1 and "twice: tensors 'in.x' and 'x' are the same input" in err and not (WORK / "y").exists(), f"an input twice: {status} {err}")


# Files that are small, or of which little is needed, need little memory.
def text(words):
    return b"X" + struct.pack("<I", len(words)) + words.encode()


def integer(number):
    return b"\x8a\x08" + struct.pack("<q", number)


def integers(numbers):
    return b"(" + b"".join(map(integer, numbers)) + b"t"


def tensor(shape, strides, elements):
    """A pickled tensor on storage '0'."""
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + integer(elements) + b"tQ"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + integer(0) + shape + strides + b"\x89}tR"


def write_pickles(path, root, elements):
    """Writes a file as PyTorch did before 1.6, with one storage of zeros that occupy no disk."""
    pickles = [b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19", integer(1001), b"}", root, b"]" + text("0") + b"a"]
    head = b"".join(b"\x80\x02" + each + b"." for each in pickles) + struct.pack("<q", elements)
    path.write_bytes(head)
    os.truncate(path, len(head) + 4 * elements)


def peak(most, weights, words=None):
    """Compiles with these weights, or gets the error `words`, in less than `most` MB. Earlier calls' memory counts: the largest must come last."""
    status, _, err = compile_model(WORK / "product.xf", WORK / "m", "--weights", weights, "--emit=model", ok=False)
    checks.that(words in err if words else status == 0, f"{weights.name}: {status} {err}")
    taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{weights.name}: {taken} MB")
    checks.that(taken < most, f"{weights.name}: {taken} MB")


wide = 150_000_000
bias = text("out.bias") + tensor(integers([4]), integers([1]), 3 * wide + 4)
narrow = text("out.weight") + tensor(integers([4, 4]), integers([wide, 1]), 3 * wide + 4)
write_pickles(WORK / "narrow.pt", b"}(" + narrow + bias + b"u", 3 * wide + 4)
peak(400, WORK / "narrow.pt")
# Many tensors share a shape of a million dimensions.
ones = b"(" + b"K\x01" * 1_000_000 + b"tq\x00"
names = b"".join(text(str(number)) + b"h\x01" for number in range(300))
write_pickles(WORK / "shapes.pt", ones + b"0" + tensor(b"h\x00", b"h\x00", 1) + b"q\x010}(" + names + b"u", 1)
peak(500, WORK / "shapes.pt", "tensors do not fit")
header = b'{"a":' + b"[" * 99_000_000
(WORK / "nested.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
peak(500, WORK / "nested.safetensors", "tensor 'a' is not described by an object")
(WORK / "tuples.pt").write_bytes(b"\x80\x02N" + b"\x85" * ((32 << 20) - 3))
peak(1000, WORK / "tuples.pt", "makes more values than any of names and shapes")
checks.end()
