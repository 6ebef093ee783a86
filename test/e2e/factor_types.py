"""Types of fewer bits: every model with golden numbers, in bf16, int8 and int8-weights, on every instruction set and with 1 to 3 threads.

The distance to PyTorch's f32 numbers is bounded by what the types can keep in models as narrow as these; threads change no bit,
and in int8, whose sums are exact, nor does the choice between AVX2, AVX-512 and VNNI. With int8-weights AVX2 and AVX-512 agree
on every bit, as in f32.
"""

import struct

from common import BIN, Checks, MODELS, WORK, available_isas, compile_g2p, compile_model, read_safetensors, run

# Norm-wise, of each output.
TOLERANCE = {"bf16": 0.03, "int8": 0.08, "int8-weights": 0.05}
SPECIAL = {"bf16": ("avx512_bf16", {"avx512_bf16"}), "int8": ("avx512_vnni", {"avx512_vnni"})}

checks = Checks()
flags = set(next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split())


def distance(a, b):
    """Norm-wise."""
    x, y = (struct.unpack(f"<{len(t[2]) // 4}f", t[2]) for t in (a, b))
    if a[1] != b[1]:
        return float("inf")
    return (sum((p - q) ** 2 for p, q in zip(x, y)) / sum(q * q for q in y)) ** 0.5


def isas_of(kind):
    """The instruction sets that a model of the type has code for and this machine runs."""
    name, needed = SPECIAL.get(kind, (None, None))
    return available_isas() + ([name] if name and "avx512" in available_isas() and needed <= flags else [])


seeds = [("seed0/seed0.xf", "seed0"), ("seed1/seed1.xf", "seed1/postnorm"), ("seed1/seed1.xf", "seed1/prenorm"), ("seed2/seed2.xf", "seed2"),
         ("seed3/seed3.xf", "seed3"), ("seed4/seed4.xf", "seed4"), ("tagger/tagger.xf", "tagger"), ("classifier/classifier.xf", "classifier")]
for kind, allowed in TOLERANCE.items():
    isas = isas_of(kind)
    for description, folder in seeds:
        folder = MODELS / folder
        model = WORK / "model"
        compile_model(MODELS / description, model, "--config", folder / "config.json", "--weights", folder / "weights.safetensors",
                      "--emit=model", "--type", kind)
        io = folder / "io.safetensors"
        wanted = {key.removeprefix("out."): tensor for key, tensor in read_safetensors(io).items() if key.startswith("out.")}
        bits = {}
        # The parameters that a file of fewer bits gives back are those that it computes with.
        for options in [("--reference=f32",)] + [("--isa", isa, "--threads", threads) for isa in isas for threads in (1, 2, 3)]:
            title = f"{folder.name}, {kind}, {' '.join(map(str, options))}"
            run(BIN / "xf-run", model, "--inputs", io, "--outputs", WORK / "out.safetensors", *options)
            got = read_safetensors(WORK / "out.safetensors")
            compared = [name for name in got if name in wanted and wanted[name][0] == "F32"]
            checks.that(compared, f"{title}: nothing was compared")
            for tensor in compared:
                error = distance(got[tensor], wanted[tensor])
                checks.that(1e-6 < error <= allowed or "attention" in tensor and error <= allowed, f"{title}: {tensor} is {error:.2e} off")
            if options[0] == "--isa":
                same = options[1] if options[1] == "baseline" or kind == "bf16" else "fma"
                checks.that(bits.setdefault(same, got) == got, f"{title}: other bits")

# Searches: alone, together, with other batches and threads.
words = [line.split("\t")[0] for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:40]
lines = "".join(word + "\n" for word in words)
for kind in TOLERANCE:
    program = compile_g2p(WORK / f"g2p-{kind}", "--type", kind)
    for isa in isas_of(kind):
        options = ["--beam", 4, "--n-best", 4, "--scores", "--isa", isa]
        together = run(program, *options, "--threads", 1, stdin=lines)[1]
        checks.that(run(program, *options, "--threads", 3, stdin=lines)[1] == together, f"g2p, {kind}, {isa}: 3 threads differ")
        for batch in (1, 3):
            checks.that(run(program, *options, "--batch", batch, stdin=lines)[1] == together, f"g2p, {kind}, {isa}: batches of {batch} differ")

status, _, err = compile_model(MODELS / "g2p" / "g2p.xf", WORK / "x", "--random-weights", 1, "--type", "int4", ok=False)
checks.that(status != 0 and "int4" in err, "an unknown type is accepted")
checks.end()
