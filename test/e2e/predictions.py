"""Predictions as programs print them: numbers that are read back exactly, labels with their probabilities, and lines that are truncated."""
import json
import math
import os
import random
import re
import struct

from common import Checks, MODELS, WORK, compile_g2p, compile_model, run
from session import session_of

checks = Checks()
rng = random.Random(5)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(86))]
words = WORK / "words"
words.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
LABELS = ['a "b"', *"cdefgh"]
labels = WORK / "labels"
labels.write_text("\n".join(LABELS) + "\n", encoding="utf-8")


def compiled(name, *options, **changes):
    """Compiles a model of test/models with changes to its description, each (old, new)."""
    folder = MODELS / name
    text = (folder / f"{name}.xf").read_text(encoding="utf-8").replace('import "..', f'import "{os.path.relpath(MODELS, WORK)}')
    for old, new in changes.values():
        checks.that(old in text, f"{name}: no '{old}'")
        text = text.replace(old, new)
    description = WORK / "model.xf"
    description.write_text(text, encoding="utf-8")
    program = WORK / "-".join([name, *changes])
    compile_model(description, program, "--config", folder / "config.json", "--weights", folder / "weights.safetensors", "--source-vocab", words,
                  *options)
    return program


def answers(program, lines, *options):
    got = [json.loads(line) for line in run(program, "--json", *options, stdin="".join(line + "\n" for line in lines))[1].splitlines()]
    checks.that([one["line"] for one in got] == list(range(1, len(lines) + 1)), f"{program.name}: other lines")
    return [one["results"] for one in got]


def f32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def softmax(values):
    weights = [math.exp(x - max(values)) for x in values]
    return [weight / sum(weights) for weight in weights]


def near(a, b):
    return abs(a - b) <= 1e-8


AROUND = ("text(source = words, target = words, unknown = 1)", "text(source = words, target = words, prefix = [2], suffix = [3], unknown = 1)")
NUMBERS = ("labels = true, ", "")
lines = [" ".join(rng.choice(WORDS[4:]) for _ in range(rng.randrange(1, 30))) for _ in range(30)]

# The values of an entry, to the last bit.
program = compiled("tagger", around=AROUND, numbers=NUMBERS)
session = session_of(program, 1)
rows = []
for line, found in zip(lines, answers(program, lines)):
    ids = [2, *map(WORDS.index, line.split()), 3]
    wanted = session.run("tag", {"tokens": [ids]})["logits"].tolist()[0][1:-1]
    rows.append(wanted)
    checks.that(len(found) == 1 and list(found[0]) == ["values"], f"results of {line}: {found}")
    checks.that([[f32(x) for x in row] for row in found[0]["values"]] == wanted, f"values of {line}")
printed = run(program, "--json", stdin=lines[0] + "\n")[1]
longest = max(len(number.lstrip("-0.").replace(".", "")) for number in re.findall(r"-?\d+\.\d+", printed))
checks.that(6 < longest <= 9, f"numbers of {longest} digits: {printed}")

# A label for each token.
program = compiled("tagger", "--target-vocab", labels, around=AROUND)
plain = run(program, stdin="".join(line + "\n" for line in lines))[1]
scored = run(program, "--scores", stdin="".join(line + "\n" for line in lines))[1]
for number, (wanted, found, names, text) in enumerate(zip(rows, answers(program, lines), plain.splitlines(), scored.splitlines()), 1):
    best = [max(range(7), key=row.__getitem__) for row in wanted]
    scores = [max(softmax(row)) for row in wanted]
    checks.that(found[0]["labels"] == [LABELS[label] for label in best] and all(map(near, found[0]["scores"], scores)), f"labels {number}: {found}")
    checks.that(" ".join(found[0]["labels"]) == names, f"labels {number}: {found}, as text {names}")
    checks.that(text == f"{number}\t{' '.join(f'{score:.6f}' for score in found[0]['scores'])}\t{names}", f"labels {number}: {text}")

# A label for a line: the softmax of the values that the same entry returns.
values = [found[0]["values"] for found in answers(compiled("classifier", around=AROUND, numbers=NUMBERS), lines)]
program = compiled("classifier", "--target-vocab", labels, around=AROUND)
for row, found, one in zip(values, answers(program, lines, "--n-best", 7), answers(program, lines)):
    order = sorted(range(7), key=lambda label: -row[label])
    checks.that([r["label"] for r in found] == [LABELS[label] for label in order], f"{found} of {row}")
    checks.that(all(map(near, [r["score"] for r in found], sorted(softmax(row), reverse=True))) and one == found[:1], f"{found} of {row}")
best = run(program, "--n-best", 2, stdin=lines[0] + "\n")[1]
checks.that(best == "".join(f"1\t{r['score']:.6f}\t{r['label']}\n" for r in answers(program, lines[:1], "--n-best", 2)[0]), best)
status, _, errors = run(program, "--n-best", 8, stdin="", ok=False)
checks.that(status == 2 and "the number of labels must be between 1 and 7, not 8" in errors, errors)

# Lines of more than 40 tokens, including the two that are put around the text.
long, cut = " ".join(WORDS[4:54]), " ".join(WORDS[4:42])
status, answer, errors = run(program, stdin=f"{long}\n{cut}\n", ok=False)
checks.that(status == 1 and answer.startswith("\n") and "line 1: it has 52 tokens; at most 40 are possible" in errors, errors)
status, answer, errors = run(program, "--truncate", "--scores", stdin=f"{cut}\n{long}\n{cut} w1\n")
first, *others = (line.split("\t", 1)[1] for line in answer.splitlines())
checks.that(others == [first, first] and errors.endswith(": 2 lines were cut to 40 tokens\n"), f"{answer} {errors}")
checks.that(run(program, "--truncate", stdin=f"{cut}\n")[2] == "", "a line that is not cut is told of")

# Rows of the two texts of a line, and numbers that JSON cannot represent.
pair = WORK / "pair.xf"
pair.write_text("""model Odd(vocab = 90, d = 3) {
  words: Embedding(vocab, d)
  entry numbers(tokens: token[B, S <= 12]) -> odd {
    x = words(tokens)
    odd = x / (x * 0.0) * 1.0
  }
  text(source = words, prefix = [2], between = [3], suffix = [3], unknown = 1)
  predict(numbers, pad = 0)
}
""", encoding="utf-8")
program = WORK / "pair"
compile_model(pair, program, "--random-weights", 1, "--source-vocab", words)
found = answers(program, ["w1 w2\tw3", "w1"])
checks.that(found[0] == [{"values": [[None] * 3] * 3, "first": 2}] and found[1] == [{"values": [[None] * 3]}], f"{found}")
status, answer, errors = run(program, "--truncate", "--json", stdin="w1 w2\tw1 w2 w3 w4 w5 w6 w7 w8 w9\nw1 w2 w3 w4 w5 w6 w7\tw1 w2 w3 w4 w5 w6\n")
found = [json.loads(line)["results"][0] for line in answer.splitlines()]
checks.that([(one["first"], len(one["values"])) for one in found] == [(2, 9), (5, 9)] and "2 lines were cut" in errors, f"{answer} {errors}")

# A search's source is truncated, too.
program = compile_g2p(WORK / "g2p")
most = next(int(line.split()[1]) for line in run(program, "--limits")[1].splitlines() if line.startswith("  source "))
word = "abcdefghij" * most
status, answer, errors = run(program, "--truncate", stdin=word + "\n")
wanted = [run(program, stdin=word[:count] + "\n", ok=False)[1] for count in range(most - 2, most + 1)]
checks.that(answer in wanted and len(answer) > 1 and f"1 line was cut to {most} tokens" in errors, f"{answer} {errors}")
status, _, errors = run(program, stdin=word + "\n", ok=False)
checks.that(status == 1 and f"tokens; at most {most} are possible" in errors, errors)
checks.end()
