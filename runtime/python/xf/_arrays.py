"""Python's values as the C API takes them, and its arrays as Python's."""
import array
import ctypes
import itertools
import math
import struct

try:
    import numpy
except ImportError:
    numpy = None

from . import _c

CODES = {_c.F32: "f", _c.I32: "i", _c.I1: "?"}  # of the module struct
NAMES = {_c.F32: "f32", _c.I32: "i32", _c.I1: "i1"}
DTYPES = {name: dtype for dtype, name in NAMES.items()}
INT32 = range(-2**31, 2**31)


class Ints:
    """Numbers one behind the other; `address` is null if there are none."""

    def __init__(self, values, code="i"):
        self.array = array.array(code, values)
        self.address = self.array.buffer_info()[0] if self.array else None

    def __len__(self):
        return len(self.array)


class Rows:
    """Rows of tokens: all of them, and where each row begins."""

    def __init__(self, rows):
        rows = [list(row) for row in rows]
        self.tokens = Ints([token for row in rows for token in row])
        self.lengths = [len(row) for row in rows]
        self.offsets = Ints([0, *itertools.accumulate(self.lengths)], "q")
        self.count, self.longest = len(rows), max(self.lengths, default=0)
        # The tokens' address may not be null, even if there are none.
        self.address = self.tokens.address or self.offsets.address


def zeros(dtype, shape):
    """An array of a shape, and its address."""
    size = math.prod(shape)
    buffer = (ctypes.c_char * max(1, size * (1 if dtype == _c.I1 else 4)))()
    if numpy is not None:
        result = numpy.frombuffer(buffer, CODES[dtype], size).reshape(shape)
    else:
        result = memoryview(buffer).cast("B").cast(CODES[dtype], shape) if size else memoryview(b"")
    return result, ctypes.addressof(buffer)


def section(flat, begin, shape):
    """What stands at `begin` of numbers one behind the other, as an array of a shape."""
    values = flat[begin:begin + math.prod(shape)]
    if numpy is not None:
        return values.reshape(shape)
    return values.cast("B").cast(values.format, shape) if len(values) else values


def zero_rows(shapes):
    """Zeros of several shapes, one behind the other, as f32; the address and number of all of them."""
    begins = [0, *itertools.accumulate(map(math.prod, shapes))]
    flat, address = zeros(_c.F32, (begins[-1],))
    return [section(flat, begin, shape) for begin, shape in zip(begins, shapes)], address, begins[-1]


def _dense(name, value, dtype):
    """The value as a dense array of the type. Whole numbers may have other types, if they fit; numbers that are to be f32 are rounded."""
    value = numpy.asarray(value)
    if dtype == _c.I32 and value.dtype.kind in "iu":
        if value.size and (int(value.min()) not in INT32 or int(value.max()) not in INT32):
            raise OverflowError(f"'{name}' has numbers of more than 32 bits")
    elif value.dtype.kind not in {_c.F32: "fiu", _c.I32: "", _c.I1: "b"}[dtype]:
        raise TypeError(f"'{name}' must be an array of {NAMES[dtype]}, not of {value.dtype}")
    return numpy.asarray(value, CODES[dtype], order="C")


def _flatten(value):
    """The shape of nested lists, and their numbers one behind the other."""
    if not isinstance(value, (list, tuple)):
        return (), [value]
    shapes, parts = zip(*map(_flatten, value)) if value else ([()], [])
    if len(set(shapes)) > 1:
        raise ValueError("lists of different lengths")
    return (len(value), *shapes[0]), list(itertools.chain.from_iterable(parts))


def _copied(name, value, dtype):
    """The same without numpy: the shape of nested lists, or of a dense array of just that type, and a copy of it."""
    if isinstance(value, (list, tuple, int, float)):
        shape, numbers = _flatten(value)
        data = struct.pack(f"{len(numbers)}{CODES[dtype]}", *numbers)
    else:
        view = memoryview(value)
        if view.format != CODES[dtype] or not view.c_contiguous:
            raise TypeError(f"'{name}' must be nested lists, or a dense array of {NAMES[dtype]} (of other kinds, where there is numpy)")
        shape, data = view.shape, view.tobytes()
    return shape, ctypes.create_string_buffer(data)


class Tensors:
    """Named arrays as the C API takes them. infos: what the model says of its inputs."""

    def __init__(self, infos, values):
        types = {info.name: DTYPES[info.dtype] for info in infos}
        self.kept, self.tensors = [], (_c.Tensor * len(values))()
        for tensor, (name, value) in zip(self.tensors, values.items()):
            if name not in types:
                raise TypeError(f"there is no input '{name}'; inputs are {', '.join(types)}")
            if numpy is not None:
                data = _dense(name, value, types[name])
                shape, address = data.shape, data.ctypes.data
            else:
                shape, data = _copied(name, value, types[name])
                address = ctypes.addressof(data)
            if len(shape) > _c.MAX_RANK:
                raise TypeError(f"'{name}' has more than {_c.MAX_RANK} dimensions")
            self.kept.append(data)
            tensor.name, tensor.dtype, tensor.rank, tensor.data = name.encode(), types[name], len(shape), address
            tensor.shape[:len(shape)] = shape

    def __len__(self):
        return len(self.tensors)
