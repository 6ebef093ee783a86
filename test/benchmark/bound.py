#!/usr/bin/env python3
"""How near to the machine's limit workloads of the bench models come.

  bound.py --config DIR/config.json --peaks PEAKS.json RESULTS.json...

PEAKS.json holds a line of xf-peak for each number of threads; RESULTS.json is what the harness of table.py writes. Prints a row for
each workload: its least time, the share of it that xfc reaches, and the greatest ratio to the fastest other engine that any
program could have here.

The least time counts the multiplications and additions of products at the peak of the type's instruction and the reading of
the weights at the speed of memory, whichever is longer, step by step; of attention only its products; of all else nothing. The
logits of a greedy search, of which only the largest is wanted, count as products of bytes: these find it (xf.choose's screen). Those
of beams count as what their sum is estimated by: 16-bit integers beside f32, bytes beside bf16 (xf.choose's words).

A list of sentences is searched as the harness has it: greedily all at once, each result as long as its source; with beams in
batches of like lengths, whose results are as long as the longest source.
"""
import argparse
import json

import numpy as np

# As the harness defines its workloads: tokens of a source and of a result, beams, sentences of a list, and the padded tokens of its batches.
SOURCE = TARGET = 25
BEAMS = 4
SENTENCES = 512
BATCH_TOKENS = 2048
# The type in which most logits are multiplied, by search and by the model's type.
LOGITS = {"greedy": dict(f32="int8", bf16="int8", int8="int8"), "beam": dict(f32="words", bf16="int8", int8="int8")}


def news_lengths(sentences, seed):
    return np.clip(np.rint(np.random.default_rng(seed).lognormal(2.88, 0.5, sentences)), 3, 60)


def ragged_lengths():
    return news_lengths(32, 5)


def list_batches():
    """The lengths of each batch that the harness makes of its list, longest first."""
    batches = []
    for length in sorted(news_lengths(SENTENCES, 9), reverse=True):
        if not batches or batches[-1][0] * (len(batches[-1]) + 1) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(length)
    return [np.array(batch) for batch in batches]


class Model:
    """Operations and weights of a Transformer of test/models/bench."""

    def __init__(self, cfg):
        self.width, self.layers = cfg["d_model"], cfg.get("enc_layers", 0)
        self.decoder_layers, self.vocabulary = cfg.get("dec_layers", 0), cfg["vocab"]
        square, ffn = self.width ** 2, 2 * self.width * cfg["ffn"]
        self.encoder = self.layers * (4 * square + ffn)  # weights
        self.cross = self.decoder_layers * 2 * square
        self.decoder = self.decoder_layers * (6 * square + ffn)
        self.logits = self.vocabulary * self.width


def min_seconds(model, precision, workload, case, peak):
    sizes = {"f32": 4, "bf16": 2, "words": 2, "int8": 1}
    attention_peak = peak["f32" if precision == "f32" else "bf16"]

    def part(weights, rows, attention=0, logits=0, of=precision):
        """`attention`: multiplications of its products; `logits`: weights of that product, which are of the type `of`."""
        arithmetic = 2 * rows * (weights / peak[precision] + logits / peak[of]) + 2 * attention / attention_peak
        return max(arithmetic, (weights * sizes[precision] + logits * sizes[of]) / peak["memory"])

    def encoder(lengths):
        return part(model.encoder, lengths.sum(), 2 * model.layers * model.width * (lengths ** 2).sum())

    def search(kind, sources, results):
        """`sources`, `results`: the numbers of tokens of sentences, and of their results."""
        total = encoder(sources) + part(model.cross, sources.sum())
        for step in range(int(results.max())):
            going = sources[results > step]
            # A beam search starts with one row a sentence.
            beams = BEAMS if kind == "beam" and step else 1
            total += part(model.decoder, beams * len(going), 2 * model.decoder_layers * model.width * beams * (going + step + 1).sum(),
                          model.logits, LOGITS[kind][precision])
        return total

    if workload == "enc":
        batch, length = (0, 0) if case == "ragged32" else map(int, case.split("x"))
        return encoder(np.full(batch, float(length)) if batch else ragged_lengths())
    if workload != "real":
        return search(workload, np.full(int(case), float(SOURCE)), np.full(int(case), TARGET))
    if case == "greedy":
        lengths = np.concatenate(list_batches())
        return search(case, lengths, lengths)
    return sum(search(case, lengths, np.full(len(lengths), lengths[0])) for lengths in list_batches())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("--config", required=True)
    ap.add_argument("--peaks", required=True)
    ap.add_argument("results", nargs="+")
    a = ap.parse_args()
    with open(a.config, encoding="utf-8") as file:
        model = Model(json.load(file))
    with open(a.peaks, encoding="utf-8") as file:
        peaks = {peak["threads"]: peak for peak in map(json.loads, file)}
    print("| type | threads | workload | case | ms | least ms | share | ratio | greatest ratio |\n|---|--:|---|---|--:|--:|--:|--:|--:|")
    for name in a.results:
        with open(name, encoding="utf-8") as file:
            rows = json.load(file)
        for r in rows:
            ms = min_seconds(model, r["precision"], r["workload"], r["case"], peaks[r["threads"]]) * 1e3
            print(f"| {r['precision']} | {r['threads']} | {r['workload']} | {r['case']} | {r['ours_ms']:.1f} | {ms:.1f} | "
                  f"{100 * ms / r['ours_ms']:.0f} % | {r['ratio']:.2f} | {r['peer_ms'] / ms:.2f} |")


if __name__ == "__main__":
    main()
