"""Each op's documented example is parsed, verified and read back by xf-opt.

Examples of ops inside entries are wrapped in an entry whose arguments are the values that they use: tensors have the types after the
example's colon, in order, and values in brackets are indices.
"""
import os
import pathlib
import re
import subprocess
import sys

SOURCE, BIN = pathlib.Path(os.environ["XF_SOURCE"]), pathlib.Path(os.environ["XF_BIN"])
MODULE_OPS = ("parameter", "entry", "state", "weight")
# A state that the example of a recurrence refers to; the examples of module ops define the other symbols.
PRELUDE = 'xf.state @s : tensor<?x8xf32, #xf.dims<"B", "">> layers 6\n'


def types_of(text):
    """The tensor types in `text`, in order."""
    return re.findall(r'tensor<(?:[^<>"]|"[^"]*"|<[^<>]*>)*>', text)


def wrap(example):
    header = example.split("{\n")[0].split("{ ^bb")[0]
    defined = set(re.findall(r"^\s*(%\w+)(?::\d+)? =", example, re.M)) | set(re.findall(r"(%\w+): ", example))
    defined |= set(name for line in re.findall(r"^\s*([%\w, ]+) = ", example, re.M) for name in re.findall(r"%\w+", line))
    arguments = {}
    for line in example.splitlines() if "^bb0" not in example else [header]:
        body, _, types = line.partition(" : ") if '{h = 8 : i64}' not in line else line.partition("} : ")
        operands = body.split("=", 1)[-1]
        inside = " ".join(re.findall(r"\[([^\]]*%[^\]]*)\]", operands))
        for name in re.findall(r"%\w+", inside):
            if name not in defined:
                arguments.setdefault(name, "index")
        names = [n for n in re.findall(r"%\w+", re.sub(r"\[[^\]]*%[^\]]*\]", "", operands)) if n not in defined]
        # An op with regions in the middle has its types after them.
        for name, kind in zip(names, types_of(line[len(body):] or example.partition("\n} : ")[2])):
            arguments.setdefault(name, kind)
    block = ", ".join(f'{name}: {kind} {{xf.name = "{name}"}}' for name, kind in arguments.items())
    return f"xf.entry full @example({block}) {{\n{example}\nxf.return\n}}\n"


def wrap_in_mask(example):
    heads = 'tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>'
    return (f'xf.entry full @example(%tokens: tensor<?x?xi32, #xf.dims<"B", "S">> {{xf.name = "t"}}, %q: {heads} {{xf.name = "q"}}) {{\n'
            f"%c = xf.attend %q, %q, %q scale 0.5 fill 0.0 mask {{\n^bb0(%b: index, %h: index, %i: index, %j: index):\n{example}\n"
            f"%ok = arith.constant true\nxf.yield %ok : i1\n}} : {heads}, {heads}, {heads} -> ({heads})\nxf.return\n}}\n")


modules, bodies, ops = [], [], set()
for path in sorted((SOURCE / "dialect" / "IR").glob("*.td")):
    text = path.read_text()
    for name, rest in re.findall(r'def Xf_\w+ : Xf_Op<"(\w+)"(.*?)(?=\ndef |\n#endif)', text, re.S):
        ops.add(name)
        example = re.search(r"```mlir\n(.*?)```", rest, re.S)
        if not example:
            sys.exit(f"xf.{name} has no example")
        lines = "\n".join(line.strip() for line in example.group(1).splitlines())
        if name in MODULE_OPS:
            modules.append(lines)
        elif name not in ("return", "yield"):  # they are in the others' examples
            bodies.append((name, wrap_in_mask(lines) if name == "at" else wrap(lines)))

failed = 0
for name, body in bodies:
    source = PRELUDE + "\n".join(modules) + "\n" + body
    done = subprocess.run([BIN / "xf-opt", "--verify-roundtrip", "-"], input=source,
                          capture_output=True, text=True)
    if done.returncode or f"xf.{name}" not in done.stdout:
        failed += 1
        print(f"xf.{name}:\n{body}\n{done.stderr[:600]}")
print(f"{len(bodies) + len(modules)} examples of {len(ops)} ops, {failed} failed")
sys.exit(failed != 0)
