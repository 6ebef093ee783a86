"""A weight that is [in, out] in the checkpoint is stored once in the file, like one that is [out, in], and is read back from there."""
import random

from common import Checks, WORK, compile_model, packed, results, unpacked, write_safetensors

DESCRIPTION = """model Product(d = 256, n = 515) {
  param a: f32[%s]
  param b: f32[%s]
  param c: f32[%s]
  entry run(x: f32[B <= 4, d]) -> y, z { y = x @ a%s
    z = x @ concat(b%s, c%s, axis = 0).T }
}
"""
checks = Checks()
d, n = 256, 515
random.seed(7)


def matrix(rows, columns):
    return [[random.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


def tensor(rows):
    return packed("F32", [len(rows), len(rows[0])], [x for row in rows for x in row])


wide, inputs = {name: matrix(n, d) for name in "abc"}, {"x": tensor(matrix(3, d))}
description, weights, model = WORK / "product.xf", WORK / "weights", WORK / "model"
for kind in ("f32", "bf16", "int8", "int8-weights"):
    found = {}
    for transposed in (False, True):
        shape, before, behind = ("d, n", "", ".T") if transposed else ("n, d", ".T", "")
        description.write_text(DESCRIPTION % (shape, shape, shape, before, behind, behind))
        write_safetensors(weights, {name: tensor([list(column) for column in zip(*rows)] if transposed else rows) for name, rows in wide.items()})
        compile_model(description, model, "--weights", weights, "--emit=model", "--type", kind)
        found[transposed] = model.stat().st_size, results(model, inputs, ok=True), results(model, inputs, "--reference", ok=True)
    (plain, got, want), (other, others, wanted) = found[False], found[True]
    checks.that(abs(plain - other) < 4096, f"{kind}: {other} bytes, as [out, in] {plain}")
    checks.that(got == others, f"{kind}: other results")
    for name in ("y", "z"):
        off = max(abs(u - v) for u, v in zip(unpacked(want[name]), unpacked(wanted[name]), strict=True))
        checks.that(off < 1e-4, f"{kind}: the reference reads weights of {name} back that are {off} apart")
checks.end()
