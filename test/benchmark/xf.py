"""The C API (runtime/include/xf/xf.h) through ctypes, as far as benchmarks need it."""
import ctypes
import os

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("XF_BUILD", os.path.join(ROOT, "build"))
DTYPES = {np.dtype(np.float32): 0, np.dtype(np.int32): 1, np.dtype(np.bool_): 2}


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 6), ("data", ctypes.c_void_p)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("isa", ctypes.c_int32),
                ("device", ctypes.c_int32)]


class GenerateOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("beam", ctypes.c_int32), ("n_best", ctypes.c_int32),
                ("min_length", ctypes.c_int32), ("max_length", ctypes.c_int32), ("batch", ctypes.c_int32),
                ("scores", ctypes.c_int32), ("length_penalty", ctypes.c_double), ("suppress", ctypes.c_void_p),
                ("suppress_count", ctypes.c_int64), ("shortlist", ctypes.c_void_p)]


class EncodingInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("width", ctypes.c_int64), ("by_token", ctypes.c_int32)]


class Hypotheses(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("tokens", ctypes.c_void_p), ("capacity", ctypes.c_int64),
                ("lengths", ctypes.c_void_p), ("scores", ctypes.c_void_p)]


def library():
    lib = ctypes.CDLL(os.path.join(BUILD, "lib", "libxf-runtime.so"))
    lib.xf_message.restype = lib.xf_version.restype = ctypes.c_char_p
    return lib


def tensor(name, array):
    """A view of `array`, which must outlive it."""
    t = Tensor(name.encode(), DTYPES[array.dtype], array.ndim, (ctypes.c_int64 * 6)(*array.shape), array.ctypes.data)
    assert array.flags.c_contiguous
    return t


class Session:
    """A compiled file and one session of it."""

    def __init__(self, path, threads):
        self.lib = library()
        self.model, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.xf_open(path.encode(), ctypes.byref(self.model)))
        options = SessionOptions(ctypes.sizeof(SessionOptions), threads, int(os.environ.get("XF_BENCH_ISA", -1)), 1)
        self.check(self.lib.xf_session_create(self.model, ctypes.byref(options), ctypes.byref(self.session)))

    def __del__(self):
        self.lib.xf_session_free(self.session)
        self.lib.xf_model_free(self.model)

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.xf_message().decode())

    def call(self, entry, inputs, outputs):
        """Binds named arrays; returns a function that runs the entry on them."""
        given = (Tensor * len(inputs))(*[tensor(n, a) for n, a in inputs.items()])
        wanted = (Tensor * len(outputs))(*[tensor(n, a) for n, a in outputs.items()])

        def run(keep=(inputs, outputs)):
            self.check(self.lib.xf_run(self.session, entry.encode(), given, len(inputs), wanted, len(outputs)))
        return run

    def encode(self, sentences):
        """Returns (run, rows): run() writes a row for each token of all sentences."""
        ids = np.concatenate(sentences).astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
        info = EncodingInfo(ctypes.sizeof(EncodingInfo))
        self.check(self.lib.xf_get_encoding_info(self.session, ctypes.byref(info)))
        rows = np.zeros((len(ids) if info.by_token else len(sentences), info.width), np.float32)

        def run(keep=(ids, offsets, rows)):
            self.check(self.lib.xf_encode(self.session, ctypes.c_void_p(ids.ctypes.data), ctypes.c_void_p(offsets.ctypes.data),
                                          ctypes.c_int64(len(sentences)), ctypes.c_void_p(rows.ctypes.data), ctypes.c_int64(rows.size)))
        return run, rows

    def generate(self, sentences, beam, max_length, capacity, suppress=(), batch=0):
        """Returns (run, tokens, lengths): run() searches and fills the arrays; best hypotheses only."""
        ids = np.concatenate(sentences).astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
        count = len(sentences)
        tokens, lengths = np.zeros((count, capacity), np.int32), np.zeros(count, np.int32)
        banned = np.array(suppress, np.int32)
        options = GenerateOptions()
        self.lib.xf_generate_options_init(ctypes.byref(options))
        options.beam, options.n_best, options.max_length, options.batch, options.scores = beam, 1, max_length, batch, int(beam > 1)
        options.suppress, options.suppress_count = banned.ctypes.data, len(banned)
        results = Hypotheses(ctypes.sizeof(Hypotheses), tokens.ctypes.data, capacity, lengths.ctypes.data, None)

        def run(keep=(ids, offsets, banned, tokens, lengths)):
            self.check(self.lib.xf_generate(self.session, ctypes.c_void_p(ids.ctypes.data), ctypes.c_void_p(offsets.ctypes.data),
                                            ctypes.c_int64(count), ctypes.byref(options), ctypes.byref(results)))
        return run, tokens, lengths
