"""CPUs that qemu emulates: compiled programs run on them, with the results that their kernels have here, or say what is missing."""
import shutil

from common import BIN, MODELS, WORK, Checks, compile_g2p, kept_g2p, run, skip

# What qemu calls a CPU, and the instruction set that is the best there.
CPUS = {"Nehalem": "baseline", "Haswell": "avx2"}
TYPES = ("f32", "bf16", "int8", "int8-weights")

qemu = shutil.which("qemu-x86_64")
if not qemu:
    skip("there is no qemu-x86_64")
checks = Checks()
words = [text.split("\t")[0] for text in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:2]
lines = "".join(f"{word}\n" for word in words)


def on(cpu, *command, **options):
    status, out, err = run(qemu, "-cpu", cpu, *command, **options)
    return status, out, "".join(line for line in err.splitlines(keepends=True) if "TCG doesn't support" not in line)


for kind in TYPES:
    search = [kept_g2p(kind), "--beam", 4, "--n-best", 4, "--threads", 2]
    here = {isa: run(*search, "--isa", isa, stdin=lines)[1] for isa in set(CPUS.values())}
    for cpu, isa in CPUS.items():
        _, out, err = on(cpu, *search, stdin=lines)
        checks.that(out == here[isa] and err == "", f"{kind} on {cpu}: {out} {err} instead of {here[isa]}")
    status, out, err = on("Nehalem", *search, "--isa", "avx2", stdin=lines, ok=False)
    checks.that(status == 1 and out == "" and "avx2" in err, f"{kind} with AVX2 on Nehalem: {status} {out} {err}")
    status, out, err = on("core2duo", *search, stdin=lines, ok=False)
    missing = "this CPU is too old: an x86-64 CPU with SSE4.2 and POPCNT" in err
    checks.that(status == 1 and out == "" and missing, f"{kind} on core2duo: {status} {out} {err}")

# A program with code for one instruction set runs where that is, as the program with all of them does.
one = compile_g2p(WORK / "one", isas=["avx2"])
_, out, err = on("Haswell", one, stdin=lines)
want = run(kept_g2p(), "--isa", "avx2", stdin=lines)[1]
checks.that(out == want and err == "", f"code for AVX2 on Haswell: {out} {err} instead of {want}")
status, out, err = on("Nehalem", one, stdin=lines, ok=False)
missing = "the model was compiled for avx2 and better; this CPU's best is baseline" in err
checks.that(status == 1 and out == "" and missing, f"code for AVX2 on Nehalem: {status} {out} {err}")

# The compiler itself needs no more than x86-64-v2 either.
tagger = MODELS / "tagger"
compile = [BIN / "xfc", tagger / "tagger.xf", "--config", tagger / "config.json", "--weights", tagger / "weights.safetensors", "--emit=model", "-o"]
run(*compile, WORK / "here")
on("Nehalem", *compile, WORK / "there")
checks.that((WORK / "here").read_bytes() == (WORK / "there").read_bytes(), "xfc makes another file on Nehalem")
checks.end()
