"""Programs whose text is cut as a tokenizer.json says: with the ids and the text that the library which wrote it gives.

Small tokenizers that are written here are always tested; those that are trained only where Python has the package `tokenizers`, 0.23 or
newer: before, an added token that is normalised was written as it was given.
"""
import copy
import json
import random
import struct

from common import Checks, MODELS, SOURCE, WORK, compile_model, run, write_safetensors

try:
    from tokenizers import AddedToken, Regex, Tokenizer, __version__, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError:
    Tokenizer = None
else:
    Tokenizer = Tokenizer if tuple(map(int, __version__.split(".")[:2])) >= (0, 23) else None
checks = Checks()
rng = random.Random(7)
# A prediction for each token: its row of a table, which holds the row's number.
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
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


def written(name, text):
    path = WORK / name
    path.write_text(text, encoding="utf-8")
    return path


def as_lines(lines):
    return "".join(line + "\n" for line in lines)


def ids_of(tokenizer, vocab, lines):
    """What a program cuts each line into; nothing of lines that are errors."""
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


# --- Written by hand ---------------------------------------------------------------------------------------------------------------
def added(id, content, **flags):
    return {"id": id, "content": content, **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False), **flags}


def byte_names():
    """What bytes are called: those that are printed by themselves, the others by the characters from U+0100 on."""
    printed = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    return {**{byte: chr(byte) for byte in printed}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def split_by(pattern):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, byte_level(use_regex=False)]}


def byte_level(**changes):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True, **changes}


# "ab" is merged before "bc", and "abc" of both; Ġ stands for a blank.
MERGES = ["a b", "b c", "ab c", "Ġ abc", "1 2", "12 3", "Ġ Ġ", "' s", "Ã ¤", "! !"]
BPE_TOKENS = ["<s>", "<pad>", "</s>", "<de>", *byte_names().values(), *[merge.replace(" ", "") for merge in MERGES], "abd"]
BPE = {
    "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": byte_level(), "decoder": byte_level(),
    "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
    "added_tokens": [*[added(i, BPE_TOKENS[i], special=True) for i in range(4)], added(len(BPE_TOKENS), "<sep>"),
                     added(len(BPE_TOKENS) + 1, "bcd", single_word=True, normalized=True),
                     added(len(BPE_TOKENS) + 2, "== ", lstrip=True, rstrip=True)],
    "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
              "byte_fallback": False, "ignore_merges": False, "vocab": {token: i for i, token in enumerate(BPE_TOKENS)}, "merges": MERGES},
}
WORDS = ["<s>", "[PAD]", "</s>", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##a", "aff", "able", ".", ",", "!", "'", "cafe", "中", "文",
         "strasse", "<", ">", "s", "##s", "i̇", "don", "t", "abc"]
WORDPIECE = {
    "version": "1.0", "truncation": None, "padding": None, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}, "post_processor": None,
    "added_tokens": [*[added(i, WORDS[i], special=True) for i in range(6)], added(len(WORDS), "Ab C", normalized=True)],
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
              "vocab": {token: i for i, token in enumerate(WORDS)}},
}


def changed(file, **changes):
    """The file with other members; `model__vocab` is the vocabulary of the model."""
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


GOLDEN = [
    (BPE, {
        "abc": "abc", " abcabd": "Ġabc ab d", "bcab": "bc ab", "a  abc": "a Ġ Ġabc", "abc   ": "abc ĠĠ Ġ", "123 12": "123 Ġ 12", "a1": "a 1",
        "a's'S": "a 's ' S", "ä€": "Ã¤ â Ĥ ¬", "a<sep>b<s>": "a <sep> b < s >", "bcd abcd bcd!": "bcd Ġabc d Ġ bcd !", "a  ==   b": "a ==  b",
        "==": "= =", "!!a!!!": "!! a !! !"}),
    (changed(BPE, pre_tokenizer=byte_level(add_prefix_space=True), model__ignore_merges=True),
     {"abc": "Ġabc", " abc": "Ġabc", "abd!": "Ġ ab d !", "!abd": "Ġ ! abd"}),
    (changed(BPE, pre_tokenizer=split_by(LLAMA3)),
     {"1231": "123 1", "a'S'ſ": "a ' S ' Å ¿", "!abc": "! abc", "\tab": "ĉ ab", " !!": "Ġ !!", "a  b": "a Ġ Ġ b"}),
    (changed(BPE, pre_tokenizer=split_by(QWEN2), normalizer={"type": "NFC"}), {"123": "1 2 3", "a\u0308": "Ã¤", "\u1112\u1161\u11ab": "í ķ ľ"}),
    (changed(BPE, pre_tokenizer=byte_level(use_regex=False)), {"abc!! 12": "abc !! Ġ 12", "a1": "a 1"}),
    (changed(BPE, normalizer={"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]}),
     {"ÁBÇ": "abc", "BCD": "bcd"}),
    (WORDPIECE, {
        "unaffable": "un ##aff ##able", "Unaffa, AFF!": "un ##aff ##a , aff !", "unx aff": "[UNK] aff", "CAFÉ cafe\u0301": "cafe cafe",
        "中文": "中 文", "<s> [CLS]": "< s > [UNK] [UNK] [UNK]", "a" * 21: "[UNK]", "\u00a0aff\u2003able\u200b\tun\u0007": "aff able un",
        "unx ab c AB C": "[UNK] Ab C Ab C", "don't": "don ' t"}),
    (changed(WORDPIECE, normalizer__strip_accents=False), {"CAFÉ İ": "[UNK] i̇"}),
    (changed(WORDPIECE, normalizer=None), {"CAFE cafe": "[UNK] cafe", "中文": "[UNK]"}),
]
for number, (file, cases) in enumerate(GOLDEN):
    tokens = {**file["model"]["vocab"], **{token["content"]: token["id"] for token in file["added_tokens"]}}
    got = ids_of(saved(file), max(tokens.values()) + 1, cases)
    names = {id: token for token, id in tokens.items()}
    for (text, want), ids in zip(cases.items(), got):
        found = " ".join(names[id] for id in ids)
        checks.that(found == want, f"tokenizer {number}, {text!r}: {found!r}, not {want!r}")
    checks.that(len(got) == len(cases), f"tokenizer {number}: {len(got)} lines of {len(cases)}")
    if Tokenizer:
        library = Tokenizer.from_str(json.dumps(file))
        library.encode_special_tokens = True
        for (text, want), ids in zip(cases.items(), got):
            checks.that(library.encode(text, add_special_tokens=False).ids == ids, f"tokenizer {number}, {text!r}: the library has another opinion")

# What both sides have is stored once.
sizes = {"bpe": len(BPE_TOKENS) + 3, "wordpiece": len(WORDS) + 1}
paths = {"bpe": saved(BPE, "bpe.json"), "wordpiece": saved(WORDPIECE, "wordpiece.json")}
stored = {(source, target): translator(paths[source], sizes[source], paths[target], sizes[target]).read_bytes().count(b"XFTOKEN\0")
          for source, target in (("bpe", "bpe"), ("wordpiece", "bpe"))}
checks.that(stored["bpe", "bpe"] + 1 == stored["wordpiece", "bpe"], f"tables in a file: {stored}")
# Results that are made of one token, as the others are never chosen; halves of characters, too, as they come.
program = translator(paths["wordpiece"], sizes["wordpiece"], paths["bpe"], sizes["bpe"])
for token, want in (("Ġabc", " abc" * 4), ("Ã¤", "ä" * 4), ("Ã", "\ufffd" * 4), ("â", "\ufffd" * 4), ("<sep>", "<sep>" * 4), ("Ā", "\ufffd" * 4),
                    ("Ċ", " " * 4), ("<de>", "")):
    others = ",".join(str(i) for i in range(sizes["bpe"]) if i != (len(BPE_TOKENS) if token == "<sep>" else BPE_TOKENS.index(token)))
    for options in ([], ["--stream"]):
        got = run(program, "--suppress", others, "--max-length", 4, *options, stdin="aff\n")[1]
        checks.that(got == want + "\n", f"{token} {options}: {got!r}")
# A prefix is cut as text is, but for the words that are special tokens.
source = " ".join(str(WORDS.index(token)) for token in ("un", "##aff")) + "\n"
for prefix, ids in (("abc", "abc"), ("<de>", "<de>"), ("<de>  abc", "<de> Ġ Ġabc"), ("abc <s>", "abc Ġ <s>")):
    numbers = " ".join(str(BPE_TOKENS.index(token)) for token in ids.split())
    answers = [run(program, *options, "--max-length", 9, "--scores", stdin=text)[1].split("\t")[1] for options, text in
               ((["--prefix", prefix], "unaff\n"), (["--ids", "--prefix", numbers], source))]
    checks.that(answers[0] == answers[1], f"the prefix {prefix!r}: {answers}")
table = written("table", "\tĠabc <sep>\n")
got = run(program, "--shortlist", table, "--max-length", 3, stdin="aff\n")[1].replace(" abc", "").replace("<sep>", "").strip()
checks.that(got == "", f"a table of names: {got!r}")
# Blanks before punctuation go, and before what goes on with a word.
program = translator(paths["bpe"], sizes["bpe"], paths["wordpiece"], sizes["wordpiece"])
for token, want in ((".", "...."), ("##a", "##aaaa"), ("able", "able able able able"), ("[UNK]", ""), ("中", "中 中 中 中")):
    others = ",".join(str(i) for i in range(sizes["wordpiece"]) if i != WORDS.index(token))
    for options in ([], ["--stream"]):
        got = run(program, "--suppress", others, "--max-length", 4, *options, stdin="abc\n")[1]
        checks.that(got == want + "\n", f"{token} {options}: {got!r}")

# --- What is refused ---------------------------------------------------------------------------------------------------------------


def refused(message, *options, description=TRANSLATE):
    status, _, err = compile_model(written("refused.xf", description), WORK / "x", "--random-weights", 1, *options, ok=False)
    checks.that(status == 1 and message in err, f"{options}: status {status}, {err!r}")


def refused_file(message, file):
    refused(f"error: {WORK / 'tokenizer.json'}: {message}\n", "--source-tokenizer", saved(file))


bpe, spm = paths["bpe"], written("model.spm", "")
refused("give either --source-tokenizer or --source-spm", "--source-tokenizer", bpe, "--source-spm", spm)
refused("--target-vocab is not for --target-tokenizer, which numbers its tokens itself", "--target-tokenizer", bpe, "--target-vocab", spm)
refused("none: No such file or directory", "--target-tokenizer", WORK / "none")
refused("text(source = subwords) needs a SentencePiece model or a tokenizer.json, too (--source-spm, --source-tokenizer)", "--source-vocab",
        MODELS / "g2p" / "source.vocab")
refused(f"the target tokenizer has {sizes['bpe']} tokens, but the model has 200 target tokens", "--target-tokenizer", bpe, "--set", "target_vocab=200")
refused("the source tokenizer would not be used: without text(source = subwords) lines are not cut into pieces", "--source-tokenizer", bpe,
        "--target-tokenizer", bpe, description=TRANSLATE.replace("source = subwords", "source = words"))
refused("it is no JSON object", "--source-tokenizer", spm)
refused_file("the normalizer 'Replace' is not supported", changed(BPE, normalizer={"type": "Replace", "pattern": {"String": "a"}, "content": "b"}))
refused_file("the model 'Unigram' is not supported; where there is a SentencePiece model of it, give that (--source-spm, --target-spm)",
             changed(BPE, model={"type": "Unigram"}))
refused_file("the tokens 'abc' and 'abd' have the same id 270", changed(BPE, model__vocab={**BPE["model"]["vocab"], "abc": 270}))

# --- Trained -----------------------------------------------------------------------------------------------------------------------
if not Tokenizer:
    print("Python has no package tokenizers, or an older one: what is trained with it is left out")
    checks.end()
corpus = [line for file in sorted(SOURCE.rglob("*.md")) if "build" not in file.parts for line in file.read_text(encoding="utf-8").splitlines()]
blocks = ((0x20, 0x7f), (0xa0, 0x250), (0x300, 0x460), (0x590, 0x650), (0x900, 0x980), (0xe00, 0xe60), (0x1e00, 0x2070), (0x20a0, 0x20c0),
          (0x2100, 0x2200), (0x3000, 0x3100), (0x4e00, 0x4e40), (0xac00, 0xac80), (0xf900, 0xf940), (0xfb00, 0xfb50), (0xff00, 0xff60),
          (0x1f600, 0x1f640), (0x20000, 0x20010))
strange = [chr(c) for first, last in blocks for c in range(first, last)]
strange += list("\x01\x02\t\x0b\x0c\x1c\x7f\x85\u200d\ufeff\ufffd\ue000\u1100\u1161\u11a8\U0001d15e\U0001d165\U00010400\U0001e900")
parts = ["'s", "'S", "'re", "'RE", "'ll", "'ſ", "'vE", " ", "  ", "\t", "x", "12345", "1", "é", "e\u0301", "!", "?!", " don't", " do not", "<x>",
         "[MASK]", "foo", "bar baz", " bar baz ", "Foo", "</s>", "[UNK]", "\u00a0", "\u3000", "kernel"]
lines = [*corpus]
lines += ["".join(rng.choice(strange) if rng.random() < .5 else rng.choice("abcdeSTDMlLrReEvV'ſ 0123456789  \t.,!?-<>[]|") for _ in range(rng.randrange(1, 60)))
          for _ in range(2500)]
lines += ["".join(rng.choice(parts) for _ in range(rng.randrange(1, 25))) for _ in range(1500)]
lines += ["ab " * 120, "a" * 500, "\u0301" * 300, " " * 200 + "x"]


def trained(tokenizer, trainer, splitter, decoder, normalizer, added):
    tokenizer.pre_tokenizer, tokenizer.decoder = splitter, decoder
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens(added)
    tokenizer.encode_special_tokens = True
    return tokenizer


def trained_bpe(splitter, normalizer=None, added=(), **options):
    trainer = trainers.BpeTrainer(vocab_size=560, special_tokens=["<s>", "<pad>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    return trained(Tokenizer(models.BPE(**options)), trainer, splitter, decoders.ByteLevel(), normalizer, list(added))


def trained_wordpiece(normalizer, added=(), cleanup=True):
    trainer = trainers.WordPieceTrainer(vocab_size=560, special_tokens=["<s>", "[PAD]", "</s>", "[UNK]"], show_progress=False)
    decoder = decoders.WordPiece(cleanup=cleanup)
    return trained(Tokenizer(models.WordPiece(unk_token="[UNK]")), trainer, pre_tokenizers.BertPreTokenizer(), decoder, normalizer, list(added))


def behind_split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


Bert = normalizers.BertNormalizer
plain = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
KINDS = {
    "gpt2": trained_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "roberta": trained_bpe(pre_tokenizers.ByteLevel(add_prefix_space=True),
                           added=[AddedToken("foo", single_word=True, normalized=False), AddedToken("<x>", normalized=False),
                                  AddedToken("bar baz", lstrip=True, rstrip=True, normalized=True)]),
    "llama3": trained_bpe(behind_split(LLAMA3), ignore_merges=True),
    "qwen2": trained_bpe(behind_split(QWEN2), normalizers.NFC(), [AddedToken("Foo", lstrip=True, normalized=True)]),
    "plain": trained_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), plain, [AddedToken("Foo", normalized=True)]),
    "uncased": trained_wordpiece(Bert(True, True, None, True)),
    "cased": trained_wordpiece(Bert(True, True, None, False),
                               [AddedToken("foo", single_word=True, normalized=True), AddedToken("bar baz", normalized=False)]),
    "accents": trained_wordpiece(Bert(False, False, True, False), cleanup=False),
    "lower": trained_wordpiece(Bert(False, True, False, True),
                               [AddedToken("Foo", lstrip=True, normalized=True), AddedToken("bar baz", rstrip=True, normalized=True)]),
    "sequence": trained_wordpiece(plain),
}
paths, vocabs = {name: WORK / f"{name}.json" for name in KINDS}, {name: tokenizer.get_vocab_size() for name, tokenizer in KINDS.items()}
for name, tokenizer in KINDS.items():
    tokenizer.save(str(paths[name]))
    cut = {line: tokenizer.encode(line, add_special_tokens=False).ids for line in lines}
    cut = {line: ids for line, ids in cut.items() if ids}
    got = ids_of(paths[name], vocabs[name], cut)
    wrong = [line for (line, ids), found in zip(cut.items(), got) if ids != found]
    print(f"{name}: {len(cut) - len(wrong)} of {len(cut)} lines have the library's ids")
    checks.that(len(got) == len(cut) and not wrong, f"{name}: {len(got)} lines of {len(cut)}, {len(wrong)} differ, such as {wrong[:3]}")
# Texts of results that are drawn, so that they hold many tokens.
controls = dict.fromkeys([*range(1, 0x20), *range(0x7f, 0xa0), 0x2028, 0x2029], " ") | {0: "\ufffd"}
for source, target in zip(KINDS, [*list(KINDS)[3:], *list(KINDS)[:3]]):
    program = translator(paths[source], vocabs[source], paths[target], vocabs[target])
    cut = {line: KINDS[source].encode(line, add_special_tokens=False).ids for line in rng.sample(lines, 300)}
    cut = {line: ids for line, ids in cut.items() if 0 < len(ids) <= 300}
    draw = ["--sample", "--temperature", 3, "--max-length", 25]
    text = run(program, *draw, stdin=as_lines(cut))[1]
    ids = run(program, *draw, "--ids", stdin=as_lines(" ".join(map(str, ids)) for ids in cut.values()))[1]
    want = [KINDS[target].decode([int(id) for id in line.split()]).translate(controls) for line in ids.split("\n")[:-1]]
    wrong = [(found, text) for found, text in zip(text.split("\n"), want) if found != text]
    print(f"{source} to {target}: {len(want) - len(wrong)} of {len(cut)} results have the library's text")
    checks.that(len(want) == len(cut) and not wrong, f"{source} to {target}: {len(wrong)} results differ, such as {wrong[:3]}")
    checks.that(run(program, *draw, "--stream", stdin=as_lines(cut))[1] == text, f"{source} to {target}: other text where it is written as it comes")
checks.end()
