"""The bits of an answer do not depend on the batch, on padding, on the number of threads or on the caller's floating-point setting.

Encoders' results are compared as the bytes of their tensors, searches as tokens and the 64 bits of their scores.
"""
import contextlib
import ctypes
import struct

from common import HERE, MODELS, WORK, Checks, available_isas, compile_model, golden_weights, kept_g2p, packed, results, run
from session import opened, session_of

checks = Checks()
made = {("g2p", "f32"): kept_g2p()}


def compiled(title, description, folder, kind="f32"):
    """The model's file; it is compiled once."""
    if (title, kind) not in made:
        config = ["--config", folder / "config.json"] if (folder / "config.json").exists() else []
        made[title, kind] = WORK / f"{title}-{kind}"
        compile_model(MODELS / description, made[title, kind], *config, "--weights", golden_weights(folder), "--type", kind, "--emit=model",
                      isas=HERE)
    return made[title, kind]


# --- Encoders: each sentence alone, alone but padded, and in one padded batch. ---


def encode(model, entry, name, sentences, length, sequence_first, isa, threads):
    """The bytes at each sentence's own positions, from a batch that is padded to `length`."""
    rows = [s + [0] * (length - len(s)) for s in sentences]
    if sequence_first:
        shape, flat = [length, len(rows)], [row[i] for i in range(length) for row in rows]
    else:
        shape, flat = [len(rows), length], sum(rows, [])
    found = results(model, {name: packed("I64", shape, flat)}, "--entry", entry, "--isa", isa, "--threads", threads, ok=True)
    answers = []
    for number, sentence in enumerate(sentences):
        parts = b""
        for _, shape, data in found.values():
            if len(shape) != 3:
                continue  # the shape of attention probabilities depends on the padding
            element = len(data) // (length * len(rows))
            for i in range(len(sentence)):
                at = (i * len(rows) + number) if sequence_first else (number * length + i)
                parts += data[at * element:(at + 1) * element]
        answers.append(parts)
    checks.that(all(answers), f"{model.name}: nothing to compare")
    return answers


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

# --- Lists of sentences: the runtime groups them as it likes, packed or padded. ---


def encode_list(model, sentences, isa, threads):
    """The bytes of each sentence's rows, computed in a new session."""
    with model.session(threads, isa, "cpu") as session:
        return [rows.tobytes() for rows in session.encode(sentences)]


listed = {"seed3": ("seed3/seed3.xf", "seed3", ("f32",)), "tagger": ("tagger/tagger.xf", "tagger", ("f32", "int8-weights")),
          "classifier": ("classifier/classifier.xf", "classifier", ("f32", "int8")), "postnorm": ("seed1/seed1.xf", "seed1/postnorm", ("f32",)),
          "bert": ("bert/bert.xf", "bert/bert", ("int8",)), "g2p": ("g2p/g2p.xf", "g2p", ("f32", "bf16", "int8"))}
ragged = [[(7 * i * n + n) % 20 + 1 for i in range(n)] for n in (5, 1, 16, 9, 30, 2, 17, 15, 31, 3, 3, 24)]
for title, (description, folder, kinds) in listed.items():
    for kind in kinds:
        path = compiled(title, description, MODELS / folder, kind)
        model = opened(path)
        isas = available_isas(kind)
        for isa in {isas[0], *isas[-2 if kind in ("bf16", "int8") else -1:]}:
            want = [encode_list(model, [s], isa, 1)[0] for s in ragged]
            if title in encoders:
                entry, name, sequence_first = encoders[title][2:]
                whole = [encode(path, entry, name, [s], len(s), sequence_first, isa, 1)[0] for s in ragged]
                checks.that(want == whole, f"{title}, {kind}, {isa}: lists and the entry differ")
            checks.that(len(set(want)) > 8, f"{title}, {kind}: sentences are all alike")
            for threads in (1, 3):
                for s, a, b in zip(ragged, encode_list(model, ragged, isa, threads), want):
                    checks.that(a == b, f"{title}, {kind}, {isa}, {threads} threads: {s} has other bits than alone")

# --- Searches: through the C API, for all bits of the scores. ---


def search(model, sentences, isa, threads, beam, batch):
    """For each sentence its results, (tokens, the score's bytes), found in a new session."""
    with model.session(threads, isa, "cpu") as session:
        found = session.generate(sentences, beam=beam, n_best=beam, batch=batch, max_length=24)
    return [[(result.tokens, struct.pack("<d", result.score)) for result in results] for results in found]


words = [line.split("\t")[0] for line in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:20] + ["a", "antidisestablishmentarianism"]
letters = {c: i for i, c in enumerate((MODELS / "g2p" / "source.vocab").read_text(encoding="utf-8").split("\n"))}
spelled = [[letters[c] for c in word if c in letters] + [2] for word in words]
isas = {kind: available_isas(kind) for kind in ("f32", "bf16", "int8")}
searches = {
    "g2p": (made["g2p", "f32"], isas["f32"], spelled),
    # Instruction sets without fast instructions for bf16 multiply words instead.
    "g2p-bf16": (made["g2p", "bf16"], isas["bf16"][-2:], spelled),
    "g2p-int8": (made["g2p", "int8"], [isa for isa in isas["int8"] if isa not in isas["f32"]] or isas["f32"][-1:], spelled),
    "seed3": (made["seed3", "f32"], isas["f32"], [[rand % 140 + 3 for rand in range(n, 17 * n, n)][:n] for n in range(1, 12)]),
    "postnorm": (made["postnorm", "f32"], isas["f32"], [[rand % 117 + 3 for rand in range(n, 17 * n, n)][:n] for n in range(1, 12)]),
}
for title, (path, isas_of_type, batchful) in searches.items():
    model = opened(path)
    for isa in isas_of_type:
        for beam in (1, 4):
            want = [search(model, [s], isa, 1, beam, 1)[0] for s in batchful]
            for threads, batch in ((1, 0), (2, 0), (3, 0), (2, 3), (3, 1)):
                got = search(model, batchful, isa, threads, beam, batch)
                for number, (a, b) in enumerate(zip(got, want)):
                    checks.that(a == b, f"{title}, {isa}, {threads} threads, batch {batch}, beam {beam}: sentence {number} has other bits than alone")

# --- The thread that makes a session or calls it may round down, flush denormals to zero and read them as zero. ---
libm, DOWN, FLUSH = ctypes.CDLL("libm.so.6"), 0x400, 0x8040  # DOWN as fenv.h has it for x86, FLUSH as MXCSR


@contextlib.contextmanager
def calling(rounding, flags):
    """Sets this thread's floating-point environment; on x86-64 the last word of fenv_t is MXCSR."""
    before, changed = (ctypes.create_string_buffer(32) for _ in range(2))
    libm.fegetenv(before)
    checks.that(libm.fesetround(rounding) == 0 and libm.fegetenv(changed) == 0, "the caller's rounding cannot be set")
    struct.pack_into("<I", changed, 28, struct.unpack_from("<I", changed, 28)[0] | flags)
    checks.that(libm.fesetenv(changed) == 0, "the caller's control word cannot be set")
    yield
    libm.fesetenv(before)


(WORK / "tiny.xf").write_text("""model Tiny(d = 16) {
  source, target: Embedding(30, d)
  cross: MultiHeadAttention(d, 2)
  out: Linear(d, 30)
  tiny(x) = x * 1e-20 * 1e-20 * 1e20 * 1e20
  entry plain(src: token[B, S <= 40]) -> rows = source(src)
  entry encode(src: token[B, S <= 40]) -> memory = tiny(source(src))
  entry decode(tgt: token[B, T <= 30], memory, src) -> logits = out(tiny(target(tgt) + cross(target(tgt), memory, memory, keys(src != 0))))
  generate(encode, decode, start = 1, end = 2, pad = 0)
}
""")
compile_model(WORK / "tiny.xf", WORK / "tiny", "--random-weights", 5)
session = session_of(WORK / "tiny", 1)
plain, tiny = (sum(session.run(name, {"src": [[5, 6, 7]]})[output].tolist()[0], []) for name, output in (("plain", "rows"), ("encode", "memory")))
# Denormals have fewer bits: values that have been denormal have changed, but are not zero.
checks.that(all(tiny) and any(abs(a - b) > 1e-6 * abs(b) for a, b in zip(tiny, plain)), f"no denormals: {tiny} of {plain}")
session.close()
rising = [[3 + (5 * i + k) % 27 for k in range(i + 1)] for i in range(6)]
for title, path, sentences in (("g2p", made["g2p", "f32"], spelled[:6]), ("denormals", WORK / "tiny", rising)):
    model = opened(path)
    for threads in (1, 3):
        answers = []
        for setting in ((0, 0), (DOWN, 0), (0, FLUSH), (DOWN, FLUSH)):
            with calling(*setting):
                answers.append((encode_list(model, sentences, isas["f32"][-1], threads), search(model, sentences, isas["f32"][-1], threads, 2, 0)))
            checks.that(answers[0] == answers[-1], f"{title}, {threads} threads: other bits for a caller with {setting}")

# --- The program prints the same with any options for threads and batches. ---
lines = "".join(word + "\n" for word in words)
want = run(made["g2p", "f32"], "--beam", 4, "--n-best", 4, "--threads", 1, stdin=lines)[1]
for options in (["--threads", 2], ["--threads", 3], ["--batch", 1], ["--batch", 3, "--threads", 3]):
    checks.that(run(made["g2p", "f32"], "--beam", 4, "--n-best", 4, *options, stdin=lines)[1] == want, f"{options}: another output")
checks.end()
