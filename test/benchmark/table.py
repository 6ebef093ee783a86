#!/usr/bin/env python3
"""The README's tables: xfc against other engines, from one interleaved run for each configuration, type and number of threads.

  table.py --harness DIR --data DIR [--configs base,minilm] [--types f32,bf16,int8] [--threads 1,2]
           [--workloads enc,greedy,beam,real] [--peers ct2,ort,openvino] [--rounds 3] --out TABLE.md

DIR of --harness has compare.py and run_peers.py, which run engines as peer.py describes itself; DIR of --data holds a folder
with config.json, model.safetensors and reference.npz for each configuration, which every peer has prepared. The engines
are in the Python environment that runs this. A row whose check fails (results off, tokens other than the reference's in
f32) is marked.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Engines that a type is compared with: those that have it.
PEERS_OF = {"bf16": {"openvino"}, "int8": {"ct2", "ort"}}


def check(row, precision):
    if precision != "f32":
        return ""
    off = row.get("max_abs_err", 0) > 1e-3 or row.get("token_agreement", 1) < 1
    return " (wrong!)" if off else ""


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("--harness", required=True)
    ap.add_argument("--data", required=True)
    ap.add_argument("--configs", default="base,minilm")
    ap.add_argument("--types", default="f32,bf16,int8")
    ap.add_argument("--threads", default="1,2")
    ap.add_argument("--workloads", default="enc,greedy,beam,real")
    ap.add_argument("--peers", default="ct2,ort,openvino")
    ap.add_argument("--rounds", default="3")
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    peer = os.path.join(HERE, "peer.py")
    compare = os.path.join(a.harness, "compare.py")
    lines = []
    for config in a.configs.split(","):
        subprocess.run([sys.executable, os.path.join(a.harness, "run_peers.py"), "--config", config, "--root", a.data, "--peer", peer,
                        "--prepare"], check=True)
        for precision in a.types.split(","):
            peers = [p for p in a.peers.split(",") if p in PEERS_OF.get(precision, {p})]
            rows = {}
            for threads in a.threads.split(","):
                with tempfile.TemporaryDirectory() as tmp:
                    out = os.path.join(tmp, "rows.json")
                    subprocess.run([sys.executable, compare, "--ours", peer, "--config", config, "--root", a.data, "--precision", precision,
                                    "--threads", threads, "--workload", a.workloads, "--peers", ",".join(peers), "--rounds", a.rounds,
                                    "--json", out], check=True, stdout=subprocess.DEVNULL)
                    with open(out) as fh:
                        for row in json.load(fh):
                            rows.setdefault((row["workload"], row["case"]), {})[threads] = row
            heads = "".join(f" xfc, {t} T | fastest other | ratio |" for t in a.threads.split(","))
            lines += [f"\n**{config}, {precision}** (ms)\n", f"| workload |{heads}", "|---|" + "--:|---|--:|" * len(a.threads.split(","))]
            for (workload, case), by in rows.items():
                line = f"| {workload} {case} |"
                for threads in a.threads.split(","):
                    r = by.get(threads)
                    line += (f" {r['ours_ms']:.1f}{check(r, precision)} | {r['peer']} {r['peer_ms']:.1f} | {r['ratio']:.2f} |" if r else " | | |")
                lines.append(line)
            with open(a.out, "w") as fh:
                fh.write("\n".join(lines).strip() + "\n")


if __name__ == "__main__":
    main()
