"""Types of fewer bits on GPUs, in the emulator: models with golden numbers, and searches.

The distance to PyTorch's f32 numbers is bounded by the types' precision in models as narrow as these. The bits of a search do not depend on
the batch or the other words in it.
"""

import struct

from common import MODELS, WORK, Checks, compile_g2p, compile_model, kept_g2p, run, write_safetensors
from factors import GOLDENS, confirm_golden

# Norm-wise, of each output.
TOLERANCE = {"bf16": 0.03, "f16": 0.004, "int8-weights": 0.05}
# Types that the CPU has no code for.
GPU_ONLY = {"f16"}

checks = Checks()


for kind, allowed in TOLERANCE.items():
    for description, folder in GOLDENS:
        model, data = WORK / "model", MODELS / folder
        compile_model(MODELS / description, model, "--config", data / "config.json", "--weights", data / "weights.safetensors",
                      "--emit=model", "--type", kind, "--target", "cuda")
        # The parameters that the interpreter reads back from a file of fewer bits are those that its kernels compute with.
        for options in (("--reference=f32",), ("--device", "emulator")):
            confirm_golden(checks, f"{data.name}, {kind}, {' '.join(options)}", model, folder, allowed, *options)

words = [line.split("\t")[0] for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:6]
lines = "".join(word + "\n" for word in words)
for kind in TOLERANCE:
    program = kept_g2p(kind, "cuda")
    options = ["--beam", 3, "--scores", "--device", "emulator"]
    together = run(program, *options, stdin=lines)[1]
    # Three hypotheses of 6 words have more rows than the kernels for few rows take, those of one word fewer.
    for batch in (1, 4):
        checks.that(run(program, *options, "--batch", batch, stdin=lines)[1] == together, f"g2p, {kind}: batches of {batch} differ")
    exact = run(kept_g2p(), "--beam", 3, stdin=lines)[1].splitlines()
    found = run(program, "--beam", 3, "--device", "emulator", stdin=lines)[1].splitlines()
    checks.that(len(found) == len(exact) and sum(a != b for a, b in zip(found, exact)) <= 1, f"g2p, {kind}: {found}, not {exact}")
    if kind not in GPU_ONLY:
        # One file for both, with one copy of the weights.
        cpu, both = (compile_g2p(WORK / target, "--type", kind, "--target", target) for target in ("cpu", "cpu,cuda"))
        ptx = compile_g2p(WORK / "ptx", "--type", kind, "--target", "cuda", "--emit=ptx")
        more = both.stat().st_size - cpu.stat().st_size
        # Parts of files begin at multiples of 64 KiB.
        checks.that(0 < more <= ptx.stat().st_size + (64 << 10), f"g2p, {kind}: the GPU's code adds {more} bytes")
        checks.that(run(both, *options, stdin=lines)[1] == together, f"g2p, {kind}: the file for both differs on the GPU")

for kind, target, wanted in (("int8", "cuda", "--type int8 is for the CPU"), ("f16", "cpu", "--type f16 is for GPUs"),
                             ("f16", "cpu,cuda", "--type f16 is for GPUs")):
    status, _, err = compile_model(MODELS / "g2p" / "g2p.xf", WORK / "x", "--random-weights", 1, "--type", kind, "--target", target, ok=False)
    checks.that(status != 0 and wanted in err, f"{kind} for {target}: {err}")
# A weight beyond f16's range is refused; bf16 can hold 70000.
description, weights = WORK / "wide.xf", WORK / "wide.safetensors"
description.write_text("""model Wide(vocab: int, d: int) {
  embed: Embedding(vocab, d)
  out: Linear(d, d)
  entry run(tokens: token[B, S <= 8]) -> y = out(embed(tokens))
}
""")
ones = struct.pack("<64f", *[1.0] * 64)
write_safetensors(weights, {"embed.weight": ("F32", [8, 8], ones), "out.weight": ("F32", [8, 8], ones[:-4] + struct.pack("<f", 70000)),
                            "out.bias": ("F32", [8], ones[:32])})
for kind in TOLERANCE:
    status, _, err = compile_model(description, WORK / "x", "--set", "vocab=8", "--set", "d=8", "--weights", weights, "--emit=model", "--type", kind,
                                   "--target", "cuda", ok=False)
    checks.that(status == 0 if kind != "f16" else "beyond the largest number of f16" in err, f"a weight of 70000 in {kind}: {status} {err}")
# A launch has a limited number of parameters: ops that would read more tensors become several kernels.
for count in (29, 30, 31, 32, 38, 40, 200):
    names = [f"x{i}" for i in range(count)]
    description.write_text(f"model Many() {{\n  entry run({', '.join(name + ': f32[B, 8]' for name in names)}) -> y = {' + '.join(names)}\n}}\n")
    status, _, err = compile_model(description, WORK / "x", "--random-weights", 1, "--emit=model", "--target", "cuda", ok=False)
    checks.that(status == 0, f"a sum of {count} tensors: {status} {err}")
checks.end()
