"""Start-up and memory: an answer comes soon after exec, and no more memory is resident than --limits states."""
import re
import shutil
import sys

from common import Checks, MODELS, SOURCE, WORK, compile_g2p, compile_model, sets

sys.path.insert(0, str(SOURCE / "test" / "benchmark"))
import start  # noqa: E402

# The processor time that start-up may take, with room for a busy machine; on an idle one it is below 20 ms.
MOST_SECONDS = 0.1
# Pages of the program itself, of libc and of its buffers.
OTHER_MIB = 5
checks = Checks()


def confirm_memory(title, program, lines, options):
    bound = start.stated_bound(program, options)
    beyond = bound["total"] - bound["weights"]
    checks.that(abs(beyond - bound["state"] - bound["workspace"] - bound["scratch"] - bound["search"] - bound["lines"]) < 0.06,
                f"{title}: --limits does not add up: {bound}")
    peak, anonymous = start.peak_memory(program, lines, options)
    print(f"{title}: {peak:.1f} MiB at most, {anonymous:.1f} MiB beside the file; stated {bound['weights']:.1f} + {beyond:.1f} MiB")
    checks.that(anonymous <= beyond + OTHER_MIB, f"{title}: {anonymous:.1f} MiB beside the weights, {beyond:.1f} stated")
    checks.that(peak <= bound["total"] + OTHER_MIB, f"{title}: {peak:.1f} MiB, {bound['total']:.1f} stated")
    return anonymous


def confirm(title, program, line, lines, options):
    first, warm = start.measure_start(program, line, options, 3, processor_time=True)
    print(f"{title}: {first * 1e3:.1f} ms of the processor to the first answer, {warm * 1e3:.1f} ms to another: start-up {(first - warm) * 1e3:.1f} ms")
    checks.that(first - warm < MOST_SECONDS, f"{title}: start-up takes {first - warm:.3f} s")
    return confirm_memory(title, program, lines, options)


g2p = compile_g2p(WORK / "g2p", "--limit=batch=4")
words = [text.split("\t")[0] for text in open(MODELS / "g2p" / "test.tsv", encoding="utf-8")][:80]
for search in ([], ["--beam", 4]):
    confirm("g2p " + " ".join(map(str, search)), g2p, "constitution", words, [*search, "--threads", 2])

# Lists: predictions that are numbers take more memory than their tokens, and lines that are too long are read as others are.
numbers = WORK / "numbers"
settings = {"kind": "encoder", "d_model": 256, "heads": 4, "ffn": 256, "enc_layers": 1, "dec_layers": 0, "vocab": 1000}
compile_model(MODELS / "bench" / "bench.xf", numbers, "--random-weights", 3, "--limit=batch=4", "--limit=source=64",
              *sets(**settings))
confirm_memory("numbers", numbers, [" ".join(str(5 + (i + k) % 900) for k in range(64)) for i in range(200)], ["--threads", 2])
confirm_memory("long lines", numbers, ["5 6 7", *["5 " * 300000] * 80, "5 6 7"], ["--threads", 2])

# Vocabularies are looked up in tables of their own.
(WORK / "echo.xf").write_text("""model Echo(vocab = 400000) {
  embed: Embedding(vocab, 4)
  out: Linear(4, vocab)
  entry tag(tokens: token[B <= 2, S <= 16]) -> logits = out(embed(tokens))
  text(source = words, target = words)
  predict(tag, logits, labels = true, pad = 0)
}
""")
(WORK / "vocabulary").write_text("".join(f"word{i}\n" for i in range(400000)))
compile_model(WORK / "echo.xf", WORK / "echo", "--random-weights", 3, "--source-vocab", WORK / "vocabulary", "--target-vocab", WORK / "vocabulary")
confirm_memory("vocabularies", WORK / "echo", ["word5 word6 word99999"] * 100, ["--threads", 1])

if shutil.disk_usage(WORK).free < 1 << 30:
    print("less than 1 GB of disk is free: the base model is left out")
    checks.end()
base = WORK / "base"
settings = {"d_model": 512, "heads": 8, "ffn": 2048, "enc_layers": 6, "dec_layers": 6, "vocab": 32000}
compile_model(MODELS / "bench" / "bench.xf", base, "--random-weights", 3, "--limit=batch=64", "--limit=target=256",
              *sets(**settings))
ids = " ".join(str(5 + 997 * i % 31000) for i in range(25))
for beams in (1, 4):
    taken = confirm(f"base with {beams} beams", base, ids, [ids] * 4, ["--beam", beams, "--max-length", 25, "--ids", "--threads", 1])
    # However large the limits are, only memory that a call needs is touched: keys and values of 6 layers in f32 at 25 positions of each
    # sentence and each row, for which keys take as much as for 32.
    needed = 4 * (1 + beams) * (32 + 25) * 512 * 4 * 6 / 2**20
    checks.that(taken <= needed + OTHER_MIB, f"base with {beams} beams: {taken:.1f} MiB beside the file, {needed:.1f} are needed")

# The weights are the file's own pages, read-only and shared; the kernel is asked for huge ones, where it has them.
try:
    has_huge_pages = "[never]" not in open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii").read()
except OSError:
    has_huge_pages = False
running = start.Running(base, ["--ids"])
running.send(ids)
with open(f"/proc/{running.process.pid}/smaps", encoding="utf-8") as file:
    mappings = re.findall(r"^\w+-\w+ (\S+) .*? (\S+)\n(?:\w+:.*\n)*?VmFlags: (.*)$", file.read(), re.M)
running.end()
weights = [flags.split() for access, path, flags in mappings if path == str(base) and access == "r--s"]
print("how the weights are mapped:", weights)
checks.that(weights, "the weights are no read-only pages that programs share")
checks.that(not has_huge_pages or any("hg" in flags for flags in weights), "the weights are not mapped by huge pages")
checks.end()
