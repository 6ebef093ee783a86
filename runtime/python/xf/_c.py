"""The C API (xf/xf.h) for ctypes: its structures, and its functions with the types of their arguments."""
import ctypes
import enum
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p



class Status(enum.IntEnum):
    """enum xf_status"""
    OK = 0
    INVALID_ARGUMENT = 1
    BAD_IMAGE = 2
    UNSUPPORTED = 3
    LIMIT = 4
    IO = 5
    OUT_OF_MEMORY = 6
    INTERNAL = 7


MAX_RANK = 6
F32, I32, I1 = 0, 1, 2  # enum xf_dtype
ISAS = {"best": -1, "baseline": 0, "avx2": 1, "avx2_vnni": 2, "avx512": 3, "avx512_vnni": 4, "avx512_bf16": 5}
DEVICES = {"best": 0, "cpu": 1, "cuda": 2, "emulator": 3}
SIDES = {"source": 0, "target": 1, "source_tokens": 2}
TokenFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_int32)


class Structure(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.size = ctypes.sizeof(self)


class Limits(Structure):
    _fields_ = [("size", c_size_t), ("batch", c_int64), ("beam", c_int64), ("source", c_int64), ("target", c_int64), ("vocabulary", c_int64),
                ("weights_bytes", c_uint64), ("state_bytes", c_uint64), ("workspace_bytes", c_uint64), ("search_bytes", c_uint64),
                ("scratch_bytes", c_uint64)]


class SearchInfo(Structure):
    _fields_ = [("size", c_size_t), ("generates", c_int32), ("predicts", c_int32), ("start", c_int32), ("end", c_int32), ("pad", c_int32),
                ("source_inputs", c_int32)]


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("shape", c_int64 * MAX_RANK), ("bound", c_int64)]


class SessionOptions(Structure):
    _fields_ = [("size", c_size_t), ("threads", c_int32), ("isa", c_int32), ("device", c_int32), ("run_threads", c_void_p),
                ("threads_context", c_void_p)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("shape", c_int64 * MAX_RANK), ("data", c_void_p)]


class GenerateOptions(Structure):
    _fields_ = [("size", c_size_t), ("beam", c_int32), ("n_best", c_int32), ("min_length", c_int32), ("max_length", c_int32), ("batch", c_int32),
                ("scores", c_int32), ("length_penalty", c_double), ("suppress", c_void_p), ("suppress_count", c_int64), ("shortlist", c_void_p),
                ("repetition_penalty", c_double), ("no_repeat_ngram", c_int32), ("sample", c_int32), ("temperature", c_double), ("top_p", c_double),
                ("seed", c_uint64), ("top_k", c_int32), ("line_prefixes", c_int32), ("ends", c_void_p), ("ends_count", c_int64),
                ("prefix", c_void_p), ("prefix_count", c_int64), ("prefix_offsets", c_void_p), ("on_token", TokenFunction),
                ("token_context", c_void_p), ("targets", c_void_p), ("target_offsets", c_void_p), ("line_targets", c_int32),
                ("alternatives", c_int32), ("coverage_penalty", c_double), ("line_alignments", c_int32), ("prefix_counts", c_int32),
                ("min_p", c_double), ("early_stopping", c_int32), ("source_prefix", c_void_p), ("source_prefix_count", c_int64),
                ("source_suffix", c_void_p), ("source_suffix_count", c_int64)]


class Hypotheses(Structure):
    _fields_ = [("size", c_size_t), ("tokens", c_void_p), ("capacity", c_int64), ("lengths", c_void_p), ("scores", c_void_p),
                ("alignments", c_void_p), ("alignment_width", c_int64)]


class EncodingInfo(Structure):
    _fields_ = [("size", c_size_t), ("width", c_int64), ("by_token", c_int32)]


_OBJECT, _ADDRESS = c_void_p, c_void_p  # a pointer to an opaque structure; to anything, or null
# Each function's result (c_int32: a status or a number) and arguments.
FUNCTIONS = {
    "xf_message": (c_char_p,),
    "xf_version": (c_char_p,),
    "xf_open": (c_int32, c_char_p, POINTER(_OBJECT)),
    "xf_open_memory": (c_int32, _ADDRESS, c_uint64, POINTER(_OBJECT)),
    "xf_open_self": (c_int32, POINTER(_OBJECT)),
    "xf_open_linked": (c_int32, c_char_p, POINTER(_OBJECT)),
    "xf_model_free": (None, _OBJECT),
    "xf_model_name": (c_char_p, _OBJECT),
    "xf_model_ir": (_ADDRESS, _OBJECT, POINTER(c_uint64)),
    "xf_get_limits": (c_int32, _OBJECT, POINTER(Limits)),
    "xf_get_search_info": (c_int32, _OBJECT, POINTER(SearchInfo)),
    "xf_dim_count": (c_int32, _OBJECT),
    "xf_dim_name": (c_char_p, _OBJECT, c_int32),
    "xf_dim_limit": (c_int64, _OBJECT, c_int32),
    "xf_entry_count": (c_int32, _OBJECT),
    "xf_entry_name": (c_char_p, _OBJECT, c_int32),
    "xf_input_count": (c_int32, _OBJECT, c_int32),
    "xf_output_count": (c_int32, _OBJECT, c_int32),
    "xf_input_info": (c_int32, _OBJECT, c_int32, c_int32, POINTER(TensorInfo)),
    "xf_output_info": (c_int32, _OBJECT, c_int32, c_int32, POINTER(TensorInfo)),
    "xf_source_info": (c_int32, _OBJECT, c_int32, POINTER(TensorInfo)),
    "xf_session_options_init": (None, POINTER(SessionOptions), c_size_t),
    "xf_session_create": (c_int32, _OBJECT, POINTER(SessionOptions), POINTER(_OBJECT)),
    "xf_session_free": (None, _OBJECT),
    "xf_session_threads": (c_int32, _OBJECT),
    "xf_session_isa": (c_char_p, _OBJECT),
    "xf_session_device": (c_char_p, _OBJECT),
    "xf_output_shapes": (c_int32, _OBJECT, c_char_p, POINTER(Tensor), c_int32, POINTER(Tensor), c_int32),
    "xf_run": (c_int32, _OBJECT, c_char_p, POINTER(Tensor), c_int32, POINTER(Tensor), c_int32),
    "xf_shortlist_open": (c_int32, _OBJECT, c_char_p, c_int32, POINTER(_OBJECT)),
    "xf_shortlist_free": (None, _OBJECT),
    "xf_generate_options_init": (None, POINTER(GenerateOptions), c_size_t),
    "xf_generate": (c_int32, _OBJECT, _ADDRESS, _ADDRESS, c_int64, POINTER(GenerateOptions), POINTER(Hypotheses)),
    "xf_generate_from": (c_int32, _OBJECT, POINTER(Tensor), c_int32, POINTER(GenerateOptions), POINTER(Hypotheses)),
    "xf_get_encoding_info": (c_int32, _OBJECT, POINTER(EncodingInfo)),
    "xf_encode": (c_int32, _OBJECT, _ADDRESS, _ADDRESS, c_int64, _ADDRESS, c_int64),
    "xf_text_to_ids": (c_int32, _OBJECT, c_int32, c_char_p, c_int64, _ADDRESS, c_int64, POINTER(c_int64)),
    "xf_ids_to_text": (c_int32, _OBJECT, _ADDRESS, c_int64, c_int32, c_char_p, c_int64, POINTER(c_int64)),
    "xf_process_lines": (c_int32, _OBJECT, POINTER(c_char_p), c_int64, c_int32, POINTER(GenerateOptions), POINTER(_OBJECT)),
    "xf_line_results": (c_int32, _OBJECT, c_int64),
    "xf_line_text": (c_char_p, _OBJECT, c_int64, c_int32),
    "xf_line_score": (c_double, _OBJECT, c_int64, c_int32),
    "xf_line_alignment": (c_int64, _OBJECT, c_int64, c_int32, _ADDRESS, c_int64),
    "xf_line_error": (c_char_p, _OBJECT, c_int64),
    "xf_lines_free": (None, _OBJECT),
}


def load(path):
    """The runtime in a shared library."""
    library = ctypes.CDLL(path)
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
