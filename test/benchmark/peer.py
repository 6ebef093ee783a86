"""xfc as an engine of a benchmark that runs several: class Peer has the interface that such a harness expects.

A model directory holds config.json and model.safetensors of test/models/bench/bench.xf; `prepare` compiles it once for
each type, and the compiled file is driven through the C API.
"""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compiled  # noqa: E402


class Peer:
    PRECISIONS = ("f32", "bf16", "int8")
    VERSION = "xfc " + compiled.version()

    @staticmethod
    def files(model_dir, precision):
        return [os.path.join(model_dir, f"xfc-{precision}.model")]

    @staticmethod
    def prepare(model_dir, what=()):
        for precision in Peer.PRECISIONS:
            compiled.compile_model(model_dir, precision, Peer.files(model_dir, precision)[0], emit="model")

    def __init__(self, model_dir, precision, threads, workers=1):
        with open(os.path.join(model_dir, "config.json")) as fh:
            self.cfg = json.load(fh)
        self.session = compiled.Session(self.files(model_dir, precision)[0], threads)

    def encoder(self, ids, lengths):
        run, rows = self.session.encode([row[:n] for row, n in zip(ids, lengths)])

        def to_numpy(_):
            padded = np.zeros((*ids.shape, rows.shape[1]), np.float32)
            padded[np.arange(ids.shape[1])[None, :] < lengths[:, None]] = rows
            return padded
        return run, to_numpy

    def decoder(self, ids, lengths, steps, beams):
        """Exactly `steps` tokens: the end token is never chosen."""
        sentences = [row[:n] for row, n in zip(ids, lengths)]
        search, tokens, made = self.session.generate(sentences, beams, steps, steps, [self.cfg["eos"]])

        def run():
            search()
            assert (made == steps).all()
            return tokens
        return run

    def real_own(self, sents, beams):
        """The whole list at once, with the runtime's own batching; every sentence ends at its source's length."""
        longest = max(map(len, sents))
        search, _, made = self.session.generate(sents, beams, -1, longest, [self.cfg["eos"]])

        def run():
            search()
            return int(made.sum())
        return run
