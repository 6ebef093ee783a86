#!/usr/bin/env python3
"""Where a compiled model spends its time, by generated function: perf's samples named by the object's symbols.

  profile.py --config DIR/config.json --model FILE.model [--threads N] (--encode BxS | --greedy B | --beam B | --list N [--beams N]) [--seconds N]

FILE.model must have been compiled by the present build from test/models/bench/bench.xf with that configuration; what its
type and limits were, --xfc-options repeats. Needs perf, llvm-nm and llvm-objcopy.
"""
import argparse
import bisect
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compiled  # noqa: E402


def work(a, cfg):
    rng = np.random.default_rng(1)
    session = compiled.Session(a.model, a.threads)
    if a.encode:
        b, s = map(int, a.encode.split("x"))
        src = rng.integers(3, cfg["vocab"], (b, s)).astype(np.int32)
        run = session.call("encode", {"src": src}, {"memory": np.zeros((b, s, cfg["d_model"]), np.float32)})
    else:
        lengths = [25] * (a.greedy or a.beam or 0) or np.clip(np.rint(rng.lognormal(2.88, 0.5, a.list)), 3, 60).astype(int)
        sentences = [rng.integers(3, cfg["vocab"], n) for n in lengths]
        run = session.generate(sentences, 4 if a.beam else a.beams, 25 if not a.list else -1, 60, [cfg["eos"]])[0]
    run()
    end = time.perf_counter() + a.seconds
    while time.perf_counter() < end:
        run()


def symbols(a, directory):
    """Sorted (offset in the file, name) of the generated functions."""
    obj, section = os.path.join(directory, "code.o"), os.path.join(directory, "code")
    subprocess.run([os.path.join(compiled.BUILD, "bin", "xfc"), os.path.join(compiled.ROOT, "test", "models", "bench", "bench.xf"),
                    "--config", a.config, "--random-weights", "1", *a.xfc_options.split(), "--emit=obj", "-o", obj], check=True)
    names = subprocess.run(["llvm-nm-22", "--defined-only", "-n", obj], check=True, capture_output=True, text=True).stdout
    table = sorted((int(l.split()[0], 16), l.split()[2]) for l in names.splitlines() if l.split()[1] == "r")
    subprocess.run(["llvm-objcopy-22", "-O", "binary", "-j", ".lrodata.xf", obj, section], check=True)
    if code(section, table) != code(a.model, table):
        sys.exit(f"{a.model} has other code than the same description has now with --xfc-options '{a.xfc_options}': was it compiled with a --type "
                 "or with limits, or by another build?")
    return table


def code(path, table):
    """What begins the functions that refer to nothing outside them, as linking changes the others."""
    with open(path, "rb") as fh:
        return [(fh.seek(offset), fh.read(32)) for offset, name in table if name.startswith("xf.product.")]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("--config", required=True)
    ap.add_argument("--model", required=True)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--encode")
    ap.add_argument("--greedy", type=int)
    ap.add_argument("--beam", type=int)
    ap.add_argument("--list", type=int, help="search of so many sentences of news lengths, in the runtime's own batches")
    ap.add_argument("--beams", type=int, default=1, help="of that search")
    ap.add_argument("--seconds", type=float, default=5)
    ap.add_argument("--xfc-options", default="")
    ap.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    a = ap.parse_args()
    with open(a.model, "rb") as fh:
        if fh.read(4) == b"\x7fELF":  # whose code lies elsewhere in the file
            ap.error(f"{a.model} is a program or a library: a bare model file is needed (--emit=model)")
    with open(a.config) as fh:
        cfg = json.load(fh)
    if a.run:
        return work(a, cfg)
    with tempfile.TemporaryDirectory() as tmp:
        table = symbols(a, tmp)
        data = os.path.join(tmp, "perf.data")
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", data, sys.executable, os.path.abspath(__file__), *sys.argv[1:],
                        "--run"], check=True)
        script = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym,dso,symoff", "--show-mmap-events"], capture_output=True, text=True).stdout
    maps, counts, total = [], collections.Counter(), 0
    for line in script.splitlines():
        m = re.search(r"MMAP2? .*\[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*r-xp (\S+)", line)
        if m:
            if os.path.basename(m[4]) == os.path.basename(a.model):
                maps.append((int(m[1], 16), int(m[2], 16), int(m[3], 16)))
            continue
        m = re.match(r"\s*([0-9a-f]+)\s+(.*)\((.*)\)$", line)
        if not m or "MMAP" in line:
            continue
        ip, name = int(m[1], 16), (m[2].split("+")[0].strip() or m[3]) + " (" + os.path.basename(m[3]) + ")"
        for start, size, offset in maps:
            if start <= ip < start + size:
                at = ip - start + offset
                name = table[max(0, bisect.bisect_right(table, (at, "~")) - 1)][1]
        counts[name] += 1
        total += 1
    for name, n in counts.most_common(25):
        print(f"{100 * n / total:6.2f} %  {name}")


if __name__ == "__main__":
    main()
