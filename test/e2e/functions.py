"""The language's and the library's functions of one number compute what their names say, for tensors on each device and for constants."""
import math
import re
import struct

from common import Checks, SOURCE, WORK, compile_model, results

checks = Checks()


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def gelu(x):
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x):
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def softplus(x):
    return math.log1p(math.exp(x))


FUNCTIONS = {
    "exp": math.exp, "expm1": math.expm1, "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "erf": math.erf, "abs": abs,
    "floor": math.floor,
    "relu": lambda x: max(x, 0), "relu2": lambda x: max(x, 0) ** 2, "relu6": lambda x: min(max(x, 0), 6),
    "gelu": gelu, "gelu_python": gelu,
    "gelu_tanh": gelu_tanh, "gelu_new": gelu_tanh, "gelu_fast": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh,
    "quick_gelu": lambda x: x * sigmoid(1.702 * x), "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x), "swish": lambda x: x * sigmoid(x),
    "softplus": softplus, "mish": lambda x: x * math.tanh(softplus(x)), "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
    "elu": lambda x: x if x > 0 else math.expm1(x), "softsign": lambda x: x / (1 + abs(x)), "identity": lambda x: x, "square": lambda x: x * x,
}
POSITIVE = {"log": math.log, "log1p": math.log1p, "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x)}
VALUES = [-9.0, -3.25, -1.0, -0.375, -0.001, 0.0, 0.001, 0.5, 1.0, 2.75, 7.5]

names = {**FUNCTIONS, **POSITIVE}
library = (SOURCE / "compiler/Frontend/Library/math.xf").read_text().split("\nmean(")[0]  # row statistics follow
for name in re.findall(r"^(\w+)\(x", library, re.MULTILINE):
    checks.that(name in names, f"'{name}' of the library is not compared with anything")
described = set(re.findall(r"\w+", (SOURCE / "compiler/Frontend/LANGUAGE.md").read_text()))
for name in names:
    checks.that(name in described, f"LANGUAGE.md does not name '{name}'")
NUMBER = 1.375
tensors = "\n".join(f"    {name}_x = {name}({'x' if name in FUNCTIONS else 'abs(x) + 0.25'})" for name in names)
numbers = "\n".join(f"    {name}_n = 0 * x + {name}({NUMBER})" for name in names)
given = ", ".join(f"{name}_{kind}" for kind in "xn" for name in names)
(WORK / "functions.xf").write_text(f"model M() {{\n  entry run(x: f32[N]) -> {given} {{\n{tensors}\n{numbers}\n  }}\n}}\n")
compile_model(WORK / "functions.xf", WORK / "functions", "--random-weights", 1, "--emit=model", "--target", "cpu,cuda")
inputs = {"x": ("F32", [len(VALUES)], struct.pack(f"<{len(VALUES)}f", *VALUES))}
for options in (["--device", "cpu"], ["--device", "emulator"], ["--reference"]):
    got = results(WORK / "functions", inputs, *options)
    checks.that(isinstance(got, dict), f"{options}: {got}")
    for name, function in names.items():
        of_tensor = [function(x if name in FUNCTIONS else abs(x) + 0.25) for x in struct.unpack(f"<{len(VALUES)}f", inputs["x"][2])]
        for kind, want in (("x", of_tensor), ("n", [function(NUMBER)] * len(VALUES))):
            found = struct.unpack(f"<{len(VALUES)}f", got[f"{name}_{kind}"][2])
            checks.that(all(abs(x - y) <= 2e-6 * abs(y) + 1e-7 for x, y in zip(found, want)), f"{options} {name}_{kind}: {found}, not {want}")
checks.end()
