#!/usr/bin/env python3
"""The tables of RESULTS.md and of README.md: xfc against other engines.

  table.py measure --harness DIR --data DIR --results DIR [--parts NAME,...] [--rounds N]
  table.py write --results DIR [--document FILE]...

DIR of --harness has compare.py and run_peers.py, which run engines as peer.py describes itself, and start.py; DIR of --data
holds a folder with config.json, model.safetensors and reference.npz for each configuration, which every other engine has
prepared. The engines are in the Python environment that runs this. `measure` leaves JSON in the folder of --results, and can be
repeated for some parts (measure.py names them; patterns such as base-*-2 do, too). `write` replaces the tables between
<!-- table: NAME --> and <!-- end --> of the documents (RESULTS.md and README.md of the root; another machine's are in a document of
its own): one with no results in the folder stays, in the others what was not measured is empty. A time is
marked where the check of its results failed (CHECKS), or the harness made none; of lists of sentences it makes none at all.
"""
import argparse
import functools
import json
import os
import re
import sys

import bound
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENTS = (os.path.join(HERE, "RESULTS.md"), os.path.join(measure.compiled.ROOT, "README.md"))
MARKED = re.compile(r"(<!-- table: ([^>]+) -->\n)((?:(?!<!-- ).)*)(<!-- end -->)", re.S)

ROWS = (("encoder 1x32", "enc", "1x32"), ("encoder 8x32", "enc", "8x32"), ("encoder 32x32", "enc", "32x32"),
        ("encoder 1x128", "enc", "1x128"), ("encoder 8x128", "enc", "8x128"), ("encoder 1x512", "enc", "1x512"),
        ("encoder, 32 sentences of 3 to 60 tokens", "enc", "ragged32"), ("greedy, 1 sentence", "greedy", "1"),
        ("greedy, 8", "greedy", "8"), ("greedy, 32", "greedy", "32"), ("beam 4, 1 sentence", "beam", "1"), ("beam 4, 32", "beam", "32"))
SUMMARY_ROWS = (("encoder, 32 sentences of 32 tokens", "enc", "32x32"), ("encoder, 32 of 3 to 60 tokens", "enc", "ragged32"),
                ("greedy search, 1 sentence", "greedy", "1"), ("greedy search, 32", "greedy", "32"),
                ("4 beams, 1 sentence", "beam", "1"), ("4 beams, 32", "beam", "32"))
LISTS = (("base, f32", "base", "f32"), ("base, int8", "base", "int8"),
         ("student (6 + 2 layers, width 256), f32", "student", "f32"), ("student (6 + 2 layers, width 256), int8", "student", "int8"))
ENGINES = (("xfc", "xfc"), ("CTranslate2", "ct2"), ("ONNX Runtime", "ort"), ("OpenVINO", "openvino"))

# What the harness's check may find against PyTorch in f32, by type: the largest error of outputs that are normed, where wrong ones are some
# units off, and the least share of equal tokens. With random weights, tokens are nearly as probable as others, and after one of these the
# whole result is another: in fewer bits a single sentence says nothing; for FEW and more, shares are half of what was measured.
CHECKS = {"f32": (1e-3, 1), "bf16": (0.3, 0.3), "int8": (1, 0.18)}
FEW = 8


def read(folder, name):
    """The rows of a file of results; none where there is no such file."""
    path = os.path.join(folder, name + ".json")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def compared(folder, name):
    return {(row["workload"], row["case"]): row for row in read(folder, name)}


def ms(value):
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def mark(row, unchecked=" (unchecked)"):
    """What marks a time whose results are not the reference's, or were not compared."""
    error, agreement = row.get("max_abs_err"), row.get("token_agreement")
    if error is None and agreement is None:
        return unchecked
    largest, minimum = CHECKS[row["precision"]]
    if minimum < 1 and row["case"].isdigit() and int(row["case"]) < FEW:
        minimum = 0
    # Both comparisons are false for NaN.
    right = (error is None or error <= largest) and (agreement is None or agreement >= minimum)
    return "" if right else " (wrong!)"


def markdown(head, rows):
    """A table of lists of cells, the first one of each a title; None if there is nothing in it."""
    if not any(any(cells) for _, *cells in rows):
        return None

    def line(cells):
        return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)

    return "\n".join([line(head), "|---|" + "--:|" * (len(head) - 1), *map(line, rows)])


def limits(folder, config, threads):
    """The function from a row to a cell: how many times as fast as the row's other engine any program can be on this machine, by bound.py;
    empty if the machine's peaks are not known."""
    path, peaks = os.path.join(folder, "peaks.json"), {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            peaks = {peak["threads"]: peak for peak in map(json.loads, file)}
    if threads not in peaks:
        return lambda row: ""
    model = bound.Model(read(folder, "config-" + config))
    return lambda row: f"{row['peer_ms'] / (bound.min_seconds(model, row['precision'], row['workload'], row['case'], peaks[threads]) * 1e3):.2f}"


def with_limits(folder, config, threads):
    """Every workload in all types, beside what the machine allows."""
    results = {precision: compared(folder, f"{config}-{precision}-{threads}") for precision in measure.TYPES}
    if not any(results.values()):
        return None
    limit, rows = limits(folder, config, threads), []
    for title, *key in ROWS:
        cells = []
        for precision in measure.TYPES:
            row = results[precision].get(tuple(key))
            cells += [ms(row["ours_ms"]) + mark(row), ms(row["peer_ms"]), f"{row['ratio']:.2f}", limit(row)] if row else [""] * 4
        if any(cells):
            rows.append([title, *cells])
    return markdown(["", *(cell for precision in measure.TYPES for cell in (precision, "other", "ratio", "limit"))], rows)


def lists(folder):
    """Lists of sentences, which are not marked as unchecked: the harness compares none of their results."""
    rows = []
    for title, config, precision in LISTS:
        results, cells = compared(folder, f"{config}-real-{precision}-2"), [title]
        limit = limits(folder, config, 2) if results else None
        for case in ("greedy", "beam"):
            row = results.get(("real", case))
            if row:
                cells += [f"{row['ours_ms'] / 1e3:.2f}" + mark(row, ""), f"{row['peer_ms'] / 1e3:.2f}", f"{row['ratio']:.2f}", limit(row)]
            else:
                cells += [""] * 4
        rows.append(cells)
    return markdown(["", "greedy", "other", "ratio", "limit", "beam 4", "other", "ratio", "limit"], rows)


def starts(folder):
    head, rows = ["base"], [[title] for title, _ in ENGINES]
    for precision in ("f32", "int8"):
        head += [f"{precision}, first sentence", "MiB, 1 sentence", "MiB, 32 with 4 beams"]
        records = {record["peer"]: record for record in read(folder, "start-" + precision)}
        for cells, (_, engine) in zip(rows, ENGINES):
            record = records.get(engine)
            cells.append(f"{record['median_ms']:.0f} ms" if record else "")
            # An engine may have failed with beams.
            cells += [f"{record[key]:.0f}" if record and record[key] else "" for key in ("rss_batch1_mb", "rss_beam32_mb")]
    return markdown(head, rows)


def families(folder):
    """What families.py has measured: all models and cases in their order there."""
    results = {(row["model"], row["case"], row["precision"]): row for row in read(folder, "families")}
    rows = []
    for model, case in dict.fromkeys(key[:2] for key in results):
        found = [results.get((model, case, precision)) for precision in ("f32", "int8")]
        cells = [[ms(row["ours_ms"]), ms(row["peer_ms"]), f"{row['ratio']:.2f}"] if row else [""] * 3 for row in found]
        rows.append([f"{model}, {case}", *cells[0], *cells[1]])
    return markdown(["", "f32", "CTranslate2", "ratio", "int8", "CTranslate2", "ratio"], rows)


def summary(folder):
    rows = []
    for title, *key in SUMMARY_ROWS:
        found = [compared(folder, f"base-{precision}-2").get(tuple(key)) for precision in measure.TYPES]
        rows.append([title, *(f"{ms(row['ours_ms'])}{mark(row)} ({row['ratio']:.2f})" if row else "" for row in found)])
    return markdown(["base, 2 threads: ms (times the fastest other)", *measure.TYPES], rows)


TABLES = {"lists": lists, "start": starts, "families": families, "summary": summary,
          **{f"{config} {threads}": functools.partial(with_limits, config=config, threads=threads)
             for config in ("base", "minilm") for threads in measure.THREADS}}


def rewritten(text, folder):
    """The text with the tables that there are results for."""
    def fill(found):
        begin, name, _, end = found.groups()
        if name not in TABLES:
            sys.exit(f"no table is called '{name}'; there are {', '.join(TABLES)}")
        lines = TABLES[name](folder)
        return f"{begin}\n{lines}\n\n{end}" if lines else found[0]

    if len(MARKED.findall(text)) != text.count("<!-- table: "):
        sys.exit("a table's marker has no end")
    return MARKED.sub(fill, text)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    steps = ap.add_subparsers(dest="step", required=True)
    for step in (steps.add_parser("measure"), steps.add_parser("write")):
        step.add_argument("--results", required=True)
    steps.choices["write"].add_argument("--document", action="append")
    to_measure = steps.choices["measure"]
    to_measure.add_argument("--harness", required=True)
    to_measure.add_argument("--data", required=True)
    to_measure.add_argument("--parts", default="*")
    to_measure.add_argument("--rounds", type=int, default=1)
    a = ap.parse_args()
    if a.step == "measure":
        measure.measure(measure.Harness(a.harness, a.data, a.results, a.rounds), a.parts.split(","))
        return
    for path in a.document or DOCUMENTS:
        with open(path, encoding="utf-8") as file:
            text = rewritten(file.read(), a.results)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
