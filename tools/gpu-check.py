"""Runs the models that gpu-check.sh has compiled on a device and prints one table. Python's standard library alone.

Each model has a process of its own: a fault on a GPU leaves nothing in the process usable, and a kernel may never end. Rows are
printed when they are known.
"""
import argparse
import array
import ctypes as c
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

import gpu_golden
import gpu_graphs
import image

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime", "python"))
import xf

# How far from PyTorch's f32 numbers results may be, by the ending of a model's name, which is the type that it multiplies.
TOLERANCE = {"bf16": 0.03, "f16": 0.004}


# Searches that choose from rows of logits: what they are called, and their options.
NO_REPEATS = ", no 3-gram twice", {"no_repeat_ngram": 3}
SAMPLES = ", drawn of all", {"sample": 1, "seed": 5}
FEW_SAMPLES = ", drawn of 20", {"sample": 1, "seed": 5, "top_k": 20}


class Problem(Exception):
    pass


# Where drivers lie that the loader does not know of: containers, WSL, NixOS.
DRIVER_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib",
                  "/usr/local/cuda/compat")


def open_driver():
    """The driver's library; child processes find it, too."""
    try:
        return c.CDLL("libcuda.so.1")
    except OSError as missing:
        for folder in DRIVER_FOLDERS:
            if os.path.exists(os.path.join(folder, "libcuda.so.1")):
                os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (os.environ.get("LD_LIBRARY_PATH"), folder)))
                return c.CDLL(os.path.join(folder, "libcuda.so.1"))
        nodes = sorted(name for name in os.listdir("/dev") if name.startswith("nvidia"))
        raise Problem(f"there is no NVIDIA driver: {missing}; /dev has {', '.join(nodes) or 'no nvidia*'}") from None


def probe():
    """Prints what the driver and its first GPU are like, a line of JSON each: a text, the bytes a second that copying reads and writes of its
    memory, and whether launches are recorded. Leaves out what a driver lacks."""
    cuda, facts = open_driver(), []

    def call_driver(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status:
            text = c.c_char_p()
            cuda.cuGetErrorString(status, c.byref(text))
            raise Problem(f"{name}: {status}, {(text.value or b'an unknown error').decode()}")

    call_driver("cuInit", 0)
    try:
        version, name, bits = c.c_int(), c.create_string_buffer(128), [c.c_int(), c.c_int()]
        call_driver("cuDeviceGetName", name, 128, 0)
        facts.append(name.value.decode())
        for attribute, value in zip((75, 76), bits):
            call_driver("cuDeviceGetAttribute", c.byref(value), attribute, 0)
        facts.append(f"compute capability {bits[0].value}.{bits[1].value}")
        call_driver("cuDriverGetVersion", c.byref(version))
        facts.append(f"CUDA {version.value // 1000}.{version.value % 1000 // 10}")
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            facts.append(file.readline().strip())
    except (OSError, AttributeError):
        pass
    print(json.dumps({"text": ", ".join(facts)}), flush=True)
    try:
        cuda.cuMemcpyDtoDAsync_v2.argtypes = [c.c_uint64, c.c_uint64, c.c_size_t, c.c_void_p]
        context, memory, bytes_each, copies = c.c_void_p(), [c.c_uint64(), c.c_uint64()], 1 << 30, 10
        call_driver("cuDevicePrimaryCtxRetain", c.byref(context), 0)
        call_driver("cuCtxSetCurrent", context)
        for m in memory:
            call_driver("cuMemAlloc_v2", c.byref(m), c.c_size_t(bytes_each))
        to, source = (m.value for m in memory)
        for timed in (False, True):
            begin = time.perf_counter()
            for _ in range(copies):
                call_driver("cuMemcpyDtoDAsync_v2", to, source, bytes_each, None)
            call_driver("cuCtxSynchronize")
        print(json.dumps({"bandwidth": 2 * copies * bytes_each / (time.perf_counter() - begin)}), flush=True)
    except (AttributeError, Problem):
        pass
    try:  # comes last: a driver that refuses goes on capturing
        graphs = gpu_graphs.record(cuda, call_driver)
    except (AttributeError, Problem) as problem:
        graphs = f"launches are not recorded: {problem}"
    print(json.dumps({"graphs": graphs}), flush=True)


def bytes_of_step(sizes, weight_bytes, sentences, beam, source, past):
    """What a step of bench.xf's decoder must read: each weight once, the keys and values of each row, and of each sentence's source."""
    d, layers = sizes["width"], sizes["layers"]
    weights = layers * (6 * d * d + 2 * d * sizes["ffn"]) + sizes["vocabulary"] * d
    caches = layers * 2 * d * sentences * (beam * past + source)
    return (weights + caches) * weight_bytes


def write_frame(path):
    """Writes the part of a model with random weights that comes before them: a thousandth, to carry elsewhere."""
    with open(path, "rb") as model:
        header = model.read(image.HEAD)
        offset, _ = image.range_of(header, "weights")  # which come last
        with open(os.path.splitext(path)[0] + ".frame", "wb") as frame:
            frame.write(header + model.read(offset - len(header)))


def fill_frame(path):
    """Writes the model, with random weights that are as good as any: numbers from 0.015 to 0.06, with a sign, as bf16 and as f32."""
    frame = open(path + ".frame", "rb").read()
    _, size = image.range_of(frame, "weights")
    generator = random.Random(1)
    # An odd number of elements, so that no two rows of a matrix are the same.
    block = array.array("H", (generator.randrange(0x3c80, 0x3d75) | generator.randrange(2) << 15 for _ in range((1 << 19) - 33))).tobytes()
    with open(path + ".part", "wb") as model:
        model.write(frame)
        for begin in range(0, size, len(block)):
            model.write(block[:size - begin])
    os.replace(path + ".part", path + ".xfm")


def check_model(library, path, options):
    """Prints a model's rows, each a line of JSON, when they are known."""
    model, name = xf.Model(path + ".xfm", library), os.path.basename(path)
    session = model.session(device=options.device)

    def print_row(*row):
        print(json.dumps({"row": row, "device": session.device}), flush=True)

    if os.path.exists(path + ".io.safetensors"):
        kind = name.rpartition("-")[2]
        for _ in range(1 if options.quick else 2):  # the first run may wait for the driver's compiler
            worst, what, wrong, ms = gpu_golden.compare(session, path + ".io.safetensors", kind not in TOLERANCE)
        ok = not wrong and worst <= TOLERANCE.get(kind, 1e-5)
        print_row(name, what, ", ".join([f"error {worst:.1e}", *wrong]), f"{ms:.2f} ms", ok)
    if os.path.exists(path + ".source.vocab"):
        sentences = words_of(path, options.quick)
        if name.rpartition("-")[2] not in TOLERANCE:  # whose searches may go other ways than the CPU's
            for row in search(session, path, sentences, options.quick):
                print_row(*row)
        print_row(*compare_batches(session, name, sentences))
    if os.path.exists(path + ".sizes.json"):
        for row in decoder_times(session, name, json.load(open(path + ".sizes.json", encoding="utf-8")), options.bandwidth, options.quick):
            print_row(*row)
    session.close()


def run_subprocess(arguments, seconds, on_line):
    """Runs this script with other arguments, calls `on_line` with the JSON of each line, and returns what went wrong or an empty text."""
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen([sys.executable, os.path.abspath(__file__), *arguments], stdout=subprocess.PIPE, stderr=errors, text=True) as child:
            timed_out = threading.Event()
            end = threading.Timer(seconds, lambda: (timed_out.set(), child.kill()))
            end.start()
            try:
                for line in child.stdout:
                    on_line(json.loads(line))
            finally:
                end.cancel()
        errors.seek(0)
        if timed_out.is_set():
            return f"has not ended after {seconds} s"
        if child.returncode < 0:
            return f"was ended by signal {-child.returncode}"
        return (errors.read().strip().splitlines() or ["failed"])[-1] if child.returncode else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library")
    parser.add_argument("--device", default="cuda", choices=["best", "cpu", "cuda", "emulator"])
    parser.add_argument("--quick", action="store_true", help="each thing once, and few of them: times mean nothing")
    parser.add_argument("--seconds", type=float, default=300, help="that a model may take")
    parser.add_argument("--frame", help="make a model's frame, in place of its weights", metavar="MODEL")
    parser.add_argument("--probe", action="store_true", help="say what GPU there is")
    parser.add_argument("--model", help="this one alone, in this process")
    parser.add_argument("--bandwidth", type=float)
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args()
    try:
        if options.frame:
            return write_frame(options.frame)
        if options.probe:
            return probe()
        if options.model:
            return check_model(options.library, options.model, options)
        if not (options.library and options.folder):
            parser.error("tools/gpu-check.sh calls it with --library and a folder")
        return check(options)
    except (Problem, xf.Error, OSError) as problem:
        sys.exit(str(problem))


def check(options):
    failed, device, graphs, bandwidth = 0, options.device, None, None
    if not os.path.exists(options.library):
        raise Problem(f"there is no {options.library}: build the target xf_runtime_so, or carry it here")
    if options.device == "cuda":
        open_driver()

        def on_fact(fact):
            nonlocal bandwidth, device, graphs
            device, graphs, bandwidth = fact.get("text", device), fact.get("graphs", graphs), fact.get("bandwidth", bandwidth)

        if why := run_subprocess(["--probe"], 120, on_fact):
            raise Problem(f"the GPU cannot be used: {why}")
    print(f"device: {device}" + (f", memory copied at {bandwidth / 1e9:.0f} GB/s" if bandwidth else "") + (f", {graphs}" if graphs else ""),
          flush=True)
    paths = {os.path.join(options.folder, os.path.splitext(f)[0]) for f in os.listdir(options.folder) if f.endswith((".xfm", ".frame"))}
    if not paths:
        raise Problem(f"{options.folder} holds no models: run tools/gpu-check.sh --prepare where xfc is built")

    def show(name, what, result, ms, ok):
        nonlocal failed
        failed += not ok
        print(f"{name:18} {what:34} {result:44} {ms:>14}  {'ok' if ok else 'FAILED'}", flush=True)

    shared = ["--library", options.library, "--device", options.device] + ["--quick"] * options.quick
    shared += ["--bandwidth", str(bandwidth)] * (bandwidth is not None)
    for path in sorted(paths, key=lambda path: (os.path.exists(path + ".sizes.json"), path)):  # what takes long comes last
        frame, model = path + ".frame", path + ".xfm"
        if os.path.exists(frame) and not (os.path.exists(model) and os.path.getmtime(model) >= os.path.getmtime(frame)):
            fill_frame(path)
        rows = []
        why = run_subprocess(shared + ["--model", path], options.seconds, lambda line: rows.append(line["row"]) or show(*line["row"]))
        if why or not rows:
            show(os.path.basename(path), "", why or "nothing was checked", "", False)
    sys.exit(1 if failed else 0)


def decoder_times(session, name, sizes, bandwidth, quick):
    """Times of steps alone: what longer results take more than shorter ones. Bytes are counted for the average number of a row's keys."""
    source, short, long = 32, 8, 12 if quick else 40
    weight_bytes = 2 if name.endswith("16") else 4
    plain = ((1, 1), (4, 2)) if quick else ((1, 1), (1, 32), (1, 128), (4, 1), (4, 32), (4, 128))
    cases = [(*case, "", {}) for case in plain]
    if not quick:
        cases += [(beam, 32, *how) for beam, how in ((4, NO_REPEATS), (1, SAMPLES), (1, FEW_SAMPLES))]
    for beam, count, how, more in cases:
        sentences = [[3 + (7 * i + 11 * j) % (sizes["vocabulary"] - 3) for j in range(source)] for i in range(count)]
        seconds = {}
        for length in (short, long):
            times = []
            for _ in range(1 if quick else 3):
                begin = time.perf_counter()
                results = best_of(session, sentences, beam=beam, batch=count, min_length=length, max_length=length, **more)
                times.append(time.perf_counter() - begin)
            seconds[length] = min(times)
            whole = all(len(tokens) == length for tokens in results)
        step = max(seconds[long] - seconds[short], 1e-9) / (long - short)
        read = bytes_of_step(sizes, weight_bytes, count, beam, source, (short + long) / 2)
        share = f"{read / step / bandwidth:.0%} of the bandwidth" if bandwidth else "bandwidth unknown"
        yield (name, f"beam {beam}, batch {count}{how}", f"{count / step:.0f} tokens/s, {read / count / 1e6:.3g} MB/token, {share}",
               f"{step * 1e3:.3f} ms/step", whole)


def best_of(session, sentences, **options):
    """The tokens of each sentence's best result."""
    return [best.tokens for best, in session.generate(sentences, **options)]


def words_of(path, quick):
    vocabulary = {token: i for i, token in enumerate(open(path + ".source.vocab", encoding="utf-8").read().split("\n"))}
    words = ["translation", "transformer", "emulator", "a"] + ([] if quick else ["hello", "world", "knight", "graphics"])
    return [[vocabulary[letter] for letter in word] for word in words]


def compare_batches(session, name, sentences):
    """Compares sentences alone and together: few rows and many run other kernels, whose results must have the same bits."""
    same = sum(a == b for a, b in zip(*(session.generate(sentences, beam=4, batch=batch) for batch in (1, 8))))
    return name, "beam 4, alone and together", f"{same}/{len(sentences)} with the same bits", "", same == len(sentences)


def search(session, path, sentences, quick):
    """Searches for words, and compares the results with the CPU's."""
    cpu = session.model.session(device="cpu")
    # In one session, some with as many rows as others.
    cases = [(*case, "", {}) for case in ((1, 1), (1, 4), (4, 1), (2, 2), (1, 8), (4, 8))] + [(1, 8, *FEW_SAMPLES)]
    if not quick:
        cases += [(4, 8, *NO_REPEATS), (1, 8, *SAMPLES)]
    for beam, batch, how, more in cases:
        options = {"beam": beam, "batch": batch, **more}
        expected = best_of(cpu, sentences, **options)
        if not quick:
            best_of(session, sentences, **options)
        begin = time.perf_counter()
        actual = best_of(session, sentences, **options)
        ms = (time.perf_counter() - begin) * 1e3
        same = sum(a == b for a, b in zip(actual, expected))
        steps = sum(map(len, actual))
        yield (os.path.basename(path), f"beam {beam}, batch {batch}{how}", f"{same}/{len(sentences)} as on the CPU", f"{ms / steps:.3f} ms/token",
               same == len(sentences))
    cpu.close()


main()
