"""Types of fewer bits: every model with golden numbers, in bf16, int8 and int8-weights, on every instruction set and with 1 to 3 threads.

The distance to PyTorch's f32 numbers is bounded by what the types can keep in models as narrow as these; threads change no bit,
and in int8, whose sums are exact, nor does the choice between AVX2, AVX-512 and VNNI. With int8-weights AVX2 and AVX-512 agree
on every bit, as in f32.
"""

from common import Checks, MODELS, WORK, available_isas, compile_g2p, compile_model, run
from factors import GOLDENS, confirm_golden

# Norm-wise, of each output.
TOLERANCE = {"bf16": 0.03, "int8": 0.08, "int8-weights": 0.05}
# Instruction sets made for a type, and the CPU's flag.
SPECIAL = {"bf16": [("avx512_bf16", "avx512_bf16")], "int8": [("avx2_vnni", "avx_vnni"), ("avx512_vnni", "avx512_vnni")]}

checks = Checks()
flags = set(next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split())


def isas_of(kind):
    """The instruction sets that a model of the type has code for and this machine runs."""
    general = available_isas()
    return general + [isa for isa, flag in SPECIAL.get(kind, []) if flag in flags and isa.split("_")[0] in general]


for kind, allowed in TOLERANCE.items():
    isas = isas_of(kind)
    for description, folder in GOLDENS:
        model, data = WORK / "model", MODELS / folder
        compile_model(MODELS / description, model, "--config", data / "config.json", "--weights", data / "weights.safetensors",
                      "--emit=model", "--type", kind)
        bits = {}
        # The parameters that a file of fewer bits gives back are those that it computes with.
        for options in [("--reference=f32",)] + [("--isa", isa, "--threads", threads) for isa in isas for threads in (1, 2, 3)]:
            title = f"{data.name}, {kind}, {' '.join(map(str, options))}"
            got = confirm_golden(checks, title, model, folder, allowed, *options)
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
