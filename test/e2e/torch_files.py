"""Weights in files as torch.save writes them make the same compiled file as in safetensors. They are written here without PyTorch: the functions
that its pickles name are stand-ins in made-up modules."""
import collections
import io
import json
import math
import pickle
import struct
import sys
import types
import zipfile

from common import BIN, Checks, MODELS, WORK, compile_seed2, read_safetensors, run, write_safetensors

checks = Checks()
folder = MODELS / "seed2"
weights = read_safetensors(folder / "weights.safetensors")
STORAGES = {"F64": "DoubleStorage", "F32": "FloatStorage", "F16": "HalfStorage", "BF16": "BFloat16Storage", "I64": "LongStorage", "I32": "IntStorage",
            "BOOL": "BoolStorage"}
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "BOOL": 1}


def named(module, name):
    """A stand-in function that pickles refer to by this name."""
    def stand_in(*_):
        raise AssertionError("is never called")
    stand_in.__module__, stand_in.__qualname__ = module, name
    setattr(sys.modules.setdefault(module, types.ModuleType(module)), name, stand_in)
    return stand_in


STORAGE_TYPES = {kind: named("torch", name) for kind, name in STORAGES.items()}
REBUILD, PARAMETER = named("torch._utils", "_rebuild_tensor_v2"), named("torch._utils", "_rebuild_parameter")


class Storage:
    def __init__(self, kind, content):
        self.kind, self.content, self.key = kind, content, None


class Reduced:
    """An object that is pickled as a call."""

    def __init__(self, function, *arguments):
        self.made_by = function, arguments

    def __reduce__(self):
        return self.made_by


class Pickler(pickle.Pickler):
    def __init__(self, file, old):
        super().__init__(file, protocol=2)
        self.old, self.storages = old, []

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        if value.key is None:
            value.key = str(len(self.storages))
            self.storages.append(value)
        which = ("storage", STORAGE_TYPES[value.kind], value.key, "cpu", len(value.content) // SIZES[value.kind])
        return which + (None,) if self.old else which


def save(path, value, old=False):
    """Writes what torch.save(value, path) writes, before version 1.6 if `old`."""
    file = io.BytesIO()
    pickler = Pickler(file, old)
    pickler.dump(value)
    storages, text = pickler.storages, file.getvalue()
    if old:
        head = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2}}]
        content = b"".join(pickle.dumps(part, protocol=2) for part in head) + text + pickle.dumps([s.key for s in storages], protocol=2)
        for storage in storages:
            content += struct.pack("<q", len(storage.content) // SIZES[storage.kind]) + storage.content
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model/data.pkl", text)
            archive.writestr("model/byteorder", "little")
            for storage in storages:
                archive.writestr(f"model/data/{storage.key}", storage.content)
            archive.writestr("model/version", "3\n")
    for storage in storages:
        storage.key = None


def tensor(kind, shape, content):
    strides = tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))
    return Reduced(REBUILD, Storage(kind, content), 0, tuple(shape), strides, False, collections.OrderedDict())


def turned(kind, shape, content):
    """The same tensor in column-major order, after an extra element in its storage."""
    if len(shape) != 2:
        return tensor(kind, shape, content)
    size = SIZES[kind]
    elements = [content[i:i + size] for i in range(0, len(content), size)]
    columns = b"".join(elements[i * shape[1] + j] for j in range(shape[1]) for i in range(shape[0]))
    return Reduced(REBUILD, Storage(kind, bytes(size) + columns), 1, tuple(shape), (1, shape[0]), False, collections.OrderedDict())


want = compile_seed2(folder / "weights.safetensors")
state = collections.OrderedDict((name, tensor(*weight)) for name, weight in weights.items())
checkpoint = {"epoch": 3, "model": state, "optimizer": {"state": {0: {"exp_avg": tensor("F32", [1], bytes(4))}}, "lr": 1e-3}}
for old in (False, True):
    for name, value in (("state", state), ("checkpoint", checkpoint), ("turned", {n: turned(*w) for n, w in weights.items()}),
                        ("parameters", {n: Reduced(PARAMETER, t, True, collections.OrderedDict()) for n, t in state.items()})):
        path = WORK / f"{name}-{'old' if old else 'new'}.pt"
        save(path, value, old)
        checks.that(compile_seed2(path) == want, f"{path.name}: another file than from safetensors")

# Several files and an index of them.
names = sorted(weights)
parts = [{name: state[name] for name in names[i::2]} for i in range(2)]
for i, part in enumerate(parts):
    save(WORK / f"part-{i}.bin", part, old=i == 1)
(WORK / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": {n: f"part-{i}.bin" for i, part in enumerate(parts) for n in part}}))
checks.that(compile_seed2(WORK / "pytorch_model.bin.index.json") == want, "of an index: another file than from safetensors")
write_safetensors(WORK / "part.safetensors", {name: weights[name] for name in parts[1]})
checks.that(compile_seed2(WORK / "part-0.bin", WORK / "part.safetensors") == want, "of two kinds: another file than from safetensors")

# A tensor with two names may be used by either. Unused tensors are listed, and so are those that do not fit.
first = names[0]
save(WORK / "tied.pt", {**state, "tied": state[first]})
checks.that(compile_seed2(WORK / "tied.pt") == want, "a tied tensor: another file than from safetensors")
save(WORK / "wrong.pt", {**state, "extra": tensor(*weights[first]), first: tensor("F32", [1], bytes(4))})
status, _, err = compile_seed2(WORK / "wrong.pt", ok=False)
for words in ("wrong.pt: 2 tensors do not fit", f"'{first}' has shape [1]", "'extra' of shape"):
    checks.that(status == 1 and words in err, f"'{words}' is missing: {err}")
path = WORK / "cut.pt"
path.write_bytes((WORK / "state-old.pt").read_bytes()[:-1])
status, _, err = compile_seed2(path, ok=False)
checks.that(status == 1 and "cut.pt: ends in the middle of storage" in err, f"a file that was cut: {err}")
damaged = bytearray((WORK / "state-new.pt").read_bytes())
content = max((weight[2] for weight in weights.values()), key=len)
damaged[damaged.index(content) + 1] ^= 1
path.write_bytes(damaged)
status, _, err = compile_seed2(path, ok=False)
checks.that(status == 1 and "cannot be read" in err and "CRC" in err, f"a damaged number: {err}")

# Golden numbers may be in such files, too.
compile_seed2(WORK / "state-new.pt")
save(WORK / "io.pt", {name: tensor(*numbers) for name, numbers in read_safetensors(folder / "io.safetensors").items()})
run(BIN / "xf-run", WORK / "model", "--golden", WORK / "io.pt")
checks.end()
