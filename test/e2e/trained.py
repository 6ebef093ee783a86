"""Trained models that the repository does not ship, against their expected output.

trained.py aren-transliteration | anarcii-antibody | stories260K [DEVICE]
"""
import sys

from common import Checks, MODELS, WORK, compile_model, load, run, shared_model

name = sys.argv[1]
target, where = ([], []) if len(sys.argv) < 3 else (["--target", "cuda"], ["--device", sys.argv[2]])
folder = shared_model(name)
expected = load(folder / "expected.json")["items"]
program = WORK / "program"
checks = Checks()


def ids(values):
    return " ".join(str(v) for v in values) + "\n"


if name == "aren-transliteration":
    compile_model(MODELS / name / f"{name}.xf", program, *target, "--weights", folder / "weights.safetensors", "--source-vocab",
                  folder / "source_vocabulary.txt", "--target-vocab", folder / "target_vocabulary.txt")
    lines = "".join(item["text"] + "\n" for item in expected)
    rows = [line.split("\t") for line in run(program, *where, "--scores", stdin=lines)[1].splitlines()]
    checks.that(len(rows) == len(expected), f"{len(rows)} results of {len(expected)} lines")
    for item, (_, score, text) in zip(expected, rows):
        checks.that(text == item["greedy"]["text"] and abs(float(score) - item["greedy"]["score"]) < 5e-6, f"greedy {text} {score} for {item['text']}")
    rows = [line.split("\t") for line in run(program, *where, "--beam", 4, "--n-best", 4, stdin=lines)[1].splitlines()]
    want = [(str(n), best) for n, item in enumerate(expected, 1) for best in item["beam4"]]
    checks.that(len(rows) == len(want), f"{len(rows)} results, expected {len(want)}")
    for (number, score, text), (line, best) in zip(rows, want):
        checks.that(number == line and text == best["text"] and abs(float(score) - best["score"]) < 5e-6, f"beam {text} {score}, expected {best}")
elif name == "anarcii-antibody":
    compile_model(MODELS / name / f"{name}.xf", program, *target, "--config", folder / "config.json", "--weights", folder / "weights.safetensors")
    rows = run(program, *where, "--ids", stdin="".join(ids(item["source_ids"]) for item in expected))[1].splitlines()
    for item, row in zip(expected, rows):
        got, want = [int(x) for x in row.split()], item["ids"][1:]
        checks.that(got == [t for t in want if t != 2] or got == want, f"{item['name']}: {got}, expected {want}")
    checks.that(len(rows) == len(expected), "lines are missing")
else:
    compile_model(MODELS / "stories260k" / "stories260k.xf", program, *target, "--config", folder / "config.json", "--weights", folder / "weights.safetensors")
    for item in expected:
        prompt, want = item["prompt_ids"], item["ids"]
        row = run(program, *where, "--ids", "--max-length", len(want) - len(prompt), stdin=ids(prompt))[1]
        got = [int(x) for x in row.split()]
        checks.that(got == want[len(prompt):], f"{item['prompt']}: {got}, expected {want[len(prompt):]}")
checks.end()
