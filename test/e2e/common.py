"""What the end-to-end tests share. Only the standard library is needed.

Environment, all optional: XF_BIN is the folder of the built programs (build/bin), XF_SOURCE the repository, XF_SHARED a folder with
models that the repository does not ship. A test that lacks something it needs ends with status 77: skipped.
"""
import atexit
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

SOURCE = pathlib.Path(os.environ.get("XF_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BIN = pathlib.Path(os.environ.get("XF_BIN") or SOURCE / "build" / "bin")
MODELS = SOURCE / "test" / "models"
sys.path += [str(MODELS), str(SOURCE / "tools"), str(SOURCE / "runtime" / "python")]
SHARED = pathlib.Path(os.environ.get("XF_SHARED") or SOURCE.parent / "shared")
# The norm-wise error that factors of fewer bits may cause in small models with random weights: activations are rounded to 8 or 7 bits, too, which
# the interpreter does not do. (With int8-weights, activations and arithmetic stay f32.)
ROUNDED = {"bf16": 0.03, "int8": 0.1}
WORK = pathlib.Path(tempfile.mkdtemp(prefix="xf-e2e-"))
atexit.register(shutil.rmtree, WORK, ignore_errors=True)


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def sets(**values):
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


# The benchmarks' model, as small as possible.
SMALL_BENCH = sets(d_model=32, heads=2, ffn=32, enc_layers=1, dec_layers=1, vocab=50)


def shared_model(name):
    folder = SHARED / "models" / name
    if not folder.is_dir():
        skip(f"the model {name} is not part of the repository")
    return folder


def available_isas(kind="f32"):
    """The instruction sets of this machine that models of type `kind` have kernels for."""
    flags = set(next(l for l in open("/proc/cpuinfo") if l.startswith("flags")).split())
    isas = ["baseline"]
    if {"avx2", "fma", "bmi2", "f16c"} <= flags:
        isas.append("avx2")
        if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
            isas.append("avx512")
    if kind in ("int8", "bf16") and isas[-1] == "avx512" and "avx512_vnni" in flags:
        isas.append("avx512_vnni")
        if "avx512_bf16" in flags:
            isas.append("avx512_bf16")
    if kind in ("int8", "bf16") and "avx2" in isas and "avx_vnni" in flags:
        isas.insert(2, "avx2_vnni")
    return isas


def run(*command, stdin=None, ok=True):
    """Runs a program and returns (status, stdout, stderr). With ok, a failure ends the test."""
    done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True, text=True)
    if ok and done.returncode != 0:
        print("failed:", " ".join(str(c) for c in command))
        print(done.stdout[-3000:], done.stderr[-3000:])
        sys.exit(1)
    return done.returncode, done.stdout, done.stderr


HERE = available_isas("int8")  # all that models may have kernels for


def compile_model(description, output, *options, isas=HERE[-1:], ok=True):
    """Makes the CPU's code for these instruction sets, or with None for all; by default for the machine's best alone, which takes a fraction of the
    time."""
    needed = isas and not {"cuda", "--emit=ptx"} & set(options)
    return run(BIN / "xfc", description, "-o", output, *options, *(["--isa", ",".join(isas)] if needed else []), ok=ok)


def compile_seed2(*weights, options=(), ok=True):
    """Compiles seed2 with the weights of these files. Returns the bytes of its bare model file or, without ok, run()'s result."""
    folder = MODELS / "seed2"
    given = [word for file in weights for word in ("--weights", file)]
    done = compile_model(folder / "seed2.xf", WORK / "model", "--config", folder / "config.json", *given, "--emit=model", *options, ok=ok)
    return (WORK / "model").read_bytes() if ok else done


def compile_g2p(output, *options, isas=HERE[-1:]):
    folder = MODELS / "g2p"
    compile_model(folder / "g2p.xf", output, "--config", folder / "config.json", "--weights", folder / "weights.safetensors",
                  "--source-vocab", folder / "source.vocab", "--target-vocab", folder / "target.vocab", *options, isas=isas)
    return output


def kept_g2p(kind="f32", target="cpu"):
    """The g2p program of a type and target, compiled once for all tests of a build. No test may change the file."""
    kept = BIN.parent / "test" / "kept" / f"g2p-{kind}-{target}"
    sources = [BIN / "xfc", BIN / "xf-runner", *(MODELS / "g2p").iterdir()]
    if not kept.exists() or kept.stat().st_mtime <= max(source.stat().st_mtime for source in sources):
        kept.parent.mkdir(parents=True, exist_ok=True)
        # Two tests may find it missing at once, so that only a complete file gets the name.
        compile_g2p(kept.with_name(f"{kept.name}.{os.getpid()}"), "--type", kind, "--target", target, isas=None).replace(kept)
    return kept


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def golden_weights(folder):
    """The file of weights for a folder's golden numbers: the folder's own, or one that is made from the names and shapes that it lists."""
    folder = pathlib.Path(folder)
    if not (folder / "weights.json").exists():
        return folder / "weights.safetensors"
    from seeded_weights import write_seeded_weights
    write_seeded_weights(folder / "weights.json", WORK / "weights.safetensors")
    return WORK / "weights.safetensors"


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, shape, bytes)"""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    """name -> (dtype, shape, bytes)"""
    content = path.read_bytes()
    size, = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], content[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]])
            for name, t in header.items()}


FORMATS = {"F32": "f", "F64": "d", "I64": "q", "I32": "i"}


def packed(kind, shape, values):
    """A tensor as read_safetensors() returns it."""
    return kind, list(shape), struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)


def unpacked(tensor):
    """The values of a tensor as read_safetensors() returns it."""
    kind, shape, content = tensor
    return struct.unpack(f"<{math.prod(shape)}{FORMATS[kind]}", content)


def results(model, inputs, *options, ok=False):
    """xf-run's outputs for these inputs, as read_safetensors() returns them. If it fails, returns its message or, with ok, ends the test."""
    write_safetensors(WORK / "in.safetensors", inputs)
    status, _, err = run(BIN / "xf-run", model, "--inputs", WORK / "in.safetensors", "--outputs", WORK / "out.safetensors", *options, ok=ok)
    return err if status else read_safetensors(WORK / "out.safetensors")


def distance(a, b):
    """The norm-wise distance of two tensors as read_safetensors() returns them; NaN agrees with NaN only."""
    if a[:2] != b[:2]:
        return float("inf")
    if a[0] != "F32":
        return 0.0 if a[2] == b[2] else float("inf")
    pairs = [(p, q) for p, q in zip(unpacked(a), unpacked(b)) if not (p != p and q != q)]
    if any((p != p) != (q != q) for p, q in pairs):
        return float("inf")
    error = sum((p - q) ** 2 for p, q in pairs) ** 0.5
    return error / (sum(q * q for _, q in pairs) ** 0.5 or 1.0)


def searched(program, lines, *options):
    """For each line, (score, text) of each result."""
    found = [[] for _ in lines]
    for line in run(program, "--scores", *options, stdin="".join(line + "\n" for line in lines))[1].splitlines():
        number, score, text = line.split("\t")
        found[int(number) - 1].append((float(score), text))
    return found


def alike(got, want):
    """Whether searches have the same results; sums of exponentials, and divisions on a device, may change the last digit that is printed."""
    texts = [[[text for _, text in line] for line in side] for side in (got, want)]
    return texts[0] == texts[1] and all(abs(x[0] - y[0]) < 3e-6 for a, b in zip(got, want) for x, y in zip(a, b))


def log_probabilities(row):
    """The log probabilities of a row of logits."""
    largest = max(row)
    normaliser = largest + math.log(sum(math.exp(logit - largest) for logit in row))
    return [logit - normaliser for logit in row]


def beam_search(logits_of, sentences, beam, longest, end):
    """Searches `sentences` sentences together. It shares only the rule with the runtime's search: of the 2 * `beam` most probable
    continuations, those that end among the first `beam` are results, and the first `beam` others go on; a search stops at `beam` results, and at the
    greatest length those that go on are results, too. A result of n tokens, the end token included, scores the sum of its log p divided by n.

    logits_of([(sentence, tokens), ...]) returns the row of logits after each. Returns for each sentence its `beam` best results, (score, tokens), and
    the smallest margin of a decision: if that is tiny, rounding may decide otherwise.
    """
    going, found, nearest = [[(0.0, [])] for _ in range(sentences)], [[] for _ in range(sentences)], [math.inf] * sentences
    for length in range(1, longest + 1):
        rows = iter(logits_of([(s, tokens) for s in range(sentences) for _, tokens in going[s]]) if any(going) else [])
        for s in [s for s in range(sentences) if going[s]]:
            ways = [(total + p, [*tokens, token]) for total, tokens in going[s] for token, p in enumerate(log_probabilities(next(rows)))]
            ways.sort(key=lambda way: -way[0])
            ends = [way[1][-1] == end for way in ways]
            others = [way for way, ended in zip(ways, ends) if not ended]
            # The margins by which continuations that end are, or are not, among the first `beam`.
            edges = [way[0] - ways[beam][0] if place < beam else ways[beam - 1][0] - way[0] for place, way in enumerate(ways) if ends[place]]
            nearest[s] = min([nearest[s], *edges])
            found[s] += [way for way, ended in zip(ways[:beam], ends) if ended]
            going[s] = others[:beam] if len(found[s]) < beam else []
            if going[s] and length == longest:
                found[s] += going[s]
            if going[s]:
                nearest[s] = min(nearest[s], others[beam - 1][0] - others[beam][0])
    results = []
    for s, ways in enumerate(found):
        best = sorted([(total / len(tokens), tokens) for total, tokens in ways], key=lambda result: -result[0])
        results.append((best[:beam], min([nearest[s], *(a[0] - b[0] for a, b in zip(best[:beam], best[1:]))])))
    return results


def write_npz(path, tensors, compression=zipfile.ZIP_STORED, fortran_order=False):
    """Writes tensors, name -> (dtype, shape, bytes), as numpy.savez and numpy.savez_compressed do; dtypes may be NumPy's own, too."""
    types = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<V2", "I64": "<i8", "I32": "<i4", "BOOL": "|b1"}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, (dtype, shape, content) in tensors.items():
            header = repr({"descr": types.get(dtype, dtype), "fortran_order": fortran_order, "shape": tuple(shape)}).encode()
            header = header.ljust(117) + b"\n"
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                member.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + content)


class Checks:
    """Counts and reports failures."""

    def __init__(self):
        self.failed = 0

    def that(self, condition, message):
        if not condition:
            self.failed += 1
            print("FAILED:", message)

    def end(self):
        sys.exit(1 if self.failed else 0)
