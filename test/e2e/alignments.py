"""Alignments of results with their sources: a search has those of the model's own entry, called by name, in any batch, and prints them.

alignments.py [DEVICE]: on a device, the same links as on the CPU.
"""
import json
import sys

from common import MODELS, WORK, Checks, compile_model, kept_g2p, run
from session import session_of

DEVICE = sys.argv[1] if len(sys.argv) > 1 else None
checks = Checks()
words = ["hello", "knight", "philosophy", "a", "xylophone", "strengths"]
lines = "".join(word + "\n" for word in words)


def covered_scores(session, sentences, turned):
    """Scores with a coverage penalty: of sentences as rows of tokens, and of the same, padded, as the model's own input."""
    alone, longest = session.generate(sentences, coverage_penalty=0.7), max(map(len, sentences))
    padded = [sentence + [0] * (longest - len(sentence)) for sentence in sentences]
    source = [list(row) for row in zip(*padded)] if turned else padded
    together = session.generate_from({"src": source}, len(sentences), coverage_penalty=0.7)
    return [[result.score for result, in side] for side in (alone, together)]


def aligned(session, sentences, batch):
    """For each sentence, three results as (tokens, rows of weights)."""
    found = session.generate(sentences, alignments=True, beam=3, n_best=3, batch=batch)
    return [[(result.tokens, result.alignment.tolist()) for result in results] for results in found]


def confirm(title, path, sentences, start, sequence_first=False):
    """A search's weights are the entry's, bit for bit, whatever else is in the batch."""
    found = aligned(session_of(path, 1), sentences, 1)
    for threads, batch in ((1, 0), (2, 0), (3, 2)):
        checks.that(aligned(session_of(path, threads), sentences, batch) == found,
                    f"{title}: other weights with {threads} threads, batch {batch}")
    own = session_of(path, 2)
    for sentence, results in zip(sentences, found):
        length = len(sentence)

        def turned(values):
            return [[value] for value in values] if sequence_first else [values]

        memory = own.run("encode", {"src": turned(sentence)})["memory"]
        for tokens, rows in results:
            inputs = {"tgt": turned([start, *tokens[:-1]]), "memory": memory, "src": turned(sentence)}
            alignment = own.run("align", inputs)["alignment"].tolist()
            wanted = [row for row, in alignment] if sequence_first else alignment[0]
            checks.that([row[:length] for row in rows] == wanted, f"{title}: {rows} instead of {wanted}")


if DEVICE:
    program = kept_g2p(target="cpu,cuda")
    for how in (["--beam", 2], ["--coverage-penalty", 0.4, "--n-best", 2]):
        want, got = (run(program, "--alignments", *how, "--device", device, stdin="".join(word + "\n" for word in words[:3]))[1]
                     for device in ("cpu", DEVICE))
        texts = [[line.split("\t")[-2:] for line in side.splitlines()] for side in (got, want)]
        checks.that(texts[0] == texts[1], f"{how}: {got} on {DEVICE}, but {want} on the CPU")
    checks.end()

for kind in ("f32", "bf16", "int8"):
    program = kept_g2p(kind)
    letters = (MODELS / "g2p" / "source.vocab").read_text(encoding="utf-8").splitlines()
    confirm(f"g2p {kind}", program, [[letters.index(letter) for letter in word] + [2] for word in words], 1)
    # Letters that are heard have links; silent ones have none.
    text = dict(zip(words, run(program, "--alignments", stdin=lines)[1].splitlines()))
    checks.that(text["knight"] == "N AY1 T\t1-0 2-1 5-2", f"{kind}: {text['knight']}")
    checks.that(text["hello"] == "HH EH1 L OW0\t0-0 1-1 2-2 4-3", f"{kind}: {text['hello']}")
    for company in (["--batch", 1], ["--threads", 3], ["--isa", "baseline"]):
        got = dict(zip(words, run(program, "--alignments", *company, stdin=lines)[1].splitlines()))
        checks.that(got["knight"] == text["knight"], f"{kind} {company}: {got['knight']}")
    for line, answer in zip(words, run(program, "--alignments", "--json", stdin=lines)[1].splitlines()):
        links = " ".join(f"{s}-{t}" for s, t in json.loads(answer)["results"][0]["alignment"])
        checks.that(f"{json.loads(answer)['results'][0]['text']}\t{links}" == text[line], f"{kind}: {answer}")

# A result that leaves out a part of its source scores less.
plain, covered = (run(program, "--n-best", 4, *how, stdin=lines)[1].splitlines() for how in ([], ["--coverage-penalty", 1]))
checks.that(all(float(b.split("\t")[1]) < float(a.split("\t")[1]) for a, b in zip(plain[::4], covered[::4])), "coverage adds to scores")

# Sources and targets of layout [positions, batch].
turned = WORK / "turned.xf"
turned.write_text("""model Turned(d = 16) {
  source, target: Embedding(30, d)
  cross: SequenceFirstAttention(d, 2)
  entry encode(src: token[S, B]) -> memory = source(src)
  entry decode(tgt: token[T, B], memory, src) -> logits = (target(tgt) + cross(target(tgt), memory, memory, keys_first(src != 0))) @ target.weight.T
  entry align(tgt, memory, src) -> alignment = rearrange(cross.probabilities(target(tgt), memory, keys_first(src != 0))[:, 1], "B T S -> T B S")
  generate(encode, decode, align = align, start = 1, end = 2, pad = 0, max_length = 12)
}
""")
compile_model(turned, WORK / "turned", "--random-weights", 5)
confirm("sequence first", WORK / "turned", [[3 + (7 * i + j * j) % 27 for j in range(i + 1)] for i in range(9)], 1, sequence_first=True)


# Tokens may be [positions, batch] where the tensors computed from them are not. With two tokens, a result leaves out parts of its source.
mixed = WORK / "mixed.xf"
mixed.write_text("""model Mixed(d = 16) {
  source, target: Embedding(30, d)
  cross: MultiHeadAttention(d, 2)
  turn(x) = rearrange(x, "T B d -> B T d")
  entry encode(src: token[S, B]) -> memory = turn(source(src))
  entry decode(tgt: token[T, B], memory) -> logits = rearrange(cross(turn(target(tgt)), memory, memory), "B T d -> T B d") @ target.weight.T
  entry align(tgt, memory) -> alignment = cross.probabilities(turn(target(tgt)), memory)[:, 0]
  generate(encode, decode, align = align, start = 1, end = 2, pad = 0, max_length = 2)
}
""")
compile_model(mixed, WORK / "mixed", "--random-weights", 5)
for sentences in ([[5, 6, 7, 8], [9, 0, 11, 12]], [[5, 0, 7], [0, 8, 9], [4, 4, 3]]):
    alone, together = covered_scores(session_of(WORK / "mixed", 1), sentences, turned=True)
    checks.that(alone == together, f"[positions, batch]: {together} with the caller's layout, {alone} without")

status, _, err = run(WORK / "turned", "--alignments", "--stream", stdin="5\n", ok=False)
checks.that(status == 2 and "--stream shows one result as it comes" in err, err)
compile_model(MODELS / "seed3" / "seed3.xf", WORK / "seed3", "--random-weights", 5, "--config", MODELS / "seed3" / "config.json")
status, _, err = run(WORK / "seed3", "--alignments", stdin="5\n", ok=False)
checks.that(status == 2 and "this model does not say how its results are aligned with their source" in err, err)
checks.end()
