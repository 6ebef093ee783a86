"""Searches of models whose encoder takes features, not tokens, find the tokens of a greedy search that calls the entries by name.

features.py [DEVICE]: on a device, the same tokens as on the CPU.
"""
import random
import sys

from common import Checks, WORK, compile_model, run
from session import session_of

DEVICE = sys.argv[1] if len(sys.argv) > 1 else None
WIDTH, VOCABULARY, START, END, LONGEST = 8, 13, 1, 2, 9
DESCRIPTION = """model Speech(width = %(width)d, vocab = %(vocab)d, d = 32) {
  frames_in: Linear(width, d)
  target: Embedding(vocab, d)
  out: Linear(d, vocab)
  own: MultiHeadAttention(d, 4)
  cross: MultiHeadAttention(d, 4)
  entry encode(frames: f32[B, S <= 20, width], valid: bool[B, S <= 20]) -> memory = frames_in(frames) + sinusoid(d)[positions(S)]
  entry decode(tgt: token[B, T <= 20], memory, valid) -> logits {
    x = target(tgt) + sinusoid(d)[positions(T)]
    h = x + own(x, x, x, causal)
    h = h + cross(h, memory, memory, keys(valid))
    logits = out(h)
  }
  generate(encode, decode, start = %(start)d, end = %(end)d, max_length = %(longest)d)
}
"""
checks = Checks()
rng = random.Random(6)


def compiled(name, *options):
    settings = {"width": WIDTH, "vocab": VOCABULARY, "start": START, "end": END, "longest": LONGEST}
    (WORK / "speech.xf").write_text(DESCRIPTION % settings, encoding="utf-8")
    compile_model(WORK / "speech.xf", WORK / name, "--random-weights", 11, *options)
    return WORK / name


def search(session, sentences, beam=1):
    """The best result of each sentence; sentences are padded to one length."""
    longest = max(map(len, sentences))
    frames = [[s[i] if i < len(s) else [7.0] * WIDTH for i in range(longest)] for s in sentences]
    valid = [[i < len(s) for i in range(longest)] for s in sentences]
    return [results[0].tokens for results in session.generate_from({"frames": frames, "valid": valid}, beam=beam)]


def by_hand(session, frames):
    read, valid = [START], [[True] * len(frames)]
    memory = session.run("encode", {"frames": [frames], "valid": valid})["memory"]
    while len(read) <= LONGEST and read[-1] != END:
        logits = session.run("decode", {"tgt": [read], "memory": memory, "valid": valid})["logits"].tolist()[0][-1]
        read.append(logits.index(max(logits)))
    return read[1:]


sentences = [[[rng.uniform(-3, 3) for _ in range(WIDTH)] for _ in range(rng.randrange(1, 21))] for _ in range(8)]
if DEVICE:
    program = compiled("device", "--target", "cpu,cuda")
    checks.that(search(session_of(program, 1, DEVICE), sentences[:3]) == search(session_of(program, 1), sentences[:3]), f"other tokens on {DEVICE}")
    checks.end()

for kind in ("f32", "int8"):
    program = compiled("speech", "--type", kind)
    session = session_of(program, 1)
    want = [by_hand(session, sentence) for sentence in sentences]
    checks.that(len(set(map(tuple, want))) > 4, f"{kind}: results tell nothing: {want}")
    checks.that([search(session, [sentence])[0] for sentence in sentences] == want, f"{kind}: other tokens of single sentences")
    for threads in (1, 2):
        checks.that(search(session_of(program, threads), sentences) == want, f"{kind}: other tokens of sentences together, {threads} threads")
    together = search(session, sentences, 3)
    checks.that([search(session, [sentence], 3)[0] for sentence in sentences] == together, f"{kind}: other beams of sentences together")

status, _, errors = run(program, stdin="1 2 3\n", ok=False)
checks.that(status != 0 and "is not made of tokens" in errors, errors)
text = run(program, "--help")[1]
checks.that("is not made of tokens" in text and "--beam" not in text, text)
checks.end()
