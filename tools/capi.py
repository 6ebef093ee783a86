"""The structures of the C API (runtime/include/xf/xf.h) for ctypes, and where a model file's parts are; the standard library alone."""
import ctypes
import struct

# enum xf_isa
ISA = {"baseline": 0, "avx2": 1, "avx2_vnni": 2, "avx512": 3, "avx512_vnni": 4, "avx512_bf16": 5}


IMAGE_RANGES = {"code": 48, "weights": 64}  # as xf_abi.h asserts of xf_abi_image
IMAGE_HEAD = 80  # as many bytes hold these ranges


def image_range(image, part, at=0):
    """The offset and the size of a part of the model file whose first bytes are image[at:]."""
    return struct.unpack_from("<2Q", image, at + IMAGE_RANGES[part])


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 6), ("bound", ctypes.c_int64)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 6), ("data", ctypes.c_void_p)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("isa", ctypes.c_int32),
                ("device", ctypes.c_int32), ("run_threads", ctypes.c_void_p), ("threads_context", ctypes.c_void_p)]


class GenerateOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("beam", ctypes.c_int32), ("n_best", ctypes.c_int32),
                ("min_length", ctypes.c_int32), ("max_length", ctypes.c_int32), ("batch", ctypes.c_int32),
                ("scores", ctypes.c_int32), ("length_penalty", ctypes.c_double), ("suppress", ctypes.c_void_p),
                ("suppress_count", ctypes.c_int64), ("shortlist", ctypes.c_void_p), ("repetition_penalty", ctypes.c_double),
                ("no_repeat_ngram", ctypes.c_int32), ("sample", ctypes.c_int32), ("temperature", ctypes.c_double),
                ("top_p", ctypes.c_double), ("seed", ctypes.c_uint64), ("top_k", ctypes.c_int32), ("line_prefixes", ctypes.c_int32),
                ("ends", ctypes.c_void_p), ("ends_count", ctypes.c_int64), ("prefix", ctypes.c_void_p),
                ("prefix_count", ctypes.c_int64), ("prefix_offsets", ctypes.c_void_p), ("on_token", ctypes.c_void_p),
                ("token_context", ctypes.c_void_p), ("targets", ctypes.c_void_p), ("target_offsets", ctypes.c_void_p),
                ("line_targets", ctypes.c_int32), ("alternatives", ctypes.c_int32), ("coverage_penalty", ctypes.c_double),
                ("line_alignments", ctypes.c_int32), ("prefix_counts", ctypes.c_int32), ("min_p", ctypes.c_double), ("early_stopping", ctypes.c_int32)]


class EncodingInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("width", ctypes.c_int64), ("by_token", ctypes.c_int32)]


class Hypotheses(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("tokens", ctypes.c_void_p), ("capacity", ctypes.c_int64),
                ("lengths", ctypes.c_void_p), ("scores", ctypes.c_void_p), ("alignments", ctypes.c_void_p),
                ("alignment_width", ctypes.c_int64)]


def load(path):
    """The runtime library at `path`."""
    library = ctypes.CDLL(str(path))
    library.xf_message.restype = library.xf_version.restype = ctypes.c_char_p
    return library


def check(library, status):
    if status != 0:
        raise RuntimeError(library.xf_message().decode())
