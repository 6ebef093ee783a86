"""Types of 16 bits on GPUs, in the emulator: models with golden numbers, and searches.

The distance to PyTorch's f32 numbers is bounded by what the types keep in models as narrow as these. The bits of a search depend
neither on the batch nor on the other words in it.
"""

import struct

from common import BIN, Checks, MODELS, WORK, compile_g2p, compile_model, read_safetensors, run

# Norm-wise, of each output.
TOLERANCE = {"bf16": 0.03}
# Types that the CPU has no code for.
GPU_ONLY = set()

checks = Checks()


def distance(a, b):
    """Norm-wise."""
    x, y = (struct.unpack(f"<{len(t[2]) // 4}f", t[2]) for t in (a, b))
    if a[1] != b[1]:
        return float("inf")
    return (sum((p - q) ** 2 for p, q in zip(x, y)) / sum(q * q for q in y)) ** 0.5


seeds = [("seed0/seed0.xf", "seed0"), ("seed1/seed1.xf", "seed1/postnorm"), ("seed1/seed1.xf", "seed1/prenorm"), ("seed2/seed2.xf", "seed2"),
         ("seed3/seed3.xf", "seed3"), ("seed4/seed4.xf", "seed4"), ("tagger/tagger.xf", "tagger"), ("classifier/classifier.xf", "classifier")]
for kind, allowed in TOLERANCE.items():
    for description, folder in seeds:
        folder = MODELS / folder
        model, io = WORK / "model", folder / "io.safetensors"
        compile_model(MODELS / description, model, "--config", folder / "config.json", "--weights", folder / "weights.safetensors",
                      "--emit=model", "--type", kind, "--target", "cuda")
        wanted = {key.removeprefix("out."): tensor for key, tensor in read_safetensors(io).items() if key.startswith("out.")}
        # The parameters that a file of fewer bits gives back are those that it computes with.
        for options in (("--reference=f32",), ("--device", "emulator")):
            title = f"{folder.name}, {kind}, {' '.join(options)}"
            run(BIN / "xf-run", model, "--inputs", io, "--outputs", WORK / "out.safetensors", *options)
            got = read_safetensors(WORK / "out.safetensors")
            compared = [name for name in got if name in wanted and wanted[name][0] == "F32"]
            checks.that(compared, f"{title}: nothing was compared")
            for tensor in compared:
                error = distance(got[tensor], wanted[tensor])
                checks.that(1e-6 < error <= allowed or "attention" in tensor and error <= allowed, f"{title}: {tensor} is {error:.2e} off")

words = [line.split("\t")[0] for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:12]
lines = "".join(word + "\n" for word in words)
for kind in TOLERANCE:
    program = compile_g2p(WORK / f"g2p-{kind}", "--type", kind, "--target", "cuda")
    options = ["--beam", 3, "--scores", "--device", "emulator"]
    together = run(program, *options, stdin=lines)[1]
    # 12 words are more rows than the kernels for few rows take, 1 and 5 are fewer.
    for batch in (1, 5):
        checks.that(run(program, *options, "--batch", batch, stdin=lines)[1] == together, f"g2p, {kind}: batches of {batch} differ")
    exact = run(compile_g2p(WORK / "g2p-f32"), "--beam", 3, stdin=lines)[1].splitlines()
    found = run(program, "--beam", 3, "--device", "emulator", stdin=lines)[1].splitlines()
    checks.that(len(found) == len(exact) and sum(a != b for a, b in zip(found, exact)) <= 1, f"g2p, {kind}: {found}, not {exact}")
    if kind not in GPU_ONLY:
        # One file for both, with one copy of the weights.
        ptx, both, cpu = WORK / "ptx", WORK / "both", WORK / "cpu"
        for output, *how in ((ptx, "--target", "cuda", "--emit=ptx"), (both, "--target", "cpu,cuda"), (cpu,)):
            compile_g2p(output, "--type", kind, *how)
        more = both.stat().st_size - cpu.stat().st_size
        checks.that(0 < more <= ptx.stat().st_size + (64 << 10), f"g2p, {kind}: the GPU's code adds {more} bytes")
        checks.that(run(both, *options, stdin=lines)[1] == together, f"g2p, {kind}: the file for both differs on the GPU")

status, _, err = compile_model(MODELS / "g2p" / "g2p.xf", WORK / "x", "--random-weights", 1, "--type", "int8", "--target", "cuda", ok=False)
checks.that(status != 0 and "--type int8 is for the CPU" in err, f"int8 on a GPU: {err}")
checks.end()
