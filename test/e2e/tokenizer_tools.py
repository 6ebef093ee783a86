"""Programs with tokenizers, for the tests that compare these with the library that writes tokenizer.json.

`Tokenizer` is that library's, or None if Python lacks the package `tokenizers` or has one before 0.23: older versions wrote an added token that is
normalised as it was given.
"""
import copy
import gzip
import json
import pathlib
import random
import string
import struct
import sys

from common import Checks, SOURCE, WORK, compile_model, run, write_safetensors
from session import opened

try:
    from tokenizers import Tokenizer, __version__
except ImportError:
    Tokenizer = None
else:
    Tokenizer = Tokenizer if tuple(map(int, __version__.split(".")[:2])) >= (0, 23) else None
checks = Checks()
rng = random.Random(7)
# Predicts each token's id: the token's row of a table, which holds the row's index.
NUMBERS = """model Numbers(vocab = 600) {
  table: Embedding(vocab, 1)
  entry number(src: token[B, S <= 700]) -> ids = table(src)
  text(source = subwords)
  predict(number, ids)
}
"""
TRANSLATE = """model Translate(source_vocab = 600, target_vocab = 600, d = 32) {
  source: Embedding(source_vocab, d)
  target: Embedding(target_vocab, d)
  cross: MultiHeadAttention(d, 4)
  entry encode(src: token[B, S <= 300]) -> memory = source(src)
  entry decode(tgt: token[B, T <= 40], memory, src) -> logits {
    x = target(tgt) + sinusoid(d)[positions(T)]
    logits = (x + cross(x, memory, memory, keys(src != 1))) @ target.weight.T
  }
  text(source = subwords, target = subwords)
  generate(encode, decode, start = 0, end = 2)
}
"""
# A model for cutting and writing text, with little else.
ECHO = """model Echo(vocab = 600) {
  table: Embedding(vocab, 1)
  entry decode(tgt: token[B, T <= 300]) -> logits = table(tgt) @ table.weight.T
  text(target = subwords)
  generate(decode = decode, start = 0, end = 2)
}
"""


def written(name, text):
    path = WORK / name
    path.write_text(text, encoding="utf-8")
    return path


def as_lines(lines):
    return "".join(line + "\n" for line in lines)


def ids_of(tokenizer, vocab, lines):
    """The ids that a program cuts each line into; none for lines with errors."""
    weights = WORK / "numbers.safetensors"
    write_safetensors(weights, {"table.weight": ("F32", [vocab, 1], struct.pack(f"<{vocab}f", *range(vocab)))})
    program = WORK / "numbers"
    compile_model(written("numbers.xf", NUMBERS), program, "--weights", weights, "--set", f"vocab={vocab}", "--source-tokenizer", tokenizer)
    out = run(program, stdin=as_lines(lines), ok=False)[1]
    return [[int(number) for number in line.split()] for line in out.split("\n")[:-1]]


def translator(source, source_vocab, target, target_vocab):
    program = WORK / "translate"
    compile_model(written("translate.xf", TRANSLATE), program, "--random-weights", 5, "--set", f"source_vocab={source_vocab}", "--set",
                  f"target_vocab={target_vocab}", "--source-tokenizer", source, "--target-tokenizer", target)
    return program


# --- Files -------------------------------------------------------------------------------------------------------------------------
def added(id, content, **flags):
    return {"id": id, "content": content, **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False), **flags}


def changed(file, **changes):
    """The file with some members changed; `model__vocab` is the member `vocab` of `model`."""
    file = copy.deepcopy(file)
    for place, value in changes.items():
        *outer, last = place.split("__")
        inner = file
        for key in outer:
            inner = inner[key]
        inner[last] = value
    return file


def saved(file, name="tokenizer.json"):
    return written(name, json.dumps(file))


# What is written without any merges.
PIECES = "▁" + string.ascii_letters + ".,?!"


def pieces_model():
    """A SentencePiece model: padding, an end, the unknown piece, and PIECES."""
    model = b""
    for piece, kind in (("<pad>", 3), ("</s>", 3), ("<unk>", 2), *((piece, 1) for piece in PIECES)):
        text = piece.encode()
        entry = struct.pack(f"<BB{len(text)}sBfBB", 10, len(text), text, 21, -1, 24, kind)
        model += struct.pack("BB", 10, len(entry)) + entry
    return model


def tokens_of(file):
    """The ids of all tokens, by their names."""
    vocab = file["model"]["vocab"]
    names = vocab if isinstance(vocab, dict) else {name: id for id, (name, _) in enumerate(vocab)}
    return {**names, **{token["content"]: token["id"] for token in file["added_tokens"]}}


def library_of(file):
    """The library's tokenizer, changed so that no text is cut into special tokens: models that would do so get names for them that are in no text."""
    file = changed(file, post_processor=None)
    model = file["model"]
    if model["type"] in ("Unigram", "WordLevel"):
        names = {token["content"]: f"\U000f0000{token['id']}\U000f0000" for token in file["added_tokens"] if token["special"]}
        for token in file["added_tokens"]:
            token["content"] = names.get(token["content"], token["content"])
        if model["type"] == "Unigram":
            model["vocab"] = [[names.get(name, name), score] for name, score in model["vocab"]]
        else:
            model["vocab"] = {names.get(name, name): id for name, id in model["vocab"].items()}
            model["unk_token"] = names.get(model["unk_token"], model["unk_token"])
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.encode_special_tokens = True
    return tokenizer


def byte_names():
    """The names of bytes: printable ones are their own, the others have characters from U+0100 on."""
    printed = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    return {**{byte: chr(byte) for byte in printed}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def byte_level(**changes):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True, **changes}


# --- Checks ------------------------------------------------------------------------------------------------------------------------
def check_golden(golden):
    """golden: pairs of a file, and for each text the names of the tokens that it is cut into."""
    for number, (file, cases) in enumerate(golden):
        tokens = tokens_of(file)
        got = ids_of(saved(file), max(tokens.values()) + 1, cases)
        names = {id: token for token, id in tokens.items()}
        for (text, want), ids in zip(cases.items(), got):
            found = " ".join(names[id] for id in ids)
            checks.that(found == want, f"tokenizer {number}, {text!r}: {found!r}, not {want!r}")
        checks.that(len(got) == len(cases), f"tokenizer {number}: {len(got)} lines of {len(cases)}")
        if Tokenizer:
            library = library_of(file)
            for text, ids in zip(cases, got):
                checks.that(library.encode(text, add_special_tokens=False).ids == ids, f"tokenizer {number}, {text!r}: the library has another opinion")


def check_written(program, vocab, token, want, line):
    """Checks the text, at once and as it comes, of results that consist of one token, as all others are suppressed."""
    others = ",".join(str(i) for i in range(vocab) if i != token)
    for options in ([], ["--stream"]):
        got = run(program, "--suppress", others, "--max-length", 4, *options, stdin=line + "\n")[1]
        checks.that(got == want + "\n", f"{token} {options}: {got!r}")


def refused(message, *options, description=TRANSLATE):
    status, _, err = compile_model(written("refused.xf", description), WORK / "x", "--random-weights", 1, *options, ok=False)
    checks.that(status == 1 and message in err, f"{options}: status {status}, {err!r}")


def refused_file(message, file):
    refused(f"error: {WORK / 'tokenizer.json'}: {message}\n", "--source-tokenizer", saved(file))


# --- What trained ones are compared on -------------------------------------------------------------------------------------------------
CORPUS = [line for file in sorted(SOURCE.rglob("*.md")) if "build" not in file.parts for line in file.read_text(encoding="utf-8").splitlines()]


def strange_lines(parts):
    """The corpus, random Unicode, and lines made of `parts`."""
    blocks = ((0x20, 0x7f), (0xa0, 0x250), (0x300, 0x460), (0x590, 0x650), (0x900, 0x980), (0xe00, 0xe60), (0x1e00, 0x2070), (0x20a0, 0x20c0),
              (0x2100, 0x2200), (0x3000, 0x3100), (0x4e00, 0x4e40), (0xac00, 0xac80), (0xf900, 0xf940), (0xfb00, 0xfb50), (0xff00, 0xff60),
              (0x1f600, 0x1f640), (0x20000, 0x20010))
    strange = [chr(c) for first, last in blocks for c in range(first, last)]
    strange += list("\x01\x02\t\x0b\x0c\x1c\x7f\x85\u200d\ufeff\ufffd\ue000\u1100\u1161\u11a8\U0001d15e\U0001d165\U00010400\U0001e900")
    common = "abcdeSTDMlLrReEvV'ſ 0123456789  \t.,!?-<>[]|"
    lines = [*CORPUS]
    lines += ["".join(rng.choice(strange) if rng.random() < .5 else rng.choice(common) for _ in range(rng.randrange(1, 60))) for _ in range(2500)]
    lines += ["".join(rng.choice(parts) for _ in range(rng.randrange(1, 25))) for _ in range(1500)]
    return lines + ["ab " * 120, "a" * 500, "\u0301" * 300, " " * 200 + "x"]


def kept_place(name):
    return pathlib.Path(__file__).with_name(f"{name}.golden.gz")


def keep_trained(name, files, lines):
    """Writes the file that check_kept() reads: tokenizers, some of the lines with the library's ids, and random ids with the library's text."""
    kept, some = {}, rng.sample([line for line in lines if 20 < len(line) < 60], 60)
    for kind, file in files.items():
        library = library_of(file)
        drawn = [[rng.randrange(4, library.get_vocab_size()) for _ in range(10)] for _ in range(20)]
        cut = [(number, library.encode(line, add_special_tokens=False).ids) for number, line in enumerate(some)]
        kept[kind] = {"file": file, "ids": cut, "texts": [(ids, library.decode(ids)) for ids in drawn]}
    text = json.dumps({"lines": some, "kinds": kept}, ensure_ascii=False, separators=(",", ":"))
    kept_place(name).write_bytes(gzip.compress(text.encode(), mtime=0))


def check_kept(name):
    """Compares with results that the library had for trained tokenizers, on machines that lack it, too. Where Python has it,
    `XF_BIN=… XF_SOURCE=… python3 test/e2e/NAME.py keep` makes the file anew."""
    with gzip.open(kept_place(name), "rt", encoding="utf-8") as file:
        kept = json.load(file)
    for kind, has in kept["kinds"].items():
        model = WORK / f"{kind}.model"
        vocab = max(tokens_of(has["file"]).values()) + 1
        compile_model(written("echo.xf", ECHO), model, "--emit=model", "--random-weights", 1, "--set", f"vocab={vocab}", "--target-tokenizer",
                      saved(has["file"]))
        echo, lines = opened(model), kept["lines"]
        wrong = [(lines[number], found, ids) for number, ids in has["ids"] if (found := echo.text_to_ids(lines[number], "target")) != ids]
        wrong += [(ids, found, text) for ids, text in has["texts"] if (found := echo.ids_to_text(ids)) != text.replace("\0", "\ufffd")]
        print(f"{kind}: {len(has['ids'])} kept lines and {len(has['texts'])} texts, of which {len(wrong)} differ")
        checks.that(not wrong and has["ids"] and has["texts"], f"{kind}: {len(wrong)} differ, such as {wrong[:2]}")


def check_all_trained(name, files, lines):
    """Checks, or keeps, tokenizers that the library has just trained. files: name -> file."""
    if sys.argv[1:] == ["keep"]:
        keep_trained(name, files, lines)
    else:
        check_trained(files, lines)


def check_trained(files, lines):
    """files: name -> file. Programs cut lines with one tokenizer, and write results with another, as the library does."""
    kinds = {name: library_of(file) for name, file in files.items()}
    paths = {name: saved(file, f"{name}.json") for name, file in files.items()}
    vocabs = {name: tokenizer.get_vocab_size() for name, tokenizer in kinds.items()}
    for name, tokenizer in kinds.items():
        cut = {line: tokenizer.encode(line, add_special_tokens=False).ids for line in lines}
        cut = {line: ids for line, ids in cut.items() if 0 < len(ids) <= 700}
        got = ids_of(paths[name], vocabs[name], cut)
        wrong = [line for (line, ids), found in zip(cut.items(), got) if ids != found]
        print(f"{name}: {len(cut) - len(wrong)} of {len(cut)} lines have the library's ids")
        checks.that(len(got) == len(cut) and not wrong, f"{name}: {len(got)} lines of {len(cut)}, {len(wrong)} differ, such as {wrong[:3]}")
    # Texts of results that are sampled, so that they hold many different tokens.
    controls = dict.fromkeys([*range(1, 0x20), *range(0x7f, 0xa0), 0x2028, 0x2029], " ") | {0: "\ufffd"}
    for source, target in zip(kinds, [*list(kinds)[3:], *list(kinds)[:3]]):
        program = translator(paths[source], vocabs[source], paths[target], vocabs[target])
        cut = {line: kinds[source].encode(line, add_special_tokens=False).ids for line in rng.sample(lines, 300)}
        cut = {line: ids for line, ids in cut.items() if 0 < len(ids) <= 300}
        draw = ["--sample", "--temperature", 3, "--max-length", 25]
        text = run(program, *draw, stdin=as_lines(cut))[1]
        ids = run(program, *draw, "--ids", stdin=as_lines(" ".join(map(str, ids)) for ids in cut.values()))[1]
        want = [kinds[target].decode([int(id) for id in line.split()]).translate(controls) for line in ids.split("\n")[:-1]]
        wrong = [(found, text) for found, text in zip(text.split("\n"), want) if found != text]
        print(f"{source} to {target}: {len(want) - len(wrong)} of {len(cut)} results have the library's text")
        checks.that(len(want) == len(cut) and not wrong, f"{source} to {target}: {len(wrong)} results differ, such as {wrong[:3]}")
        checks.that(run(program, *draw, "--stream", stdin=as_lines(cut))[1] == text, f"{source} to {target}: other text where it is written as it comes")
