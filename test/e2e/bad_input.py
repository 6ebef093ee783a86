"""Lines that cannot be translated: an empty line on standard output, a message with the number, the rest goes on."""
import subprocess

from common import Checks, MODELS, WORK, compile_g2p, compile_model, run

checks = Checks()
program = compile_g2p(WORK / "g2p")
lines = b"hello\n\n" + b"a" * 5000 + b"\nwo\xffrld\nworld\n"
done = subprocess.run([program], input=lines, capture_output=True)
out = done.stdout.decode().split("\n")
checks.that(done.returncode == 1, f"status {done.returncode}")
checks.that(out == ["HH EH1 L OW0", "", "", "", "W ER1 L D", ""], f"output {out}")
for number in (2, 3, 4):
    checks.that(f"{number}" in done.stderr.decode(), f"line {number} is not named: {done.stderr}")
for wrong in (["--beam", "0"], ["--beam", "999"], ["--nonsense"], ["--isa", "pentium"], ["/nonexistent.txt"]):
    status, _, err = run(program, *wrong, stdin="hello\n", ok=False)
    checks.that(status not in (0, -6, -11) and err, f"{wrong}: status {status}, {err}")
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
checks.end()
