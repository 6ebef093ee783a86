"""Seed 3 at its printed size: 64 + 64 layers, 478 million parameters. Compile time, memory and code stay small, and five greedy steps choose
the reference interpreter's tokens."""
import resource
import shutil
import struct

from common import BIN, HERE, Checks, MODELS, WORK, compile_model, run, skip, write_safetensors
import image

if shutil.disk_usage(WORK).free < 6 << 30:
    skip("less than 6 GB of disk are free")
checks = Checks()
model = WORK / "model"
compile_model(MODELS / "seed3" / "seed3.xf", model, "--random-weights", 7, "--emit=model", isas=HERE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024
with open(model, "rb") as file:
    _, code_bytes = image.range_of(file.read(image.HEAD), "code")
print(f"compiled in {seconds:.1f} s of the processor with its weights written, {peak} MB of memory, {code_bytes} bytes of code")
checks.that(seconds < 60, f"{seconds:.0f} s of the processor")
checks.that(peak < 256 + 100, f"{peak} MB of memory (the program itself takes up to 100)")
checks.that(code_bytes < 2 << 20, f"{code_bytes} bytes of code")

source = [[17, 4, 256, 3999, 12, 1, 77, 2], [5, 9, 4021, 33, 0, 0, 0, 0]]
tokens = struct.pack("<16q", *sum(source, []))
steps = 5


def confirm(*options):
    """Compares the program's tokens with those of another way to run the model."""
    io = WORK / "io.safetensors"
    want = struct.pack(f"<{2 * (steps + 1)}q", *[t for row in compiled for t in row])
    write_safetensors(io, {"in.src": ("I64", [2, 8], tokens), "out.greedy": ("I64", [2, steps + 1], want)})
    return run(BIN / "xf-run", model, "--golden", io, *options, ok=False)


program = WORK / "program"
compile_model(MODELS / "seed3" / "seed3.xf", program, "--random-weights", 7)
rows = run(program, "--ids", "--max-length", steps,
           stdin="".join(" ".join(str(t) for t in row if t) + "\n" for row in source))[1].splitlines()
compiled = []
for row in rows:
    ids = [1] + [int(t) for t in row.split()]
    if len(ids) < steps + 1:
        ids.append(2)
    compiled.append(ids + [0] * (steps + 1 - len(ids)))
for options in (["--reference"], ["--threads", 2], ["--isa", "avx2"]):
    status, out, err = confirm(*options)
    checks.that(status == 0, f"{options}: {out}{err}")
checks.end()
