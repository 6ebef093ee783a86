"""Text to ids and back by the C API, with xf_generate in between, gives what programs print for the same lines; and results as they come."""
from common import MODELS, WORK, Checks, compile_model, kept_g2p, load, run
from session import session_of, xf
from tokenizer_tools import added, as_lines, byte_level, byte_names, saved, translator

checks = Checks()


def generated(session, ids, **settings):
    """The ids of a sentence's result, and the text that was known after each of them."""
    came, shown = [], [""]

    def take(_, token):
        came.append(token)
        shown.append(session.model.ids_to_text(came, more=True))

    result = session.generate([ids], on_token=take, **settings)[0][0]
    checks.that(came == result.tokens, f"{came} have come of {result.tokens}")
    return came, shown


def check(program, line, want, changed=str, **settings):
    session = programs.setdefault(program, session_of(program, 1))
    ids, shown = generated(session, session.model.text_to_ids(line), **settings)
    text = session.model.ids_to_text(ids)
    checks.that(changed(text) == want, f"{line!r}: {text!r}, the program prints {want!r}")
    checks.that(all(behind.startswith(before) for before, behind in zip(shown, [*shown[1:], text])), f"{line!r}: {shown} of {text!r}")
    return len(set(shown))


programs = {}
# Characters to words, in lower case, with an end token.
items = load(MODELS / "g2p" / "expected.json")["items"]
for item in items[:100]:
    if item["greedy"]["closest_decision"] >= 1e-4:
        check(kept_g2p(), item["word"].upper(), item["greedy"]["text"])
g2p = programs[kept_g2p()].model
target = "N AY1 T"
ids = g2p.text_to_ids(target, "target")
checks.that(len(ids) == 3 and g2p.ids_to_text(ids) == target, f"{target} is {ids}, which is {g2p.ids_to_text(ids)}")
checks.that(len(g2p.text_to_ids("knight")) == 7 and g2p.text_to_ids("KNIGHT")[-1] == 2, f"knight is {g2p.text_to_ids('knight')}")

# ByT5's tokens are a text's bytes, behind three special ones.
folder = MODELS / "t5"
byt5 = folder / "byt5-tokenizer.json"
compile_model(folder / "t5.xf", WORK / "byt5", "--config", folder / "t5" / "config.json", "--set", "vocab=384", "--random-weights", 1,
              "--source-tokenizer", byt5, "--target-tokenizer", byt5)
model = session_of(WORK / "byt5", 1).model
for text in ("abc", " Grüße,\t Äpfel  ", "日本語 x\u0301", bytes(range(1, 128)).decode()):
    ids = model.text_to_ids(text)
    checks.that(ids == [byte + 3 for byte in text.encode()] + [1] and model.ids_to_text(ids) == text, f"{text!r}: {ids}, {model.ids_to_text(ids)!r}")

# Bytes to bytes: samples are full of incomplete characters.
tokens = ["<s>", "<pad>", "</s>", *byte_names().values(), "Ã¤", "Ġab", "ab"]
file = {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": byte_level(), "decoder": byte_level(),
        "post_processor": None, "added_tokens": [added(i, tokens[i], special=True) for i in range(3)],
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: i for i, token in enumerate(tokens)}, "merges": ["Ã ¤", "a b", "Ġ ab"]}}
path = saved(file)
program = translator(path, len(tokens), path, len(tokens))
lines = ["ab", "ä ab abc", "  a b\t c", "中文 <s> x"]
controls = dict.fromkeys([*range(1, 0x20), *range(0x7f, 0xa0), 0x2028, 0x2029], " ") | {0: "\ufffd"}
settings = ["--sample", "--temperature", 2, "--max-length", 30, "--seed", 7]
for option in ([], ["--stream"]):
    printed = run(program, *settings, *option, stdin=as_lines(lines))[1].split("\n")[:-1]
    for line, want in zip(lines, printed):
        pieces = check(program, line, want, lambda text: text.translate(controls), sample=1, temperature=2, max_length=30, seed=7)
        checks.that(pieces > 5, f"{line!r} comes in {pieces} pieces")

# Models of ids refuse text.
folder = MODELS / "classifier"
compile_model(folder / "classifier.xf", WORK / "classifier", "--config", folder / "config.json", "--weights", folder / "weights.safetensors")
for use in (lambda model: model.text_to_ids("a"), lambda model: model.ids_to_text([1])):
    try:
        use(session_of(WORK / "classifier", 1).model)
    except xf.Error as problem:
        checks.that("has no vocabulary for " in str(problem), str(problem))
    else:
        checks.that(False, "a model of ids has text")
checks.end()
