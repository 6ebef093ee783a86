"""Options of searches other than beams: prefixes, no repetitions, samples, alternatives, tokens that end results; and scores of given
results.

search_options.py [DEVICE]: on a device, fewer sentences and the same results as on the CPU.
"""
import json
import random
import struct
import sys

from common import MODELS, WORK, Checks, alike, compile_model, kept_g2p, run, searched, sets, write_safetensors

DEVICE = sys.argv[1] if len(sys.argv) > 1 else None
TARGET, WHERE = ("cpu,cuda", ["--device", DEVICE]) if DEVICE else ("cpu", [])
checks = Checks()
rng = random.Random(8)
words = [line.split("\t")[0] for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")]


def repeats(tokens, n):
    grams = [tuple(tokens[i:i + n]) for i in range(len(tokens) - n + 1)]
    return len(grams) != len(set(grams))


ALL = ([], ["--no-repeat-ngram", "2", "--beam", "4", "--n-best", "2"], ["--repetition-penalty", "1.5"],
       ["--alternatives", "3"], ["--sample", "--n-best", "4", "--seed", "5"], ["--sample", "--top-k", "4", "--temperature", "2"], ["--sample", "--top-p", "0.9"],
       ["--sample", "--min-p", "0.2"])


def confirm_stream(title, program, lines, *options):
    want, got = (run(program, *options, *how, stdin="".join(line + "\n" for line in lines))[1] for how in ([], ["--stream"]))
    checks.that(got == want, f"{title} {options}: {got!r} in pieces, but {want!r}")


def confirm_scores(title, program, lines, *options):
    """--score gives results the scores that the search gave them."""
    for how in ([], ["--length-penalty", "0"], ["--prefix", "AH0 K"]):
        for search in (["--beam", "3", "--n-best", "2"], ["--alternatives", "3"]):
            found = [(line, *result) for line, side in zip(lines, searched(program, lines, *search, *how, *options)) for result in side]
            scores = run(program, "--score", *how, *options, stdin="".join(f"{line}\t{text}\n" for line, _, text in found))[1].split()
            checks.that(len(scores) == len(found) and all(abs(score - float(again)) < 3e-6 for (_, score, _), again in zip(found, scores)),
                        f"{title} {search} {how}: {found} score as {scores}")


def confirm_counted_prefix(title, program, lines, prefix, *options):
    """A score is the sum of the result's log p, its score with a length penalty of 0, divided by (n + prefix)^alpha; n includes the end token. The
    search itself does not depend on alpha, so that only the order of all its results may change."""
    count, most = len(prefix.split()), 24
    search = ["--prefix", prefix, "--beam", "4", "--n-best", "4", "--max-length", most, *options]
    sums = [{text: score for score, text in line} for line in searched(program, lines, *search, "--length-penalty", "0")]
    for alpha in (1, 0.6, -1):
        for counted in ([], ["--count-prefix"]):
            for line, found, known in zip(lines, searched(program, lines, *search, "--length-penalty", alpha, *counted), sums):
                checks.that(found == sorted(found, key=lambda result: -result[0]) and len(found) == 4, f"{title} {alpha} {counted} {line}: {found}")
                same = [(score, text) for score, text in found if text in known]
                lengths = [len(text.split()) + (len(text.split()) < most) + (count if counted else 0) for _, text in same]
                wanted = [known[text] / length ** alpha for (_, text), length in zip(same, lengths)]
                # If more than 4 have ended, others may be the best 4.
                off = [abs(score - want) / max(1, 1 / length ** alpha) for (score, _), want, length in zip(same, wanted, lengths)]
                checks.that(len(same) > 1 and max(off) < 2e-6,
                            f"{title}, length penalty {alpha}, {counted}: {line} gives {found}, not {wanted}")


def confirm_device(title, program, lines, prefix, more):
    confirm_stream(title, program, lines, "--prefix", prefix, *more, "--device", DEVICE)
    for options in ALL:
        for prefixes in ([], ["--prefix", prefix]):
            want, got = (searched(program, lines, *options, *prefixes, *more, "--device", where) for where in ("cpu", DEVICE))
            checks.that(alike(got, want), f"{title} {options} {prefixes}: {got} on {DEVICE}, but {want} on the CPU")


def confirm(title, program, lines, prefix, more=()):
    if DEVICE:
        return confirm_device(title, program, lines[:3], prefix, more)
    for search in ([], ["--beam", "4", "--n-best", "4"], ["--min-length", "5"]):
        plain = searched(program, lines, *search, *more)
        whole = searched(program, lines, *search, *more, "--no-repeat-ngram", "1000")
        checks.that(alike(whole, plain), f"{title} {search}: whole rows of logits give other results than the step that chooses")
    for options in ([], ["--sample", "--seed", "3"], ["--end", "5,9"], ["--prefix", prefix]):
        confirm_stream(title, program, lines, *options, *more)
    # Continuing the beginning of an answer gives the rest of it, and then the tokens that the greatest length had cut off.
    answers = [line[0][1].split() for line in searched(program, lines, "--max-length", "12", *more)]
    cuts = [rng.randrange(len(answer) + 1) for answer in answers]
    beginnings = [line + "\t" + " ".join(answer[:cut]) for line, answer, cut in zip(lines, answers, cuts)]
    for result, answer, cut in zip(searched(program, beginnings, "--prefixes", "--max-length", "12", *more), answers, cuts):
        rest = result[0][1].split()
        checks.that(rest[:len(answer) - cut] == answer[cut:] and (len(answer) == 12 or len(rest) == len(answer) - cut),
                    f"{title}: {rest} follows {answer[:cut]} of {answer}")
    for options in ALL:
        got = searched(program, lines, "--prefix", prefix, *options, *more)
        checks.that(got == searched(program, [line + "\t" + prefix for line in lines], "--prefixes", *options, *more), f"{title} {options}: a prefix")
        for company in (["--batch", "1"], ["--batch", "3"], ["--threads", "2"], ["--threads", "3"]):
            checks.that(searched(program, lines, "--prefix", prefix, *options, *more, *company) == got,
                        f"{title} {options}: {company} changes results")
    for answer in searched(program, lines, "--no-repeat-ngram", "2", *more):
        checks.that(not repeats(answer[0][1].split(), 2), f"{title}: repeated: {answer}")


for kind in ("f32",) if DEVICE else ("f32", "bf16", "int8"):
    program = kept_g2p(kind, TARGET)
    confirm_counted_prefix(f"g2p {kind}", program, words[:3 if DEVICE else 16], "AH0 K", *WHERE)
    confirm_scores(f"g2p {kind}", program, *([words[:2], "--device", DEVICE] if DEVICE else [words[:16]]))
    confirm(f"g2p {kind}", program, words[:16], "AH0 K")

# A vocabulary that is large enough for a greedy search without scores to screen logits.
bench = WORK / "bench"
compile_model(MODELS / "bench" / "bench.xf", bench, "--target", TARGET, "--random-weights", 4, "--limit=batch=8", "--limit=target=24",
              *sets(d_model=32, heads=2, ffn=48, enc_layers=1, dec_layers=2, vocab=5000))
lines = [" ".join(str(rng.randrange(3, 5000)) for _ in range(rng.randrange(3, 9))) for _ in range(12)]
confirm("bench", bench, lines, "17 4", ["--ids"])

# Decoders may read tokens that cannot be chosen.
wide = WORK / "wide.xf"
wide.write_text("""model Wide(d = 16) {
  source, target: Embedding(200, d)
  cross: MultiHeadAttention(d, 2)
  out: Linear(d, 40)
  entry encode(s: token[B, S <= 20]) -> memory = source(s)
  entry decode(t: token[B, T <= 20], memory, s) -> logits {
    x = target(t) + sinusoid(d)[positions(T)]
    logits = out(x + cross(x, memory, memory, keys(s != 0)))
  }
  generate(encode, decode, start = 1, end = 2, pad = 0)
}
""")
compile_model(wide, WORK / "wide", "--target", TARGET, "--random-weights", 3)
few = [" ".join(str(rng.randrange(3, 200)) for _ in range(rng.randrange(3, 9))) for _ in range(12)]
for options in (["--repetition-penalty", "5"], ["--no-repeat-ngram", "1"]):
    alone, together = (searched(WORK / "wide", few, "--prefix", "45 50 190 199 60 65", *options, *WHERE, "--batch", batch) for batch in ("1", "8"))
    checks.that(alone == together, f"{options}: tokens that cannot be chosen change other sentences")
    there = searched(WORK / "wide", few, "--prefix", "45 50 190 199 60 65", *options, "--device", "cpu")
    checks.that(alike(alone, there), f"{options}: {alone}, but {there} on the CPU")

# After token 4 all tokens have a logit of -inf, after token 5 only token 3.
barred = WORK / "barred.xf"
barred.write_text("""model Barred(v = 6) {
  e: Embedding(v, v)
  o: Linear(v, v, bias = false)
  entry encode(s: token[B, S <= 9]) -> m = e(s)
  entry decode(t: token[B, T <= 9], m) -> logits = o(e(t))
  generate(encode, decode, start = 1, end = 2, pad = 0)
}
""")
weights = {name: ("F32", [6, 6], struct.pack("<36f", *(value(row, column) for row in range(6) for column in range(6))))
           for name, value in {"e.weight": lambda row, column: 2.0 * (row == column),
                               "o.weight": lambda row, column: -3e38 * (column == 4 or (row, column) == (3, 5))}.items()}
write_safetensors(WORK / "barred.safetensors", weights)
compile_model(barred, WORK / "barred", "--target", TARGET, "--weights", WORK / "barred.safetensors", "--limit=beam=1")
given = "3\t5 3\n3\t4 5\n3\t5 5\n"
status, text, err = run(WORK / "barred", "--score", *WHERE, stdin=given, ok=False)
scores = text.splitlines()
checks.that(status == 1 and scores[:2] == ["-inf", ""] and -2 < float(scores[2]) < -1.6, f"{status} {text}")
checks.that("line 2: no token is left that may be chosen" in err, err)
objects = [json.loads(line) for line in run(WORK / "barred", "--score", "--json", *WHERE, stdin=given, ok=False)[1].splitlines()]
checks.that(objects[0]["results"][0]["score"] is None and "error" in objects[1] and objects[2]["results"][0]["score"] < -1.6, f"{objects}")
# As many beams as a model can have: their lists must fit what a GPU's kernel has.
compile_model(wide, WORK / "broad", "--target", TARGET, "--random-weights", 3, "--limit=beam=1024", "--limit=batch=1")
for beam in (1, 40):
    here, there = (searched(WORK / "broad", few[:2], "--beam", beam, "--max-length", 3, *where) for where in (WHERE, ["--device", "cpu"]))
    checks.that(alike(here, there) and here, f"{beam} beams of 1024: {here}, but {there} on the CPU")
if DEVICE:
    checks.end()


def without_scores(*options):
    return run(bench, "--ids", *options, stdin="".join(line + "\n" for line in lines))[1]


checks.that(without_scores() == without_scores("--no-repeat-ngram", "1000"), "whole rows of logits give other results than a screen")
# A token that ends results is not printed.
answer = searched(bench, lines[:1], "--ids")[0][0][1].split()
checks.that(searched(bench, lines[:1], "--ids", "--end", answer[3])[0][0][1].split() == answer[:answer.index(answer[3])], "a token that ends results")

status, _, err = run(WORK / "barred", "--alternatives", "1", stdin="3\n", ok=False)
checks.that(status == 2 and "alternatives need a model that is compiled for 2 beams or more" in err, f"{status} {err}")
checks.that("--alternatives" not in run(WORK / "barred", "--help")[1], "alternatives of a model with one beam")


def refused(message, *options, status=2):
    got, _, err = run(program, *options, stdin="abc\n", ok=False)
    checks.that(got == status and message in err, f"{options}: status {got}, {err!r}")


refused("--top-k: it needs --sample", "--top-k", "3")
refused("--seed: it needs --sample", "--seed=3")
refused("the temperature must be between 0.01 and 100, not 0", "--sample", "--temperature", "0")
refused("how probable a drawn token is at least, of the likeliest, must be between 0 and 1, not 1.5", "--sample", "--min-p", "1.5")
refused("--min-p: it needs --sample", "--min-p", "0.1")
refused("the share of probability to draw from must be above 0 and at most 1, not 1.5", "--sample", "--top-p", "1.5")
refused("the number of beams must be between 1 and 4, not 5", "--beam", "5")
refused("--no-repeat-ngram must be at least 1, not 0", "--no-repeat-ngram", "0")
got, _, err = run(bench, "--ids", "--prefixes", stdin="5 6\t9999\n", ok=False)
checks.that(got == 1 and "line 1: its prefix: there is no token 9999; the last is 4999" in err, f"an unknown token in a prefix: {got} {err!r}")
refused("--stream shows one result as it comes", "--stream", "--n-best", "2")
refused("a token that ends results must be between 0 and", "--end", "999999")
refused("--prefix: 'XYZ' is not in the target vocabulary", "--prefix", "XYZ")
refused("--score prints the scores of what stands behind the lines' tabs", "--score", "--n-best", "2")
refused("alone: not with --beam", "--score", "--beam", "2")
refused("alone: not with --stream", "--score", "--stream")
refused("alternatives are searched for", "--alternatives", "2", "--sample")
refused("--alternatives says how many results there are: not with --beam", "--beam", "4", "--alternatives", "2")
refused("the number of alternatives (at most the model's beams) must be between 1 and 4, not 5", "--alternatives", "5")
refused("line 1: it has no tab, behind which its target would stand", "--score", status=1)
refused("--prefix and --prefixes exclude each other", "--prefix", "K", "--prefixes")
refused("line 1: its prefix has 400 tokens; at most 399 are possible", "--prefix", "K " * 400, status=1)
checks.end()
