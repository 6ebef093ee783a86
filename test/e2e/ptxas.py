"""NVIDIA's assembler, where it is installed, accepts the PTX of the models for two GPUs, almost nothing spills, and kernels with few rows read all
factors of a chain at once. The table of registers and shared memory goes to build/ptxas.txt."""
import re
import shutil

from common import BIN, Checks, MODELS, WORK, compile_model, run, skip

assembler = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
if not assembler:
    skip("ptxas is not installed")
checks = Checks()
table = ["model             gpu    kernel                     registers  shared  spilled"]
models = [(seed, seed, "f32", ()) for seed in ("seed0", "seed2", "seed3", "seed4")]
models += [(model if kind == "f32" else f"{model} {kind}", model, kind, ()) for model in ("tagger", "g2p")
           for kind in ("f32", "bf16", "f16", "int8-weights")]
# Wide heads, whose context takes more registers, also in 16 bits.
models += [(f"g2p bf16, {width} wide", "g2p", "bf16", ("--set", f"d_model={2 * width}", "--set", "heads=2")) for width in (64, 128, 256)]
models += [(f"seed0, {width} wide", "seed0", "f32", ("--set", f"d_model={2 * width}", "--set", "h=2")) for width in (128, 256)]
# More keys than shared memory has room for scores.
models += [("seed0, long", "seed0", "f32", ("--set", "max_len=20000"))]
for name, model, kind, settings in models:
    ptx = WORK / "ptx"
    compile_model(MODELS / model / f"{model}.xf", ptx, "--config", MODELS / model / "config.json", "--emit=ptx", "--type", kind, "--target", "cuda", *settings)
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
                table.append(f"{name:17} {gpu}  {kernel:26} {match[1]:>9} {match[2] or 0:>7} {spilled:>8}")
                # Heads of 128 columns of 16 bits need all registers, and sometimes a few more.
                most = 32 if "bf16, 128 wide" in name else 0
                checks.that(spilled <= most, f"{name} for {gpu}: {kernel} spills {spilled} bytes")
                # A chain of 128 k has eight steps that read four words of weights and two of x each; shorter chains need fewer registers.
                if re.search(r"b?f16", name) and kernel.endswith("contract_few") and "wide" in name:
                    checks.that(int(match[1]) >= 48, f"{name} for {gpu}: {kernel} has its reads one after the other in {match[1]} registers")
        checks.that(found > 0, f"{name} for {gpu}: ptxas says nothing of registers:\n{out}{err}")
(BIN.parent / "ptxas.txt").write_text("\n".join(table) + "\n")
checks.end()
