"""Types of fewer bits: every model with golden numbers, in bf16, int8 and int8-weights, on every instruction set and with 1 to 3 threads.

The distance to PyTorch's f32 numbers is bounded by the types' precision in models as narrow as these. Threads change no bit, and in int8, whose sums
are exact, neither does the choice between AVX2, AVX-512 and VNNI. With int8-weights AVX2 and AVX-512 agree on every bit, as in f32.
"""

import random
import struct

from common import HERE, MODELS, WORK, Checks, compile_model, distance, kept_g2p, results, run, write_safetensors
from factors import GOLDENS, confirm_golden
from session import isas_of

# Norm-wise, of each output.
TOLERANCE = {"bf16": 0.03, "int8": 0.08, "int8-weights": 0.05}
checks = Checks()

for kind, allowed in TOLERANCE.items():
    for description, folder in GOLDENS:
        model, data = WORK / "model", MODELS / folder
        compile_model(MODELS / description, model, "--config", data / "config.json", "--weights", data / "weights.safetensors",
                      "--emit=model", "--type", kind, isas=HERE)
        bits = {}
        # The parameters that the interpreter reads back from a file of fewer bits are those that its kernels compute with.
        for options in [("--reference=f32",)] + [("--isa", isa, "--threads", threads) for isa in isas_of(model, kind) for threads in (1, 2, 3)]:
            title = f"{data.name}, {kind}, {' '.join(map(str, options))}"
            got = confirm_golden(checks, title, model, folder, allowed, *options)
            if options[0] == "--isa":
                same = options[1] if options[1] in ("baseline", "avx512_bf16") or kind == "bf16" else "fma"
                checks.that(bits.setdefault(same, got) == got, f"{title}: other bits")

# Searches: alone, together, with other batches and threads.
words = [line.split("\t")[0] for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:40]
lines = "".join(word + "\n" for word in words)
for kind in TOLERANCE:
    program = kept_g2p(kind)
    for isa in isas_of(program, kind):
        options = ["--beam", 4, "--n-best", 4, "--scores", "--isa", isa]
        together = run(program, *options, "--threads", 1, stdin=lines)[1]
        checks.that(run(program, *options, "--threads", 3, stdin=lines)[1] == together, f"g2p, {kind}, {isa}: 3 threads differ")
        little = run("sh", "-c", 'ulimit -s 128; exec "$@"', "sh", program, *options, "--threads", 2, stdin=lines)[1]
        checks.that(little == together, f"g2p, {kind}, {isa}: 2 threads with stacks of 128 KiB differ")
        for batch in (1, 3):
            checks.that(run(program, *options, "--batch", batch, stdin=lines)[1] == together, f"g2p, {kind}, {isa}: batches of {batch} differ")

# A bias of keys costs no precision, however large it is: neither if the keys are some columns of a product nor if several attentions read
# them.
d, rng = 32, random.Random(4)
pack = lambda numbers: struct.pack(f"<{len(numbers)}f", *numbers)  # noqa: E731
biases = [0.0] * d + [rng.gauss(0, 100) for _ in range(d)] + [0.0] * d
write_safetensors(WORK / "keys", {"w.weight": ("F32", [3 * d, d], pack([rng.gauss(0, 0.2) for _ in range(3 * d * d)])),
                                  "w.bias": ("F32", [3 * d], pack(biases))})
rows = {"x": ("F32", [1, 20, d], pack([rng.gauss(0, 1) for _ in range(20 * d)]))}
(WORK / "keys.xf").write_text("""model Columns(d = 32) {
  w: Linear(d, 3 * d)
  entry run(x: f32[B, S <= 20, d]) -> y {
    q, k, v = chunk(w(x), 3)
    y = merge(attend(split(q, 2), split(k, 2), split(v, 2)))
  }
}
model Several(d = 32) {
  param weight: f32[3 * d, d] as "w.weight"
  param bias: f32[3 * d] as "w.bias"
  part(x, n) = split(linear(x, weight[n * d : (n + 1) * d], bias[n * d : (n + 1) * d]), 2)
  entry run(x: f32[B, S <= 20, d]) -> y {
    k = part(x, 1)
    y = merge(attend(part(x, 0), k, part(x, 2)) + attend(part(x, 2), k, part(x, 2)))
  }
}
""")
for name in ("Columns", "Several"):
    for kind in ("bf16", "int8"):
        compile_model(WORK / "keys.xf", WORK / "x", "--model", name, "--weights", WORK / "keys", "--type", kind, "--emit=model")
        off = distance(results(WORK / "x", rows)["y"], results(WORK / "x", rows, "--reference")["y"])
        checks.that(off < 0.02, f"{name}, {kind}: {off:.2e} off by the bias of keys")

# A weight that bf16 rounds to infinity.
large = {"w.weight": ("F32", [8, 8], pack([1.0] * 63 + [3.4e38])), "w.bias": ("F32", [8], pack([0.0] * 8))}
write_safetensors(WORK / "large", large)
(WORK / "large.xf").write_text("model Large(d = 8) {\n  w: Linear(d, d)\n  entry run(x: f32[B, d]) -> y = w(x)\n}\n")
for kind in ("f32", *TOLERANCE):
    status, _, err = compile_model(WORK / "large.xf", WORK / "x", "--weights", WORK / "large", "--type", kind, ok=False)
    checks.that(status == 0 if kind != "bf16" else status == 1 and "beyond the largest number of bf16" in err, f"a weight of 3.4e38 in {kind}: {status} {err}")

status, _, err = compile_model(MODELS / "g2p" / "g2p.xf", WORK / "x", "--random-weights", 1, "--type", "int4", ok=False)
checks.that(status != 0 and "int4" in err, "an unknown type is accepted")
checks.end()
