"""With few rows, a product's kernel also computes the row op before it. Each row has the same bits as among many rows, where both are separate
kernels, and in f32 and int8-weights the CPU's."""
import random
import struct

from common import Checks, WORK, compile_model, packed, results

DESCRIPTION = """model Prologue(d: int, n: int) {
  norm: LayerNorm(d)
  first: Linear(d, n)
  again: LayerNorm(n)
  second: Linear(n, 20)
  entry run(x: f32[B <= 20, d]) -> y, z, u {
    u = norm(x)
    z = again(first(u))
    y = second(z)
  }
}
"""
# Widths of less than a chain of 128 and of several chains, and ones that are no multiple of 16 lanes or exceed the registers.
WIDTHS = ((32, 48), (256, 768), (40, 1040))

checks = Checks()
description, model = WORK / "prologue.xf", WORK / "prologue"
description.write_text(DESCRIPTION)
random.seed(5)
for d, n in WIDTHS:
    rows = [struct.pack(f"<{d}f", *(random.gauss(0.3, 1.5) for _ in range(d))) for _ in range(20)]
    for kind in ("f32", "bf16", "f16", "int8-weights"):
        targets = "cuda" if kind == "f16" else "cpu,cuda"
        compile_model(description, model, "--random-weights", 3, "--emit=model", "--type", kind, "--target", targets, "--set", f"d={d}", "--set", f"n={n}")

        def outputs(count, device="emulator"):
            found = results(model, {"x": ("F32", [count, d], b"".join(rows[:count]))}, "--device", device, ok=True)
            return {name: data for name, (_, _, data) in found.items()}

        many = outputs(20)
        for count in (1, 5, 16):
            few = outputs(count)
            for name, data in few.items():
                checks.that(data == many[name][:len(data)], f"{kind}, {d} and {n} wide: {name} of {count} rows differs from that of 20")
        if kind in ("f32", "int8-weights"):
            for name, data in outputs(3, "cpu").items():
                checks.that(data == many[name][:len(data)], f"{kind}, {d} and {n} wide: {name} differs from the CPU's")

# Layers of one product: the next layer's product must not be launched together with the norm that reads what it writes.
description.write_text("""block Layer() {
  w: Linear(64, 64)
  n: LayerNorm(64)
  apply(x: f32[B, S, 64]) = 0.5 * x + n(w(x))
}
model Layers() {
  layers: [Layer() * 3]
  entry run(x: f32[B, S, 64]) -> x { for layer in layers { x = layer(x) } }
}
""")
compile_model(description, model, "--random-weights", 3, "--emit=model", "--target", "cpu,cuda")
x = packed("F32", [2, 3, 64], [random.gauss(0, 1) for _ in range(384)])
outs = [results(model, {"x": x}, "--device", device, ok=True) for device in ("emulator", "cpu")]
checks.that(outs[0] == outs[1], "layers of one product: other bits than the CPU's")
checks.end()
