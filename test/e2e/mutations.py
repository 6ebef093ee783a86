"""Damaged inputs of every kind: descriptions, configs, checkpoints, compiled files, lines. No crash, no hang, and a message.

mutations.py [SEED]: all damage follows from the seed.
"""
import os
import random
import struct
import subprocess
import sys

from common import BIN, MODELS, WORK, Checks, kept_g2p
import image as model_file

rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
checks = Checks()
tried = refused = 0


def attempt(what, command, stdin=b"", statuses=(0, 1, 2)):
    """Runs a command, which must end by itself and report failures with a message."""
    global tried, refused
    tried += 1
    try:
        done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        checks.that(False, f"{what}: no end after 60 seconds")
        return
    refused += done.returncode != 0
    checks.that(done.returncode in statuses, f"{what}: status {done.returncode}, {done.stderr[-300:]}")
    checks.that(done.returncode == 0 or done.stderr.strip(), f"{what}: status {done.returncode} without a message")


def damage(data):
    """The data with a few bytes deleted, repeated, overwritten, inserted or cut off."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at, length = rng.randrange(len(data) + 1), rng.randint(1, 12)
        kind = rng.randrange(5)
        if kind == 0:
            del data[at:at + length]
        elif kind == 1:
            data[at:at] = data[at:at + length]
        elif kind == 2:
            data[at:at + 1] = rng.randbytes(1)
        elif kind == 3:
            data[at:at] = rng.choice([b"(", b")", b"[", b"}", b"{", b"..", b"-1", b"0", b"99999999999", b"\xff", b"\0", b'"', b"//", b"*", b"@"])
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


# Descriptions: damaged bytes, and words that change places.
for number in range(40):
    name = rng.choice(["seed0", "seed2", "seed3", "seed4"])
    text = (MODELS / name / f"{name}.xf").read_bytes()
    if number % 2:
        text = damage(text)
    else:
        words = text.split(b" ")
        for _ in range(rng.randint(1, 3)):
            a, b = rng.randrange(len(words)), rng.randrange(len(words))
            words[a], words[b] = words[b], words[a]
        text = b" ".join(words)
    (WORK / "damaged.xf").write_bytes(text)
    attempt(f"description {number}", [BIN / "xfc", WORK / "damaged.xf", "--config", MODELS / name / "config.json", "--emit=fused", "-o", WORK / "out"])

# Configs and checkpoints.
folder = MODELS / "seed2"
config, weights = (folder / "config.json").read_bytes(), (folder / "weights.safetensors").read_bytes()
header = 8 + struct.unpack_from("<Q", weights)[0]
for number in range(16):
    (WORK / "damaged.json").write_bytes(damage(config))
    attempt(f"config {number}", [BIN / "xfc", folder / "seed2.xf", "--config", WORK / "damaged.json", "--emit=xf", "-o", WORK / "out"])
for number in range(24):
    damaged = damage(weights[:header]) + weights[header:] if number % 3 else weights[:rng.randrange(len(weights))]
    (WORK / "damaged.safetensors").write_bytes(damaged)
    attempt(f"checkpoint {number}", [BIN / "xfc", folder / "seed2.xf", "--config", folder / "config.json", "--weights", WORK / "damaged.safetensors",
                                     "--emit=model", "-o", WORK / "out"])

# Compiled programs: cut short anywhere or with a bit flipped before the weights, which must be noticed, with another value in their header's
# ranges and tables, or with another trailer.
program = kept_g2p()
whole = program.read_bytes()
_, image, size = struct.unpack("<8sQQ", whole[-24:])
words_of_header = list(range(8, 8 * 30, 8))  # version, sizes, the checksum, then the ranges and tables
weights_at, _ = model_file.range_of(whole, "weights", image)
for number in range(200):
    damaged = bytearray(whole)
    if number % 4 == 0:
        damaged = damaged[:rng.randrange(image, len(whole))]
    elif number % 4 == 1:
        damaged[image + rng.randrange(weights_at)] ^= 1 << rng.randrange(8)
    elif number % 4 == 2:
        at = image + rng.choice(words_of_header)
        value = rng.choice([0, 1, 7, 1 << 12, 1 << 31, 1 << 63, (1 << 64) - 1, size, size - 1, rng.getrandbits(64), rng.randrange(size)])
        struct.pack_into("<Q", damaged, at, value)
    else:
        struct.pack_into("<8sQQ", damaged, len(whole) - 24, b"XFTRAIL\0", rng.choice([0, 1, image - 4096, image + 4096, 1 << 40, image]),
                         rng.choice([0, size - 1, size + 1, 1 << 62, size]))
    (WORK / "damaged").write_bytes(damaged)
    os.chmod(WORK / "damaged", 0o755)
    attempt(f"program {number}", [WORK / "damaged", "--threads", "1"], b"hello\n", statuses=(1, 2) if number % 4 < 2 else (0, 1, 2))

# Lines: each gives a result or an empty line, whatever it holds.
lines = [rng.randbytes(rng.randrange(40)).replace(b"\n", b"") for _ in range(150)]
lines += ["".join(chr(rng.choice([rng.randrange(32, 127), rng.randrange(160, 0xd000), 0x1f600])) for _ in range(rng.randrange(300))).encode() for _ in range(50)]
for options in ([], ["--ids"], ["--beam", "3"], ["--json"]):
    done = subprocess.run([program, *options], input=b"\n".join(lines) + b"\n", capture_output=True, timeout=300)
    checks.that(done.returncode in (0, 1), f"lines {options}: status {done.returncode}, {done.stderr[-300:]}")
    checks.that(done.stdout.count(b"\n") == len(lines), f"lines {options}: {done.stdout.count(bytes([10]))} lines for {len(lines)}")
ids = [" ".join(str(rng.choice([0, 1, 2, rng.randrange(33), 33, -1, 1 << 31, 1 << 70])) for _ in range(rng.randrange(20))) for _ in range(100)]
done = subprocess.run([program, "--ids"], input="\n".join(ids) + "\n", capture_output=True, text=True, timeout=300)
checks.that(done.returncode == 1 and done.stdout.count("\n") == len(ids), f"ids: status {done.returncode}")
print(f"{tried} damaged inputs, {refused} refused")
checks.that(refused > tried / 2, "hardly anything was refused")
checks.end()
