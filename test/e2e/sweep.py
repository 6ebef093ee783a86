"""Other sizes, including odd ones, pad tokens anywhere, single blocks, masks as inputs: compiled code against the reference interpreter.

sweep.py [SEED]: the inputs are random; the seed is printed, so that a failure can be repeated.
"""
import math
import random
import sys

from common import (HERE, ROUNDED, SOURCE, Checks, MODELS, WORK, compile_model, distance, log_probabilities, packed, results, searched, sets,
                    unpacked)
from session import isas_of

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
rng = random.Random(seed)
checks = Checks()
compared = 0


def tokens(shape, vocabulary, pads):
    return packed("I64", shape, [0 if pads and rng.random() < 0.3 else rng.randrange(1, vocabulary) for _ in range(math.prod(shape))])


def floats(*shape):
    return packed("F32", shape, [rng.gauss(0, 1) for _ in range(math.prod(shape))])


def booleans(*shape):
    # The first element of the last dimension is true, so that each row has a key.
    return "BOOL", list(shape), bytes(1 if i % shape[-1] == 0 else rng.randrange(2) for i in range(math.prod(shape)))


def compare(title, description, options, inputs):
    """Compares in f32 and in one of the other types."""
    number, kind = rng.randrange(1000), rng.choice(list(ROUNDED))
    want = compare_type(title, description, ["--random-weights", number, *options], inputs)
    if want:
        compare_type(f"{title} {kind}", description, ["--random-weights", number, *options], inputs, want, kind)


def compare_type(title, description, options, inputs, want=None, kind="f32"):
    """Compares with the reference interpreter's results `want`, by default those for this program, and returns them."""
    global compared
    model, wide = WORK / "model", ROUNDED.get(kind)
    status, _, err = compile_model(description, model, "--emit=model", "--type", kind, *options, isas=HERE, ok=False)
    if status:
        checks.that(False, f"{title}: {err}")
        return None
    rough = None if wide else results(model, inputs, "--reference=f32")
    want = want or results(model, inputs, "--reference")
    if isinstance(want, str):
        checks.that(False, f"{title}: {want}")
        return None
    previous = {}
    for isa in isas_of(model, kind):
        for threads in (1, 3):
            got = results(model, inputs, "--isa", isa, "--threads", threads)
            if isinstance(got, str):
                checks.that(False, f"{title}, {isa}, {threads} threads: {got}")
                continue
            for name, value in want.items():
                compared += 1
                error, allowed = distance(got[name], value), wide or max(1e-5, 4 * distance(rough[name], value))
                checks.that(wide or allowed < 0.01, f"{title}: the interpreter in f32 says nothing of {name}")
                checks.that(error <= allowed, f"{title}, {isa}, {threads} threads: {name} is {error:.2e} off (allowed {allowed:.2e})")
            # Threads change no bit, nor does AVX-512 compared with AVX2 (in other types their own instructions may).
            same = "fma" if isa in ("avx2", "avx512") else isa
            checks.that(previous.setdefault(same, got) == got, f"{title}, {isa}, {threads} threads: other bits")
    return want


for d, h, vocab, batch, length in ((8, 2, 11, 1, 1), (36, 3, 50, 2, 17), (20, 5, 7, 3, 33), (64, 1, 100, 5, 16)):
    compare(f"seed0 {d}/{h}", MODELS / "seed0/seed0.xf", sets(vocab=vocab, d_model=d, h=h), {"tokens": tokens((batch, length), vocab, True)})
for d, h, f, q, k in ((8, 2, 5, 1, 1), (24, 8, 100, 7, 18), (20, 1, 33, 16, 31)):
    compare(f"seed2 {d}/{h}", MODELS / "seed2/seed2.xf", sets(d_model=d, num_heads=h, d_ff=f), {"query": floats(2, q, d), "key": floats(2, k, d)})
for d, h, f, n, s, t in ((16, 4, 24, 1, 5, 3), (20, 2, 50, 3, 19, 21)):
    both = {"src": tokens((3, s), 30, False), "tgt": tokens((3, t), 28, False)}
    padded = {"src": tokens((3, s), 30, True), "tgt": tokens((3, t), 28, True)}
    for title, inputs in (("", both), (" padded", padded)):
        compare(f"seed3 {d}/{h}{title}", MODELS / "seed3/seed3.xf", sets(src_vocab=30, trg_vocab=28, d_model=d, heads=h, d_ff=f, n=n, max_len=40), inputs)
        compare(f"seed4 {d}/{h}{title}", MODELS / "seed4/seed4.xf",
                sets(src_vocab=30, tgt_vocab=28, d_model=d, n_heads=h, d_k=6, d_v=10, d_ff=f, n=n), inputs)
    first = {"src": tokens((s, 3), 30, False), "tgt": tokens((t, 3), 30, False)}
    for norm in ("true", "false"):
        compare(f"seed1 {d}/{h} {norm}", MODELS / "seed1/seed1.xf",
                sets(vocab=30, d_model=d, h=h, layers=n, d_ff=f, norm_first=norm, activation="gelu"), first)
# Single blocks.
compare("Norm", MODELS / "seed3/seed3.xf", ["--model", "Norm", *sets(d=19)], {"x": floats(2, 5, 19)})
compare("FeedForward", MODELS / "seed3/seed3.xf", ["--model", "FeedForward", *sets(d=12, d_ff=40)], {"x": floats(2, 5, 12)})
compare("Attention", MODELS / "seed3/seed3.xf", ["--model", "Attention", *sets(d=24, heads=3)],
        {"q": floats(2, 5, 24), "k": floats(2, 9, 24), "v": floats(2, 9, 24)})
# Masks as inputs: boolean, and additive; and query, key and value all different.
compare("masks", MODELS / "seed2/seed2.xf", ["--model", "Seed2Masked", *sets(d_model=24, num_heads=3, d_ff=17)],
        {"query": floats(2, 6, 24), "key": floats(2, 21, 24), "value": floats(2, 21, 24), "mask": booleans(2, 6, 21), "additive": floats(6, 21)})
compare("sequential", MODELS / "seed2/seed2.xf", ["--model", "SequentialFeedForward", *sets(d_model=12, d_ff=40)], {"x": floats(2, 5, 12)})
for shared in ("true", "false"):
    compare(f"seed1 shared={shared}", MODELS / "seed1/seed1.xf", sets(vocab=30, d_model=16, h=2, layers=3, d_ff=20, shared=shared),
            {"src": tokens((7, 2), 30, False), "tgt": tokens((5, 2), 30, False)})
for shared in ("true", "false"):
    compare(f"nested shared={shared}", SOURCE / "test/e2e/nested.xf", sets(vocab=20, d=16, heads=2, shared=shared), {"tokens": tokens((2, 9), 20, False)})
# A bias of minus infinity and a mask hide later positions alike, in the full decoder and in a search.
found = []
for masked in ("true", "false"):
    options = sets(vocab=20, d=16, heads=2, masked=masked)
    compare(f"biased masked={masked}", SOURCE / "test/e2e/biased.xf", options, {"tokens": tokens((2, 9), 20, False)})
    compile_model(SOURCE / "test/e2e/biased.xf", WORK / "biased", "--random-weights", 5, *options)
    lines = searched(WORK / "biased", ["1 5 7 3", "1", "1 9 9 9 4 4"], "--max-length", 30)
    found.append([(ids, round(score, 4)) for (score, ids), in lines])
checks.that(found[0] == found[1] and len(found[0]) == 3, f"a bias that hides: {found[1]}, a mask: {found[0]}")
# Functions of the score: in the full decoder, and in a search, which uses the derived step.
capped = {"src": tokens((3, 9), 40, True), "tgt": tokens((3, 7), 40, False)}
compare("capped", SOURCE / "test/e2e/capped.xf", [], capped)
for kind, device, near in (("f32", "cpu", 2e-5), ("f32", "emulator", 2e-5), ("bf16", "cpu", 0.03), ("bf16", "emulator", 0.03), ("int8", "cpu", 0.1)):
    compile_model(SOURCE / "test/e2e/capped.xf", WORK / "capped", "--random-weights", 8, "--type", kind, "--target", "cpu" if kind == "int8" else "cpu,cuda")
    results_there, wanted = results(WORK / "capped", capped, "--device", device), results(WORK / "capped", capped, "--reference")
    off = distance(results_there["logits"], wanted["logits"])
    checks.that(off <= near, f"capped, {kind} on {device}: {off:.2e} off")
    found = searched(WORK / "capped", ["7 9 11 30", "8 8"], "--beam", 2, "--max-length", 12, "--device", device)
    for source, ((score, text),) in zip(([7, 9, 11, 30], [8, 8]), found):
        ids = [int(word) for word in text.split()]
        ids += [2] * (len(ids) < 12)
        read = {"src": packed("I64", [1, len(source)], source), "tgt": packed("I64", [1, len(ids)], [1, *ids[:-1]])}
        logits = unpacked(results(WORK / "capped", read, "--reference")["logits"])
        sums = sum(log_probabilities(logits[40 * t:40 * t + 40])[token] for t, token in enumerate(ids))
        checks.that(abs(sums / len(ids) - score) < near, f"capped, {kind} on {device}: {ids} scores {score}, not {sums / len(ids)}")
# A block's rows without a batch.
compare("Norm, one row", MODELS / "seed3/seed3.xf", ["--model", "Norm", *sets(d=19)], {"x": floats(7, 19)})
compare("stories", MODELS / "stories260k/stories260k.xf",
        sets(dim=24, hidden_dim=37, n_layers=2, n_heads=6, n_kv_heads=2, vocab_size=40, max_seq_len=64), {"tokens": tokens((2, 9), 40, False)})
# Integers of any sign, and zero, in numbers that leave the last vector partly filled.
for s in (1, 5, 16, 45):
    some = [rng.choice([0, 1, -1, 3, -3, 7, rng.randrange(-100, 100), -2**31, 2**31 - 1]) for _ in range(4 * s)]
    some = [packed("I64", [2, s], part) for part in (some[:2 * s], some[2 * s:])]
    compare_type(f"divided {s}", SOURCE / "test/e2e/integers.xf", ["--model", "Divided", "--random-weights", 1], dict(zip("ab", some)))
    compare_type(f"chosen {s}", SOURCE / "test/e2e/integers.xf", ["--model", "Chosen", "--random-weights", 2], {"ids": some[0], "x": floats(2, s, 8)})
    compare_type(f"shifted {s}", SOURCE / "test/e2e/integers.xf", ["--model", "Shifted", "--random-weights", 3], {"x": floats(4, s, 8)})
    compare_type(f"divisible {s}", SOURCE / "test/e2e/integers.xf", ["--model", "Divisible", "--random-weights", 1], {"x": floats(2, s, 8)})
    compare_type(f"sized {s}", SOURCE / "test/e2e/integers.xf", ["--model", "Sized", "--random-weights", 1], {"x": floats(2, s, 8)})
for kind in ROUNDED:
    whole, rows = ["--model", "Whole", "--random-weights", 3], {"x": floats(2, 5, 8)}
    want = compare_type("whole", SOURCE / "test/e2e/integers.xf", whole, rows)
    compare_type(f"whole {kind}", SOURCE / "test/e2e/integers.xf", whole, rows, want, kind)
print(f"seed {seed}: {compared} tensors compared, {checks.failed} failures")
checks.that(compared > 100, "next to nothing was compared")
checks.end()
