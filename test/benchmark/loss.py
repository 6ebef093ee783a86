"""What types of fewer bits lose: a table of error rates for the trained models, against what is right or, where only that is known,
against what the programs that the models come from answer in f32.

loss.py: needs XF_BIN and XF_SOURCE as the end-to-end tests do; models that the repository does not ship are left out where
they are not found.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ["XF_SOURCE"]) / "test" / "e2e"))
from common import MODELS, SHARED, WORK, compile_g2p, compile_model, load, run  # noqa: E402

TYPES = ("f32", "bf16", "int8", "int8-weights")


def edits(a, b):
    """The fewest insertions, deletions and replacements that turn a into b."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def error_rates(answers, right):
    """The error rates of words, and of phones against the nearest pronunciation."""
    words = errors = phones = 0
    for answer, wanted in zip(answers, right, strict=True):
        words += answer not in wanted
        distance, length = min((edits(answer.split(), w.split()), len(w.split())) for w in wanted)
        errors += distance
        phones += length
    return words / len(right), errors / phones


def difference(answers, right):
    """The share of whole answers that differ, and edits for each token of the right ones."""
    whole = sum(a != r for a, r in zip(answers, right, strict=True))
    return whole / len(right), sum(map(edits, answers, right)) / sum(map(len, right))


def g2p():
    test = [line.rstrip("\n").split("\t") for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")]
    programs = {kind: compile_g2p(WORK / f"g2p-{kind}", "--type", kind) for kind in TYPES}
    for title, options, count in (("greedy", [], len(test)), ("beam 4", ["--beam", 4], 1000)):
        words = "".join(t[0] + "\n" for t in test[:count])
        for kind, program in programs.items():
            answers = run(program, *options, stdin=words)[1].splitlines()
            rates = error_rates(answers, [t[1:] for t in test[:count]])
            print(f"| g2p, {title}, {count:,} words | {kind} | word error rate {rates[0]:.4f}, phone error rate {rates[1]:.5f} |")


def compared(title, programs, lines, right, options=(), split=list):
    """`right` are the reference's answers, as lists of tokens."""
    for kind, program in programs.items():
        answers = [split(row) for row in run(program, *options, stdin=lines)[1].splitlines()]
        whole, tokens = difference(answers, right)
        print(f"| {title} | {kind} | {100 * whole:.1f} % of the answers differ, token error rate {tokens:.5f} |")


def transliteration():
    folder = SHARED / "models" / "aren-transliteration"
    name = folder.name
    programs = {}
    for kind in TYPES:
        programs[kind] = WORK / f"{name}-{kind}"
        compile_model(MODELS / name / f"{name}.xf", programs[kind], "--weights", folder / "weights.safetensors", "--source-vocab",
                      folder / "source_vocabulary.txt", "--target-vocab", folder / "target_vocabulary.txt", "--type", kind)
    items = load(folder / "expected.json")["items"]
    lines = "".join(item["text"] + "\n" for item in items)
    compared(f"{name}, greedy, {len(items)} names", programs, lines, [list(item["greedy"]["text"]) for item in items])
    compared(f"{name}, beam 4", programs, lines, [list(item["beam4"][0]["text"]) for item in items], ["--beam", 4])


def antibody():
    folder = SHARED / "models" / "anarcii-antibody"
    programs = {}
    for kind in TYPES:
        programs[kind] = WORK / f"antibody-{kind}"
        compile_model(MODELS / folder.name / f"{folder.name}.xf", programs[kind], "--config", folder / "config.json", "--weights",
                      folder / "weights.safetensors", "--type", kind)
    items = load(folder / "expected.json")["items"]
    start, end = 1, 2
    right = [[str(token) for token in item["ids"] if token not in (start, end)] for item in items]
    lines = "".join(" ".join(map(str, item["source_ids"])) + "\n" for item in items)
    compared(f"{folder.name}, greedy, {len(items)} sequences", programs, lines, right, ["--ids"],
             lambda row: [token for token in row.split() if token != str(end)])


print("| model | type | result |\n|---|---|---|")
g2p()
if (SHARED / "models" / "aren-transliteration").is_dir():
    transliteration()
if (SHARED / "models" / "anarcii-antibody").is_dir():
    antibody()
