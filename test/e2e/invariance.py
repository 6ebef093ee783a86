"""The bits of an answer do not depend on the batch, on padding or on the number of threads (promise P2)."""
from common import Checks, MODELS, WORK, available_isas, compile_g2p, run

program = compile_g2p(WORK / "g2p")
words = [line.split("\t")[0] for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:60]
words += ["a", "antidisestablishmentarianism", "o'clock"]
lines = "".join(word + "\n" for word in words)
checks = Checks()
# Six digits of the score are printed; the vectors of an encoder-only model below show all of theirs.
for isa in available_isas():
    for search in ([], ["--beam", "4", "--n-best", "4"]):
        options = [*search, "--scores", "--isa", isa]
        alone = []
        for number, word in enumerate(words[:12] + words[-3:]):
            alone.append(run(program, *options, "--threads", 1, stdin=word + "\n")[1].replace("1\t", "", 1))
        together = run(program, *options, "--threads", 1, stdin=lines)[1]
        for threads in (2, 3):
            checks.that(run(program, *options, "--threads", threads, stdin=lines)[1] == together, f"{isa}, {threads} threads differ")
        for batch in (1, 3):
            checks.that(run(program, *options, "--batch", batch, stdin=lines)[1] == together, f"{isa}, batches of {batch} differ")
        first = {}
        for line in together.splitlines():
            number, rest = line.split("\t", 1)
            first.setdefault(int(number), rest)
        numbers = [*range(1, 13), *range(len(words) - 2, len(words) + 1)]
        for number, text in zip(numbers, alone):
            checks.that(text.splitlines()[0] == first[number], f"{isa}: {words[number - 1]} alone differs")
checks.end()
