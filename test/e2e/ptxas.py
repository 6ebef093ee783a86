"""NVIDIA's assembler, where it is installed, takes the PTX of the models for two GPUs, and nothing spills (for sm_90, whose
ptxas 13 keeps one kernel at 40 registers, at most 32 bytes). The table of registers
and shared memory goes to build/ptxas.txt."""
import re
import shutil

from common import BIN, Checks, MODELS, WORK, compile_model, run, skip

assembler = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
if not assembler:
    skip("ptxas is not installed")
checks = Checks()
table = ["model          gpu    kernel                     registers  shared  spilled"]
seeds = ("seed0", "seed2", "seed3", "seed4")
for model, kind in [(seed, "f32") for seed in seeds] + [(model, kind) for model in ("tagger", "g2p") for kind in ("f32", "bf16", "f16", "int8-weights")]:
    name = model if kind == "f32" else f"{model} {kind}"
    ptx = WORK / "ptx"
    compile_model(MODELS / model / f"{model}.xf", ptx, "--config", MODELS / model / "config.json", "--emit=ptx", "--type", kind, "--target", "cuda")
    for gpu in ("sm_80", "sm_90"):
        status, out, err = run(assembler, "-v", f"-arch={gpu}", ptx, "-o", WORK / "cubin", ok=False)
        checks.that(status == 0, f"{name} for {gpu}: {out}{err}")
        kernel, spilled, found = "", 0, 0
        for line in (out + err).splitlines():
            if match := re.search(r"Compiling entry function '(\w+)'", line):
                kernel = match[1]
            elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
                spilled = int(match[1]) + int(match[2])
            elif match := re.search(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?", line):
                found += 1
                table.append(f"{name:14} {gpu}  {kernel:26} {match[1]:>9} {match[2] or 0:>7} {spilled:>8}")
                checks.that(spilled <= (32 if gpu == "sm_90" and kind == "f32" else 0), f"{name} for {gpu}: {kernel} spills {spilled} bytes")
        checks.that(found > 0, f"{name} for {gpu}: ptxas says nothing of registers:\n{out}{err}")
(BIN.parent / "ptxas.txt").write_text("\n".join(table) + "\n")
checks.end()
