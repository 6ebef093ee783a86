"""The compiler, and compiled models with arrays that are bound once, so that only the runtime is timed."""
import ctypes
import json
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("XF_BUILD", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(ROOT, "runtime", "python"))
import xf  # noqa: E402
from xf import _c  # noqa: E402
from xf._arrays import Rows, Tensors  # noqa: E402
from xf._options import Options  # noqa: E402

LIBRARY = os.path.join(BUILD, "lib", "libxf-runtime.so")
# Sentences at once and tokens of a result that files are compiled for.
LIMITS = dict(batch=256, target=128)


def version():
    return _c.load(LIBRARY).xf_version().decode()


def compile_model(folder, precision, path, emit="exe"):
    """Writes a program, or what `emit` names, of test/models/bench with the folder's config.json and model.safetensors."""
    config = os.path.join(folder, "config.json")
    with open(config, encoding="utf-8") as file:
        generates = json.load(file)["kind"] == "enc-dec"
    limits = [f"--limit={k}={v}" for k, v in LIMITS.items() if generates or k == "batch"]
    subprocess.run([os.path.join(BUILD, "bin", "xfc"), os.path.join(ROOT, "test", "models", "bench", "bench.xf"), "--config", config,
                    "--weights", os.path.join(folder, "model.safetensors"), *limits, "--type", precision, "--emit", emit, "-o", path],
                   check=True)


def views_of(infos, arrays):
    """Named arrays as the C API takes them, themselves and no copies."""
    views = Tensors(infos, arrays)
    assert all(kept is array for kept, array in zip(views.kept, arrays.values()))
    return views


class Session:
    """A compiled file and one session of it. Methods return functions that run what the name says, on arrays that they keep."""

    def __init__(self, path, threads):
        isa = {number: name for name, number in _c.ISAS.items()}[int(os.environ.get("XF_BENCH_ISA", -1))]
        self.session = xf.Model(path, LIBRARY).session(threads, isa, "cpu")
        self.library, self.handle = self.session.library, self.session.handle

    def bound(self, function, *arguments, keep):
        """Calls a function of the C API; `keep` is what the arguments point into."""
        def run(_keep=keep):
            self.session.check(function(self.handle, *arguments))
        return run

    def call(self, entry, inputs, outputs):
        """Runs an entry on named arrays."""
        signature = self.session.model.entries[entry]
        given, wanted = views_of(signature.inputs, inputs), views_of(signature.outputs, outputs)
        return self.bound(self.library.xf_run, entry.encode(), given.tensors, len(given), wanted.tensors, len(wanted), keep=(given, wanted))

    def encode(self, sentences):
        """Returns (run, rows): run() writes a row for each token of all sentences."""
        given, info = Rows(sentences), _c.EncodingInfo()
        self.session.check(self.library.xf_get_encoding_info(self.handle, ctypes.byref(info)))
        rows = np.zeros((len(given.tokens) if info.by_token else given.count, info.width), np.float32)
        run = self.bound(self.library.xf_encode, given.address, given.offsets.address, given.count, rows.ctypes.data, rows.size, keep=(given, rows))
        return run, rows

    def generate(self, sentences, beam, max_length, capacity, suppress=(), batch=0):
        """Returns (run, tokens, lengths): run() searches and fills the arrays; best hypotheses only."""
        given = Rows(sentences)
        source = given.address, given.offsets.address, given.count
        return self.search(self.library.xf_generate, source, given.count, beam, max_length, capacity, suppress, batch, keep=given)

    def generate_from(self, inputs, beam, max_length, suppress=(), prefix=()):
        """The same for one batch of sentences given as the model's own inputs, named arrays, with a prefix that all results have."""
        given, count = views_of(self.session.model.source_inputs, inputs), len(next(iter(inputs.values())))
        return self.search(self.library.xf_generate_from, (given.tensors, len(given)), count, beam, max_length, max_length, suppress, prefix=prefix,
                           keep=given)

    def search(self, function, source, count, beam, max_length, capacity, suppress, batch=0, prefix=(), keep=()):
        tokens, lengths = np.zeros((count, capacity), np.int32), np.zeros(count, np.int32)
        options = Options(self.library, count, dict(beam=beam, max_length=max_length, batch=batch, scores=int(beam > 1), suppress=suppress,
                                                    prefix=prefix))
        results = _c.Hypotheses(tokens=tokens.ctypes.data, capacity=capacity, lengths=lengths.ctypes.data)
        run = self.bound(function, *source, ctypes.byref(options.structure), ctypes.byref(results), keep=(keep, options, tokens, lengths))
        return run, tokens, lengths
