"""Damaged IR of every phase, in xfc and xf-opt: no crash, no hang, and a message where it is refused.

damaged_ir.py [SEED [COUNT [CODE]]]: all damage follows from the seed. COUNT texts are made of each phase; CODE of the texts that are still valid
kernel IR are compiled to code, which takes longest.
"""
import random
import re
import subprocess
import sys

from common import BIN, Checks, MODELS, WORK, run

seed, count, most_code = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((1, 2), (2, 200), (3, 3)))
rng = random.Random(seed)
checks = Checks()
tried = refused = 0


def attempt(what, command):
    """Runs a command on damaged IR; returns whether it accepted it."""
    global tried, refused
    tried += 1
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=120)
        problem = f"status {done.returncode}, {done.stderr[-300:]}"
        good = done.returncode == 0 or done.returncode == 1 and "error:" in done.stderr
    except subprocess.TimeoutExpired:
        done, good, problem = None, False, "no end after 120 seconds"
    taken = good and done.returncode == 0
    refused += not taken
    checks.that(good, f"{what}: {problem}")
    if not good and len(sys.argv) > 1:
        (WORK.parent / f"xf-{what.replace(' ', '-')}.mlir").write_text((WORK / "damaged.mlir").read_text())
    return taken


def pick(pattern, text):
    """A random match of the pattern; None if there is none."""
    found = list(re.finditer(pattern, text))
    return rng.choice(found) if found else None


def put(text, match, other):
    return text[:match.start()] + other + text[match.end():] if match else text


def drop_line(text):
    return put(text, pick(r"(?m)^.*\n", text), "")


def move_line(text):
    line = pick(r"(?m)^.*\n", text)
    rest = put(text, line, "")
    at = pick(r"(?m)^", rest).start()
    return rest[:at] + line.group() + rest[at:]


def swap(pattern):
    """Swaps two matches in one line."""
    def change(text):
        line = pick(r"(?m)^.*" + pattern + ".*" + pattern + ".*$", text)
        if not line:
            return text
        both = sorted(rng.sample(list(re.finditer(pattern, line.group())), 2), key=lambda m: m.start())
        swapped = put(put(line.group(), both[1], both[0].group()), both[0], both[1].group())
        return put(text, line, swapped)
    return change


def replace(pattern, others, everywhere=False):
    """Replaces a match by one of `others` or by another match of the text; everywhere, if asked, so that verifiers of single ops may pass."""
    def change(text):
        found = pick(pattern, text)
        if not found:
            return text
        other = rng.choice(others) if others and rng.random() < 0.7 else pick(pattern, text).group()
        return text.replace(found.group(), other) if everywhere else put(text, found, other)
    return change


def empty_region(text):
    """Deletes the lines between two braces, or all but the last one."""
    line = pick(r"(?m)^( *).*\{\n", text)
    end = re.compile(rf"(?m)^{line.group(1)}\}}").search(text, line.end())
    inside = text[line.end():end.start()].splitlines(True) if end else []
    return text[:line.end()] + "".join(inside[-1:] if rng.random() < 0.5 else []) + text[line.end() + len("".join(inside)):]


NUMBERS = ["0", "1", "2", "3", "-1", "16", "1000000007", "9223372036854775807", "-9223372036854775808"]
DIMS = r'#xf\.dims<[^>]*>'
KINDS = [
    drop_line, move_line, empty_region, swap(r"%\w+"), swap(r"tensor<[^>]*>"), swap(r"\[[^\]]*\]"), swap(r'@[\w.]+'),
    replace(r"(?<![\w.#%])-?\d+(?![\w.])", NUMBERS),                                # indices, axes, values of attributes
    replace(r"(?<=[x<])\d+(?=x)", NUMBERS + ["?"]), replace(r"(?<=[x<])\d+(?=x)", NUMBERS[1:4], True), # sizes
    replace(r"\b(f32|i32|i1|f64|index|i64)\b", ["f16", "bf16", "i8", "i32", "f32", "i1", "index", "i0", "complex<f32>"]),
    replace(r"xf32\b", ["xf16", "xbf16", "xi8", "xf64", "xindex"], True),
    replace(r"tensor<[^#>]*>", ["tensor<f32>", "tensor<0xf32>", "tensor<*xf32>", "i32", "vector<4xf32>", "tensor<1x1x1x1xf32>", "tensor<?xf32>"]),
    replace(r"tensor<[^#>]*>", ["tensor<f32>", "tensor<0xf32>", "tensor<1x1x1xf32>"], True),
    replace(DIMS, ['#xf.dims<"", "Q">', '#xf.dims<"B">', "0 : i64"]), replace(DIMS, ['#xf.dims<"B", "Q">'], True),
    replace(r'"[^"]*"', ['"Q"', '""', '"1"', '"{9}"', '"B"']), replace(r'"\w"', ['"Q"', '"B"'], True),
    replace(r'@[\w.]+', ["@nowhere"]), replace(r"%[\w#]+", []), replace(r" = [^,{}\n]+", [" = unit", " = 0 : i64", ' = "B"', " = []", " = @run", " = -3 : i64"]),
    replace(r"(?<=[{ ])[\w.]+ = [^,{}\n]*(, )?", [""]), replace(r"\w+ = \{[^{}]*\}", ['xf.bounds = {}', 'xf.bounds = 3']),
    replace(r" (counts|layers|layout|path|axis|start|step|offset|past|slots|padding|scale|fill|init) +[^ :{]+", [""]), replace(r" sentences", [""]),
    replace(r"\[\[?[^\]]*\]", ["[]", "[[]", "[0]", "[-1]", "[[7]"]),
    replace(r"xf\.\w+", ["xf.map", "xf.pack", "xf.yield"]), replace(r"(arith|math)\.\w+", ["arith.addf", "arith.remsi", "math.exp", "math.erf", "arith.cmpf"]),
]

folder = MODELS / "seed4"
run(BIN / "xfc", folder / "seed4.xf", "--config", folder / "config.json", "--emit=fused", "--dump-phases", WORK, "-o", WORK / "fused")
texts = {phase: (WORK / f"{phase}.mlir").read_text() for phase in ("1-model", "2-step", "3-kernel")}
pipelines = {"1-model": ["--xf-step-pipeline", "--xf-kernel-pipeline"], "2-step": ["--xf-kernel-pipeline"], "3-kernel": []}
for phase, whole in texts.items():
    for number in range(count):
        text = whole
        for _ in range(rng.choice([1, 1, 2])):
            text = rng.choice(KINDS)(text)
        damaged = WORK / "damaged.mlir"
        damaged.write_text(text)
        what = f"{phase} {seed} {number}"
        # Both tools read the same IR and run the same passes: each gets half of the texts.
        if number % 2 and phase != "3-kernel":
            attempt(what, [BIN / "xf-opt", damaged, *pipelines[phase], "-o", WORK / "out"])
        elif attempt(what, [BIN / "xfc", damaged, "--emit=fused", "-o", WORK / "out"]) and phase == "3-kernel" and text != whole and most_code > 0:
            most_code -= 1
            attempt(what + " code", [BIN / "xfc", damaged, "--random-weights", "1", "--emit=model", "-o", WORK / "out"])
print(f"{tried} damaged texts, {refused} refused")
checks.that(refused > tried / 2, "hardly anything was refused")
checks.end()
