"""Queries that are the same for all sentences, rows that are repeated for each, sums over layers and statistics over positions: results are the
interpreter's, those of equivalent descriptions, and the same bits for a sentence alone; searches agree with the logits of whole results.
"""
import random
import struct

from common import HERE, Checks, WORK, available_isas, compile_model, distance, packed, results, run

POOL = """
block Part(d: int) {
  attention: MultiheadAttention(d, 4)
  norm: LayerNorm(d)
  apply(x: f32[B, Q, d], y: f32[B, K, d], mask = none) = norm(x + attention(x, y, y, mask))
}
model Pool(d = 32, rows = 6) {
  embed: Embedding(50, d)
  param inducing: f32[rows, d]
  param seed: f32[1, d]
  down, up, pool: Part(d)
  entry classify(ids: token[B, S <= 40]) -> parts, whole {
    x = embed(ids)
    keep = keys(ids != 0)
    parts = up(x, down(%s, x, keep))
    whole = pool(%s, parts, keep)[:, 0]
  }
  predict(classify, whole, pad = 0)
}
"""
DIRECT = """
model Direct(d = 32, rows = 6) {
  embed: Embedding(50, d)
  param latents: f32[rows, d]
  q, k: Linear(d, d)
  split4(x) = split(x, 4)
  entry run(ids: token[B, S <= 40]) -> learned, placed, masked, last {
    x = embed(ids)
    keep = ids != 0
    learned = merge(attend(split4(q(LATENTS)), split4(k(x)), split4(x), keys(keep)))
    placed = merge(attend(split4(PLACES), split4(k(x)), split4(x), causal & keys(keep)))
    one, two = split4(LATENTS), split4(PLACES)
    masked = merge(attend(one, two, two, rearrange(keep, "b s -> b 1 s")))
    last = merge(attend(split4(LATENTS), two, split4(x), keys(keep), bias = (i, j) -> -0.1 * j))
  }
}
"""
POOLED = """
model Pooled(d = 32) {
  embed: Embedding(50, d)
  entry classify(ids: token[B, S <= 40]) -> mean, largest {
    x, keep = embed(ids), ids != 0
    columns, real = rearrange(x, "B S d -> B d S"), rearrange(keep, "B S -> B 1 S")
    mean = rearrange(rowsum(where(real, columns, 0)) / rowsum(float(real)), "B d 1 -> B d")
    largest = rearrange(rowmax(where(real, columns, -inf)), "B d 1 -> B d")
  }
  predict(classify, mean, pad = 0)
}
"""
SUMS = """
model Sums(d = 32) {
  embed: Embedding(50, d)
  layers: [Linear(d, d) * 3]
  attention: [MultiHeadAttention(d, 4) * 3]
  entry run(ids: token[B, S <= 40]) -> sum, best, looks, row {
    x, sum, best, looks, row = embed(ids), %s
    for layer, a in zip(layers, attention) {
      looks = looks + a.probabilities(x, x, causal)[:, 2]
      x = x + a(x, x, x, causal)
      row = row + layer.weight[0]
      sum = sum + relu(layer(x))
      best = max(best, layer(x))
    }
  }
}
"""
SEARCH = """
model Search(d = 32, rows = 6) {
  src_embed, tgt_embed: Embedding(50, d)
  param latents: f32[rows, d]
  read, back, cross: MultiHeadAttention(d, 4)
  layers: [MultiHeadAttention(d, 4) * 3]
  place: Linear(d, d)
  norm: LayerNorm(d)
  out: Linear(d, 50)
  entry encode(src: token[B, S <= 40]) -> memory {
    x = src_embed(src)
    h = read(rearrange(latents, "m d -> B m d", B = B), x, x, keys(src != 0))
    h = merge(attend(split(rearrange(latents, "m d -> 1 m d"), 4), split(h, 4), split(h, 4)))
    memory = x + back(x, h, h)
  }
  entry decode(tgt: token[B, T <= 40], memory, src) -> logits {
    x = tgt_embed(tgt) + sinusoid(d)[positions(T)]
    sum = 0
    for layer in layers { x = x + layer(x, x, x, causal); sum = sum + relu(x) }
    q = split(rearrange(place(sinusoid(d)[positions(T)]), "t d -> 1 t d"), 4)
    x = sum + merge(attend(q, split(sum, 4), split(x, 4), causal))
    logits = out(norm(x + 4 * cross(x, memory, memory, keys(src != 0))))
  }
  generate(encode, decode, start = 1, end = 2, pad = 0, max_length = 12)
}
"""
checks, rng = Checks(), random.Random(4)


def one(rows):
    return f"rearrange({rows}, \"m d -> 1 m d\")"


def many(rows):
    return f"rearrange({rows}, \"m d -> B m d\", B = B)"


def tokens(*rows):
    longest = max(map(len, rows))
    values = [token for row in rows for token in [*row, *[0] * (longest - len(row))]]
    return packed("I64", [len(rows), longest], values)


def compiled(name, text, *options):
    (WORK / "description.xf").write_text(text, encoding="utf-8")
    compile_model(WORK / "description.xf", WORK / name, "--random-weights", 3, "--target", "cpu,cuda", *options, isas=HERE)
    return WORK / name


def padding_cut(tensor, row, length, padded):
    """A row of a result without the sentence's padding, in results with an axis of positions."""
    _, shape, content = tensor
    values = struct.unpack(f"<{len(content) // 4}f", content)
    size = len(values) // shape[0]
    values = values[row * size:(row + 1) * size]
    for axis in (1, 2):
        if len(shape) > axis and shape[axis] == padded:
            inner = 1
            for extent in shape[axis + 1:]:
                inner *= extent
            values = [v for i, v in enumerate(values) if i // inner % padded < length]
    return list(values)


def check(name, text, same=None):
    """`same`: an equivalent description."""
    program, sentences = compiled(name, text), [[rng.randrange(1, 50) for _ in range(n)] for n in (17, 9, 2)]
    inputs = {"ids": tokens(*sentences)}
    want = results(program, inputs, "--reference")
    runs = [["--device", "cpu", "--isa", isa, "--threads", threads] for isa in available_isas() for threads in (1, 3)] + [["--device", "emulator"]]
    for options in runs:
        got = results(program, inputs, *options)
        checks.that(not isinstance(got, str), f"{name}, {options}: {got}")
        for output, value in want.items():
            checks.that(distance(got[output], value) < 1e-5, f"{name}, {options}: {output} is {distance(got[output], value)} off")
    for row, sentence in enumerate(sentences):
        for device in ("cpu", "emulator"):
            together = results(program, inputs, "--device", device)
            alone = results(program, {"ids": tokens(sentence)}, "--device", device)
            for output, value in together.items():
                if output != "row":
                    cut = [padding_cut(t, r, len(sentence), n) for t, r, n in ((value, row, 17), (alone[output], 0, len(sentence)))]
                    checks.that(cut[0] == cut[1], f"{name}, {device}: {output} of row {row} has other bits alone")
    if same:
        other = results(compiled("same", same), inputs, "--reference")
        for output, value in want.items():
            checks.that(distance(other[output], value) < 1e-6, f"{name}: {output} differs from what the same says in other words")


def check_search():
    program = compiled("search", SEARCH)
    sources = [[rng.randrange(3, 50) for _ in range(rng.randrange(1, 30))] for _ in range(12)]
    lines = "".join(" ".join(map(str, source)) + "\n" for source in sources)
    for beam in (1, 3):
        want = run(program, "--beam", beam, "--batch", 1, "--device", "cpu", stdin=lines)[1]
        for options in (["--threads", 3], ["--threads", 1], ["--isa", "baseline"], ["--device", "emulator"]):
            got = run(program, "--beam", beam, *(options if "--device" in options else [*options, "--device", "cpu"]), stdin=lines)[1]
            checks.that(got == want, f"search, beam {beam}, {options}: {got} instead of {want}")
    found = [[int(word) for word in line.split()] for line in run(program, "--device", "cpu", stdin=lines)[1].splitlines()]
    checks.that(len(set(map(tuple, found))) > 4, f"search: results tell nothing: {found}")
    for source, result in zip(sources, found):
        read = [1, *result][:12]
        content = results(program, {"src": tokens(source), "tgt": tokens(read)}, "--reference")["logits"][2]
        logits = struct.unpack(f"<{50 * len(read)}f", content)
        for t in range(len(read)):
            row = logits[50 * t:50 * t + 50]
            token = (result + [2])[t]
            checks.that(row[token] >= max(row) - 1e-4, f"search: token {t} of {result} is not the best")


check("pool", POOL % (many("inducing"), many("seed")), POOL % ("inducing + 0 * x[:, 0:1]", "seed + 0 * x[:, 0:1]"))
direct = DIRECT.replace("PLACES", one("sinusoid(d)[positions(S)]"))
check("direct", direct.replace("LATENTS", one("latents")), direct.replace("LATENTS", "(latents + 0 * x[:, 0:1])"))
check("pooled", POOLED)
zero = "0 * embed(ids), 0 * embed(ids) - inf, 0 * attention[0].probabilities(embed(ids), embed(ids))[:, 0], 0 * layers[0].weight[0]"
check("sums", SUMS % "0, -inf, 0, 0", SUMS % zero)
check_search()
checks.end()
