"""Infinities and NaN of one sentence do not affect others: these have the same results as alone, in a batch, if they are padded, and in a
slot that such a sentence has left."""
from common import Checks, WORK, compile_model, run

checks = Checks()

# Token 5 divides by zero: attention's keys and values become NaN.
SEARCHED = """block At(d: int) {
  q, k, v, o: Linear(d, d)
  apply(x: f32[B, T, d], y: f32[B, S, d], mask) = o(merge(attend(split(q(x), 2), split(k(y), 2), split(v(y), 2), mask)))
}
model M(d = 16) {
  e, g: Embedding(30, d)
  a, s, c: At(d)
  out: Linear(d, 30)
  entry encode(src: token[B, S <= 64]) -> x {
    x = e(src) / rearrange(float(src - 5), "B S -> B S 1")
    x = x + a(x, x, keys(src != 0))
  }
  entry decode(tgt: token[B, T <= 64], x, src) -> logits {
    y = g(tgt)
    y = y + s(y, y, causal)
    y = y + c(y, x, keys(src != 0))
    logits = out(y)
  }
  generate(encode, decode, start = 1, end = 2, pad = 0, max_length = 6)
}
"""
# A query sees keys from its own position on: in a padded batch, padding sees none, and becomes NaN. `delay` keeps sentences from being
# packed.
TAGGED = """mask from_here(i, j) = j >= i
block L(d: int) {
  q, k, v, o: Linear(d, d)
  apply(x: f32[B, S, d], mask) = x + o(merge(attend(split(q(x), 2), split(k(x), 2), split(v(x), 2), mask))) + 0.1 * delay(x, S)
}
model M(d = 16) {
  e: Embedding(30, d)
  ls: [L(d) * 2]
  out: Linear(d, 3)
  entry tag(tokens: token[B, S <= 64]) -> logits {
    x = e(tokens)
    for l in ls { x = l(x, keys(tokens != 0) & from_here) }
    logits = out(x)
  }
  predict(tag, logits, labels = false, pad = 0)
}
"""
LINES = ["5 " * 18 + "5", "3 4 6", "3", "7 8 9 5 5", "3 4 6", "6 7", "7 8 9 9 9 9 9", "8"]


def confirm(name, text, lines, spoilt):
    """`spoilt`: the number of lines that fail."""
    (WORK / "model.xf").write_text(text)
    for kind in ("f32", "bf16"):
        program = WORK / name
        compile_model(WORK / "model.xf", program, "--random-weights", 1, "--type", kind, "--target", "cpu,cuda")
        for device in ("cpu", "emulator"):
            def outputs(lines, *more):
                status, out, err = run(program, *more, "--device", device, stdin="".join(line + "\n" for line in lines), ok=False)
                checks.that(status in (0, 1) and (status == 0 or "infinite or not numbers" in err), f"{name}: {status} {err}")
                return out.splitlines()

            alone = [outputs([line])[0] for line in lines]
            checks.that(sum(not line for line in alone) == spoilt, f"{name} {kind} {device}: {alone}")
            checks.that("nan" not in " ".join(alone), f"{name} {kind} {device}: {alone}")
            for batch in (2, 8):
                got = outputs(lines, "--batch", batch)
                checks.that(got == alone, f"{name} {kind} {device}, batches of {batch}: {got}, alone {alone}")


confirm("searched", SEARCHED, LINES, 2)
confirm("tagged", TAGGED, ["3 4 5", "5 6 7 8 9 3 4 5 6 7 8 9 3 4 5 6 7 8 9 20", "3", "9 8 9 8 9"], 0)
checks.end()
