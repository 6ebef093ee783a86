"""test/benchmark/table.py: its calls of a harness, and the tables that it makes from the results."""
import json
import sys

from common import Checks, SOURCE, WORK, run, skip

sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "test" / "benchmark"))
try:
    import table
except ImportError as problem:
    skip(problem)

checks = Checks()
results = WORK / "results"

# A harness that checks how it is called, and writes fixed results.
harness, data = WORK / "harness", WORK / "data"
harness.mkdir()
(data / "minilm").mkdir(parents=True)
(data / "minilm" / "config.json").write_text('{"d_model": 384, "enc_layers": 6, "vocab": 30522, "ffn": 1536}')
(harness / "run_peers.py").write_text("import sys\nassert '--prepare' in sys.argv\n")
(harness / "compare.py").write_text("""
import json, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert given["--ours"].endswith("peer.py") and given["--config"] == "minilm" and given["--workload"] == "enc"
assert given["--peers"] == {"bf16": "openvino", "int8": "ct2,ort"}[given["--precision"]] and given["--rounds"] == "2"
json.dump([dict(workload="enc", case=case, precision=given["--precision"], ours_ms=10.0, peer_ms=15.0, ratio=1.5, **check)
           for case, check in (("1x32", dict(max_abs_err=0.25)), ("8x32", {}), ("32x32", dict(max_abs_err=float("nan"))))],
          open(given["--json"], "w"))
""")
script = SOURCE / "test" / "benchmark" / "table.py"
place = ["--harness", harness, "--data", data, "--results", results]
_, out, _ = run(sys.executable, script, "measure", *place, "--rounds", 2, "--parts", "minilm-int8-1,minilm-b*-1")
checks.that([line.split(":")[0] for line in out.splitlines()] == ["minilm-bf16-1", "minilm-int8-1"], f"other parts were measured: {out}")
status, _, err = run(sys.executable, script, "measure", *place, "--parts", "nothing", ok=False)
checks.that(status == 1 and "no part is called 'nothing'" in err, f"an unknown part: {status} {err}")

# At these peaks the products of 32 tokens take 9 ms and attention 1 ms; reading the weights takes less.
operations = 2 * 6 * (4 * 384**2 + 2 * 384 * 1536) * 32
attention = 2 * 2 * 6 * 384 * 32**2
peak = {"threads": 1, "int8": operations / 0.009, "bf16": attention / 0.001, "f32": 1e9, "memory": 1e12}
(results / "peaks.json").write_text(json.dumps(peak) + "\n")
(results / "config-base.json").write_text('{"d_model": 512, "enc_layers": 6, "dec_layers": 6, "vocab": 32000, "ffn": 2048}')
(results / "base-f32-2.json").write_text(json.dumps([
    dict(workload="beam", case="1", precision="f32", ours_ms=1.25, peer_ms=2.5, ratio=2.0, token_agreement=0.5),
    dict(workload="greedy", case="32", precision="f32", ours_ms=99.6, peer_ms=100.0, ratio=1.004, token_agreement=1.0)]))
# Results of types of fewer bits may differ, within bounds.
found = dict(ours_ms=5.0, peer_ms=10.0, ratio=2.0)
for kind, error, fits, agreement in (("bf16", 0.31, 0.29, 0.35), ("int8", 1.1, 0.9, 0.2)):
    (results / f"base-{kind}-2.json").write_text(json.dumps([
        dict(found, workload="enc", case="1x32", precision=kind, max_abs_err=error),
        dict(found, workload="enc", case="8x32", precision=kind, max_abs_err=fits),
        dict(found, workload="greedy", case="1", precision=kind, token_agreement=0.0),
        dict(found, workload="greedy", case="32", precision=kind, token_agreement=agreement / 2),
        dict(found, workload="beam", case="32", precision=kind, token_agreement=agreement)]))
(results / "base-real-int8-2.json").write_text(json.dumps([
    dict(workload="real", case="greedy", precision="int8", ours_ms=2500.0, peer_ms=5000.0, ratio=2.0),
    dict(workload="real", case="beam", precision="int8", ours_ms=2000.0, peer_ms=5000.0, ratio=2.5, token_agreement=0.1)]))
(results / "start-int8.json").write_text(json.dumps([
    dict(peer="xfc", median_ms=51.4, rss_batch1_mb=62.6, rss_beam32_mb=127.0), dict(peer="ct2", median_ms=385.0,
                                                                                       rss_batch1_mb=127.0, rss_beam32_mb=None)]))

(results / "families.json").write_text(json.dumps([
    dict(model="bart", precision=precision, case="beam 4, 8", ours_ms=2.0, peer_ms=5.0, ratio=2.5) for precision in ("int8", "f32")]
    + [dict(model="bart", precision="int8", case="greedy, 1", ours_ms=1.0, peer_ms=31.0, ratio=31.0)]))

tables = {name: make(results) for name, make in table.TABLES.items()}
row, unchecked, nan = tables["minilm 1"].splitlines()[2:]
checks.that(row.startswith("| encoder 1x32 | | | | | 10 | 15 | ") and row.endswith(" | 10 | 15 | 1.50 | 1.50 |"),
            f"f32 was not measured, the limit is 10 ms: {row}")
checks.that(unchecked.startswith("| encoder 8x32 | | | | | 10 (unchecked) | ") and nan.startswith("| encoder 32x32 | | | | | 10 (wrong!) | "),
            f"what was not compared, and what is no number: {unchecked}\n{nan}")
for row in ("| 4 beams, 1 sentence | 1.2 (wrong!) (2.00) | | |", "| greedy search, 1 sentence | | 5.0 (2.00) | 5.0 (2.00) |",
            "| greedy search, 32 | 100 (1.00) | 5.0 (wrong!) (2.00) | 5.0 (wrong!) (2.00) |", "| 4 beams, 32 | | 5.0 (2.00) | 5.0 (2.00) |"):
    checks.that(row in tables["summary"], f"no {row} in {tables['summary']}")
for row in ("| encoder 1x32 | | | | | 5.0 (wrong!) | 10 | 2.00 | | 5.0 (wrong!) | 10 | 2.00 | |",
            "| encoder 8x32 | | | | | 5.0 | 10 | 2.00 | | 5.0 | 10 | 2.00 | |",
            "| beam 4, 1 sentence | 1.2 (wrong!) | 2.5 | 2.00 | |", "| greedy, 32 | 100 | 100 | 1.00 | | 5.0 (wrong!) | 10 | 2.00 | |"):
    checks.that(row in tables["base 2"], f"no {row} in {tables['base 2']}")
checks.that("| xfc | | | | 51 ms | 63 | 127 |" in tables["start"] and "| CTranslate2 | | | | 385 ms | 127 | |" in tables["start"], tables["start"])
checks.that("| base, int8 | 2.50 | 5.00 | 2.00 | | 2.00 (wrong!) | 5.00 | 2.50 | |" in tables["lists"], tables["lists"])
checks.that(tables["families"].splitlines()[2:] == ["| bart, beam 4, 8 | 2.0 | 5.0 | 2.50 | 2.0 | 5.0 | 2.50 |",
                                                    "| bart, greedy, 1 | | | | 1.0 | 31 | 31.00 |"], tables["families"])
# If arithmetic costs nothing, reading the weights for the list's 60 steps takes longest: here 2.5 s.
square, ffn = 512 * 512, 2 * 512 * 2048
weights = 6 * (4 * square + ffn) + 6 * 2 * square + 60 * (6 * (6 * square + ffn) + 32000 * 512)
with open(results / "peaks.json", "a", encoding="utf-8") as file:
    file.write(json.dumps(dict(threads=2, f32=1e30, bf16=1e30, int8=1e30, memory=weights / 2.5)) + "\n")
checks.that("| base, int8 | 2.50 | 5.00 | 2.00 | 2.00 | 2.00 (wrong!) |" in table.lists(results), table.lists(results))
checks.that(tables["base 1"] is None and tables["minilm 2"] is None, "tables without results")

text = "before\n<!-- table: base 1 -->\nkept\n<!-- end -->\nbetween\n<!-- table: start -->\nold\n<!-- end -->\nafter\n"
new = table.rewritten(text, results)
checks.that(new == text.replace("old", f"\n{tables['start']}\n"), f"tables are replaced in place: {new}")
checks.that(table.rewritten(new, results) == new, "writing twice changes nothing")
for damaged in (text.replace("base 1", "sales"), text.replace("<!-- end -->\nbetween", "between")):
    try:
        table.rewritten(damaged, results)
        checks.that(False, "a damaged marker is not found")
    except SystemExit:
        pass
# The documents have a place for every table.
documents = "".join(open(path, encoding="utf-8").read() for path in table.DOCUMENTS)
checks.that(table.rewritten(documents, WORK / "nothing") == documents, "without results nothing is written")
checks.that(all(documents.count(f"<!-- table: {name} -->") == 1 for name in table.TABLES), "a table has no place, or two")
checks.end()
