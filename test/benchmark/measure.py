"""What table.py measures: parts that can be measured apart, each into files of its own in the folder of results.

  peaks                    peaks.json: a line of xf-peak for each number of threads
  CONFIG-TYPE-THREADS      encoders, greedy and beam searches against other engines, interleaved; and config-CONFIG.json
  CONFIG-real-TYPE-2       lists of sentences
  start-TYPE               base from exec to the first sentence, and peak resident memory, of each engine
"""
import fnmatch
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import bound
import compiled
import start

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer.py")
TYPES = ("f32", "bf16", "int8")
THREADS = (1, 2)
# The engines that have each type.
PEERS = {"f32": "ct2,ort,openvino", "bf16": "openvino", "int8": "ct2,ort"}
START_PEERS = ("ct2", "ort", "openvino")
START_SENTENCES = 32


class Harness:
    """A folder with compare.py, run_peers.py and start.py, and `data` with a folder for each model."""

    def __init__(self, folder, data, results, rounds):
        self.folder, self.data, self.results, self.rounds = folder, data, results, rounds

    def run(self, script, config, *arguments):
        subprocess.run([sys.executable, os.path.join(self.folder, script), "--config", config, "--root", self.data, *map(str, arguments)],
                       check=True, stdout=subprocess.DEVNULL)

    def result(self, name):
        return os.path.join(self.results, name + ".json")

    @functools.cache
    def prepare(self, config):
        """xfc's files are compiled by the compiler as it is; the other engines have prepared theirs."""
        self.run("run_peers.py", config, "--peer", PEER, "--prepare")
        shutil.copyfile(os.path.join(self.data, config, "config.json"), self.result("config-" + config))

    def compare(self, name, config, precision, threads, workloads):
        self.prepare(config)
        self.run("compare.py", config, "--ours", PEER, "--precision", precision, "--threads", threads, "--workload", workloads,
                 "--peers", PEERS[precision], "--rounds", self.rounds, "--json", self.result(name))

    def start(self, name, precision):
        """Writes the harness's records of the others, and one of the same form for xfc."""
        records = [start_of_program(os.path.join(self.data, "base"), precision)]
        with tempfile.TemporaryDirectory() as folder:
            theirs = os.path.join(folder, "start.json")
            for peer in START_PEERS:
                self.run("start.py", "base", "--peer", peer, "--precision", precision, "--threads", 1, "--json", theirs)
            with open(theirs, encoding="utf-8") as file:
                records += json.load(file)
        with open(self.result(name), "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)

    def peaks(self, name):
        program = os.path.join(compiled.BUILD, "bin", "xf-peak")
        lines = [subprocess.run([program, str(threads)], check=True, capture_output=True, text=True).stdout for threads in THREADS]
        with open(self.result(name), "w", encoding="utf-8") as file:
            file.writelines(lines)


def start_of_program(model, precision):
    """The record of a compiled program, with as many tokens of source and result as the harness's sentences have."""
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        cfg = json.load(file)
    lines = [" ".join(str(3 + (997 * (bound.SOURCE * i + k)) % (cfg["vocab"] - 3)) for k in range(bound.SOURCE))
             for i in range(START_SENTENCES)]
    # The end is never chosen, so that every result has the greatest length.
    options = ["--threads", 1, "--max-length", bound.TARGET, "--suppress", cfg["eos"]]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "base")
        compiled.compile_model(model, precision, program)
        first, _ = start.measure_start(program, lines[0], options)
        one, _ = start.peak_memory(program, lines[:1], options)
        many, _ = start.peak_memory(program, lines, [*options, "--beam", bound.BEAMS])
    return dict(peer="xfc", config="base", precision=precision, threads=1, median_ms=first * 1e3, rss_batch1_mb=one, rss_beam32_mb=many)


def parts(harness):
    """The functions that measure parts, by the parts' names."""
    named = {"peaks": harness.peaks}
    for config, workloads in (("base", "enc,greedy,beam"), ("minilm", "enc")):
        for threads in THREADS:
            for precision in TYPES:
                named[f"{config}-{precision}-{threads}"] = functools.partial(
                    harness.compare, config=config, precision=precision, threads=threads, workloads=workloads)
    for config in ("base", "student"):
        for precision in ("f32", "int8"):
            named[f"{config}-real-{precision}-2"] = functools.partial(
                harness.compare, config=config, precision=precision, threads=2, workloads="real")
    for precision in ("f32", "int8"):
        named[f"start-{precision}"] = functools.partial(harness.start, precision=precision)
    return named


def measure(harness, patterns):
    """Measures the parts whose names match any of the patterns (as of file names)."""
    named = parts(harness)
    for pattern in patterns:
        if not fnmatch.filter(named, pattern):
            sys.exit(f"no part is called '{pattern}'; there are {', '.join(named)}")
    os.makedirs(harness.results, exist_ok=True)
    for name, part in named.items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            begin = time.monotonic()
            part(name)
            print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
