"""tools/gpu-check.sh --prepare, and the check of the models with golden numbers in the emulator, which reports numbers that are off or missing."""
import shutil
import sys

from common import BIN, SOURCE, WORK, Checks, read_safetensors, run, write_safetensors

checks = Checks()
prepared, folder = WORK / "prepared", WORK / "folder"
GOLDEN = ("seed0", "seed0-bf16", "seed0-f16", "seed1-postnorm", "seed1-prenorm", "seed2", "seed3", "seed4", "seed4-bf16", "seed4-f16", "tagger",
          "tagger-bf16", "tagger-f16", "classifier")
run("env", f"XF_BUILD={BIN.parent}", SOURCE / "tools" / "gpu-check.sh", "--prepare", prepared)
wanted = sorted([f"{name}.{ending}" for name in GOLDEN for ending in ("xfm", "io.safetensors")] +
                [f"{name}.{ending}" for name in ("g2p", "g2p-bf16") for ending in ("xfm", "source.vocab")])
checks.that(sorted(file.name for file in prepared.iterdir()) == wanted, f"other files: {sorted(prepared.iterdir())}")


def check(name, change=None):
    """The check's line for a model, with golden numbers that `change` has changed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for ending in ("xfm", "io.safetensors"):
        shutil.copy(prepared / f"{name}.{ending}", folder)
    if change:
        file = folder / f"{name}.io.safetensors"
        write_safetensors(file, change(read_safetensors(file)))
    status, out, err = run(sys.executable, SOURCE / "tools" / "gpu-check.py", "--library", BIN.parent / "lib" / "libxf-runtime.so",
                           "--device", "emulator", "--quick", folder, ok=False)
    device, *lines = out.splitlines()
    checks.that(device == "device: emulator" and len(lines) == 1 and status == (not lines[0].endswith("  ok")), f"{name}: {status}\n{out}{err}")
    return " ".join(lines[0].split())


def other_token(tensors):
    kind, shape, content = tensors["out.greedy"]
    return {**tensors, "out.greedy": (kind, shape, content[:8] + bytes([content[8] ^ 1]) + content[9:])}


compared = {"seed3": "2 outputs, greedy", "seed4": "5 outputs, greedy", "seed4-bf16": "5 outputs, greedy left out", "tagger-f16": "1 outputs"}
for name in GOLDEN:
    line = check(name)
    checks.that(line.startswith(f"{name} {compared[name]} error " if name in compared else name) and line.endswith(" ok"), line)
for name, change, says in (
        ("seed3", other_token, ", greedy tokens differ "),
        ("seed3", lambda tensors: {**tensors, "out.more": tensors["out.memory"], "out.less": tensors["out.memory"]}, ", no entry gives less, more "),
        ("seed0", lambda tensors: {name: t for name, t in tensors.items() if name.startswith("in.")}, ", nothing to compare "),
        ("seed0", lambda tensors: {**tensors, "out.embedding": tensors["out.attention"]}, " 3 outputs error 4.4e+00 ")):
    line = check(name, change)
    checks.that(says in line and line.endswith(" FAILED"), f"{says}: {line}")
checks.end()
