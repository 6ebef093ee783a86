"""The compiler, and the C API (runtime/include/xf/xf.h) through ctypes, as far as benchmarks need them."""
import ctypes
import json
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("XF_BUILD", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import capi  # noqa: E402
from capi import EncodingInfo, GenerateOptions, Hypotheses, SessionOptions, Tensor  # noqa: E402

# Sentences at once and tokens of a result that files are compiled for.
LIMITS = dict(batch=256, target=128)
DTYPES = {np.dtype(np.float32): 0, np.dtype(np.int32): 1, np.dtype(np.bool_): 2}


def library():
    return capi.load(os.path.join(BUILD, "lib", "libxf-runtime.so"))


def compile_model(folder, precision, path, emit="exe"):
    """Writes a program, or what `emit` names, of test/models/bench with the folder's config.json and model.safetensors."""
    config = os.path.join(folder, "config.json")
    with open(config, encoding="utf-8") as file:
        generates = json.load(file)["kind"] == "enc-dec"
    limits = [f"--limit={k}={v}" for k, v in LIMITS.items() if generates or k == "batch"]
    subprocess.run([os.path.join(BUILD, "bin", "xfc"), os.path.join(ROOT, "test", "models", "bench", "bench.xf"), "--config", config,
                    "--weights", os.path.join(folder, "model.safetensors"), *limits, "--type", precision, "--emit", emit, "-o", path],
                   check=True)


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
        capi.check(self.lib, status)

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
        source = [ctypes.c_void_p(ids.ctypes.data), ctypes.c_void_p(offsets.ctypes.data), ctypes.c_int64(len(sentences))]
        return self.search("xf_generate", source, len(sentences), beam, max_length, capacity, suppress, batch, keep=(ids, offsets))

    def generate_from(self, inputs, beam, max_length, suppress=(), prefix=()):
        """The same for one batch of sentences given as the model's own inputs, named arrays, with a prefix that all results have."""
        given, count = (Tensor * len(inputs))(*[tensor(n, a) for n, a in inputs.items()]), len(next(iter(inputs.values())))
        return self.search("xf_generate_from", [given, len(inputs)], count, beam, max_length, max_length, suppress, prefix=prefix, keep=inputs)

    def search(self, function, source, count, beam, max_length, capacity, suppress, batch=0, prefix=(), keep=()):
        tokens, lengths = np.zeros((count, capacity), np.int32), np.zeros(count, np.int32)
        banned, forced = np.array(suppress, np.int32), np.array(prefix, np.int32)
        options = GenerateOptions()
        self.lib.xf_generate_options_init(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.beam, options.n_best, options.max_length, options.batch, options.scores = beam, 1, max_length, batch, int(beam > 1)
        options.suppress, options.suppress_count = banned.ctypes.data, len(banned)
        options.prefix, options.prefix_count = forced.ctypes.data, len(forced)
        results = Hypotheses(ctypes.sizeof(Hypotheses), tokens.ctypes.data, capacity, lengths.ctypes.data, None)

        def run(keep=(keep, banned, forced, tokens, lengths)):
            self.check(getattr(self.lib, function)(self.session, *source, ctypes.byref(options), ctypes.byref(results)))
        return run, tokens, lengths
