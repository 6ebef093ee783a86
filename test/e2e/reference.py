"""The reference interpreter rounds the weights that a type rounds, and nothing else: compiled programs agree with it.

No type rounds the inputs: they are integers, and each row's largest is 127.
"""
import random

from common import BIN, HERE, Checks, SOURCE, WORK, compile_model, packed, read_safetensors, results, run, unpacked, write_safetensors

checks = Checks()
rng = random.Random(1)
B, T, D = 2, 9, 64
x = [value for _ in range(B * T) for value in [127.0] + [float(rng.randint(-127, 127)) for _ in range(D - 1)]]
ids = [rng.randrange(50) for _ in range(B * T)]
inputs = {"x": packed("F32", [B, T, D], x), "ids": packed("I64", [B, T], ids)}
write_safetensors(WORK / "in", inputs)


def golden(model, *options):
    """Runs the program, and writes its results as golden numbers for other runs."""
    out = results(model, inputs, *options, ok=True)
    write_safetensors(WORK / "io", {f"in.{n}": t for n, t in inputs.items()} | {f"out.{n}": t for n, t in out.items()})
    return out


numbers = {}
for kind in ("f32", "bf16", "int8", "int8-weights"):
    compile_model(SOURCE / "test/e2e/rounded_weights.xf", WORK / "model", "--random-weights", 1, "--type", kind, "--emit=model")
    numbers[kind] = golden(WORK / "model")
    for reference in ("--reference", "--reference=f32"):
        status, out, err = run(BIN / "xf-run", WORK / "model", "--golden", WORK / "io", "--rtol", 2e-6, reference, ok=False)
        checks.that(status == 0, f"{kind}, {reference}:\n{out}{err}")
for name in numbers["f32"]:
    checks.that(numbers["f32"][name] != numbers["bf16"][name], f"{name} is not rounded")

# --outputs writes the results that are compared with golden numbers.
status, out, _ = run(BIN / "xf-run", WORK / "model", "--golden", WORK / "io", "--outputs", WORK / "again")
checks.that(read_safetensors(WORK / "again") == numbers["int8-weights"], "--golden with --outputs writes something else")
for options in (["--inputs", WORK / "in"], ["--entry", "run"]):
    status, _, err = run(BIN / "xf-run", WORK / "model", "--golden", WORK / "io", *options, ok=False)
    checks.that(status == 1 and "--inputs" in err, f"--golden with {options[0]}: {status} {err}")

# Conversions to integers of values beyond 32 bits, and of values where f32 and f64 differ, are the same everywhere.
(WORK / "steps.xf").write_text("""model Steps() {
  e: Embedding(9, 4)
  entry run(x: f32[B, T]) -> n, bucket, whole, row {
    n = int(x * 1e20)
    bucket = int(log(abs(x) + 1) / log(16) * 8)
    whole = floor(x * 0.1 * 10)
    row = e(n)
  }
}
""")
values = [0.0, 1.0, -1.0, 1e-11, -1e-11, 3.0, 7.0, 15.0, 255.0, 1e30, -1e30, 2.5]
inputs = {"x": packed("F32", [2, 6], values)}
compile_model(WORK / "steps.xf", WORK / "model", "--random-weights", 1, "--emit=model", "--target", "cpu,cuda", isas=HERE)
out = golden(WORK / "model", "--device", "cpu")
n, buckets = unpacked(out["n"]), unpacked(out["bucket"])
checks.that(n[:3] == (0, 2**31 - 1, -2**31) and n[3] == 1000000000 and n[9:11] == (2**31 - 1, -2**31), f"int(x * 1e20) is {n}")
checks.that(buckets[5:9] == (4, 6, 8, 16), f"buckets are {buckets}")
for options in (["--reference"], ["--reference=f32"], ["--device", "emulator"], ["--device", "cpu", "--isa", "baseline"]):
    status, text, err = run(BIN / "xf-run", WORK / "model", "--golden", WORK / "io", *options, ok=False)
    checks.that(status == 0, f"steps, {options}:\n{text}{err}")

# A bias of minus infinity hides keys as a mask does: the result of a query without keys is 0. A slice beyond its dimension is refused
# everywhere, even if only a part of it that exists is used.
(WORK / "hidden.xf").write_text("""model Hidden() {
  param scores: f32[4]
  entry run(x: f32[B, T, 4]) -> seen, first {
    q = split(x, 2)
    seen = attend(q, q, q, bias = (i, j) -> if i > 1 then -inf else scores[j + 0])
    first = x[:, 0:5][:, 0:2]
  }
}
""")
compile_model(WORK / "hidden.xf", WORK / "model", "--random-weights", 1, "--emit=model", "--target", "cpu,cuda")
for size, works in ((5, True), (3, False)):
    inputs = {"x": packed("F32", [1, size, 4], [rng.gauss(0, 1) for _ in range(4 * size)])}
    for options in (["--reference"], ["--reference=f32"], ["--device", "cpu"], ["--device", "emulator"]):
        got = results(WORK / "model", inputs, *options)
        if works:
            rows = unpacked(got["seen"])
            hidden = [rows[10 * head + 4:10 * head + 10] for head in range(2)]
            checks.that(not any(any(row) for row in hidden) and all(rows[:4]), f"hidden keys, {options}: {rows}")
        else:
            checks.that(isinstance(got, str) and "3" in got, f"too short a slice, {options}: {got}")
checks.end()
