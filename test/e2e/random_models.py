"""Random models with random sizes: compiled code against the reference interpreter, on all instruction sets and the emulated GPU; and random models
that search: results of searches with the derived step against the whole decoder's logits.

random_models.py [FIRST [COUNT]]: a model and its inputs follow from a number, which failures name.
"""
import collections
import math
import random
import sys

from common import (HERE, ROUNDED, Checks, WORK, available_isas, beam_search, compile_model, distance, log_probabilities, packed, results, run,
                    searched, unpacked)
from random_description import Description, Search
from session import isas_of

first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
count = int(sys.argv[2]) if len(sys.argv) > 2 else 24
checks = Checks()
KINDS = ("f32", "bf16", "int8", "int8-weights")
compared, models_searched, beams_searched = collections.Counter(), 0, 0


def isas_for(number):
    """Code that the machine cannot run takes most of the time to compile: a model in four has it, which shows that it can be made."""
    return None if number % 4 == 0 else HERE


def inputs_of(model, rng):
    sizes = {"B": rng.randint(1, 4), "S": rng.choice([1, 2, 3, 7, 15, 16, 17, 33, 40]), "T": rng.choice([1, 2, 5, 16, 19])}
    inputs = {}
    for name, (kind, shape) in model.inputs.items():
        shape = [sizes.get(size, size) for size in shape]
        elements = math.prod(shape)
        if kind == "f32":
            inputs[name] = packed("F32", shape, [rng.gauss(0, 1) for _ in range(elements)])
        elif kind == "token":
            inputs[name] = packed("I64", shape, [rng.randrange(30) for _ in range(elements)])
        else:
            inputs[name] = "BOOL", shape, bytes(i % shape[-1] == 0 or rng.random() < 0.7 for i in range(elements))
    return sizes, inputs


def row_of(tensor, number):
    kind, shape, content = tensor
    size = len(content) // shape[0]
    return kind, [1, *shape[1:]], content[number * size:(number + 1) * size]


def as_reference(title, got, want, rough, kind):
    """Checks that `got` is as near to the interpreter's results as the type allows. In f32, and if only weights have fewer bits, which the
    interpreter rounds, too, its own results in f32, `rough`, show how near that is. A model whose `rough` is far off tests nothing, and fails.
    """
    compared[kind] += 1
    for name, value in want.items():
        error, allowed = distance(got[name], value), ROUNDED.get(kind) or max(1e-5, 4 * distance(rough[name], value))
        checks.that(kind in ROUNDED or allowed < 0.01, f"{title}: the interpreter in f32 says nothing of {name}")
        checks.that(error <= allowed, f"{title}: {name} is {error:.2e} off (allowed {allowed:.2e})")


def check(number):
    model, rng = Description(number), random.Random(number)
    (WORK / "random.xf").write_text(model.text)
    sizes, inputs = inputs_of(model, rng)
    kind = rng.choice(["f32", *KINDS])
    gpu = kind in ("f32", "bf16") and rng.random() < 0.5
    compiled, title = WORK / "model", f"random model {number} ({kind})"
    status, _, err = compile_model(WORK / "random.xf", compiled, "--random-weights", number, "--type", kind, "--emit=model",
                                   "--target", "cpu,cuda" if gpu else "cpu", isas=isas_for(number), ok=False)
    if status:
        return checks.that(False, f"{title}: {err[-1500:]}")
    want = results(compiled, inputs, "--reference")
    rough = results(compiled, inputs, "--reference=f32")
    if isinstance(want, str) or isinstance(rough, str):
        return checks.that(False, f"{title}, reference: {want if isinstance(want, str) else rough}")
    previous = {}
    for isa, threads in [*((isa, threads) for isa in isas_of(compiled, kind) for threads in (1, 3)), ("best", 3)]:
        got = results(compiled, inputs, "--device", "cpu", *(["--isa", isa] if isa != "best" else []), "--threads", threads)
        if isinstance(got, str):
            checks.that(False, f"{title}, {isa}, {threads} threads: {got}")
            continue
        as_reference(f"{title}, {isa}, {threads} threads", got, want, rough, kind)
        # Threads change no bit, nor does AVX-512 compared with AVX2 (in bf16, AVX-512's own instructions do).
        same = "fma" if isa in ("avx2", "avx512") else isa
        checks.that(previous.setdefault(same, got) == got, f"{title}, {isa}, {threads} threads: other bits")
    alone_as_together(title, compiled, sizes["B"], inputs, got, "cpu")
    if gpu:
        got = results(compiled, inputs, "--device", "emulator")
        if not isinstance(got, str):
            as_reference(f"{title}, emulator", got, want, rough, kind)
        alone_as_together(title, compiled, sizes["B"], inputs, got, "emulator")


def alone_as_together(title, compiled, batch, inputs, together, device):
    """Other rows in the batch change no bit."""
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
    """Scores and greedy tokens follow from the reference's logits; the number of sentences in a search changes nothing."""
    global models_searched
    rng = random.Random(number)
    model = Search(number)
    (WORK / "search.xf").write_text(model.text)
    gpu, compiled, title = rng.random() < 0.25, WORK / "search", f"random search {number}"
    status, _, err = compile_model(WORK / "search.xf", compiled, "--random-weights", number,
                                   "--target", "cpu,cuda" if gpu else "cpu", isas=isas_for(number), ok=False)
    if status:
        return checks.that(False, f"{title}: {err[-1500:]}")
    sources = [[rng.randrange(1, 30) for _ in range(rng.choice([1, 2, 5, 5, 17]))] for _ in range(5)]
    longest = rng.choice([3, 9, 20])
    # With few sentences, threads work together on their sources; with more, each works on its own sentences.
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
                score_as_given(title, compiled, None if model.continues else source, read_first(model, source), [int(word) for word in ids.split()],
                               float(score), longest, beam, device)
    models_searched += 1
    if number % 2:
        confirm_beams(title, compiled, model, sources, longest)


def read_first(model, source):
    """The tokens that the decoder reads before its result. A prompt that begins with the start token does not get another one."""
    return [1] if not model.continues else source if source[0] == 1 else [1, *source]


def logits_of(title, compiled, model, rows):
    """The interpreter's logits of the last tokens of rows (source, tokens that the decoder reads), all of the same lengths."""
    reads = {"tgt": packed("I64", [len(rows), len(rows[0][1])], [token for _, read in rows for token in read])}
    if not model.continues:
        reads["src"] = packed("I64", [len(rows), len(rows[0][0])], [token for source, _ in rows for token in source])
    got = results(compiled, reads, "--reference")
    if isinstance(got, str):
        checks.that(False, f"{title}, reference: {got[-1500:]}")
        return [[0.0] * 30] * len(rows)
    logits, positions = unpacked(got["logits"]), len(rows[0][1])
    return [logits[30 * positions * (r + 1) - 30:30 * positions * (r + 1)] for r in range(len(rows))]


def confirm_beams(title, compiled, model, sources, longest, beam=3):
    """All results of all beams are those of another search on the interpreter's logits; for the sources of the most frequent length."""
    global beams_searched
    lengths = [len(read_first(model, source)) if model.continues else len(source) for source in sources]
    few = [source for source, length in zip(sources, lengths) if length == max(lengths, key=lengths.count)]
    wanted = beam_search(lambda ways: logits_of(title, compiled, model, [(few[s], read_first(model, few[s]) + tokens) for s, tokens in ways]),
                         len(few), beam, longest, end=2)
    lines = [" ".join(map(str, source)) for source in few]
    found = searched(compiled, lines, "--device", "cpu", "--beam", beam, "--n-best", beam, "--max-length", longest)
    for source, got, (want, nearest) in zip(few, found, wanted):
        got = [(score, [int(word) for word in ids.split()]) for score, ids in got]
        near = 1e-4 * (1 + max(abs(score) for score, _ in want))
        if nearest < near:
            continue  # rounding may decide otherwise
        beams_searched += 1
        texts = [tokens[:-1] if tokens[-1] == 2 else tokens for _, tokens in want]
        checks.that([ids for _, ids in got] == texts and all(abs(a - b) <= near for (a, _), (b, _) in zip(got, want)),
                    f"{title}, {beam} beams of {source}: {got}, but {want} by the interpreter's logits")


def score_as_given(title, compiled, source, given, ids, score, longest, beam, device):
    """Checks a result's score, and the tokens of a greedy one. `given`: what the decoder reads before `ids`."""
    ids = ids + [2] * (len(ids) < longest)
    read = {"tgt": packed("I64", [1, len(given) + len(ids) - 1], [*given, *ids[:-1]])}
    if source:
        read["src"] = packed("I64", [1, len(source)], source)
    got = results(compiled, read, "--reference")
    if isinstance(got, str):
        return checks.that(False, f"{title}, reference: {got[-1500:]}")
    logits = unpacked(got["logits"])[-30 * len(ids):]
    rows = [logits[30 * t:30 * t + 30] for t in range(len(ids))]
    sums = sum(log_probabilities(row)[token] for row, token in zip(rows, ids))
    near = 1e-4 * (1 + abs(score))
    checks.that(abs(sums / len(ids) - score) <= near, f"{title}, beam {beam}, {device}: {ids} scores {score}, not {sums / len(ids)}")
    for t, (row, token) in enumerate(zip(rows, ids)) if beam == 1 else ():
        checks.that(row[token] >= max(row) - near, f"{title}, {device}: token {t} of {ids} is not the best")


for number in range(first, first + count):
    check(number)
    search(number)
print(f"{count} models, compared: {dict(compared)}; {models_searched} searched, beams of {beams_searched} sentences; {checks.failed} failures")
checks.that(all(compared[kind] for kind in KINDS) if count >= 24 else compared, f"types are left out: {dict(compared)}")
checks.that(models_searched > 0 and beams_searched >= count // 3, "next to nothing was searched for")
checks.end()
