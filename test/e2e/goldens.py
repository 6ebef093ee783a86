"""Golden numbers from PyTorch: every instruction set, 1 to 3 threads, and the reference interpreter.

goldens.py DESCRIPTION FOLDER [KIND]: FOLDER holds config.json, io.safetensors, and weights.safetensors or weights.json.
"""
import sys

from common import BIN, HERE, Checks, WORK, available_isas, compile_model, golden_weights, run

description, folder = sys.argv[1], sys.argv[2]
kind = sys.argv[3] if len(sys.argv) > 3 else "model"
artefact = WORK / "artefact"
compile_model(description, artefact, "--config", f"{folder}/config.json", "--weights", golden_weights(folder),
              f"--emit={kind}", isas=HERE)
checks = Checks()
golden = ["--golden", f"{folder}/io.safetensors"]
for isa in available_isas():
    for threads in (1, 2, 3):
        status, out, err = run(BIN / "xf-run", artefact, *golden, "--isa", isa, "--threads", threads, ok=False)
        checks.that(status == 0, f"{isa}, {threads} threads:\n{out}{err}")
for reference in ("--reference", "--reference=f32"):
    status, out, err = run(BIN / "xf-run", artefact, *golden, reference, ok=False)
    checks.that(status == 0, f"{reference}:\n{out}{err}")
checks.end()
