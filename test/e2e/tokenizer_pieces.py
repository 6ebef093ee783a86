"""Programs that cut text into pieces or words as a tokenizer.json says: Unigram models, BPE of characters with a fallback to bytes, and words, in the
pipelines of T5, XLM-R, ALBERT, Llama, Mistral and Gemma. They have the ids and the text of the library that wrote the file.

Small tokenizers that are written here are tested, and trained ones on results that the library once had. Where Python has the package
`tokenizers`, 0.23 or newer, others are trained and compared on many lines.
"""
import base64
import json
import struct
import sys

from tokenizer_tools import (CORPUS, Tokenizer, added, changed, check_all_trained, check_golden, check_kept, check_written, checks, refused_file,
                             saved, strange_lines, translator)

if Tokenizer:
    from tokenizers import AddedToken, models, pre_tokenizers, trainers


# --- Stages ------------------------------------------------------------------------------------------------------------------------
def character_map(rules):
    """The normalisation table of a SentencePiece model for these rules: a double-array trie, here with 256 units for each node."""
    units, strings, places = [0] * 256, b"", {}
    for text, by in rules.items():
        places[text.encode()] = len(strings)
        strings += by.encode() + b"\0"

    def place(prefix, at, label):
        base = len(units)
        units.extend([0] * 256)
        offset = at ^ base
        units[at] = (offset << 10 if offset < 1 << 21 else offset >> 8 << 10 | 1 << 9) | (prefix in places) << 8 | label
        if prefix in places:
            units[base] = 1 << 31 | places[prefix]
        for byte in sorted({text[len(prefix)] for text in places if text.startswith(prefix) and text != prefix}):
            place(prefix + bytes([byte]), base ^ byte, byte)

    place(b"", 0, 0)
    return base64.b64encode(struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + strings).decode()


def sequence(kind, *parts):
    return {"type": "Sequence", kind: list(parts)}


def replaces(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def metaspace(scheme, split=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


# Rules for grapheme clusters. A short one that begins with a rule's text becomes its replacement alone.
RULES = {"e\u0301": "é", "ﬁ": "fi", "½": "1/2", "\u3000": " ", "\t": " ", "\x01": "", "\u00a0": " ", "Ａ": "A", "①": "1", "n\u0303\u0301": "x"}
PRECOMPILED = {"type": "Precompiled", "precompiled_charsmap": character_map(RULES)}
STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}
T5_NORMALIZER = sequence("normalizers", PRECOMPILED, STRIP, replaces(" {2,}", "▁", "Regex"))
ALBERT_NORMALIZER = sequence("normalizers", replaces("``", '"'), replaces("''", '"'), {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                             PRECOMPILED, replaces(" {2,}", " ", "Regex"))
BACK = [replaces("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
STRIPS_ONE = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
SPLITS = {"type": "WhitespaceSplit"}
SPLIT_OF_NONE = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}

# --- Written by hand ---------------------------------------------------------------------------------------------------------------
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = [*[[name, 0.0] for name in SPECIAL], ["▁", -2.0], ["a", -3.5], ["b", -3.5], ["▁a", -3.25], ["ab", -5.0], ["ba", -5.0], ["aba", -8.5],
          ["é", -4.0], ["f", -4.0], ["i", -4.0], ["1", -4.0], ["/", -4.0], ["2", -4.0], ["<x>", -1.5], ["n", -4.0], ["x", -4.0], ["A", -4.0], ["(", -9.0]]
UNIGRAM = {
    "version": "1.0", "truncation": None, "padding": None, "normalizer": T5_NORMALIZER, "pre_tokenizer": metaspace("always"),
    "decoder": metaspace("always"), "post_processor": None,
    "added_tokens": [*[added(i, name, special=True) for i, name in enumerate(SPECIAL)], added(len(PIECES), "[y]", lstrip=True)],
    "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": False, "vocab": PIECES},
}
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
MERGES = ["▁ a", "a b", "▁a b", "▁ ▁", "▁▁ ▁▁"]
CHARACTERS = ["<s>", "<pad>", "</s>", "<unk>", *BYTES, "▁", "a", "b", "!", *[merge.replace(" ", "") for merge in MERGES]]
LLAMA = {
    "version": "1.0", "truncation": None, "padding": None, "post_processor": None, "pre_tokenizer": None,
    "normalizer": sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, replaces(" ", "▁")),
    "decoder": sequence("decoders", *BACK, STRIPS_ONE),
    "added_tokens": [*[added(i, name, special=True) for i, name in enumerate(SPECIAL)], added(len(CHARACTERS), "[y]")],
    "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
              "byte_fallback": True, "ignore_merges": False, "vocab": {token: i for i, token in enumerate(CHARACTERS)}, "merges": MERGES},
}
WORDS = [*SPECIAL, "the", "kernel", "don", "'", "t", "don't", "!", "?!", "x1_", "中文", "straße"]
WORD_LEVEL = {
    "version": "1.0", "truncation": None, "padding": None, "post_processor": None, "pre_tokenizer": {"type": "Whitespace"}, "decoder": None,
    "normalizer": {"type": "Lowercase"},
    "added_tokens": [*[added(i, name, special=True) for i, name in enumerate(SPECIAL)], added(len(WORDS), "The Kernel", normalized=True)],
    "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {token: i for i, token in enumerate(WORDS)}},
}
GOLDEN = [
    (UNIGRAM, {
        "a ab  aba ": "▁a ▁a b ▁a ba", "abab": "▁a b ab", "e\u0301 ﬁ½\u3000a": "▁ é ▁ f i 1 / 2 ▁a", "½\u0301": "▁ 1 / 2",
        "①\u0301\u0301": "▁ 1 <unk>", "n\u0303\u0301": "▁ x", "\x01a\tb": "▁a ▁ b", "</s>a": "▁ <unk> / <unk> a",
        "a[y] a[y]a": "▁a [y] ▁a [y] ▁a", "☃☃<x>☃a": "▁ <unk> <x> <unk> a", "▁a▁▁": "▁a ▁ ▁", "(": "▁ (", "??(": "▁ <unk> ("}),
    (changed(UNIGRAM, pre_tokenizer=metaspace("first")), {"a[y]a": "▁a [y] a", " a": "▁a", "\x01a": "▁a", "[y]a [y] a": "[y] a [y] ▁a"}),
    (changed(UNIGRAM, pre_tokenizer=metaspace("never")), {"a a": "a ▁a", "ab": "ab"}),
    (changed(UNIGRAM, pre_tokenizer=sequence("pretokenizers", SPLITS, metaspace("always")), normalizer=PRECOMPILED),
     {" a\u2003b  ▁a": "▁a ▁ b ▁a", "a▁b": "▁a ▁ b"}),
    (changed(UNIGRAM, normalizer=ALBERT_NORMALIZER), {"``A''": "▁ <unk> a <unk>", "ÁB  Ⅱ": "▁a b ▁ i i", "é": "▁ <unk>"}),
    (changed(UNIGRAM, model__byte_fallback=True, model__vocab=[*PIECES, *[[byte, -20.0] for byte in BYTES]], added_tokens=UNIGRAM["added_tokens"][:4]),
     {"☃a": "▁ <0xE2> <0x98> <0x83> a", "<0x41>": "▁ <0x41>"}),
    (LLAMA, {"ab ab": "▁ab ▁ab", "a☃": "▁a <0xE2> <0x98> <0x83>", " a   ": "▁ ▁a ▁▁ ▁", "a[y] b[y]b": "▁a [y] ▁▁ b [y] ▁ b",
             "</s>": "▁ <0x3C> <0x2F> <0x73> <0x3E>", "é": "▁ <0xC3> <0xA9>"}),
    (changed(LLAMA, model__vocab={token: i for i, token in enumerate(token for token in CHARACTERS if token != "<0xE2>")},
             added_tokens=LLAMA["added_tokens"][:4]), {"a☃☃é☃b": "▁a <0xC3> <0xA9> <unk> b"}),
    (changed(LLAMA, normalizer=None, pre_tokenizer=metaspace("first", False)), {"ab[y]ab": "▁ab [y] ab", " ab": "▁ab", "a b": "▁a ▁ b"}),
    (changed(LLAMA, normalizer=replaces(" ", "▁"), decoder=sequence("decoders", *BACK), pre_tokenizer=SPLIT_OF_NONE),
     {"ab ab": "ab ▁ab", "    ab": "▁▁ ▁ ▁ab"}),
    (WORD_LEVEL, {"The DON'T!?!": "the don ' t <unk>", "x1_ 中文 <s>": "x1_ 中文 <unk> <unk> <unk>", "the kernel": "The Kernel",
                  "the kernels": "The Kernel <unk>"}),
    (changed(WORD_LEVEL, pre_tokenizer=SPLITS), {"The DON'T! ?!": "the <unk> ?!", "STRASSE straße": "<unk> straße"}),
    (changed(WORD_LEVEL, pre_tokenizer={"type": "BertPreTokenizer"}), {"don't ?!": "don ' t <unk> !"}),
]
check_golden(GOLDEN)
# A text's first blank is removed. Bytes in a row are written as characters or, if they are not UTF-8, each as a replacement character.
source, sizes = saved(WORD_LEVEL, "words.json"), {"words": len(WORDS) + 1, "llama": len(CHARACTERS) + 1, "unigram": len(PIECES) + 1}
program = translator(source, sizes["words"], saved(LLAMA, "llama.json"), sizes["llama"])
for token, want in (("▁ab", "ab ab ab ab"), ("▁▁", " " * 7), ("<0x41>", "AAAA"), ("<0xC3>", "\ufffd" * 4), ("<unk>", ""), ("!", "!!!!")):
    check_written(program, sizes["llama"], CHARACTERS.index(token), want, "the")
program = translator(source, sizes["words"], saved(UNIGRAM, "unigram.json"), sizes["unigram"])
for token, want in (("▁a", "a a a a"), ("▁", " " * 3), ("<x>", "<x>" * 4)):
    check_written(program, sizes["unigram"], [name for name, _ in PIECES].index(token), want, "the")
program = translator(saved(UNIGRAM, "unigram.json"), sizes["unigram"], source, sizes["words"])
check_written(program, sizes["words"], WORDS.index("don't"), "don't don't don't don't", "a")
refused_file("the pre-tokenizer 'Digits' is not supported: 'BertPreTokenizer', 'Whitespace', 'WhitespaceSplit' and 'Metaspace' are",
             changed(LLAMA, pre_tokenizer={"type": "Digits", "individual_digits": True}))
refused_file("'precompiled_charsmap' of the normalizer 'Precompiled' is damaged",
             changed(UNIGRAM, normalizer={"type": "Precompiled", "precompiled_charsmap": PRECOMPILED["precompiled_charsmap"][:-8]}))

# --- Trained -----------------------------------------------------------------------------------------------------------------------
if sys.argv[1:] != ["keep"]:
    check_kept("tokenizer_pieces")
if not Tokenizer:
    checks.end()
FOO = [AddedToken("foo", single_word=True, normalized=False), AddedToken("bar baz", lstrip=True, rstrip=True, normalized=False),
       AddedToken("<x>", normalized=False)]


def trained(model, trainer, splitter, tokens=(), **stages):
    """A tokenizer.json with these stages, whose model was trained on words that `splitter` splits."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = splitter
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer = Tokenizer.from_str(json.dumps({**json.loads(tokenizer.to_str()), **stages}))
    tokenizer.add_tokens(list(tokens))
    return json.loads(tokenizer.to_str())


def trained_unigram(tokens=(), **stages):
    trainer = trainers.UnigramTrainer(vocab_size=500, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    return trained(models.Unigram(), trainer, pre_tokenizers.Metaspace(), tokens, **{"decoder": metaspace("always"), **stages})


def trained_characters(tokens=(), **stages):
    trainer = trainers.BpeTrainer(vocab_size=550, special_tokens=[*SPECIAL, *BYTES], limit_alphabet=60, show_progress=False)
    file = trained(models.BPE(), trainer, pre_tokenizers.Metaspace())
    model = {**file["model"], "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
    file = {**file, "added_tokens": file["added_tokens"][:4], "model": model, "pre_tokenizer": None, "decoder": LLAMA["decoder"], **stages}
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.add_tokens(list(tokens))
    return json.loads(tokenizer.to_str())


def trained_words(splitter, **stages):
    trainer = trainers.WordLevelTrainer(vocab_size=590, special_tokens=SPECIAL, show_progress=False)
    return trained(models.WordLevel(unk_token="<unk>"), trainer, splitter, FOO, **stages)


check_all_trained("tokenizer_pieces", {
    "t5": trained_unigram(normalizer=T5_NORMALIZER, pre_tokenizer=metaspace("always")),
    "t5-first": trained_unigram(FOO, normalizer=T5_NORMALIZER, pre_tokenizer=metaspace("first"), decoder=metaspace("first")),
    "xlm-r": trained_unigram([*FOO, AddedToken("Foo", normalized=True)], normalizer=PRECOMPILED,
                             pre_tokenizer=sequence("pretokenizers", SPLITS, metaspace("always"))),
    "albert": trained_unigram([AddedToken("Foo", normalized=True, lstrip=True)], normalizer=ALBERT_NORMALIZER, pre_tokenizer=metaspace("always")),
    "sentencepiece": trained_unigram(normalizer=sequence("normalizers", {"type": "Nmt"}, {"type": "NFKC"}, replaces(" {2,}", " ", "Regex")),
                                     pre_tokenizer=metaspace("never"), decoder=metaspace("never")),
    "llama": trained_characters([*FOO, AddedToken("Foo", normalized=True)], normalizer=LLAMA["normalizer"]),
    "mistral": trained_characters(FOO, pre_tokenizer=metaspace("first", False)),
    "gemma": trained_characters(FOO, normalizer=replaces(" ", "▁"), pre_tokenizer=SPLIT_OF_NONE, decoder=sequence("decoders", *BACK)),
    "words": trained_words(pre_tokenizers.Whitespace(), normalizer={"type": "NFKD"}),
    "split": trained_words(pre_tokenizers.WhitespaceSplit(), decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}),
}, strange_lines([" ", "  ", "\t", "x", "é", "e\u0301", "①\u0301", "ﬁ", "``", "''", "▁", "▁▁", "<0x41>", "foo", "bar baz", " bar baz ", "Foo", "<x>",
                  "</s>", "<unk>", "\u00a0", "\u3000", "\x01", "kernel", "the", "a\u0600b", "n\u0303\u0301"]))
checks.end()
