"""Lines of two texts: programs print the results of the entry, called by name with the tokens and types of one pair, in any batch.

pairs.py [DEVICE]: on a device, to the digits that numbers are printed with.
"""
import random
import sys

from common import Checks, MODELS, WORK, compile_model, run
from session import session_of

DEVICE = sys.argv[1] if len(sys.argv) > 1 else None
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"red green blue one two three four five".split()]
DESCRIPTION = """block Layer(d: int, heads: int) {
  query, key, value, out: Linear(d, d)
  norm_1, norm_2: LayerNorm(d)
  ff: FeedForward(d, 2 * d)
  apply(x: f32[B, S, d], mask) {
    x = norm_1(x + out(merge(attend(split(query(x), heads), split(key(x), heads), split(value(x), heads), mask))))
    return norm_2(x + ff(x))
  }
}

model Pairs(vocab = %(vocab)d, d = 32, labels = 3) {
  words: Embedding(vocab, d)
  places: Embedding(40, d)
  kinds: Embedding(%(kinds)d, d)
  layers: [Layer(d, 4) * 2]
  out: Linear(d, labels)
  apply(tokens: token[B, S], types: token[B, S]) {
    x = words(tokens) + places(positions(S)) + kinds(types)
    for layer in layers { x = layer(x, keys(tokens != 0)) }
    return x
  }
  entry pool(tokens: token[B, S <= 40], types: token[B, S <= 40]) -> logits = out(apply(tokens, types)[:, 0])
  entry tag(types: token[B, S <= 40], tokens: token[B, S <= 40]) -> logits = out(apply(tokens, types))
  text(source = words, target = words, prefix = [2]%(between)s, suffix = [3], unknown = 1)
  predict(%(entry)s, logits%(options)s, types = types)
}
"""
checks = Checks()
rng = random.Random(8)
words = WORK / "words"
words.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
labels = WORK / "labels.txt"
labels.write_text("no\nmaybe\nyes\n", encoding="utf-8")


def text(least):
    return " ".join(rng.choice(WORDS[4:]) for _ in range(rng.randrange(least, 9)))


pairs = [(text(1), text(1)) if rng.random() < 0.8 else (text(1), None) for _ in range(40)]
lines = "".join(a + "\n" if b is None else f"{a}\t{b}\n" for a, b in pairs)


def compiled(name, *options, ok=True, **changes):
    description = WORK / "pairs.xf"
    settings = {"vocab": len(WORDS), "kinds": 2, "between": ", between = [3]", "entry": "pool", "options": ", pad = 0", **changes}
    description.write_text(DESCRIPTION % settings, encoding="utf-8")
    done = compile_model(description, WORK / name, "--random-weights", 3, "--source-vocab", words, *options, ok=ok)
    return WORK / name if ok else done[2]


def tokens_of(a, b, between):
    first = [2, *map(WORDS.index, a.split())]
    if b is None:
        return [*first, 3], [0] * (len(first) + 1)
    first += between
    second = [*map(WORDS.index, b.split()), 3]
    return first + second, [0] * len(first) + [1] * len(second)


def alone(session, entry, a, b, between):
    """The entry's logits in lists of rows: of the pair, or of the tokens of the first text and of the second."""
    tokens, types = tokens_of(a, b, between)
    logits = session.run(entry, {"tokens": [tokens], "types": [types]})["logits"].tolist()
    if entry == "pool":
        return [logits]
    rows = logits[0]
    if b is None:
        return [rows[1:-1]]
    first = 1 + len(a.split())
    return [rows[1:first], rows[first + len(between):-1]]


if DEVICE:
    program = compiled("device", "--target", "cpu,cuda")
    few = "".join(line + "\n" for line in lines.splitlines()[:5])
    want, got = (run(program, "--device", device, stdin=few)[1].split() for device in ("cpu", DEVICE))
    checks.that(len(want) == len(got) == 15 and all(abs(float(a) - float(b)) < 1e-4 for a, b in zip(want, got)), f"{got} on {DEVICE}, but {want}")
    checks.end()

PADDED, EQUAL = ", pad = 0", ""  # without padding, sentences of one length are called together
for entry, kind, between, options in (("pool", "f32", [3], PADDED), ("pool", "int8", [3, 3], EQUAL), ("tag", "f32", [3], EQUAL), ("tag", "bf16", [3, 3], PADDED)):
    program = compiled("pairs", "--type", kind, entry=entry, options=options, between=f", between = {between}")
    session = session_of(program, 1)
    want = ["\t".join(" ".join(f"{x:.6g}" for row in rows for x in row) for rows in alone(session, entry, a, b, between)) for a, b in pairs]
    for how in ([], ["--batch", 1], ["--threads", 3]):
        got = run(program, *how, stdin=lines)[1].splitlines()
        checks.that(got == want, f"{entry} {kind} {between} {options} {how}: {[(g, w) for g, w in zip(got, want) if g != w][:1]}")
    # A line of the pair's ids gets the same types.
    ids = "".join(" ".join(map(str, tokens_of(a, b, between)[0])) + "\n" for a, b in pairs)
    if entry == "pool":
        checks.that(run(program, "--ids", stdin=ids)[1].splitlines() == want, f"{kind} {between}: other numbers of ids")

program = compiled("labels", "--target-vocab", labels, entry="tag", options=", labels = true, pad = 0")
answer = run(program, stdin="red green\tblue\nred\n")[1]
checks.that([len(part.split()) for part in answer.replace("\n", "\t").split("\t")] == [2, 1, 1, 0], f"labels of pairs: {answer}")
status, answer, errors = run(program, stdin="red\t\n\tblue\n\nred\tblue\tgreen\n", ok=False)
checks.that(status == 1 and [len(line.split()) for line in answer.splitlines()] == [0, 0, 0, 3], f"pairs with empty texts: {answer}")
for line, message in ((1, "its second text is empty"), (2, "its first text is empty"), (3, "it is empty")):
    checks.that(f"line {line}: {message}" in errors, f"line {line}: {errors}")

for changes, message in (({"kinds": 1}, "'types' is 0 or 1, but the table that looks it up has 1 row"),
                         ({"between": ", between = [12]"}, "'between' of text is 12, but the model has 12 source tokens"),
                         ({"between": ""}, "'types' of predict tells two texts apart, but text(…) has no 'between' to stand between them"),
                         ({"between": ", between = []"}, "has no 'between'"), ({"between": ", between = [2]"}, "'between' of text stands in its 'prefix'"),
                         ({"between": f", between = {[3] * 9}"}, "'between' of text has 9 tokens; at most 8 are possible")):
    got = compiled("wrong", ok=False, **changes)
    checks.that(message in got, f"{changes}: {got}")

description = (MODELS / "g2p" / "g2p.xf").read_text(encoding="utf-8")
(WORK / "search.xf").write_text(description.replace("text(", "text(between = [3], "), encoding="utf-8")
got = compile_model(WORK / "search.xf", WORK / "search", "--config", MODELS / "g2p" / "config.json", "--random-weights", 1, ok=False)[2]
checks.that("'between' of text stands between the two texts of a line, which only predictions take" in got, got)
checks.end()
