"""Random models with random sizes: compiled code against the reference interpreter, on all instruction sets and the emulated GPU;
and random encoder-decoders: what a search makes of the derived step against the whole decoder's logits.

random_models.py [FIRST [COUNT]]: a model and its inputs follow from a number alone, which a failure names.
"""
import math
import random
import struct
import sys

from common import Checks, WORK, available_isas, compile_model, distance, results, run
from random_description import Description, Search

first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
count = int(sys.argv[2]) if len(sys.argv) > 2 else 24
checks = Checks()
compared = searched = 0


def inputs_of(model, rng):
    sizes = {"B": rng.randint(1, 4), "S": rng.choice([1, 2, 3, 7, 15, 16, 17, 33, 40]), "T": rng.choice([1, 2, 5, 16, 19])}
    inputs = {}
    for name, (kind, shape) in model.inputs.items():
        shape = [sizes.get(size, size) for size in shape]
        elements = 1
        for size in shape:
            elements *= size
        if kind == "f32":
            inputs[name] = "F32", shape, struct.pack(f"<{elements}f", *[rng.gauss(0, 1) for _ in range(elements)])
        elif kind == "token":
            inputs[name] = "I64", shape, struct.pack(f"<{elements}q", *[rng.randrange(30) for _ in range(elements)])
        else:
            inputs[name] = "BOOL", shape, bytes(i % shape[-1] == 0 or rng.random() < 0.7 for i in range(elements))
    return sizes, inputs


def row_of(tensor, number):
    kind, shape, content = tensor
    size = len(content) // shape[0]
    return kind, [1, *shape[1:]], content[number * size:(number + 1) * size]


def as_reference(title, got, want, rough):
    """As near to the interpreter's results as f32 can be asked to be: `rough` are its own in f32."""
    global compared
    for name, value in want.items():
        compared += 1
        error, allowed = distance(got[name], value), max(1e-5, 8 * distance(rough[name], value))
        checks.that(allowed < 0.01, f"{title}: the interpreter in f32 says nothing of {name}")
        checks.that(error <= allowed, f"{title}: {name} is {error:.2e} off (allowed {allowed:.2e})")


def check(number):
    model, rng = Description(number), random.Random(number)
    (WORK / "random.xf").write_text(model.text)
    sizes, inputs = inputs_of(model, rng)
    # int8 and bf16 have rounding that the reference does not have: their results are compared with each other.
    kind = rng.choice(["f32", "f32", "bf16", "int8", "int8-weights"])
    gpu = kind in ("f32", "bf16") and rng.random() < 0.5
    compiled, title = WORK / "model", f"random model {number} ({kind})"
    status, _, err = compile_model(WORK / "random.xf", compiled, "--random-weights", number, "--type", kind, "--emit=model", "--target", "cpu,cuda" if gpu else "cpu", ok=False)
    if status:
        return checks.that(False, f"{title}: {err[-1500:]}")
    want = results(compiled, inputs, "--reference")
    rough = results(compiled, inputs, "--reference=f32")
    if isinstance(want, str) or isinstance(rough, str):
        return checks.that(False, f"{title}, reference: {want if isinstance(want, str) else rough}")
    previous = {}
    for isa in [*available_isas(), "best"]:
        for threads in (1, 3):
            got = results(compiled, inputs, "--device", "cpu", *(["--isa", isa] if isa != "best" else []), "--threads", threads)
            if isinstance(got, str):
                checks.that(False, f"{title}, {isa}, {threads} threads: {got}")
                continue
            if kind == "f32":
                as_reference(f"{title}, {isa}, {threads} threads", got, want, rough)
            # The number of threads changes no bit, nor does AVX-512 against AVX2 (in bf16 its own instructions do).
            same = "fma" if isa in ("avx2", "avx512") else isa
            checks.that(previous.setdefault(same, got) == got, f"{title}, {isa}, {threads} threads: other bits")
    alone_as_together(title, compiled, sizes["B"], inputs, got, "cpu")
    if gpu:
        got = results(compiled, inputs, "--device", "emulator")
        if kind == "f32" and not isinstance(got, str):
            as_reference(f"{title}, emulator", got, want, rough)
        alone_as_together(title, compiled, sizes["B"], inputs, got, "emulator")


def alone_as_together(title, compiled, batch, inputs, together, device):
    """Who else is in the batch changes no bit."""
    if isinstance(together, str):
        return checks.that(False, f"{title}, {device}: {together}")
    for b in range(batch):
        alone = results(compiled, {name: row_of(tensor, b) for name, tensor in inputs.items()}, "--device", device)
        if isinstance(alone, str):
            checks.that(False, f"{title}, {device}, row {b} alone: {alone}")
            continue
        for name, value in together.items():
            checks.that(alone[name] == row_of(value, b), f"{title}, {device}: row {b} of {name} differs alone")


def search(number):
    """Scores are those of the reference's logits, tokens the largest; how many search together decides nothing."""
    global searched
    rng = random.Random(number)
    model = Search(number)
    (WORK / "search.xf").write_text(model.text)
    gpu, compiled, title = rng.random() < 0.25, WORK / "search", f"random search {number}"
    status, _, err = compile_model(WORK / "search.xf", compiled, "--random-weights", number, "--target", "cpu,cuda" if gpu else "cpu", ok=False)
    if status:
        return checks.that(False, f"{title}: {err[-1500:]}")
    sources = [[rng.randrange(1, 30) for _ in range(rng.choice([1, 2, 5, 5, 17]))] for _ in range(5)]
    longest = rng.choice([3, 9, 20])
    # Threads work together on the source of a few, on sentences of their own where there are more.
    crowd = sources + [[rng.randrange(1, 30) for _ in range(rng.choice([1, 2, 5, 9, 17]))] for _ in range(30)]
    for beam in (1, 3):
        def found(*options, of=sources):
            lines = "".join(" ".join(map(str, source)) + "\n" for source in of)
            status, out, err = run(compiled, "--scores", "--beam", beam, "--max-length", longest, *options, stdin=lines, ok=False)
            checks.that(status == 0, f"{title}, {options}: {err[-1500:]}")
            return [line.split("\t") for line in out.splitlines()]
        want = found("--device", "cpu")
        for options in (["--batch", 1], ["--threads", 3], ["--isa", "avx2"] if "avx2" in available_isas() else []):
            checks.that(found("--device", "cpu", *options) == want, f"{title}, beam {beam}: {options} gives something else")
        checks.that(found("--device", "cpu", "--threads", 3, of=crowd)[:len(sources)] == want, f"{title}, beam {beam}: a crowd changes something")
        for device in ["cpu", "emulator"][:1 + gpu]:
            results_there = want if device == "cpu" else found("--device", device)
            if len(results_there) != len(sources):
                checks.that(False, f"{title}, beam {beam}, {device}: {len(results_there)} results")
                continue
            for source, (_, score, ids) in zip(sources, results_there):
                # A prompt that begins with the start token does not get another one.
                given = [1] if not model.continues else source if source[0] == 1 else [1, *source]
                score_as_given(title, compiled, None if model.continues else source, given, [int(word) for word in ids.split()], float(score), longest, beam, device)
    searched += 1


def tokens_of(*ids):
    return "I64", [1, len(ids)], struct.pack(f"<{len(ids)}q", *ids)


def score_as_given(title, compiled, source, given, ids, score, longest, beam, device):
    """`given`: what the decoder reads before `ids`."""
    ids = ids + [2] * (len(ids) < longest)
    read = {"tgt": tokens_of(*given, *ids[:-1])} | ({"src": tokens_of(*source)} if source else {})
    got = results(compiled, read, "--reference")
    if isinstance(got, str):
        return checks.that(False, f"{title}, reference: {got[-1500:]}")
    logits = struct.unpack(f"<{30 * len(ids)}f", got["logits"][2][-120 * len(ids):])
    rows = [logits[30 * t:30 * t + 30] for t in range(len(ids))]
    sums = sum(row[token] - max(row) - math.log(sum(math.exp(x - max(row)) for x in row)) for row, token in zip(rows, ids))
    near = 1e-4 * (1 + abs(score))
    checks.that(abs(sums / len(ids) - score) <= near, f"{title}, beam {beam}, {device}: {ids} scores {score}, not {sums / len(ids)}")
    for t, (row, token) in enumerate(zip(rows, ids)) if beam == 1 else ():
        checks.that(row[token] >= max(row) - near, f"{title}, {device}: token {t} of {ids} is not the best")


for number in range(first, first + count):
    check(number)
    search(number)
print(f"{count} models, {compared} tensors compared, {searched} searched, {checks.failed} failures")
checks.that(compared > 0 and searched > 0, "nothing was compared")
checks.end()
