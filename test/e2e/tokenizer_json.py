"""Programs that cut text as a tokenizer.json says have the ids and the text of the library that wrote it.

Small tokenizers that are written here are tested, and trained ones on results that the library once had (tokenizer_json.golden.gz). Where Python
has the package `tokenizers`, 0.23 or newer, others are trained and compared on many lines. (Older versions wrote an added token that is normalised as
it was given.)
"""
import json
import sys

from common import MODELS, WORK, compile_model, run
from tokenizer_tools import (CORPUS, NUMBERS, TRANSLATE, Tokenizer, added, byte_level, byte_names, changed, check_all_trained, check_golden, check_kept,
                             check_written, checks, refused, refused_file, saved, strange_lines, translator, written)

if Tokenizer:
    from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


# --- Written by hand ---------------------------------------------------------------------------------------------------------------
def split_by(pattern):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, byte_level(use_regex=False)]}


# "ab" is merged before "bc", and "abc" is made from "ab" and "c"; Ġ stands for a blank.
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
check_golden(GOLDEN)
# A table that both sides use is stored once.
sizes = {"bpe": len(BPE_TOKENS) + 3, "wordpiece": len(WORDS) + 1}
paths = {"bpe": saved(BPE, "bpe.json"), "wordpiece": saved(WORDPIECE, "wordpiece.json")}
stored = {(source, target): translator(paths[source], sizes[source], paths[target], sizes[target]).read_bytes().count(b"XFTOKEN\0")
          for source, target in (("bpe", "bpe"), ("wordpiece", "bpe"))}
checks.that(stored["bpe", "bpe"] + 1 == stored["wordpiece", "bpe"], f"tables in a file: {stored}")
# Results of incomplete characters, too, at once and as they come.
program = translator(paths["wordpiece"], sizes["wordpiece"], paths["bpe"], sizes["bpe"])
for token, want in (("Ġabc", " abc" * 4), ("Ã¤", "ä" * 4), ("Ã", "\ufffd" * 4), ("â", "\ufffd" * 4), ("<sep>", "<sep>" * 4), ("Ā", "\ufffd" * 4),
                    ("Ċ", " " * 4), ("<de>", "")):
    check_written(program, sizes["bpe"], len(BPE_TOKENS) if token == "<sep>" else BPE_TOKENS.index(token), want, "aff")
# A prefix is cut like text, except that special tokens' names stand for them.
source = " ".join(str(WORDS.index(token)) for token in ("un", "##aff")) + "\n"
for prefix, ids in (("abc", "abc"), ("<de>", "<de>"), ("<de>  abc", "<de> Ġ Ġabc"), ("abc <s>", "abc Ġ <s>")):
    numbers = " ".join(str(BPE_TOKENS.index(token)) for token in ids.split())
    answers = [run(program, *options, "--max-length", 9, "--scores", stdin=text)[1].split("\t")[1] for options, text in
               ((["--prefix", prefix], "unaff\n"), (["--ids", "--prefix", numbers], source))]
    checks.that(answers[0] == answers[1], f"the prefix {prefix!r}: {answers}")
table = written("table", "\tĠabc <sep>\n")
got = run(program, "--shortlist", table, "--max-length", 3, stdin="aff\n")[1].replace(" abc", "").replace("<sep>", "").strip()
checks.that(got == "", f"a table of names: {got!r}")
# Blanks are removed before punctuation and before parts that continue a word.
program = translator(paths["bpe"], sizes["bpe"], paths["wordpiece"], sizes["wordpiece"])
for token, want in ((".", "...."), ("##a", "##aaaa"), ("able", "able able able able"), ("[UNK]", ""), ("中", "中 中 中 中")):
    check_written(program, sizes["wordpiece"], WORDS.index(token), want, "abc")

# --- What is refused ---------------------------------------------------------------------------------------------------------------

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
refused_file("the normalizer 'ByteLevel' is not supported", changed(BPE, normalizer={"type": "ByteLevel"}))
refused_file("the model 'Other' is not supported (only 'BPE', 'Unigram', 'WordPiece' and 'WordLevel' are)", changed(BPE, model={"type": "Other"}))
refused_file("the tokens 'abc' and 'abd' have the same id 270", changed(BPE, model__vocab={**BPE["model"]["vocab"], "abc": 270}))

# --- What goes around a text: a note, where the description says otherwise ---------------------------------------------------------
AROUND = saved(changed(BPE, post_processor={"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]}), "around.json")
PROMPT = """model Prompt(vocab = 600, start = 0) {
  table: Embedding(vocab, 4)
  entry decode(tokens: token[B, T <= 20]) -> logits = table(tokens) @ table.weight.T
  generate(decode = decode, start = start, end = 2)
  text(source = subwords, target = subwords, suffix = [2])
}
"""
for description, options, ids in ((NUMBERS, [], "[] and []"), (NUMBERS.replace("subwords", "subwords, prefix = [0]"), [], "[0] and []"),
                                  (NUMBERS.replace("subwords", "subwords, prefix = [0], suffix = [2]"), [], None),
                                  (PROMPT, ["--target-tokenizer", AROUND], None),
                                  (PROMPT, ["--target-tokenizer", AROUND, "--set", "start=1"], "[1] and [2]")):
    _, _, err = compile_model(written("around.xf", description), WORK / "around", "--random-weights", 1, "--source-tokenizer", AROUND, *options)
    want = f"xfc: note: {AROUND} puts the tokens [0] before and [2] after a text; the description's are {ids}\n" if ids else ""
    checks.that(err == want, f"around a text: {err!r}, not {want!r}")

# --- Trained -----------------------------------------------------------------------------------------------------------------------
if sys.argv[1:] != ["keep"]:
    check_kept("tokenizer_json")
if not Tokenizer:
    checks.end()
parts = ["'s", "'S", "'re", "'RE", "'ll", "'ſ", "'vE", " ", "  ", "\t", "x", "12345", "1", "é", "e\u0301", "!", "?!", " don't", " do not", "<x>",
         "[MASK]", "foo", "bar baz", " bar baz ", "Foo", "</s>", "[UNK]", "\u00a0", "\u3000", "kernel"]
lines = strange_lines(parts)


def trained(tokenizer, trainer, splitter, decoder, normalizer, added):
    tokenizer.pre_tokenizer, tokenizer.decoder = splitter, decoder
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens(added)
    return json.loads(tokenizer.to_str())


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
check_all_trained("tokenizer_json", KINDS, lines)
checks.end()
