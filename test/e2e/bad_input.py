"""Bad lines, options and files. A line that cannot be translated gives an empty line and a message with its number; the others are translated."""
import os
import signal
import stat
import struct
import subprocess
import time

from common import BIN, MODELS, SMALL_BENCH, WORK, Checks, compile_model, kept_g2p, read_safetensors, run, write_safetensors

checks = Checks()
program = kept_g2p()
lines = b"hello\n\n" + b"a" * 5000 + b"\nwo\xffrld\nworld\n"
done = subprocess.run([program], input=lines, capture_output=True)
out = done.stdout.decode().split("\n")
checks.that(done.returncode == 1, f"status {done.returncode}")
checks.that(out == ["HH EH1 L OW0", "", "", "", "W ER1 L D", ""], f"output {out}")
for number in (2, 3, 4):
    checks.that(f": line {number}: " in done.stderr.decode(), f"line {number} is not named: {done.stderr}")
for wrong in (["--beam", "0"], ["--beam", "999"], ["--nonsense"], ["--isa", "pentium"], ["/nonexistent.txt"]):
    status, _, err = run(program, *wrong, stdin="hello\n", ok=False)
    checks.that(status == (1 if wrong == ["/nonexistent.txt"] else 2) and wrong[-1] in err, f"{wrong}: status {status}, {err}")
for command, words in ((("xfc", "--type", "fp8"), "--type option: 'fp8' is none of f32, bf16, f16, int8, int8-weights"),
                       (("xfc", "--emit=dll"), "--emit option: 'dll' is none of exe, so, obj, model, xf, fused, llvm, asm, ptx"),
                       (("xfc", "--target", "gpu", "-o", WORK / "out"), "--target gpu: expected cpu, cuda or cpu,cuda"),
                       (("xf-run", "--isa=sse"), "--isa option: 'sse' is none of baseline, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16"),
                       (("xf-run", "--device", "gpu"), "--device option: 'gpu' is none of best, cpu, cuda, emulator"),
                       (("xf-run", "--reference=f16"), "--reference option: 'f16' is none of f64, f32"),
                       (("xf-run",), "give either --golden, or --inputs and --outputs"),
                       (("xf-run", "--golden", "io", "--entry", "run"), "--entry is for --inputs"),
                       (("xf-run", "--inputs", "io", "--outputs", "out", "--rtol", "1"), "--rtol is for --golden"),
                       (("xf-run", "--golden", "io", "--reference", "--threads", "2"), "--threads is for what was compiled"),
                       (("xf-run", "--golden", ""), "--golden option: is empty"),
                       (("xfc", "--config", "", "-o", "out"), "--config option: is empty"),
                       (("xfc", "--weights", "", "-o", "out"), "--weights option: is empty"),
                       (("xfc", "--ignore", "words", "-o", "out"), "--ignore is for the tensors of --weights"),
                       # Reported before anything is read.
                       (("xfc", "-o", "-"), "only text goes to standard output"),
                       (("xfc", "-o", "/nonexistent/out"), "/nonexistent/out: No such file or directory"),
                       (("xf-run", "--golden", "io", "--outputs", "/nonexistent/out"), "/nonexistent/out: No such file or directory")):
    status, _, err = run(BIN / command[0], *command[1:], "file", ok=False)
    checks.that(status == 1 and words in err, f"{command}: {status} {err}")
run(program, "--help")
run(program, "--version")
run(program, "--limits")

# Checkpoints that do not fit.
seed = MODELS / "seed2"
for options, words in (
    (["--config", seed / "config.json", "--weights", MODELS / "seed0" / "weights.safetensors"], "W_q"),
    (["--config", seed / "config.json", "--weights", seed / "config.json"], "config.json"),
    (["--config", seed / "config.json"], "--weights"),
    (["--weights", seed / "weights.safetensors"], "d_model"),
    (["--config", seed / "config.json", "--set", "nonsense=1", "--random-weights", "1"], "nonsense"),
):
    status, _, err = compile_model(seed / "seed2.xf", WORK / "out", *options, ok=False)
    checks.that(status == 1 and words in err, f"{options}: status {status}, {err}")

# Vocabularies that do not fit the model.
g2p = MODELS / "g2p"
(WORK / "long").write_text("".join(f"t{i}\n" for i in range(34)))
(WORK / "bytes").write_bytes(b"a\nb\xff\n")
(WORK / "empty").write_bytes(b"")
for name, text in (("list", '["a"]'), ("text", '{"a": 0, "b": "1"}'), ("gap", '{"a": 0, "b": 2}'), ("twice", '{"a": 0, "b": 0}'), ("lines", '{"a\\nb": 0}')):
    (WORK / f"{name}.json").write_text(text)
(WORK / "tabs").write_bytes(b"<unk>\t0\n\xe2\x96\x81a\t-2.5\n")
for source, target, words in (("long", g2p / "target.vocab", "34 lines"), (g2p / "source.vocab", "bytes", "line 2"),
                              (g2p / "source.vocab", "empty", "empty"), ("tabs", g2p / "target.vocab", "line 1 holds a tab"),
                              (g2p / "source.vocab", "tabs", "line 1 holds a tab"), ("nowhere", g2p / "target.vocab", "nowhere"),
                              ("list.json", g2p / "target.vocab", "list.json: is no JSON object"), ("text.json", g2p / "target.vocab", "token 'b' has no number"),
                              ("gap.json", g2p / "target.vocab", "token 'b' has the number 2, but there are 2 tokens"),
                              ("twice.json", g2p / "target.vocab", "tokens 'a' and 'b' have the same number, 0"),
                              ("lines.json", g2p / "target.vocab", "holds a line break")):
    status, _, err = compile_model(g2p / "g2p.xf", WORK / "out", "--config", g2p / "config.json", "--random-weights", 1, "--source-vocab",
                                   WORK / source, "--target-vocab", WORK / target, ok=False)
    checks.that(status == 1 and words in err, f"vocabularies {source}, {target}: status {status}, {err}")

# Deeply nested brackets exhaust neither the stack nor memory.
for opening, closing, column in (("[", "]", 100), ('{"a":', "}", 496), ("[", "", 100)):
    (WORK / "deep.json").write_text('{"config":\n' + opening * 300_000 + closing * 300_000 + "}")
    for options in (("--random-weights", 1, "--config"), ("--config", g2p / "config.json", "--weights"),
                    ("--config", g2p / "config.json", "--random-weights", 1, "--source-vocab"),
                    ("--config", g2p / "config.json", "--random-weights", 1, "--source-tokenizer")):
        status, _, err = compile_model(g2p / "g2p.xf", WORK / "out", "--target-vocab", g2p / "target.vocab", *options, WORK / "deep.json",
                                       ok=False)
        words = f"no JSON object: parse error at line 2, column {column}: more than 100 lists and objects stand within each other"
        checks.that(status == 1 and words in err, f"deep JSON, {options}: status {status}, {err[:300]}")
for begin, opening, closing, end, column in (("module attributes {a =", "[", "]", "} {}", 500), ("", "module {", "}", "", 4008),
                                             ("module attributes {a =", "tuple<", ">", "} {}", 3000)):
    (WORK / "deep.mlir").write_text(begin + "\n" + opening * 20_000 + closing * 20_000 + end)
    status, _, err = run(BIN / "xfc", WORK / "deep.mlir", "--emit=llvm", "-o", WORK / "out", ok=False)
    words = f"{WORK}/deep.mlir:2:{column}: error: more than 500 brackets stand within each other\n"
    checks.that(status == 1 and err == words, f"deep IR, {opening}: status {status}, {err[:300]}")
(WORK / "deep.xf").write_text("(" * ((4 << 20) + 1))
status, _, err = compile_model(WORK / "deep.xf", "-", "--emit=xf", ok=False)
words = "deep.xf is too large for a description: it has more than 4 MiB"
checks.that(status == 1 and words in err, f"a large description: status {status}, {err[:300]}")

# Bytes that are no text, in the description and in a file that it imports.
(WORK / "bytes.xf").write_bytes("// ä\n  é".encode() + b"\xff")
(WORK / "zero.xf").write_bytes(b"model M() {\n\0}\n")
(WORK / "imports.xf").write_text('import "bytes.xf"\n')
for name, words in (("bytes", ("bytes.xf:2:4: error: what stands here is no UTF-8 text",)), ("zero", ("zero.xf:2:1: error: what stands here",)),
                    ("imports", ("bytes.xf:2:4: error: what stands here", "imports.xf:1:8: note: it is imported here"))):
    done = subprocess.run([BIN / "xfc", WORK / f"{name}.xf", "-o", WORK / "out"], capture_output=True)
    checks.that(done.returncode == 1 and all(part in done.stderr.decode() for part in words), f"{name}: {done.returncode} {done.stderr}")

# The byte order mark that some editors put before UTF-8 belongs neither to a description nor to the first token.
MARK, TAGGER = b"\xef\xbb\xbf", b"""model M() {
  e: Embedding(3, 3)
  entry tag(tokens: token[B, S]) -> logits = e(tokens)
  text(source = words, target = words)
  predict(tag, logits, labels = true)
}
"""
(WORK / "marked.xf").write_bytes(MARK + TAGGER)
for name, mark in (("plain", b""), ("marked", MARK)):
    (WORK / f"{name}.vocab").write_bytes(mark + b"a\nb\nc\n")
tagged = []
for name in ("plain", "marked"):
    vocabulary = WORK / f"{name}.vocab"
    compile_model(WORK / "marked.xf", WORK / "tagger", "--random-weights", 2, "--source-vocab", vocabulary, "--target-vocab", vocabulary)
    tagged.append(subprocess.run([WORK / "tagger"], input=b"a b c\n", capture_output=True))
tagged.append(subprocess.run([WORK / "tagger"], input=MARK + b"a b c\n", capture_output=True))
checks.that(tagged[1].stdout == tagged[2].stdout, f"marked lines: {tagged}")
checks.that(tagged[0].returncode == 0 and tagged[0].stdout == tagged[1].stdout and tagged[0].stdout.isascii(), f"a marked vocabulary: {tagged}")

write_safetensors(WORK / "other.safetensors", {"other": ("I64", [1, 1], bytes(8))})
for entry, words in (((), "no entry can run on these inputs: 'tag' needs 'tokens'"), (("--entry", "tag"), "the entry 'tag' needs the input 'tokens'"),
                     (("--entry", "run"), "the model has no entry 'run'")):
    status, _, err = run(BIN / "xf-run", WORK / "tagger", "--inputs", WORK / "other.safetensors", "--outputs", WORK / "results", *entry, ok=False)
    checks.that(status == 1 and words in err, f"other inputs, {entry}: {status} {err}")

# Devices and links are written to, never replaced.
small = [seed / "seed2.xf", "--config", seed / "config.json", "--weights", seed / "weights.safetensors", "--emit=model"]
for output, words in (("/dev/full", "No space left"), (WORK, "folder"), ("-", "standard output"), ("/nonexistent/out", "No such file")):
    status, out, err = run(BIN / "xfc", *small, "-o", output, ok=False)
    checks.that(status == 1 and words in err and not out, f"-o {output}: status {status}, {err}")
checks.that(stat.S_ISCHR(os.stat("/dev/full").st_mode), "a device was replaced by a file")
run(BIN / "xfc", *small, "-o", WORK / "file")
os.symlink(WORK / "file", WORK / "link")
run(BIN / "xfc", *small, "-o", WORK / "link")
checks.that((WORK / "link").is_symlink() and (WORK / "file").stat().st_size > 10000, "a link was replaced by a file")
with open("/dev/full", "w") as full:
    done = subprocess.run([str(w) for w in (BIN / "xfc", *small[:3], "--emit=xf", "-o", "-")], stdout=full, stderr=subprocess.PIPE, text=True)
checks.that(done.returncode == 1 and "No space left" in done.stderr, f"text to a full disk: {done.returncode} {done.stderr}")
status, _, err = run(BIN / "xfc", *small, "--random-weights", 1, "-o", WORK / "out", ok=False)
checks.that(status == 1 and "either" in err, f"two kinds of weights: {err}")
for limit in ("batch=0", "batch=9999999999999", "nothing=3", "K"):
    status, _, err = run(BIN / "xfc", *small, "--limit", limit, "-o", WORK / "out", ok=False)
    checks.that(status == 1 and "--limit" in err, f"--limit {limit}: {err}")

for limits in (("B=1073741824", "Q=1073741824"), ("B=2147483647", "Q=2147483647", "K=2147483647"), ("B=2000000000",)):
    status, _, err = run(BIN / "xfc", *small, *(word for limit in limits for word in ("--limit", limit)), "-o", WORK / "out", ok=False)
    checks.that(status == 1 and "larger than any memory" in err, f"--limit {limits}: {status} {err}")
status, _, err = compile_model(g2p / "g2p.xf", WORK / "out", "--random-weights", 1, "--limit", "batch=1000000000", ok=False)
checks.that(status == 1 and "--limit" in err, f"a billion sentences: {status} {err}")

# An input is not overwritten, under any name.
def same(path):
    return path.read_bytes() == (seed / "weights.safetensors").read_bytes()


weights = WORK / "weights.h"
weights.write_bytes((seed / "weights.safetensors").read_bytes())
os.link(weights, WORK / "linked")
for output, kind in ((weights, "model"), (WORK / "linked", "model"), (WORK / "weights.so", "so"), (WORK / "another.h", "so")):
    status, _, err = run(BIN / "xfc", *small[:4], weights, f"--emit={kind}", "-o", output, ok=False)
    checks.that(status == 1 and ("overwritten" in err or "header" in err), f"-o {output}: status {status}, {err}")
    checks.that(same(weights), f"-o {output}: the weights were overwritten")
for depfile, words in ((weights, "overwritten"), (WORK / "out", "output's name"), (WORK / "out.h", "output's name"), (WORK / "none" / "d", "No such file")):
    status, _, err = run(BIN / "xfc", *small[:4], weights, "--emit=obj", "-o", WORK / "out", "--depfile", depfile, ok=False)
    checks.that(status == 1 and words in err and same(weights), f"--depfile {depfile}: status {status}, {err}")
for wrong in (["explain", *small[:5]], [*small[:5], "--emit=asm", "-o", "-"]):
    status, _, err = run(BIN / "xfc", *wrong, "--depfile", WORK / "d", ok=False)
    checks.that(status == 1 and "--depfile is for an output that is a file" in err, f"{wrong}: status {status}, {err}")

# Tokens that the description names, but that do not exist.
words = (g2p / "g2p.xf").read_text()
for old, new in (("start = 1", "start = 73"), ("end = 2", "end = 73"), ("pad = 0", "pad = 33"), ("suffix = [2]", "suffix = [2, 33]"),
                 ("unknown = 3", "unknown = 33"), ("suffix = [2]", "suffix = [2, 2, 2, 2, 2, 2, 2, 2, 2]")):
    changed = words.replace(old, new)
    (WORK / "words.xf").write_text(changed)
    status, _, err = compile_model(WORK / "words.xf", WORK / "out", "--random-weights", 1, ok=False)
    name, _, value = new.partition(" = ")
    lines = changed[:changed.index(new)].split("\n")
    place = f"words.xf:{len(lines)}:{len(lines[-1]) + len(new) - len(value) + 1}: error: '{name}'"
    checks.that(status == 1 and "tokens" in err and place in err, f"{new}: status {status}, not {place} in {err}")

SEARCH = """model M(rows = 9) {
  source: Embedding(7, 4)
  target: Embedding(rows, 4)
  out: Linear(4, 9)
  entry encode(src: token[B, S]) -> memory = source(src)
  entry decode(tgt: token[B, T], memory) -> logits = out(target(tgt) + rearrange(memory[:, 0], "B d -> B 1 d"))
  DIRECTIVE
}
"""
for directive, options, words in (
    ("generate(encode, decode, start = 9, end = 2, pad = 0)", [], "search.xf:7:36: error: 'start' of generate is 9, but the model has 9 target tokens"),
    ("generate(encode, decode, start = 1, end = 100, pad = 0)", [], "'end' of generate is 100"),
    ("generate(encode, decode, start = 1, end = 2, pad = 7)", [], "search.xf:7:54: error: 'pad' of generate is 7, but the model has 7 source tokens"),
    ("predict(encode, memory, pad = 1000000)", [], "search.xf:7:33: error: 'pad' of predict is 1000000"),
    ("predict(encode, memory, pad = 2); text(source = words, suffix = [3, 2])", [],
     "search.xf:7:67: error: 'suffix' of text has the padding 2, which the model does not look at"),
    ("generate(encode, decode, start = 1, end = 2)", ["--set", "rows=8"], "9 tokens can be chosen, but the table that looks them up has 8 rows"),
    ("generate(encode, decode, start = 8, end = 2, pad = 6)", [], ""),
):
    (WORK / "search.xf").write_text(SEARCH.replace("DIRECTIVE", directive))
    status, _, err = compile_model(WORK / "search.xf", WORK / "out", "--random-weights", 1, *options, ok=False)
    checks.that(status == (1 if words else 0) and words in err, f"{directive}: status {status}, {err}")

# Vocabularies that would not be used.
(WORK / "words").write_text("a\nb\nc\n")
TEXT, IDS = "text(source = words, target = words)", "text(prefix = [1])"
GENERATE, PREDICT = "generate(encode, decode, start = 1, end = 2, pad = 0)", "predict(encode, memory, pad = 0)"
for directives, side, words in (
    ((GENERATE,), "source", "without text(source = characters) or text(source = words) lines are ids"),
    ((GENERATE,), "target", "without text(target = characters) or text(target = words) results are ids"),
    ((GENERATE, IDS), "source", "lines are ids"), ((TEXT,), "source", "neither generates nor predicts"),
    ((TEXT,), "target", "neither generates nor predicts"), ((PREDICT, TEXT), "target", "without labels predictions are numbers"),
    ((GENERATE, TEXT), "source", ""), ((GENERATE, TEXT), "target", ""), ((PREDICT, TEXT), "source", ""),
    (("predict(encode, memory, labels = true, pad = 0)",), "target", ""),
):
    (WORK / "search.xf").write_text(SEARCH.replace("DIRECTIVE", "\n  ".join(directives)))
    status, _, err = compile_model(WORK / "search.xf", WORK / "out", "--random-weights", 1, f"--{side}-vocab", WORK / "words", "--emit=model", ok=False)
    checks.that(status == (1 if words else 0) and words in err and (not words or f"the {side} vocabulary would not be used" in err),
                f"--{side}-vocab with {directives}: status {status}, {err}")

# Sentences shorter than the part that the model reads of each, in a step and in a prediction.
READS = """model M() {
  source: Embedding(7, 4)
  target: Embedding(9, 4)
  out: Linear(4, 9)
  entry encode(src: token[B, S]) -> memory, third { memory = source(src); third = memory[:, 2] }
  entry decode(tgt: token[B, T], memory) -> logits = out(target(tgt) + rearrange(memory[:, 3], "B d -> B 1 d"))
  DIRECTIVE
}
"""
for directive, least in (("generate(encode, decode, start = 1, end = 2, pad = 0)", 4), ("predict(encode, third, pad = 0)", 3)):
    (WORK / "reads.xf").write_text(READS.replace("DIRECTIVE", directive))
    compile_model(WORK / "reads.xf", WORK / "reads", "--random-weights", 1)
    done = subprocess.run([WORK / "reads", "--ids"], input="".join("5 " * n + "\n" for n in range(1, 7)), capture_output=True, text=True)
    rows = done.stdout.split("\n")
    checks.that(done.returncode == 1 and not any(rows[:least - 1]) and all(rows[least - 1:6]), f"{directive}: {done.returncode}, {rows}")
    checks.that(f"line 1: it has 1 token; at least {least} are needed" in done.stderr, f"{directive}: {done.stderr}")

# A limit on the size of files.
for command in ((BIN / "xfc", *small, "-o", WORK / "limited"),
                (BIN / "xf-run", WORK / "file", "--golden", seed / "io.safetensors", "--outputs", WORK / "limited")):
    done = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *(str(word) for word in command)], capture_output=True, text=True)
    checks.that(done.returncode == 1 and "limited: File too large" in done.stderr, f"limited: {done.returncode} {done.stderr[-300:]}")
    checks.that(not list(WORK.glob("limited*")), "something is left of a file that could not be written")

# An interrupted xfc leaves no files, here in a folder whose name LLVM would take for a pattern.
folder = WORK / "100%"
folder.mkdir()
explaining = subprocess.Popen([str(word) for word in (BIN / "xfc", "explain", *small[:3])], env=os.environ | {"TMPDIR": str(folder)},
                              stdout=subprocess.DEVNULL)
while not any(folder.iterdir()) and explaining.poll() is None:
    time.sleep(0.001)
time.sleep(0.05)
explaining.send_signal(signal.SIGINT)
checks.that(explaining.wait() == -signal.SIGINT, f"interrupted: {explaining.returncode}")
checks.that(not any(folder.iterdir()), f"left of what was interrupted: {list(folder.iterdir())}")

# Weights that do not fit into memory: a weight that is computed is packed only once it is complete.
(WORK / "wide.xf").write_text("model M() {\n  param w: f32[64, 20000000]\n  entry run(x: f32[B, 64]) -> y = rowsum(x @ (2 * w))\n}\n")
done = subprocess.run(["sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh", str(BIN / "xfc"), str(WORK / "wide.xf"), "--random-weights", "1", "-o", str(WORK / "wide")],
                      capture_output=True, text=True)
checks.that(done.returncode == 1 and done.stderr == "error: out of memory\n", f"no memory: {done.returncode} {done.stderr[-300:]}")
checks.that([path.name for path in WORK.glob("wide*")] == ["wide.xf"], "something is left of a file that could not be written")

# Sources of nothing but padding, and tokens that do not exist.
done = subprocess.run([program, "--ids"], input="0 0 0\n5 6 2\n33\n-1\n2 99999999999999999999\n", capture_output=True, text=True)
rows = done.stdout.split("\n")
checks.that(done.returncode == 1 and len(rows) == 6 and rows[1] and not any(rows[0:1] + rows[2:]), f"ids: {done.returncode}, {rows}")
checks.that("line 1" in done.stderr and "padding" in done.stderr and "line 3" in done.stderr, f"ids: {done.stderr}")

# Greedy tokens whose shape does not match the source's: only the start token, no tokens, too few rows or too many.
compile_model(MODELS / "seed3/seed3.xf", WORK / "seed3", "--config", MODELS / "seed3/config.json", "--random-weights", 1, "--emit=model")
source = {"in.src": read_safetensors(MODELS / "seed3/io.safetensors")["in.src"]}
for shape, words in (([3, 1], "0 differ"), ([3, 0], "[3, 0]"), ([1, 70], "1 rows, but there are 3"), ([9, 6], "9 rows, but there are 3"), ([0, 6], "[0, 6]")):
    write_safetensors(WORK / "greedy", source | {"out.greedy": ("I64", shape, struct.pack("<q", 1) * (shape[0] * shape[1]))})
    status, out, err = run(BIN / "xf-run", WORK / "seed3", "--golden", WORK / "greedy", ok=False)
    checks.that(status == (0 if shape == [3, 1] else 1) and words in out + err, f"out.greedy {shape}: status {status}, {out}{err}")

# Descriptions that demand too much are refused at once, whether it would be stored or evaluated.
LOOPED = "model M() {\n  entry run(x: f32[B, T, 8]) -> y {\n    y = x\n    z = 1\n    m = causal\n%s\n%s  }\n}\n"
for body, use, words in (("for k in range(20000) { m = m & causal }", "y = attend(split(y, 2), split(y, 2), split(y, 2), m)", ":6:35: error: masks are joined too often"),
                         ("for k in range(20000) { m = !m }", "y = attend(split(y, 2), split(y, 2), split(y, 2), m)", "error: masks are joined too often"),
                         ("for k in range(200000) { z = [z] }", "", "error: lists are too deeply nested"),
                         ("for k in range(100000) { z = range(1000000) }", "", "takes too long to evaluate"),
                         ("for k in range(100000) { z = zip(range(900), range(900)) }", "", "takes too long to evaluate"),
                         ("n" * 5000 + " = 1", "", "a name has at most 1000 characters"), ("$\n" * 40000, "", "unexpected '$'")):
    (WORK / "big.xf").write_text(LOOPED % ("    " + body if len(body) < 100 else body, use + "\n"))
    status, _, err = compile_model(WORK / "big.xf", "-", "--emit=xf", ok=False)
    checks.that(status == 1 and words in err and len(err) < 100000, f"{body[:60]}: status {status}, {err[:300]}")
# A part that expressions share is analysed once, not once for each path to it.
doubled = "src"
for _ in range(40):
    doubled = f"twice({doubled})"
bench = (MODELS / "bench" / "bench.xf").read_text().replace("keys(src != 0)) @", f"keys({doubled} != 0)) @")
(WORK / "doubled.xf").write_text(bench + "twice(x) = x + x\n")
compile_model(WORK / "doubled.xf", WORK / "doubled", "--random-weights", 1, "--emit=model", *SMALL_BENCH)
# Long sums are compiled in parts.
(WORK / "long.xf").write_text(LOOPED % ("    for k in range(3000) { y = y + 1 }", ""))
compile_model(WORK / "long.xf", WORK / "long", "--random-weights", 1, "--emit=model")
(WORK / "empty.json").write_text("")
status, _, err = compile_model(WORK / "long.xf", "-", "--config", WORK / "empty.json", "--emit=xf", ok=False)
checks.that(status == 1 and "empty.json: is no JSON object" in err, f"an empty configuration: {status} {err}")
checks.end()
