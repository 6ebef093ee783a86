"""A compiled file, opened by the C API."""
import ctypes

from common import BIN
import capi

DEVICES = {"cpu": 1, "cuda": 2, "emulator": 3}
SOURCE, TARGET = 0, 1  # enum xf_side
TYPES = {ctypes.c_float: 0, ctypes.c_int32: 1, ctypes.c_bool: 2}
library = capi.load(BIN.parent / "lib" / "libxf-runtime.so")


def call(function, *arguments):
    capi.check(library, getattr(library, function)(*arguments))


def tensor(name, kind, shape, data):
    """An array of the ctypes type `kind`, as the C API takes it."""
    return capi.Tensor(name.encode(), TYPES[kind], len(shape), (ctypes.c_int64 * 6)(*shape), ctypes.cast(data, ctypes.c_void_p))


class Session:
    def __init__(self, path, threads, device="cpu", model=None):
        """Of the model that is open, if one is given."""
        self.model, self.handle = model or ctypes.c_void_p(), ctypes.c_void_p()
        if not model:
            call("xf_open", str(path).encode(), ctypes.byref(self.model))
        options = capi.SessionOptions(ctypes.sizeof(capi.SessionOptions), threads, -1, DEVICES[device])
        call("xf_session_create", self.model, ctypes.byref(options), ctypes.byref(self.handle))

    def entry(self, name, inputs, shape, output):
        """The entry's only result, as a flat list; inputs: name -> (ctypes type, shape, values)."""
        kept = {name: (kind * len(values))(*values) for name, (kind, _, values) in inputs.items()}
        given = (capi.Tensor * len(inputs))(*(tensor(name, inputs[name][0], inputs[name][1], data) for name, data in kept.items()))
        size = 1
        for extent in shape:
            size *= extent
        data = (ctypes.c_float * size)()
        results = (capi.Tensor * 1)(tensor(output, ctypes.c_float, shape, data))
        call("xf_run", self.handle, name.encode(), given, len(inputs), results, 1)
        return list(data)

    def ids_of(self, text, side=SOURCE):
        """What a text becomes."""
        text, count = text.encode(), ctypes.c_int64()
        ids = (ctypes.c_int32 * (4 * len(text) + 20))()
        call("xf_text_to_ids", self.model, side, text, ctypes.c_int64(len(text)), ids, ctypes.c_int64(len(ids)), ctypes.byref(count))
        return ids[:count.value]

    def text_of(self, ids, more=False):
        """The text of a result, or of its first ids."""
        given, length = (ctypes.c_int32 * len(ids))(*ids), ctypes.c_int64()
        room = [self.model, given, ctypes.c_int64(len(ids)), int(more)]
        call("xf_ids_to_text", *room, None, ctypes.c_int64(0), ctypes.byref(length))
        text = ctypes.create_string_buffer(length.value + 1)
        call("xf_ids_to_text", *room, text, ctypes.c_int64(len(text)), ctypes.byref(length))
        return text.raw[:length.value].decode()
