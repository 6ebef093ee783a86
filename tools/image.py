"""Where a model file's parts are; the standard library alone."""
import struct

RANGES = {"code": 48, "weights": 64}  # as xf_abi.h asserts of xf_abi_image
HEAD = 80  # as many bytes hold these ranges


def range_of(image, part, at=0):
    """The offset and the size of a part of the model file whose first bytes are image[at:]."""
    return struct.unpack_from("<2Q", image, at + RANGES[part])
