"""Infinities, NaN with any bits, zeros and numbers of both signs: functions, maxima and attention have the reference's results on every
instruction set and in the GPU emulator. So have reads of tables at computed indices that turn out to be constant."""
import struct

from common import HERE, WORK, Checks, available_isas, compile_model, results
from session import isas_of

checks = Checks()
INF = float("inf")
ELEMENTS = """model M(d = 8) {
  entry run(x: f32[B, d], y: f32[B, d]) -> tenth, root, inverse, whole, power, exps, larger, smaller, most, magnitude, shares, left, half, opposite, log_size {
    tenth = x ^ 0.1
    root = x ^ -0.3
    inverse = x ^ -3
    whole = x ^ 5
    power = x ^ y
    exps = exp(x)
    larger = max(x, y)
    smaller = min(x, y)
    most = rowmax(x * y)
    magnitude = rowmax(abs(x))
    shares = softmax(x)
    left = x % y
    half = x ^ 0.5
    opposite = x ^ -0.5
    log_size = log(abs(x))
  }
}
"""
WAVES = """model M(d = 8) {
  entry run(x: f32[B, d], y: f32[B, d]) -> left, sine, cosine {
    left = x % y
    sine = sin(x)
    cosine = cos(x)
  }
}
"""
ATTENTION = """model M(d = 8) {
  entry run(q: f32[B, T, d], k: f32[B, T, d], v: f32[B, T, d], keep: bool[B, T]) -> all, some, hidden {
    all = merge(attend(split(q, 2), split(k, 2), split(v, 2)))
    some = merge(attend(split(q, 2), split(k, 2), split(v, 2), keys(keep), fill = -1e9))
    hidden = merge(attend(split(q, 2), split(k, 2), split(v, 2), keys(keep), fill = -inf))
  }
}
"""
# The first NaN is the one that CPUs generate, the second that of GPUs.
ODD = [struct.pack("<I", bits) for bits in (0xFFC00000, 0x7FFFFFFF, 0x7FC00001)] + [struct.pack("<f", x) for x in (INF, -INF)]
PLAIN = [struct.pack("<f", x) for x in (0.0, 1.0, -1.0, 2.0, -2.5, 0.3, 1e-3, -7.0, 60.0, 1e-40)]


def tensor(shape, elements):
    return "F32", list(shape), b"".join(elements)


def numbers(content):
    return struct.unpack(f"<{len(content) // 4}f", content)


def same(x, y):
    if x != x or y != y:
        return x != x and y != y
    return x == y or abs(x - y) <= 2e-6 * max(1e-6, abs(y))


def compare(name, text, inputs, isas=available_isas()):
    (WORK / "model.xf").write_text(text)
    model = WORK / "compiled.img"
    compile_model(WORK / "model.xf", model, "--random-weights", 1, "--limit=batch=64", "--emit=model", "--target", "cpu,cuda", isas=HERE)
    expected = results(model, inputs, "--reference")
    for options in [("--isa", isa) for isa in isas] + [("--device", "emulator")]:
        got = results(model, inputs, *options)
        if isinstance(got, str) or isinstance(expected, str):
            checks.that(False, f"{name} {options}: {str(got)[:200]}; {str(expected)[:200]}")
            continue
        for result, (_, _, content) in expected.items():
            pairs = list(zip(numbers(got[result][2]), numbers(content)))
            wrong = [(i, x, y) for i, (x, y) in enumerate(pairs) if not same(x, y)]
            checks.that(len(got[result][2]) == len(content) and not wrong, f"{name} {options} {result}: {wrong[:8]}")


every = ODD + PLAIN
rows = []
for i in range(len(every)):
    # Rows of plain numbers with one odd number at each position, and rows of a mixture.
    rows.append([every[i] if place == i % 8 else PLAIN[(i + place) % len(PLAIN)] for place in range(8)])
    rows.append([every[(i * 5 + 3 * place) % len(every)] for place in range(8)])
exponents = [[every[(i * 3 + 5 * place) % len(every)] for place in range(8)] for i in range(len(rows))]
compare("elements", ELEMENTS, {"in.x": tensor((len(rows), 8), sum(rows, [])), "in.y": tensor((len(rows), 8), sum(exponents, []))})

# Quotients with more bits than an f32 or an integer has. Without fused operations f64 has too few bits for these angles.
large = [1e10, -1e10, 3.4028235e38, 5e9, -6.1e12, 8.8e15, 16777216.0, 7.0]
small = [3.0, 7.0, 1e-45, -0.1, 1e-30, 3.0, -1e-7, INF]
compare("waves", WAVES, {"in.x": ("F32", [2, 8], struct.pack("<16f", *large[:2], 1.0, *large[3:], *small[:2], 0.5, *small[3:7], 0.0)),
                         "in.y": ("F32", [2, 8], struct.pack("<16f", *small, *large[:2], 1e-45, *large[3:]))},
        [isa for isa in available_isas() if isa != "baseline"])

# In each sentence one element is NaN: of a query, a key or a value, whether that key is hidden or not.
sentences, length = 3 * len(ODD[:3]) * 2, 5
kinds = {name: [PLAIN[(7 * i + len(name)) % 7] for i in range(sentences * length * 8)] for name in ("q", "kk", "vvv")}
keep = b""
for number in range(sentences):
    place = (number % 5) * 8 + number % 8
    kinds[("q", "kk", "vvv")[number % 3]][number * length * 8 + place] = ODD[number // 3 % 3]
    keep += bytes(int(key % 2 == 0 or number < sentences // 2) for key in range(length))
# Hidden keys and values must not be NaN here: kernels do not read them, but the reference multiplies them by zero.
for number in range(sentences // 2, sentences):
    for key in range(1, length, 2):
        for name in ("kk", "vvv"):
            start = (number * length + key) * 8
            kinds[name][start:start + 8] = PLAIN[:8]
inputs = {f"in.{name[0]}": tensor((sentences, length, 8), content) for name, content in kinds.items()}
inputs["in.keep"] = ("BOOL", [sentences, length], keep)
compare("attention", ATTENTION, inputs)

# Reads beyond the end of a table return its last element, reads before its beginning the first one.
PLACES = """model M(d = 8) {
  param w: f32[4]
  entry run(x: f32[B, T, d]) -> a, b, c, e {
    z = split(x, 2)
    a = merge(attend(z, z, z, bias = (i, j) -> w[i * 0 + 7] * float(j)))
    b = merge(attend(z, z, z, bias = (i, j) -> w[i * 0 + 3] * float(j)))
    c = merge(attend(z, z, z, bias = (i, j) -> w[j * 0 - 2] * float(j)))
    e = merge(attend(z, z, z, bias = (i, j) -> w[j * 0] * float(j)))
  }
}
"""
(WORK / "model.xf").write_text(PLACES)
compile_model(WORK / "model.xf", WORK / "places", "--random-weights", 1, "--emit=model", "--target", "cpu,cuda", isas=HERE)
for options in [("--isa", isa) for isa in available_isas()] + [("--device", "emulator"), ("--reference",)]:
    got = results(WORK / "places", {"in.x": tensor((2, 5, 8), [PLAIN[(3 * i) % 7] for i in range(80)])}, *options)
    checks.that(not isinstance(got, str) and got["a"] == got["b"] != got["c"] == got["e"], f"{options}: places outside of a table are not its ends")

# The result of a query that sees no key is 0, both in a window after a sentence's end and with all keys hidden; with fill it is the mean of the
# values.
compare("nothing seen", """model M(d = 8) {
  entry run(q: f32[B, T, d], keep: bool[B, T]) -> near, none, mean {
    near = merge(attend(split(q, 2), split(q, 2), split(q, 2), window(1, 1) & keys(keep)))
    none = merge(attend(split(q, 2), split(q, 2), split(q, 2), keys(keep)))
    mean = merge(attend(split(q, 2), split(q, 2), split(q, 2), window(1, 1) & keys(keep), fill = -1e9))
  }
}
""", {"in.q": tensor((3, 20, 8), [PLAIN[(7 * i) % 9] for i in range(480)]),
      "in.keep": ("BOOL", [3, 20], bytes([1] * 20 + [1] * 3 + [0] * 37))})

# Values that depend on weights only are computed at compile time: also booleans, more than 32 of them, and integers that f32 cannot represent.
compare("constants", """model M(d = 40) {
  param m: f32[d]
  entry run(t: token[B, d]) -> kept, saturated, large {
    kept = where(m > 0, float(t), 0)
    saturated = float((int(m * 1e14) + 0 * t) % 1000)
    large = float((int(m * 1e8) * 7 + 1 + t) % 1000)
  }
}
""", {"in.t": ("I64", [1, 40], struct.pack("<40q", *range(40)))})

# Bytes cannot hold NaN or infinity, but a row's scale can.
(WORK / "linear.xf").write_text("model M(d = 8) {\n  l: Linear(d, d)\n  entry run(x: f32[B, d]) -> y = l(x)\n}\n")
compile_model(WORK / "linear.xf", WORK / "linear", "--random-weights", 1, "--type", "int8", "--emit=model", isas=HERE)
rows = [PLAIN[1:9], [ODD[1]] + PLAIN[2:9], PLAIN[1:8] + [ODD[0]], [ODD[3]] + PLAIN[2:9]]
for isa in isas_of(WORK / "linear", "int8"):
    got = results(WORK / "linear", {"in.x": tensor((4, 8), sum(rows, []))}, "--isa", isa)
    y = numbers(got["y"][2])
    checks.that([any(v != v for v in y[8 * i:8 * i + 8]) for i in range(4)] == [False, True, True, True], f"int8, {isa}: {y}")
    checks.that(all(v != v for v in y[8:]), f"int8, {isa}: {y}")
checks.end()
