"""A search over a large vocabulary computes few logits. A greedy search without scores has the same tokens as one with scores, on every instruction
set, with any batch and number of threads, and as the reference interpreter. Scores are nearly those of a search that computes all logits. With any
batch and number of threads they are the same to the bit, in f32 also on all instruction sets with fused operations."""
import json
import random

from common import BIN, HERE, Checks, MODELS, WORK, available_isas, compile_model, packed, run, write_safetensors

STEPS, VOCABULARY, END = 10, 5003, 1
rng = random.Random(11)
checks = Checks()
config = WORK / "config.json"
config.write_text(json.dumps(dict(kind="enc-dec", d_model=64, heads=4, ffn=128, enc_layers=1, dec_layers=2, vocab=VOCABULARY, norm="pre",
                                  activation="relu", positions="sinusoidal", embed_scale=True, embed_norm=False, eps=1e-5, pad=0,
                                  eos=END, start=0)))
sentences = [[rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(2, 12))] for _ in range(20)]
lines = "".join(" ".join(map(str, s)) + "\n" for s in sentences)
shortlist = WORK / "shortlist"
shortlist.write_text("\t" + " ".join(str(t) for t in range(3, VOCABULARY, 7)) + "\n")


def compiled(name, *options):
    path = WORK / name
    compile_model(MODELS / "bench" / "bench.xf", path, "--config", config, "--random-weights", 4, *options, isas=HERE)
    return path


def tokens(program, *options):
    """The tokens of each line, without what --scores prints before them."""
    out = run(program, "--ids", "--max-length", STEPS, *options, stdin=lines)[1]
    return [line.split("\t")[-1] for line in out.splitlines()]


def reference(model, want, kind):
    """Checks that the interpreter agrees; `kind` is its option for the precision."""
    ids = [s + [0] * (12 - len(s)) for s in sentences]
    rows = [[0] + [int(t) for t in row.split()] for row in want]
    rows = [(row + [END])[:STEPS + 1] + [0] * (STEPS - len(row)) for row in rows]
    tables = {"in.src": ids, "out.greedy": rows}
    write_safetensors(WORK / "io", {name: packed("I64", [len(table), len(table[0])], sum(table, [])) for name, table in tables.items()})
    status, out, err = run(BIN / "xf-run", model, "--golden", WORK / "io", kind, ok=False)
    checks.that(status == 0, f"{model.name} {kind}: {out}{err}")


for kind in ("f32", "bf16"):
    program = compiled(kind, "--type", kind)
    want = tokens(program, "--scores", "--isa", "avx2", "--threads", 1)
    checks.that(len(set(want)) > 5, f"{kind}: the sentences have the same results: {set(want)}")
    for isa in [[]] + [["--isa", isa] for isa in available_isas(kind)]:
        all_logits = tokens(program, "--scores", *isa)
        if kind == "f32":
            checks.that(all_logits == want, f"{kind} {isa}: other tokens than with AVX2")
        for options in ([], ["--threads", 1], ["--threads", 3], ["--batch", 1], ["--batch", 3, "--threads", 2]):
            checks.that(tokens(program, *isa, *options) == all_logits, f"{kind} {isa} {options}: other tokens without scores")
        for options in (["--suppress", all_logits[0].split()[0]], ["--shortlist", shortlist], ["--min-length", 5]):
            checks.that(tokens(program, *isa, *options) == tokens(program, "--scores", *isa, *options),
                        f"{kind} {isa} {options}: other tokens without scores")
    reference(compiled(kind + ".model", "--type", kind, "--emit=model"), tokens(program), "--reference=f32")


def confirm_scores(program, isas, most):
    """Scores of beams are the same in any batch and on all of these instruction sets, and near those of a search that computes all logits, as
    --no-repeat-ngram requires."""
    search = ["--ids", "--max-length", STEPS, "--beam", 4, "--n-best", 3]
    found = run(program, *search, *isas[0], stdin=lines)[1]
    for isa in isas:
        for options in ([], ["--threads", 1], ["--threads", 3], ["--batch", 1], ["--batch", 3, "--threads", 2]):
            checks.that(run(program, *search, *isa, *options, stdin=lines)[1] == found, f"{program.name} {isa} {options}: other scores")
    exact = run(program, *search, *isas[0], "--no-repeat-ngram", STEPS + 1, stdin=lines)[1]
    pairs = [(row.split("\t"), other.split("\t")) for row, other in zip(found.splitlines(), exact.splitlines(), strict=True)]
    checks.that(len(pairs) == 3 * len(sentences) and all(row[2] == other[2] for row, other in pairs), f"{program.name}: other beams without all logits")
    off = max(abs(float(row[1]) - float(other[1])) for row, other in pairs)
    checks.that(off < most, f"{program.name}: scores are {off} off")


confirm_scores(WORK / "f32", [["--isa", isa] for isa in available_isas() if isa != "baseline"], 1e-5)
for isa in [[]] + [["--isa", isa] for isa in available_isas("bf16")]:
    confirm_scores(WORK / "bf16", [isa], 3e-3)

# All this holds behind a cap, too.
gemma = json.loads((MODELS / "t5gemma" / "small" / "config.json").read_text())
for side in ("encoder", "decoder"):
    gemma[side]["vocab_size"] = VOCABULARY
(WORK / "gemma.json").write_text(json.dumps(gemma))
for name, options in (("capped", []), ("capped.mlir", ["--emit=fused"])):
    compile_model(MODELS / "t5gemma" / "t5gemma.xf", WORK / name, "--config", WORK / "gemma.json", "--random-weights", 4, *options,
                  isas=HERE)
checks.that(" screen(" in (WORK / "capped.mlir").read_text(), "a choice with a cap is not screened")
for isa in available_isas():
    few, whole = (tokens(WORK / "capped", "--isa", isa, *options) for options in ([], ["--no-repeat-ngram", STEPS + 1]))
    checks.that(few == whole and len(set(few)) > 5, f"capped, {isa}: {few}, but with all logits {whole}")
confirm_scores(WORK / "capped", [["--isa", isa] for isa in available_isas() if isa != "baseline"], 1e-5)

# In narrow rows, a row's rounding error has the direction of likely columns, unless that part is removed.
(WORK / "narrow.xf").write_text("""model Narrow(vocab = 5003, d = 16) {
  source: Embedding(40, d)
  e: Embedding(vocab, d)
  a: MultiHeadAttention(d, 2)
  out: Linear(d, vocab)
  entry encode(s: token[B, S <= 9]) -> memory = source(s)
  entry decode(t: token[B, T <= 14], memory, s) -> logits = out(40 * (e(t) + a(e(t), memory, memory, keys(s != 0))))
  generate(encode, decode, start = 1, end = 2, pad = 0)
}
""")
compile_model(WORK / "narrow.xf", WORK / "narrow", "--random-weights", 3)
given = "".join(f"{3 + i % 37}\t{3 + 61 * i}\n" for i in range(80))
one = ["--ids", "--max-length", 1, "--prefixes", "--scores"]
pairs = zip(*(run(WORK / "narrow", *one, *options, stdin=given)[1].splitlines() for options in ([], ["--no-repeat-ngram", 9])), strict=True)
off = max(abs(float(found.split("\t")[1]) - float(exact.split("\t")[1])) for found, exact in pairs)
checks.that(off < 5e-6, f"scores of narrow rows are {off} off")

# Kernel IR names the screen, and compiles to the same program.
fused = compiled("fused.mlir", "--emit=fused")
checks.that(" screen(" in fused.read_text(), "no choice is screened")
compile_model(fused, WORK / "again", "--random-weights", 4)
checks.that(tokens(WORK / "again") == tokens(WORK / "f32"), "the program from kernel IR gives other tokens")
checks.end()
