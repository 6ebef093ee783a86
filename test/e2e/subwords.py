"""Programs that cut text into subwords print the same as with SentencePiece's own tools around their token ids, for models of every kind.

Needs spm_train, spm_encode and spm_decode (Debian: sentencepiece).
"""
import json
import random
import shutil

from common import Checks, MODELS, SOURCE, WORK, compile_model, run, skip

if not all(map(shutil.which, ("spm_train", "spm_encode", "spm_decode"))):
    skip("SentencePiece's tools are not installed")
DESCRIPTION = """model Translate(source_vocab = 500, target_vocab = 500, d = 32) {
  source: Embedding(source_vocab, d)
  target: Embedding(target_vocab, d)
  cross: MultiHeadAttention(d, 4)
  entry encode(src: token[B, S <= 200]) -> memory = source(src)
  entry decode(tgt: token[B, T <= 60], memory, src) -> logits {
    x = target(tgt) + sinusoid(d)[positions(T)]
    logits = (x + cross(x, memory, memory, keys(src != 0))) @ target.weight.T
  }
  text(source = subwords, target = subwords, suffix = [2]%s)
  generate(encode, decode, start = 1, end = 2)
}
"""
KINDS = {
    "unigram": ["--model_type=unigram"],
    "unigram-bytes": ["--model_type=unigram", "--byte_fallback=true", "--character_coverage=0.98"],
    "unigram-folded": ["--model_type=unigram", "--normalization_rule_name=nmt_nfkc_cf", "--user_defined_symbols=<mask>,kernel", "--control_symbols=<de>"],
    "bpe": ["--model_type=bpe"],
    "bpe-plain": ["--model_type=bpe", "--byte_fallback=true", "--character_coverage=0.98", "--normalization_rule_name=identity",
                  "--remove_extra_whitespaces=false", "--split_digits=true"],
    "bpe-suffix": ["--model_type=bpe", "--treat_whitespace_as_suffix=true"],
    "char": ["--model_type=char", "--hard_vocab_limit=false"],
    "word": ["--model_type=word", "--hard_vocab_limit=false"],
}
checks = Checks()
rng = random.Random(4)
corpus = WORK / "corpus.txt"
texts = [line for file in sorted(SOURCE.rglob("*.md")) if "build" not in file.parts for line in file.read_text(encoding="utf-8").splitlines()]
corpus.write_text("\n".join(texts) + "\n", encoding="utf-8")
strange = [chr(c) for c in [*range(33, 127), *range(0xa0, 0x180), *range(0x3b1, 0x3c0), *range(0x430, 0x440), *range(0x3042, 0x3050), 0x4e2d, 0x6587,
                            0xff21, 0xfdfa, 0xfb01, 0x2460, 0x1f600, 0x3000, 0x200b, 0x301, 0x2581]]
lines = [text[:150].strip() for text in rng.sample(texts, 150) if text.strip()]
lines += ["".join(rng.choice(strange) if rng.random() < .4 else rng.choice("abcdefgh   ") for _ in range(rng.randrange(1, 40))) for _ in range(150)]
lines = [line for line in lines if line.strip()]
text = "\n".join(lines) + "\n"


def trained(name, *options):
    model = WORK / name
    run("spm_train", f"--input={corpus}", f"--model_prefix={model}", "--vocab_size=450", "--minloglevel=2", *options)
    return model.with_name(name + ".model")


def compiled(name, *options, more=""):
    description = WORK / "subwords.xf"
    description.write_text(DESCRIPTION % more)
    compile_model(description, WORK / name, "--random-weights", 5, *options)
    return WORK / name


models = {name: trained(name, *options) for name, options in KINDS.items()}
for source, target in zip(KINDS, [*list(KINDS)[3:], *list(KINDS)[:3]]):
    sizes = [f"--set={side}_vocab={len((WORK / (name + '.vocab')).read_text(encoding='utf-8').splitlines())}"
             for side, name in (("source", source), ("target", target))]
    program = compiled("program", "--source-spm", models[source], "--target-spm", models[target], *sizes)
    # The programs replace control characters by blanks; the tools do not, and those below a blank would break the tools' lines.
    controls = ",".join(str(i) for i, line in enumerate((WORK / (target + ".vocab")).read_text(encoding="utf-8").splitlines())
                        if line.startswith(("<0x0", "<0x1")))
    limits = ["--max-length", 20, *(["--suppress", controls] if controls else [])]
    status, got, errors = run(program, *limits, stdin=text, ok=False)
    pieces = run(program, *limits, "--stream", stdin=text, ok=False)[1]
    checks.that(pieces == got, f"{source} to {target}: other text where it is written as it comes")
    ids = run("spm_encode", f"--model={models[source]}", "--output_format=id", "--extra_options=eos", stdin=text)[1]
    answers = run(program, "--ids", *limits, stdin=ids, ok=False)[1]
    want = run("spm_decode", f"--model={models[target]}", "--input_format=id", stdin=answers)[1]
    want = want.translate(dict.fromkeys([*range(0x7f, 0xa0), 0x2028, 0x2029], " "))
    wrong = [line for line, a, b in zip(lines, got.splitlines(), want.splitlines()) if a != b]
    checks.that(len(got.splitlines()) == len(lines) and not wrong, f"{source} to {target}: {len(wrong)} lines differ, such as {wrong[:3]} {errors[:300]}")

# Tokens in another order, as in models that were trained with another program: ids are lines of the vocabulary.
pieces = [line.split("\t")[0] for line in (WORK / "unigram.vocab").read_text(encoding="utf-8").splitlines()]
order = list(range(3, len(pieces)))
rng.shuffle(order)
tokens = ["<s>", "<pad>", "</s>", "<unk>", "<extra>", *[pieces[i] for i in order]]
place = {token: i for i, token in enumerate(tokens)}
(WORK / "tokens").write_text("\n".join(tokens) + "\n", encoding="utf-8")
(WORK / "tokens.json").write_text(json.dumps(place), encoding="utf-8")
program = compiled("program", "--source-spm", models["unigram"], "--source-vocab", WORK / "tokens", "--target-spm", models["unigram"], "--target-vocab",
                   WORK / "tokens.json", more=", unknown = 3")
encoded = run("spm_encode", f"--model={models['unigram']}", "--output_format=id", stdin=text)[1].splitlines()
ids = "".join(" ".join(str(place[pieces[int(i)]]) for i in line.split()) + " 2\n" for line in encoded)
got, answers = (run(program, *options, "--max-length", 20, stdin=given, ok=False)[1].splitlines() for options, given in (([], text), (["--ids"], ids)))
back = "".join(" ".join(tokens[int(i)] for i in line.split() if tokens[int(i)] not in ("<s>", "</s>")) + "\n" for line in answers)
want = run("spm_decode", f"--model={models['unigram']}", "--input_format=piece", stdin=back)[1].splitlines()
checks.that(got == want, f"tokens in another order: {[pair for pair in zip(got, want) if pair[0] != pair[1]][:3]}")
# Prefixes are text, too.
first = run(program, "--prefix", "the kernel", "--max-length", 9, stdin=lines[0] + "\n")[1]
prefix = run("spm_encode", f"--model={models['unigram']}", "--output_format=id", stdin="the kernel\n")[1].split()
same = run(program, "--ids", "--prefix", " ".join(str(place[pieces[int(i)]]) for i in prefix), "--max-length", 9, stdin=ids.splitlines()[0] + "\n")[1]
back = " ".join(tokens[int(i)] for i in same.split())
checks.that(first == run("spm_decode", f"--model={models['unigram']}", "--input_format=piece", stdin=back + "\n")[1], f"a prefix of subwords: {first}")
# In prefixes, the names of control tokens stand for these tokens.
program = compiled("program", "--source-spm", models["bpe"], "--target-spm", models["unigram-folded"], "--set=target_vocab=450")
pieces = [line.split("\t")[0] for line in (WORK / "unigram-folded.vocab").read_text(encoding="utf-8").splitlines()]
cut = run("spm_encode", f"--model={models['unigram-folded']}", "--output_format=id", stdin="the kernel\n")[1].strip()
source = run("spm_encode", f"--model={models['bpe']}", "--output_format=id", "--extra_options=eos", stdin=lines[0] + "\n")[1]
for prefix, ids in (("<de>", f"{pieces.index('<de>')}"), ("<de> the kernel", f"{pieces.index('<de>')} {cut}"), ("the kernel <de>", f"{cut} {pieces.index('<de>')}")):
    got = run(program, "--prefix", prefix, "--max-length", 9, stdin=lines[0] + "\n")[1]
    answer = run(program, "--ids", "--prefix", ids, "--max-length", 9, stdin=source)[1]
    checks.that(got == run("spm_decode", f"--model={models['unigram-folded']}", "--input_format=id", stdin=answer)[1], f"the prefix {prefix}: {got}")
# Each line gives one line, whatever bytes its pieces stand for; shortlists may name pieces.
program = compiled("program", "--source-spm", models["bpe"], "--target-spm", models["unigram-bytes"], "--set=target_vocab=450")
pieces = [line.split("\t")[0] for line in (WORK / "unigram-bytes.vocab").read_text(encoding="utf-8").splitlines()]
for byte in ("<0x0A>", "<0x09>", "<0x00>"):
    others = ",".join(str(i) for i, piece in enumerate(pieces) if piece != byte)
    for options in ([], ["--stream"], ["--scores"]):
        got = run(program, "--suppress", others, "--max-length", 4, *options, stdin="hello\n")[1]
        checks.that(got.count("\n") == 1 and got.endswith("\n") and "\0" not in got and got.count("\t") == (2 if options == ["--scores"] else 0),
                    f"{byte} {options}: {got!r}")
table = WORK / "table"
table.write_text(f"\t{pieces[300]} {pieces[301]}\n", encoding="utf-8")
by_name = run(program, "--shortlist", table, "--max-length", 9, stdin=text)[1]
table.write_text("\t300 301\n", encoding="utf-8")
by_id = run(program, "--ids", "--shortlist", table, "--max-length", 9,
            stdin=run("spm_encode", f"--model={models['bpe']}", "--output_format=id", "--extra_options=eos", stdin=text)[1])[1]
checks.that(by_name == run("spm_decode", f"--model={models['unigram-bytes']}", "--input_format=id", stdin=by_id)[1], "a table of pieces")


def refused(message, *options, more="", description=None):
    path = WORK / "subwords.xf"
    path.write_text(DESCRIPTION % more)
    status, _, err = compile_model(description or path, WORK / "x", "--random-weights", 1, *options, ok=False)
    checks.that(status == 1 and message in err, f"{options}: status {status}, {err!r}")


refused(f"{corpus}: it is no SentencePiece model, or damaged", "--source-spm", corpus)
refused("none: No such file or directory", "--target-spm", WORK / "none")
refused("text(source = subwords) needs a SentencePiece model or a tokenizer.json, too (--source-spm, --source-tokenizer)", "--source-vocab", WORK / "tokens")
refused("the target SentencePiece model has 450 pieces, but the model has 300 target tokens", "--target-spm", models["bpe"], "--set", "target_vocab=300")
refused("without text(source = subwords) lines are not cut into pieces", "--source-spm", models["bpe"], "--config", MODELS / "g2p" / "config.json",
        description=MODELS / "g2p" / "g2p.xf")
checks.end()
