"""Names on pages exist: options in a program's help, files, links, the library's functions. g2p's programs have about the size that README.md
states."""
import re

from common import BIN, Checks, MODELS, SOURCE, WORK, compile_model, kept_g2p, run
from pages import FOLDERS, PAGES, blocks_of

checks = Checks()
folder = MODELS / "tagger"
compile_model(folder / "tagger.xf", WORK / "tagger", "--config", folder / "config.json", "--weights", folder / "weights.safetensors")
helped = "".join(run(program, "--help")[1] for program in (BIN / "xfc", BIN / "xf-run", kept_g2p(), WORK / "tagger"))
OPTIONS = {*re.findall(r"--[a-z][\w-]*", helped), "--install", "--filter", "--gtest_filter", "--static"}  # cmake's, lit's, GoogleTest's, pkg-config's
# Files that are not in the repository: made by a command, or part of a benchmark harness.
FILES = {"g2p.h", "compare.py", "run_peers.py"}.union(file.name for folder in FOLDERS for file in folder.rglob("*"))


def anchors_of(page):
    return ["#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)", page, re.M)]


for name, page in PAGES.items():
    code = " ".join([*re.findall(r"`([^`\n]+)`", page), *(line for block in blocks_of(page) for line in block)])
    unknown = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", code)) - OPTIONS
    if name.startswith("test/benchmark/"):
        unknown = set()  # its programs have options of their own
    for path in re.findall(r"[\w./*-]+", code):
        if "/" in path and SOURCE / path.split("/")[0] in FOLDERS:
            is_there = "NAME" in path or any(SOURCE.glob(path.rstrip("/.")))
        else:
            is_there = path in FILES or not re.fullmatch(r"\w+\.(cpp|h|py|sh|td)", path)
        if not is_there:
            unknown.add(path)
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.M | re.S)
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#?[^)]*)\)", prose):
        to = (SOURCE / name).parent / link if link else SOURCE / name
        if not to.exists() or (anchor and anchor not in anchors_of(to.read_text(encoding="utf-8"))):
            unknown.add(link + anchor)
    checks.that(not unknown, f"{name} names what is not there: {unknown}")

language = PAGES["compiler/Frontend/LANGUAGE.md"]
for file in (SOURCE / "compiler" / "Frontend" / "Library").iterdir():
    for name, parameters in re.findall(r"^(?:\w+ )?(\w+)\((.*?)\)(?:\(.*?\)|\[[pi].*?\])? [={]", file.read_text(encoding="utf-8"), re.M):
        parameters = re.sub(r": \w+(\[.*?\])?", "", parameters)  # their types
        listed = f"`{name}({parameters})`" in language or (parameters in ("x", "i, j") and f"`{name}`" in language)
        checks.that(listed, f"LANGUAGE.md lacks {name}({parameters})")

for kind, size in re.findall(r"^\| (\S+) \| ([\d.]+) MB \|", PAGES["README.md"], re.M):
    megabytes = kept_g2p(kind).stat().st_size / 1e6
    checks.that(abs(megabytes / float(size) - 1) < 0.1, f"the {kind} program of g2p has {megabytes:.1f} MB, not {size}")
checks.end()
