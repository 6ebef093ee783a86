"""Programs whose text is cut as a tokenizer.json says: with the ids and the text that the library which wrote it gives.

A small tokenizer that stands here is always tested; those of other kinds are trained where Python has the package `tokenizers`.
"""
import json
import random
import struct
import sys

from common import Checks, MODELS, SOURCE, WORK, compile_model, run, write_safetensors

try:
    import tokenizers
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError:
    tokenizers = None
checks = Checks()
rng = random.Random(7)
# A prediction for each token: a table's row, which is its number.
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
  entry encode(src: token[B, S <= 700]) -> memory = source(src)
  entry decode(tgt: token[B, T <= 60], memory, src) -> logits {
    x = target(tgt) + sinusoid(d)[positions(T)]
    logits = (x + cross(x, memory, memory, keys(src != 599))) @ target.weight.T
  }
  text(source = subwords, target = subwords%s)
  generate(encode, decode, start = 1, end = 2)
}
"""


def written(name, text):
    path = WORK / name
    path.write_text(text, encoding="utf-8")
    return path


def ids_of(tokenizer, vocab, lines):
    """What a program cuts each line into; of lines that are errors, nothing."""
    weights = WORK / "numbers.safetensors"
    write_safetensors(weights, {"table.weight": ("F32", [vocab, 1], struct.pack(f"<{vocab}f", *range(vocab)))})
    program = WORK / "numbers"
    compile_model(written("numbers.xf", NUMBERS), program, "--weights", weights, "--set", f"vocab={vocab}", "--source-tokenizer", tokenizer)
    _, out, _ = run(program, stdin="".join(line + "\n" for line in lines), ok=False)
    return [[int(number) for number in line.split()] for line in out.split("\n")[:-1]]


# --- Written by hand ----------------------------------------------------------------------------------------------------------
def golden(name, **changes):
    """A tokenizer.json of few tokens, some members of it changed."""
    path = SOURCE / "test" / "e2e" / name
    file = json.loads(path.read_text(encoding="utf-8"))
    for place, value in changes.items():
        *outer, last = place.split("__")
        inner = file
        for key in outer:
            inner = inner[int(key)] if isinstance(inner, list) else inner[key]
        inner[last] = value
    return written("changed.json", json.dumps(file))


for name, expected in json.loads((SOURCE / "test" / "e2e" / "tokenizers.json").read_text(encoding="utf-8")).items():
    if name == "expected":
        continue
