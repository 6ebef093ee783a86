"""Models without a source continue prompts. If the model has a start token, a prompt that does not begin with it gets it."""
from common import Checks, WORK, compile_model, run

DESCRIPTION = """block Layer(d: int) {
  attention: MultiHeadAttention(d, 2)
  norm: LayerNorm(d)
  apply(x: f32[B, T, d]) = norm(x + attention(x, x, x, causal))
}
model Prompts(d = 16, vocab = 20) {
  embed: Embedding(vocab, d)
  layers: [Layer(d) * 2]
  out: Linear(d, vocab)
  entry decode(tokens: token[B, T <= 12]) -> logits {
    x = embed(tokens) + sinusoid(d)[positions(T)]
    for layer in layers { x = layer(x) }
    logits = out(x)
  }
  generate(decode = decode, %send = %e, max_length = 6)
}
"""

checks = Checks()
description = WORK / "prompts.xf"


def program(start, end="2"):
    description.write_text(DESCRIPTION.replace("%s", f"start = {start}, " if start else "").replace("%e", end))
    output = WORK / f"start-{start}{end}"
    compile_model(description, output, "--random-weights", 4)
    return output


def continued(which, *lines, options=()):
    return run(which, "--scores", *options, stdin="".join(line + "\n" for line in lines))[1]


none, one, five = program(None), program(1), program(5)
for options in ((), ("--beam", 3, "--n-best", 2)):
    checks.that(continued(none, "5 6 7", options=options) == continued(five, "5 6 7", options=options), "a prompt that is taken as it is")
    checks.that(continued(none, "1 5 6 7", options=options) == continued(one, "5 6 7", options=options), "a prompt that gets its start token")
    checks.that(continued(one, "1 5 6 7", options=options) == continued(one, "5 6 7", options=options), "a prompt that has its start token")
several = program(None, "[2, 7, 9]")
for options in ((), ("--beam", 3, "--n-best", 2), ("--min-length", 2)):
    for prompt in ("5 6 7", "3", "8 4", "11 12 13 14"):
        checks.that(continued(several, prompt, options=options) == continued(none, prompt, options=(*options, "--end", "7,9")), f"several ends {options} {prompt}")
description.write_text(DESCRIPTION.replace("T <= 12", "T <= 300").replace("%s", "").replace("%e", "2"))
compile_model(description, WORK / "long", "--random-weights", 4)
long = [" ".join(str(3 + (k * k + row) % 17) for k in range(200 + row)) for row in range(8)]  # few prompts are read in larger pieces than many
unnumbered = lambda text: [line.split("\t")[1:] for line in text.splitlines()]
together = unnumbered(continued(WORK / "long", *long, options=("--beam", 2)))
for threads in (1, 2):
    alone = unnumbered("".join(continued(WORK / "long", line, options=("--beam", 2, "--threads", threads)) for line in long))
    checks.that(alone == together and len(alone) == 8, f"long prompts alone and together, {threads} threads")
status, out, err = run(none, stdin="\n5 6\n", ok=False)
checks.that(status == 1 and len(out.splitlines()) == 2 and not out.splitlines()[0] and "1" in err, f"an empty prompt: {status} {out!r} {err!r}")
description.write_text("model M() {\n  e: Embedding(9, 8)\n  entry encode(s: token[B, S <= 9]) -> m = e(s)\n"
                       "  entry decode(t: token[B, T <= 9], m) -> logits = e(t) @ e.weight.T\n  generate(encode, decode, end = 2)\n}\n")
status, _, err = compile_model(description, WORK / "x", "--random-weights", 1, ok=False)
checks.that(status == 1 and "generate needs 'start'" in err, f"a source without a start token: {err}")
checks.end()
