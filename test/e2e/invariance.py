"""The bits of an answer do not depend on the batch, on padding, on the number of threads or on how the caller rounds.

Encoders' results are compared as the bytes of their tensors, searches as tokens and the 64 bits of their scores.
"""
import ctypes
import struct

from common import BIN, MODELS, WORK, Checks, available_isas, compile_model, kept_g2p, read_safetensors, run, write_safetensors
import capi

checks = Checks()
made = {("g2p", "f32"): kept_g2p()}


def compiled(title, description, folder, kind="f32"):
    """The model's file, which is compiled once."""
    if (title, kind) not in made:
        config = ["--config", folder / "config.json"] if (folder / "config.json").exists() else []
        made[title, kind] = WORK / f"{title}-{kind}"
        compile_model(MODELS / description, made[title, kind], *config, "--weights", folder / "weights.safetensors", "--type", kind, "--emit=model")
    return made[title, kind]


# --- Encoders: each sentence alone, alone but padded, and in one padded batch. ---


def encode(model, entry, name, sentences, length, sequence_first, isa, threads):
    """The bytes of each sentence's own positions, for a batch that is padded to `length`."""
    rows = [s + [0] * (length - len(s)) for s in sentences]
    if sequence_first:
        shape, flat = [length, len(rows)], [row[i] for i in range(length) for row in rows]
    else:
        shape, flat = [len(rows), length], sum(rows, [])
    write_safetensors(WORK / "in", {name: ("I64", shape, struct.pack(f"<{len(flat)}q", *flat))})
    run(BIN / "xf-run", model, "--inputs", WORK / "in", "--outputs", WORK / "out", "--entry", entry, "--isa", isa, "--threads", threads)
    results = []
    for number, sentence in enumerate(sentences):
        parts = b""
        for _, shape, data in read_safetensors(WORK / "out").values():
            if len(shape) != 3:
                continue  # attention probabilities have the padding in their shape
            element = len(data) // (length * len(rows))
            for i in range(len(sentence)):
                at = (i * len(rows) + number) if sequence_first else (number * length + i)
                parts += data[at * element:(at + 1) * element]
        results.append(parts)
    checks.that(all(results), f"{model.name}: nothing to compare")
    return results


encoders = {
    "seed3": ("seed3/seed3.xf", "seed3", "encode", "src", False),
    "seed4": ("seed4/seed4.xf", "seed4", "encode", "src", False),
    "postnorm": ("seed1/seed1.xf", "seed1/postnorm", "encode", "src", True),
    "tagger": ("tagger/tagger.xf", "tagger", "tag", "tokens", False),
}
sentences = [[5, 9, 3, 7, 11, 13], [4], [8, 6, 7, 5, 3, 9, 10, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22], [30, 31, 32], [2, 3] * 4]
longest = max(len(s) for s in sentences)
for title, (description, folder, entry, name, sequence_first) in encoders.items():
    model = compiled(title, description, MODELS / folder)
    for isa in available_isas():
        want = [encode(model, entry, name, [s], len(s), sequence_first, isa, 1)[0] for s in sentences]
        for threads in (1, 2, 3):
            for length in (longest, longest + 14):
                got = encode(model, entry, name, sentences, length, sequence_first, isa, threads)
                for s, a, b in zip(sentences, got, want):
                    checks.that(a == b, f"{title}, {isa}, {threads} threads, padded to {length}: {s} has other bits than alone")
        padded = encode(model, entry, name, sentences[:1], longest, sequence_first, isa, 2)
        checks.that(padded == want[:1], f"{title}, {isa}: padding alone changes bits")

library = capi.load(BIN.parent / "lib" / "libxf-runtime.so")


def ok(status):
    capi.check(library, status)


# --- Lists of sentences: the runtime groups them as it likes, behind each other or padded. ---


def encode_list(model, sentences, isa, threads):
    """The bytes of each sentence's rows."""
    options = capi.SessionOptions(ctypes.sizeof(capi.SessionOptions), threads, capi.ISA[isa])
    session, info = ctypes.c_void_p(), capi.EncodingInfo(ctypes.sizeof(capi.EncodingInfo))
    ok(library.xf_session_create(model, ctypes.byref(options), ctypes.byref(session)))
    ok(library.xf_get_encoding_info(session, ctypes.byref(info)))
    rows = [len(s) if info.by_token else 1 for s in sentences]
    flat, values = sum(sentences, []), (ctypes.c_float * (sum(rows) * info.width))()
    offsets = (ctypes.c_int64 * (len(sentences) + 1))(*[sum(len(s) for s in sentences[:i]) for i in range(len(sentences) + 1)])
    ok(library.xf_encode(session, (ctypes.c_int32 * len(flat))(*flat), offsets, ctypes.c_int64(len(sentences)), values,
                         ctypes.c_int64(len(values))))
    library.xf_session_free(session)
    return [bytes(values)[4 * info.width * sum(rows[:i]):4 * info.width * sum(rows[:i + 1])] for i in range(len(sentences))]


listed = {"seed3": ("seed3/seed3.xf", "seed3", ("f32",)), "tagger": ("tagger/tagger.xf", "tagger", ("f32", "int8-weights")),
          "classifier": ("classifier/classifier.xf", "classifier", ("f32", "int8")), "postnorm": ("seed1/seed1.xf", "seed1/postnorm", ("f32",)),
          "g2p": ("g2p/g2p.xf", "g2p", ("f32", "bf16", "int8"))}
ragged = [[(7 * i * n + n) % 20 + 1 for i in range(n)] for n in (5, 1, 16, 9, 30, 2, 17, 15, 31, 3, 3, 24)]
for title, (description, folder, kinds) in listed.items():
    for kind in kinds:
        path = compiled(title, description, MODELS / folder, kind)
        model = ctypes.c_void_p()
        ok(library.xf_open(str(path).encode(), ctypes.byref(model)))
        isas = available_isas(kind)
        for isa in {isas[0], *isas[-2 if kind == "bf16" else -1:]}:
            want = [encode_list(model, [s], isa, 1)[0] for s in ragged]
            if title in encoders:
                entry, name, sequence_first = encoders[title][2:]
                whole = [encode(path, entry, name, [s], len(s), sequence_first, isa, 1)[0] for s in ragged]
                checks.that(want == whole, f"{title}, {kind}, {isa}: lists and the entry differ")
            checks.that(len(set(want)) > 8, f"{title}, {kind}: sentences are all alike")
            for threads in (1, 3):
                for s, a, b in zip(ragged, encode_list(model, ragged, isa, threads), want):
                    checks.that(a == b, f"{title}, {kind}, {isa}, {threads} threads: {s} has other bits than alone")
        library.xf_model_free(model)

# --- Searches: through the C API, for all bits of the scores. ---


def search(model, sentences, isa, threads, beam, batch):
    """For each sentence its results, as bytes: tokens and scores."""
    options = capi.SessionOptions(ctypes.sizeof(capi.SessionOptions), threads, capi.ISA[isa])
    session = ctypes.c_void_p()
    ok(library.xf_session_create(model, ctypes.byref(options), ctypes.byref(session)))
    generate = capi.GenerateOptions()
    library.xf_generate_options_init(ctypes.byref(generate), ctypes.c_size_t(ctypes.sizeof(generate)))
    generate.beam = generate.n_best = beam
    generate.batch, generate.scores, generate.max_length = batch, 1, 24
    flat = sum(sentences, [])
    ids = (ctypes.c_int32 * len(flat))(*flat)
    offsets = (ctypes.c_int64 * (len(sentences) + 1))(*[sum(len(s) for s in sentences[:i]) for i in range(len(sentences) + 1)])
    count, capacity = len(sentences) * beam, 24
    tokens, lengths, scores = (ctypes.c_int32 * (count * capacity))(), (ctypes.c_int32 * count)(), (ctypes.c_double * count)()
    results = capi.Hypotheses(ctypes.sizeof(capi.Hypotheses), ctypes.addressof(tokens), capacity, ctypes.addressof(lengths),
                              ctypes.addressof(scores))
    ok(library.xf_generate(session, ids, offsets, ctypes.c_int64(len(sentences)), ctypes.byref(generate), ctypes.byref(results)))
    library.xf_session_free(session)
    answers = []
    for s in range(len(sentences)):
        answer = b""
        for r in range(s * beam, (s + 1) * beam):
            n = max(lengths[r], 0)
            answer += struct.pack("<i", lengths[r]) + bytes(tokens)[4 * r * capacity:4 * (r * capacity + n)] + struct.pack("<d", scores[r])
        answers.append(answer)
    return answers


words = [line.split("\t")[0] for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:20] + ["a", "antidisestablishmentarianism"]
letters = {c: i for i, c in enumerate((MODELS / "g2p" / "source.vocab").read_text(encoding="utf-8").split("\n"))}
spelled = [[letters[c] for c in word if c in letters] + [2] for word in words]
isas = {kind: available_isas(kind) for kind in ("f32", "bf16", "int8")}
searches = {
    "g2p": (made["g2p", "f32"], isas["f32"], spelled),
    # Where bf16 has no instructions that are worth it, words have.
    "g2p-bf16": (made["g2p", "bf16"], isas["bf16"][-2:], spelled),
    "g2p-int8": (made["g2p", "int8"], [isa for isa in isas["int8"] if isa not in isas["f32"]] or isas["f32"][-1:], spelled),
    "seed3": (made["seed3", "f32"], isas["f32"], [[rand % 140 + 3 for rand in range(n, 17 * n, n)][:n] for n in range(1, 12)]),
    "postnorm": (made["postnorm", "f32"], isas["f32"], [[rand % 117 + 3 for rand in range(n, 17 * n, n)][:n] for n in range(1, 12)]),
}
for title, (path, isas_of_type, batchful) in searches.items():
    model = ctypes.c_void_p()
    ok(library.xf_open(str(path).encode(), ctypes.byref(model)))
    for isa in isas_of_type:
        for beam in (1, 4):
            want = [search(model, [s], isa, 1, beam, 1)[0] for s in batchful]
            for threads, batch in ((1, 0), (2, 0), (3, 0), (2, 3), (3, 1)):
                got = search(model, batchful, isa, threads, beam, batch)
                for number, (a, b) in enumerate(zip(got, want)):
                    checks.that(a == b, f"{title}, {isa}, {threads} threads, batch {batch}, beam {beam}: sentence {number} has other bits than alone")
    library.xf_model_free(model)

# --- Whoever makes a session or calls it may round down. ---
libm, nearest, down = ctypes.CDLL("libm.so.6"), 0, 0x400  # as fenv.h has them for x86
model = ctypes.c_void_p()
ok(library.xf_open(str(made["g2p", "f32"]).encode(), ctypes.byref(model)))
for threads in (1, 3):
    answers = []
    for rounding in (nearest, down):
        checks.that(libm.fesetround(rounding) == 0, "the caller's rounding cannot be set")
        answers.append((encode_list(model, spelled[:6], isas["f32"][-1], threads), search(model, spelled[:6], isas["f32"][-1], threads, 2, 0)))
    libm.fesetround(nearest)
    checks.that(answers[0] == answers[1], f"g2p, {threads} threads: other bits for a caller that rounds down")
library.xf_model_free(model)

# --- The program prints the same, whatever it is told about threads and batches. ---
lines = "".join(word + "\n" for word in words)
want = run(made["g2p", "f32"], "--beam", 4, "--n-best", 4, "--threads", 1, stdin=lines)[1]
for options in (["--threads", 2], ["--threads", 3], ["--batch", 1], ["--batch", 3, "--threads", 3]):
    checks.that(run(made["g2p", "f32"], "--beam", 4, "--n-best", 4, *options, stdin=lines)[1] == want, f"{options}: another output")
checks.end()
