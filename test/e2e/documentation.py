"""The examples on the repository's pages: commands are run and must print what the page says, and descriptions are compiled.

A block is fenced, or indented by four blanks. Its beginning tells what it is:
- a command (COMMAND). One shell runs those of all pages, README.md's first; after each heading it is in the page's folder. A command's output is in
  the lines after it ("…" where some are left out), or at the beginning of its comment;
- a description (DESCRIPTION). The commands of the next block compile it, or else it is compiled by itself;
- an error (ERROR) that xfc reports of a file;
- calls of the C API, which Inputs/program.c includes;
- a Python program, which begins with an import and prints the next block;
- anything else is the output of the first command of the block before it.
Blocks of other kinds, and those that cannot be run here, are in NOT_RUN.
"""
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys

from common import BIN, Checks, MODELS, SOURCE, WORK, compile_model, packed, sets, write_safetensors
from pages import PAGES, blocks_of
from tokenizer_tools import PIECES, added, byte_level, pieces_model, saved

COMMAND = re.compile(r"(cd|cc|echo|export|xfc|xf-run|\./\S+|tools/\S+)( |$)")
DESCRIPTION = re.compile(r"(block|model|mask|bias|table) \w+\(|\w+\(\w+\) = |//")
ERROR = re.compile(r"(\w+\.xf):\d+:\d+: error: ")
# Words in a block, and why it is not run.
NOT_RUN = {
    "──Frontend──▶": "a drawing",
    "XF_LIT:FILEPATH": "the tests themselves",
    "table.py measure": "needs other engines",
    "tools/gpu-check.sh --bench": "needs a GPU",
    "python3 reference.py": "needs PyTorch",
    "frames = mel.transpose": "needs a spectrogram",
    "tools/compile-transformers.py opus-mt": "needs a checkpoint, as e2e.compile_transformers makes them",
    "./translate --source-prefix": "needs several multilingual models, one of which e2e.compile_transformers makes",
    "find_package(xf REQUIRED)": "CMake's, as in e2e.install",
}
# Words in a block, and the files that are copied to its folder.
INPUTS = SOURCE / "test" / "e2e" / "Inputs"
FILES = {
    "./classify --n-best": [WORK / "classify", WORK / "tag", WORK / "embed"],
    "cc program.c": [INPUTS / "program.c", WORK / "call-0.c", WORK / "call-1.c"],
    "cross.xf:6": [INPUTS / "cross.xf"],
    "xfc translate.xf": [WORK / "translate.xf", WORK / "source.spm", WORK / "target.spm"],
    "xfc aren-transliteration.xf": [WORK / "source_vocabulary.txt", WORK / "target_vocabulary.txt"],
    "xfc bart.xf --config config.json --weights model.safetensors --source-spm":
        [MODELS / "bart" / "marian" / "config.json", WORK / "vocab.json", WORK / "source.spm", WORK / "target.spm"],
    "xfc bart.xf --config config.json --weights model.safetensors --source-tokenizer":
        [MODELS / "bart" / "bart" / "config.json", WORK / "tokenizer.json", WORK / "texts"],
    "xfc t5.xf": [MODELS / "t5" / "t5" / "config.json", WORK / "spiece.model"],
    "xfc t5gemma.xf": [MODELS / "t5gemma" / "small" / "config.json", WORK / "tokenizer.json"],
    "xfc llama.xf": [MODELS / "llama" / "llama" / "config.json", WORK / "tokenizer.json"],
    "xfc bert.xf": [MODELS / "bert" / "bert" / "config.json", WORK / "tokenizer.json"],
    "xfc whisper.xf": [MODELS / "whisper" / "tiny" / "config.json"],
}
# The output of commands whose page does not show it; models with random weights may print anything.
UNSHOWN = {
    r"echo hello \| \./g2p( --device emulator)?": "HH EH1 L OW0",
    r"echo transformer \| \./g2p": "T R AE0 N S F AO1 R M ER0",
    r"cc program\.c .*": "HH EH1 L OW0",
    r"xf-run \S+ --golden \S+": r"(.*  ok\n?)+",
    r'echo ".*" \| \./translate --beam 4|echo .* \| \./stories .*|\./summarise .*|echo .* \| \./embed --truncate|echo .* \| \./(continue|answer) .*':
        ".*",
}
# Replacements in commands, for words that are left out and checkpoints that are not shipped. A C program is run, too.
STANDS_FOR = {
    "…": "--source-vocab source.vocab --target-vocab target.vocab",
    "PREFIX": str(WORK / "prefix"),
    "-o program": "-o program && ./program",
    "--weights model.safetensors": "--random-weights 1",
    '--ignore "pooler.*" --ignore "embeddings.position_ids"': "",
    "--weights antibody_4_2_128_512.pt": "--random-weights 1",
    "aren-transliteration.xf --weights weights.safetensors": "aren-transliteration.xf --random-weights 1",
    "stories260k.xf --weights weights.safetensors": "stories260k.xf --random-weights 1",
}
checks = Checks()
used = set()
ROOT = WORK / "xfc"


def find(table, fits):
    """A table's value for the first key that fits."""
    key = next(filter(fits, table), None)
    used.add(key)
    return table.get(key)


class Step:
    """A command, the lines after it, and its expected status."""

    def __init__(self, command, shown=(), status=0):
        self.command, self.shown, self.status, self.run = command, list(shown), status, command
        for short, long in STANDS_FOR.items():
            self.run = self.run.replace(short, long)

    def agrees(self, printed):
        printed = "".join(plain(line) for line in printed.splitlines())
        if self.shown:
            return re.fullmatch("".join(r"(.*\n)*" if line.strip() == "…" else re.escape(plain(line)) for line in self.shown), printed)
        command, _, comment = map(str.strip, self.command.partition(" # "))
        printed = printed.rstrip("\n")
        if wanted := find(UNSHOWN, lambda key: re.fullmatch(key, command)):
            return re.fullmatch(wanted, printed)
        if not printed:
            return not command.startswith(("echo", "./"))
        return comment.startswith(printed + ":") or re.fullmatch(re.escape(comment).replace(r"\.\.\.", ".*"), printed)


def plain(line):
    """A line without the times and rates that xfc explain measures."""
    line = re.sub(r"[\d.]+ (ms|us|billion/s|GB/s)", r"# \1", line.rstrip())
    return re.sub(r"^ *[\d.]+% +\S+ +(\S+ +\S+) +\S+ +\S+  ", r"\1  ", line) + "\n"


def commands_of(block):
    steps = []
    for line in "\n".join(block).replace("\\\n", "").splitlines():
        if COMMAND.match(line):
            steps.append(Step(line))
        else:
            steps[-1].shown.append(line)
    return steps


def steps_of(name, page):
    steps, commands, folder, blocks = [], [], (ROOT / name).parent, list(blocks_of(page))
    folder.mkdir(parents=True, exist_ok=True)
    for block, behind in zip(blocks, [*blocks[1:], []]):
        if not block:
            steps.append(Step(f"cd {folder}"))
            continue
        begin, text = block[0], "\n".join(block)
        if find(NOT_RUN, text.__contains__):
            continue
        steps += [Step(f"cp {file} .") for file in find(FILES, text.__contains__) or ()]
        if COMMAND.match(begin):
            commands = commands_of(block)
            steps += commands
        elif DESCRIPTION.match(begin):
            file = WORK / f"{name.replace('/', '-')}-{len(steps)}.xf"
            file.write_text(text + "\n", encoding="utf-8")
            compiled = re.search(r"^xfc (\S+\.xf)", "\n".join(behind), re.M)
            steps.append(Step(f"cp {file} {compiled[1]}" if compiled else f"xfc {file} --random-weights 1 --emit=model -o {WORK / 'model'}"))
        elif error := ERROR.match(begin):
            steps.append(Step(f"xfc {error[1]} --emit=xf -o - 2>&1", [*block, "…"], status=1))
        elif begin.startswith("import "):
            file = WORK / f"{name.replace('/', '-')}-{len(steps)}.py"
            file.write_text(text + "\n", encoding="utf-8")
            commands = [Step(f"{sys.executable} {file}")]
            steps += commands
        elif begin.startswith("xf_"):
            for number, line in enumerate(block):
                (WORK / f"call-{number}.c").write_text(line + "\n", encoding="utf-8")
        elif commands:
            commands[0].shown += block
        else:
            checks.that(False, f"{name}: a block that is not known: {begin}")
    return steps


def logits(likeliest, *others):
    """Logits with these probabilities. The first one is corrected for the rounding of the others to f32."""
    others = [struct.unpack("f", struct.pack("f", math.log(p / likeliest)))[0] for p in others]
    return [math.log(likeliest / (1 - likeliest)) + math.log(sum(map(math.exp, others))), *others]


def write_lines(name, lines):
    (WORK / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def compile_predictor(name, rows, labels="", **settings):
    """Compiles a program that predicts these rows for the words "a" and "line"."""
    write_lines("words", ["a", "line"])
    write_lines("labels", labels)
    d = len(rows[0])
    write_safetensors(WORK / "rows", {"rows.weight": packed("F32", [2, d], [*rows[0], *rows[1]])})
    compile_model(INPUTS / "predictor.xf", WORK / name, "--weights", WORK / "rows", *sets(d=d, labels=str(bool(labels)).lower(), **settings),
                  "--source-vocab", WORK / "words", *(["--target-vocab", WORK / "labels"] if labels else []))


# The folders that pages mention. The scripts for a whole checkout do nothing here.
for folder in ("test/models", "tools"):
    shutil.copytree(SOURCE / folder, ROOT / folder)
for script in ("build", "format", "sanitize", "setup", "test", "tidy"):
    (ROOT / "tools" / f"{script}.sh").write_text("#!/bin/sh\n")
for link, to in (("xfc/build/bin", BIN), ("prefix/include", SOURCE / "runtime/include"),
                 ("prefix/lib/python", SOURCE / "runtime/python"), ("prefix/lib/libxf-runtime.so", BIN.parent / "lib/libxf-runtime.so"),
                 ("prefix/lib/libxf-runtime.a", BIN.parent / "runtime/libxf-runtime.a")):
    (WORK / link).parent.mkdir(parents=True, exist_ok=True)
    (WORK / link).symlink_to(to.resolve())
write_lines("source_vocabulary.txt", PIECES[:50])
write_lines("target_vocabulary.txt", PIECES[:42])
write_lines("texts", ["Guten"])
for name in ("source.spm", "target.spm", "spiece.model"):
    (WORK / name).write_bytes(pieces_model())
saved({"version": "1.0", "normalizer": None, "pre_tokenizer": byte_level(), "post_processor": None, "decoder": byte_level(),
       "added_tokens": [added(id, name, special=True) for id, name in enumerate(("<s>", "<pad>", "</s>"))],
       "model": {"type": "BPE", "vocab": {name: id for id, name in enumerate(["<s>", "<pad>", "</s>", *PIECES])}, "merges": []}})
(WORK / "vocab.json").write_text(json.dumps({name: id for id, name in enumerate(["</s>", "<unk>", *PIECES, "<pad>"])}))
translate = next(text for block in blocks_of(PAGES["compiler/Frontend/LANGUAGE.md"]) if "model Translate" in (text := "\n".join(block)))
write_lines("translate.xf", [translate.replace("source = words, target = words", "source = subwords, target = subwords")])
compile_predictor("classify", [logits(0.912345214, 0.061728, 0.025926786)] * 2, ["yes", "maybe", "no"])
compile_predictor("tag", [logits(0.98, 0.02), logits(0.75, 0.25)[::-1]], "BO", by_token="true")
compile_predictor("embed", [[-0.24605903, 0.015293687, 1]] * 2)

steps = [step for name, page in PAGES.items() for step in steps_of(name, page)]
script = "".join(f"{{ {step.run}\n}} > {WORK}/{i}.out 2> {WORK}/{i}.err < /dev/null; echo $? > {WORK}/{i}.status\n" for i, step in enumerate(steps))
subprocess.run(["bash", "-c", script], env={name: value for name, value in os.environ.items() if name != "XF_BUILD"}, check=True)
for i, step in enumerate(steps):
    out, err, status = ((WORK / f"{i}.{what}").read_text(encoding="utf-8") for what in ("out", "err", "status"))
    checks.that(int(status) == step.status and step.agrees(out), "\n".join([step.run, *step.shown, f"… status {status}{out[:3000]}{err[:3000]}"]))

checks.that(used >= {*NOT_RUN, *FILES, *UNSHOWN}, f"no page has {({*NOT_RUN, *FILES, *UNSHOWN} - used)}")
checks.end()
