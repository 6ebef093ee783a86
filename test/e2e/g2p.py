"""The demo model: tokens and scores as PyTorch's, greedy and beam, and its error rate on the whole test list."""
from common import MODELS, Checks, kept_g2p, load, run

folder = MODELS / "g2p"
program = kept_g2p()
expected = load(folder / "expected.json")
items = expected["items"]
words = "".join(item["word"] + "\n" for item in items)
checks = Checks()


def results(text):
    """line number -> [(score, text)]"""
    lines = {}
    for line in text.splitlines():
        number, score, result = line.split("\t")
        lines.setdefault(int(number), []).append((float(score), result))
    return lines


greedy = results(run(program, "--scores", stdin=words)[1])
for number, item in enumerate(items, 1):
    (score, text), = greedy[number]
    want = item["greedy"]
    if want["closest_decision"] >= 1e-4:
        checks.that(text == want["text"], f"{item['word']}: {text}, expected {want['text']}")
        checks.that(abs(score - want["score"]) < 2e-5, f"{item['word']}: score {score}, expected {want['score']}")

beam = results(run(program, "--beam", 4, "--n-best", 4, stdin=words)[1])
for number, item in enumerate(items, 1):
    got, want = beam[number], item["beam4"]
    same = len(got) == len(want) and all(t == w["text"] and abs(s - w["score"]) < 2e-5 for (s, t), w in zip(got, want))
    checks.that(same, f"{item['word']}: beams {got}, expected {want}")

test = [line.rstrip("\n").split("\t") for line in open(folder / "test.tsv", encoding="utf-8")]
answers = run(program, stdin="".join(t[0] + "\n" for t in test))[1].splitlines()
checks.that(len(answers) == len(test), f"{len(answers)} lines for {len(test)} words")
errors = sum(answer not in t[1:] for answer, t in zip(answers, test)) / len(test)
print(f"word error rate {errors:.4f}")
checks.that(abs(errors - 0.3070) < 2e-4, f"word error rate {errors:.4f}, expected 0.3070")
checks.end()
