"""Tensors that are the same for all sentences are repeated for each: a token that is joined to them, and keys and values of attention, also in
a decoder's steps."""
import math
import random

from common import Checks, WORK, compile_model, packed, results, run

checks = Checks()
ENCODER = """model M(d = 16) {
  param first: f32[1, 1, d]
  param extra: f32[1, 5, d]
  entry run(x: f32[B, 9, d], z: f32[B, S, d]) -> joined, also_joined, seen, also_seen {
    joined = concat(first, x, axis = 1)
    also_joined = concat(x[:, 0:1] * 0 + first, x, axis = 1)
    seen = merge(attend(split(z, 2), split(extra, 2), split(extra, 2)))
    also_seen = merge(attend(split(z, 2), split(x[:, 0:1] * 0 + extra, 2), split(x[:, 0:1] * 0 + extra, 2)))
  }
}
"""
SEARCHED = """model M(d = 16, vocab = 30) {
  e, g: Embedding(vocab, d)
  param extra: f32[1, 5, d]
  out: Linear(d, vocab)
  entry encode(src: token[B, S <= 20]) -> memory = e(src)[:, 0:1] * 0 + extra
  entry decode(tgt: token[B, T <= 20], memory) -> logits {
    x = 9 * g(tgt)
    x = x + merge(attend(split(x, 2), split(%(keys)s, 2), split(%(keys)s, 2))) %(more)s
    logits = out(x)
  }
  generate(encode, decode, start = 1, end = 2, pad = 0, max_length = 9)
}
"""


def numbers(shape):
    return packed("F32", shape, [random.uniform(-1, 1) for _ in range(math.prod(shape))])


random.seed(1)
(WORK / "model.xf").write_text(ENCODER)
for kind in ("f32", "bf16", "int8"):
    compile_model(WORK / "model.xf", WORK / "model", "--random-weights", 1, "--type", kind, "--emit=model")
    for batch in (1, 3):
        got = results(WORK / "model", {"in.x": numbers((batch, 9, 16)), "in.z": numbers((batch, 7, 16))})
        checks.that(not isinstance(got, str) and got["joined"][1] == [batch, 10, 16], f"{kind}: {str(got)[:300]}")
        for name in ("joined", "seen"):
            checks.that(not isinstance(got, str) and got[name] == got["also_" + name], f"{kind}, {batch} sentences: {name} differs")

found = []
for device in ("cpu", "emulator"):
    for keys, more in (("memory", ""), ("extra", "+ 0 * rowsum(memory[:, 0:1])")):
        (WORK / "searched.xf").write_text(SEARCHED % {"keys": keys, "more": more})
        compile_model(WORK / "searched.xf", WORK / "searched", "--random-weights", 1, "--target", "cpu,cuda")
        found.append(run(WORK / "searched", "--ids", "--beam", 2, "--n-best", 2, "--device", device, stdin="3 4 5\n6\n7 8\n")[1])
checks.that(len(set(found)) == 1 and len(found[0].splitlines()) == 6, f"{found}")
checks.end()
