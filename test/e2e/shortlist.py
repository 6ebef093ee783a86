"""Shortlists: a full one changes nothing; a narrow one gives the same results as suppressing all other tokens, whatever the batch.

shortlist.py [DEVICE]: on a device, fewer sentences and the same results as on the CPU.
"""
import random
import sys

from common import MODELS, WORK, Checks, alike, compile_model, kept_g2p, run, searched, sets

DEVICE = sys.argv[1] if len(sys.argv) > 1 else None
TARGET = "cpu,cuda" if DEVICE else "cpu"
rng = random.Random(5)
checks = Checks()
table = WORK / "table"
SEARCHES = ([], ["--beam", "4", "--n-best", "4"])


def write_table(lists, always, name=str, encoding="utf-8"):
    """lists: source token -> target tokens; `name` returns a target token's text."""
    with open(table, "w", encoding=encoding) as file:
        file.write("\t" + " ".join(map(name, always)) + "\n\n")
        for source, targets in lists.items():
            half = len(targets) // 2  # a source token may have several lines
            for part in (targets[:half], targets[half:]):
                file.write(f"{source}\t{' '.join(map(name, part))}\n")


def confirm_device(title, program, lines, sources, vocabulary, options, name=str):
    """Like confirm(), but checks that the device has the CPU's results."""
    lines, sources = lines[:4], sources[:4]
    lists = {token: rng.sample(range(3, vocabulary), 4) for line in sources for token in line}
    write_table(lists, rng.sample(range(3, vocabulary), 3), name)
    for search in SEARCHES:
        for more in ([], ["--shortlist", table], ["--shortlist", table, "--min-length", "4", "--batch", "2"]):
            want, got = (searched(program, lines, *options, *search, *more, "--device", where) for where in ("cpu", DEVICE))
            checks.that(alike(got, want), f"{title} {search} {more}: {got} on {DEVICE}, but {want} on the CPU")


def confirm(title, program, lines, sources, vocabulary, end, options, name=str):
    """sources: each line's source tokens as the table names them."""
    if DEVICE:
        return confirm_device(title, program, lines, sources, vocabulary, options, name)
    tokens = sorted({token for line in sources for token in line})
    write_table({}, range(vocabulary), name, encoding="utf-8-sig")  # with a byte order mark
    for search in SEARCHES:
        full = searched(program, lines, *options, *search, "--shortlist", table)
        checks.that(full == searched(program, lines, *options, *search), f"{title} {search}: a full list changes results")

    always = rng.sample(range(3, vocabulary), 3)
    lists = {token: rng.sample(range(3, vocabulary), 4) for token in tokens}
    write_table(lists, always, name)
    for search in SEARCHES:
        got = searched(program, lines, *options, *search, "--shortlist", table)
        for line, source, result in zip(lines, sources, got):
            allowed = {end, *always, *[target for token in source for target in lists[token]]}
            others = ",".join(str(v) for v in range(vocabulary) if v not in allowed)
            want, = searched(program, [line], *options, *search, "--suppress", others)
            checks.that(result == want, f"{title} {search}: {line}: {result}, but {want} with the other tokens suppressed")
        for company in (["--batch", "1"], ["--batch", "3"], ["--threads", "2"], ["--threads", "3"]):
            other = searched(program, lines, *options, *search, "--shortlist", table, *company)
            checks.that(other == got, f"{title} {search}: {company} changes results")
        short = searched(program, lines, *options, *search, "--shortlist", table, "--min-length", "4", "--suppress", str(always[0]))
        for result in short:
            for answer in result:
                checks.that(name(always[0]) not in answer[1].split(), f"{title}: a suppressed token is chosen: {answer}")
    return got


folder = MODELS / "g2p"
phonemes = (folder / "target.vocab").read_text(encoding="utf-8").splitlines()
words = [line.split("\t")[0] for line in open(folder / "test.tsv", encoding="utf-8")][:30]
g2p = kept_g2p(target=TARGET)
end = phonemes.index("</s>")
confirm("g2p", g2p, words, [list(word) for word in words], len(phonemes), end, [], lambda v: phonemes[v])

# A vocabulary of many panels, most of which are not needed.
bench = WORK / "bench"
compile_model(MODELS / "bench" / "bench.xf", bench, "--target", TARGET, "--random-weights", 4, "--limit=batch=8", "--limit=target=24",
              *sets(d_model=32, heads=2, ffn=48, enc_layers=1, dec_layers=2, vocab=1500))
lines = [" ".join(str(rng.randrange(3, 1500)) for _ in range(rng.randrange(3, 9))) for _ in range(20)]
confirm("bench", bench, lines, [line.split() for line in lines], 1500, 1, ["--ids"])


if DEVICE:
    checks.end()


def refused(text, message, *options, program=g2p):
    table.write_text(text, encoding="utf-8")
    status, _, err = run(program, "--shortlist", table, *options, stdin="abc\n", ok=False)
    checks.that(status == 2 and message in err, f"{text!r}: status {status}, {err!r}")


refused("a AA0\n", ":1: no tab stands between the source token and its targets")
refused("\tAA0\na\tAA0 XYZ\n", ":2: the model has no target token 'XYZ'")
refused("å\tAA0\n", ":1: the model has no source token 'å'")
refused("5\t1500\n", ":1: the model has no target token '1500'", "--ids", program=bench)
refused("5\t-1\n", ":1: the model has no target token '-1'", "--ids", program=bench)
status, _, err = run(g2p, "--shortlist", WORK / "none", stdin="abc\n", ok=False)
checks.that(status == 1 and "none: No such file" in err, f"a file that is not there: status {status}, {err!r}")
checks.end()
