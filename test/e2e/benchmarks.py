"""The programs of test/benchmark, run once on tiny models: results are the interpreter's, and what they print has the expected form.

benchmarks.py profile: profile.py alone, which needs perf.
"""
import json
import math
import os
import re
import shutil
import sys

from common import BIN, SOURCE, WORK, Checks, beam_search, kept_g2p, read_safetensors, run, skip, write_safetensors

sys.dont_write_bytecode = True
os.environ["XF_BUILD"] = str(BIN.parent)
FOLDER = SOURCE / "test" / "benchmark"
sys.path.insert(0, str(FOLDER))
try:
    import numpy as np
except ImportError as problem:
    skip(problem)
import bound  # noqa: E402
import measure  # noqa: E402
from peer import Peer  # noqa: E402

checks = Checks()
COMMON = dict(d_model=64, heads=4, ffn=96, norm="post", seed=1, pad=0, eos=1, unk=2, start=0)
# As the harness writes them, with settings that the model does not use.
TRANSLATES = dict(COMMON, name="base", kind="enc-dec", enc_layers=2, dec_layers=2, vocab=150, activation="relu", positions="sinusoidal",
                  embed_scale=True, embed_norm=False, eps=1e-5)
ENCODES = dict(COMMON, name="minilm", kind="encoder", enc_layers=2, dec_layers=0, vocab=120, activation="gelu", positions="learned", max_positions=64,
               embed_scale=False, embed_norm=True, eps=1e-12)
# How far results may be from the interpreter's, which does not round activations.
ERRORS = {"f32": 1e-5, "bf16": 0.015, "int8": 0.04}
STEPS, BEAMS = 5, 4


def shapes_of(cfg):
    """The shapes of the weights in the harness's layout."""
    d, ffn = cfg["d_model"], cfg["ffn"]
    shapes = {"shared.weight": [cfg["vocab"], d]}

    def put(name, *shape):
        shapes.update({f"{name}.weight": list(shape), f"{name}.bias": [shape[0]]})

    for side, kinds in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "cross_attn"])):
        for i in range(cfg["enc_layers" if side == "encoder" else "dec_layers"]):
            layer = f"{side}.layers.{i}"
            for kind in kinds:
                for part in "qkv":
                    put(f"{layer}.{kind}.{part}_proj", d, d)
                put(f"{layer}.{kind}.out_proj", d, d)
                put(f"{layer}.{kind}_norm", d)
            put(f"{layer}.fc1", ffn, d)
            put(f"{layer}.fc2", d, ffn)
            put(f"{layer}.ffn_norm", d)
    if cfg["positions"] == "learned":
        shapes["encoder.positions.weight"] = [cfg["max_positions"], d]
    if cfg["embed_norm"]:
        put("encoder.embed_norm", d)
    if cfg["dec_layers"]:
        shapes["output.bias"] = [cfg["vocab"]]
    return shapes


def write_model(cfg):
    """Writes a folder like the harness's for a model. Decoders with plain random weights repeat one token for ever, which hides errors: these have
    feed-forwards with large weights, which add no constant."""
    folder, rng, tensors = WORK / cfg["name"], np.random.default_rng(3), {}
    for name, shape in shapes_of(cfg).items():
        if len(shape) == 1:
            values = 0.1 * rng.standard_normal(shape) + ("norm.weight" in name)
        else:
            gain = 8 if "decoder" in name and "fc2" in name else 1.6 if re.search("[qk]_proj", name) else 0.7 if "shared" in name else 1
            values = gain / math.sqrt(shape[1]) * rng.standard_normal(shape)
            if "fc2" in name:
                values -= values.mean(1, keepdims=True)
        tensors[name] = ("F32", shape, values.astype(np.float32).tobytes())
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(cfg))
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def sources(cfg, lengths):
    """Ids and lengths as the harness passes them: padded on the right, each sentence with the end token."""
    rng = np.random.default_rng(7)
    ids = np.full((len(lengths), max(lengths)), cfg["pad"], np.int64)
    for row, n in zip(ids, lengths):
        row[:n] = rng.integers(3, cfg["vocab"], n)
        row[n - 1] = cfg["eos"]
    return ids, np.array(lengths, np.int32)


def interpreted(model, entry, output, **inputs):
    """An output of xf-run's interpreter for these arrays."""
    tensors = {name: ("F32" if a.dtype == np.float32 else "I32", list(a.shape), a.tobytes()) for name, a in inputs.items()}
    write_safetensors(WORK / "in.safetensors", tensors)
    run(BIN / "xf-run", model, "--reference", "--entry", entry, "--inputs", WORK / "in.safetensors", "--outputs", WORK / "out.safetensors")
    _, shape, content = read_safetensors(WORK / "out.safetensors")[output]
    return np.frombuffer(content, np.float32).reshape(shape)


class Interpreter:
    """The simplest search, for one sentence: each step runs the interpreter on all tokens."""

    def __init__(self, model, cfg, sentence):
        self.model, self.eos, self.src = model, cfg["eos"], sentence[None].astype(np.int32)
        self.memory = interpreted(model, "encode", "memory", src=self.src)

    def logits(self, rows):
        """The logits after each row of tokens. The end token is never chosen, as in the benchmark."""
        tgt = np.array(rows, np.int32)
        logits = interpreted(self.model, "decode", "logits", tgt=tgt, memory=self.memory.repeat(len(rows), 0), src=self.src.repeat(len(rows), 0))
        logits = logits[:, -1].astype(np.float64)
        logits[:, self.eos] = -math.inf
        return logits.tolist()

    def search(self, beams):
        """The best result's tokens."""
        (results, _), = beam_search(lambda ways: self.logits([[0, *tokens] for _, tokens in ways]), 1, beams, STEPS, self.eos)
        return results[0][1]


def confirm_encoder(folder, cfg, precision):
    ids, lengths = sources(cfg, [9, 4, 17])
    run_it, to_numpy = Peer(str(folder), precision, 2).encoder(ids, lengths)
    got, model = to_numpy(run_it()), Peer.files(str(folder), precision)[0]
    checks.that(got.shape == (*ids.shape, cfg["d_model"]), f"{cfg['name']} {precision}: {got.shape}")
    for row, sentence, n in zip(got, ids, lengths):
        want = interpreted(model, "encode", "memory", src=sentence[None, :n].astype(np.int32))[0]
        error = np.linalg.norm(row[:n] - want) / np.linalg.norm(want)
        checks.that(error <= ERRORS[precision] and not row[n:].any(), f"{cfg['name']} {precision}: {n} tokens are {error:.2g} off")


def confirm_searches(folder, cfg, precision):
    ids, lengths = sources(cfg, [7, 12])
    peer, model = Peer(str(folder), precision, 2), Peer.files(str(folder), precision)[0]
    sentences = [row[:n] for row, n in zip(ids, lengths)]
    plain = [Interpreter(model, cfg, sentence) for sentence in sentences]
    for beams in (1, BEAMS):
        got = peer.decoder(ids, lengths, STEPS, beams)()
        checks.that(got.shape == (len(ids), STEPS) and (got != cfg["eos"]).all(), f"{precision}, {beams} beams: not {STEPS} tokens each: {got}")
        want = [interpreter.search(beams) for interpreter in plain]
        checks.that(got.tolist() == want, f"{precision}, {beams} beams: {got.tolist()}, not {want}")
        checks.that(len(set(got.ravel().tolist())) >= STEPS, f"{precision}, {beams} beams: results say little, such as {got}")
        made = peer.real_own(sentences, beams)()
        checks.that(made == lengths.sum(), f"{precision}, {beams} beams: {made} tokens for sources of {lengths.sum()}")


def confirm_starts(folder):
    record = measure.start_of_program(str(folder), "f32")
    checks.that(record["peer"] == "xfc" and record["precision"] == "f32" and 0 < record["median_ms"] < 60e3 and
                1 < record["rss_batch1_mb"] <= record["rss_beam32_mb"] < 1000, f"start_of_program: {record}")
    _, out, _ = run(sys.executable, FOLDER / "start.py", kept_g2p(), "hello", "--repeat", 1, "--", "--threads", 1, "--beam", 2)
    said = re.fullmatch(r"first (\S+) ms, warm (\S+) ms, start-up \S+ ms\n"
                        r"peak (\S+) MiB, not the file's (\S+) MiB; stated: weights (\S+) MiB, beyond them (\S+) MiB\n", out)
    checks.that(said, f"start.py: {out}")
    if said:
        first, warm, peak, anonymous, weights, beyond = map(float, said.groups())
        checks.that(0 <= warm <= first and 0 < first and 0 < anonymous < peak and 1 < weights < 100 and 1 < beyond, f"start.py: {out}")


def confirm_bound(cfg):
    """If arithmetic costs nothing, a search takes as long as reading its weights. Each step reads them all, those of the logits as bytes in a greedy
    search and as words with beams. The list's longest sentence has 60 tokens; the longest of its 7 batches have 190 together."""
    sizes = {name: math.prod(shape) for name, shape in shapes_of(cfg).items() if len(shape) == 2}
    cross = sum(size for name, size in sizes.items() if re.search(r"cross_attn\.[kv]_proj", name))
    encoder = sum(size for name, size in sizes.items() if name.startswith("encoder."))
    decoder = sum(size for name, size in sizes.items() if name.startswith("decoder.")) - cross

    def least(searches, steps, logits):
        return (searches * 4 * (encoder + cross) + steps * (4 * decoder + logits * sizes["shared.weight"])) / 1e6

    expected = least(1, bound.TARGET, 1), least(1, 60, 1), least(7, 190, 2)
    free = dict(threads=2, f32=1e30, bf16=1e30, words=1e30, int8=1e30, memory=1e9)
    peak = json.loads(run(BIN / "xf-peak", 1)[1])
    checks.that(peak["threads"] == 1 and all(1e8 < peak[name] < 1e14 for name in ("f32", "bf16", "words", "int8", "memory")), f"xf-peak: {peak}")
    (WORK / "peaks.json").write_text("".join(json.dumps(line) + "\n" for line in (peak, free)))
    (WORK / "results.json").write_text(json.dumps([
        dict(workload="greedy", case="1", precision="f32", threads=2, ours_ms=expected[0] * 4, peer_ms=expected[0] * 10, ratio=2.5),
        dict(workload="beam", case="32", precision="int8", threads=1, ours_ms=1.0, peer_ms=2.0, ratio=2.0),
        *(dict(workload="real", case=case, precision="f32", threads=2, ours_ms=1.0, peer_ms=2.0, ratio=2.0) for case in ("greedy", "beam"))]))
    _, out, _ = run(sys.executable, FOLDER / "bound.py", "--config", WORK / cfg["name"] / "config.json", "--peaks", WORK / "peaks.json",
                    WORK / "results.json")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines()[2:]]
    checks.that([row[:4] for row in rows] == [["f32", "2", "greedy", "1"], ["int8", "1", "beam", "32"],
                                              ["f32", "2", "real", "greedy"], ["f32", "2", "real", "beam"]], f"bound.py: {out}")
    checks.that(rows and rows[0][5:] == [f"{expected[0]:.1f}", "25 %", "2.50", "10.00"], f"bound.py, whose least is {expected[0]:.2f} ms: {out}")
    checks.that([row[5] for row in rows[2:]] == [f"{ms:.1f}" for ms in expected[1:]], f"bound.py, whose least are {expected[1:]} ms: {out}")


def confirm_profile(folder):
    model = Peer.files(str(folder), "f32")[0]
    measure.compiled.compile_model(str(folder), "f32", model, emit="model")
    limits = " ".join(f"--limit={name}={value}" for name, value in measure.compiled.LIMITS.items())
    _, out, _ = run(sys.executable, FOLDER / "profile.py", "--config", folder / "config.json", "--model", model, "--greedy", 8, "--seconds", 0.5,
                    f"--xfc-options={limits}")
    # Kernels, which have the compiler's names, take most of the time; other names are followed by a file.
    shares = {name: float(share) for share, name in re.findall(r"^ *([\d.]+) %  (.*)$", out, re.M)}
    ours = sum(share for name, share in shares.items() if not name.endswith(")"))
    checks.that(ours > 10, f"profile.py: {ours} % in generated functions\n{out}")


if sys.argv[1:] == ["profile"]:
    if not shutil.which("perf") or run("perf", "record", "-q", "-e", "cpu-clock", "-o", WORK / "perf.data", "true", ok=False)[0]:
        skip("perf is not here, or may not record")
    confirm_profile(write_model(TRANSLATES))
    checks.end()
folder = write_model(TRANSLATES)
Peer.prepare(str(folder), ["enc", "greedy"])
for precision in Peer.PRECISIONS:
    confirm_encoder(folder, TRANSLATES, precision)
    confirm_searches(folder, TRANSLATES, precision)
confirm_starts(folder)
confirm_bound(TRANSLATES)
# One type is enough to test the encoder's configuration.
folder = write_model(ENCODES)
measure.compiled.compile_model(str(folder), "bf16", Peer.files(str(folder), "bf16")[0], emit="model")
confirm_encoder(folder, ENCODES, "bf16")
checks.end()
