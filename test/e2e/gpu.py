"""Models compiled for GPUs: their code runs in the emulator, which checks it, and through the interface of a fake CUDA driver.

gpu.py golden DESCRIPTION FOLDER: golden numbers.
gpu.py devices: messages where a device is missing, searches, and sessions that share a model (it calls gpu.py share FILE --device DEVICE and
gpu.py refused FILE).
gpu.py check: tools/gpu-check.py.
"""
import os
import random
import shutil
import sys

from common import BIN, MODELS, SMALL_BENCH, SOURCE, WORK, Checks, compile_g2p, compile_model, golden_weights, kept_g2p, run

checks = Checks()
FAKE = BIN.parent / "lib" / "fake-cuda"
OLD = BIN.parent / "lib" / "fake-cuda-old"  # a driver from before CUDA graphs


def with_driver(folder=FAKE, **settings):
    """Sets up the environment of a machine with the fake NVIDIA driver, for processes started later."""
    for name in [n for n in os.environ if n.startswith("FAKE_CUDA_")]:
        del os.environ[name]
    os.environ["LD_LIBRARY_PATH"] = str(folder)
    os.environ.update({name: str(value) for name, value in settings.items()})


def without_driver():
    os.environ["LD_LIBRARY_PATH"] = "/nonexistent"


def golden(description, folder):
    program = WORK / "program"
    compile_model(description, program, "--config", f"{folder}/config.json", "--weights", golden_weights(folder), "--target", "cpu,cuda")
    with_driver()
    for device in ("emulator", "cuda", "cpu"):
        status, out, err = run(BIN / "xf-run", program, "--golden", f"{folder}/io.safetensors", "--device", device, ok=False)
        checks.that(status == 0, f"{device}:\n{out}{err}")
    if "--beam" in run(program, "--help")[1]:
        confirm_beams(program)


def confirm_beams(program, lines="3 4 5\n6 7 8\n9 5 4\n", device="emulator", options=("--min-length", 3, "--max-length", 5)):
    """Beams that take over each other's rows, masks of earlier tokens included, have the CPU's tokens and scores."""
    options = ["--beam", 3, "--n-best", 3, "--scores", *options]
    want, got = ([line.split("\t") for line in run(program, *options, "--device", name, stdin=lines)[1].splitlines()]
                 for name in ("cpu", device))
    same = len(want) == len(got) and all(a[::2] == b[::2] and abs(float(a[1]) - float(b[1])) < 1e-4 for a, b in zip(want, got))
    checks.that(want and same, f"beams: {got} on {device}, {want} on the CPU")


def counts_of(program, *options, stdin, **driver):
    """Counts of the driver's calls, and the output."""
    counts = WORK / "counts"
    with_driver(FAKE_CUDA_COUNTS=counts, **driver)
    _, out, _ = run(program, *options, "--device", "cuda", stdin=stdin)
    with_driver()
    return {name: int(number) for name, number in (line.split() for line in counts.read_text().splitlines())}, out


def confirm_steps_ahead(program):
    """Steps that are started ahead of the host have the CPU's results, whenever sentences end."""
    words = "".join(word + "\n" for word in ("a", "knight", "of", "formers", "by", "go", "it"))
    vocabulary = range(len(open(MODELS / "g2p" / "target.vocab", encoding="utf-8").read().splitlines()))
    everything, nearly = (",".join(str(token) for token in vocabulary if token not in kept) for kept in ((), (2, 20, 22)))
    for options in ([], ["--batch", 1], ["--batch", 3], ["--batch", 3, "--min-length", 5], ["--max-length", 3, "--batch", 5],
                    ["--suppress", "5,9,11"], ["--end", "9,14"], ["--beam", 4, "--end", "9,11,14,20"], ["--end", "5,6,7,8,9,10,11,12,13"],
                    ["--suppress", everything], ["--beam", 4, "--batch", 3],
                    ["--beam", 2, "--min-length", 5, "--max-length", 7], ["--beam", 4, "--suppress", nearly, "--max-length", 6],
                    ["--repetition-penalty", 1.4, "--batch", 3], ["--no-repeat-ngram", 1, "--beam", 4, "--batch", 3, "--min-length", 5],
                    ["--beam", 3, "--no-repeat-ngram", 2, "--repetition-penalty", 0.7, "--suppress", "5,9", "--end", "9,14"],
                    ["--sample", "--batch", 3], ["--sample", "--n-best", 3, "--top-k", 5, "--top-p", 0.9, "--batch", 3], ["--sample", "--top-p", 0.8],
                    ["--alternatives", 4, "--batch", 3, "--repetition-penalty", 1.2]):
        both = (run(program, *options, "--device", device, stdin=words, ok=False) for device in ("cpu", "cuda"))
        # Scores are left out, as their last bits may differ.
        want, got = ((status, [line.split("\t")[-1] for line in out.splitlines()], err) for status, out, err in both)
        checks.that(got == want, f"{options}: {got} on the GPU, {want} on the CPU")

    # Sources that are no words: their results are so uncertain that beams change places all the time.
    random.seed(3)
    confirm_beams(program, "".join(" ".join(str(random.randrange(4, 29)) for _ in range(random.randrange(5, 10))) + "\n" for _ in range(6)),
                  "cuda", ("--ids", "--batch", 4))
    # A device that does everything at once: results that the host has not read by then are lost.
    with_driver(FAKE_CUDA_EAGER=1)
    confirm_beams(program, "4 5 6\n9 8 7 6 5\n11 12\n", "cuda", ("--ids", "--batch", 2))
    with_driver()


def confirm_counts(kind):
    """A search's steps copy little, and most are started ahead of the host."""
    program, ids = WORK / kind, "5 6 7 8 9 10 11 12 13\n"
    small_bench(program, "--type", kind, target="cuda")
    for beam, more in ((1, ()), (4, ()), (1, ("--end", "27,28,30,31,32,33,34,35,36")), (1, ("--repetition-penalty", 1.3)),
                       (4, ("--repetition-penalty", 0.8, "--no-repeat-ngram", 3)), (1, ("--sample",)), (1, ("--sample", "--top-k", 5, "--top-p", 0.9)),
                       (1, ("--alternatives", 3))):
        search = ("--batch", 1, *(("--beam", beam) if beam > 1 else ()), "--min-length", 7, *more)
        done, out = counts_of(program, *search, stdin=ids)
        tokens = max(len(line.split("\t")[-1].split()) for line in out.splitlines())
        checks.that(tokens >= 7, f"{kind}: {out}")
        # The source takes two calls and the first step at most one; later steps upload nothing and download their decisions.
        checks.that(done["uploads"] <= 8 and done["downloads"] <= tokens + 4, f"copies for {tokens} tokens, beam {beam}: {done}")
        checks.that(done["downloaded"] < 1024 * done["downloads"] + 65536 and done["ahead"] >= tokens - 3, f"{tokens} tokens, beam {beam}: {done}")
        # The first step of its sizes is launched, the second one recorded, and all later ones are replayed.
        checks.that(done["graphs"] == 1 and done["replays"] >= tokens - 3, f"{tokens} tokens, beam {beam}: {done}")
        # On a GPU of compute capability 9.0, kernels start before earlier ones have ended.
        early, same = counts_of(program, *search, stdin=ids, FAKE_CUDA_CAPABILITY=90)
        checks.that(same == out and early["graphs"] == 1 and early["early"] > 0 and done["early"] == 0, f"early starts, beam {beam}: {same} {early}")
        if kind != "f32":
            continue  # a driver does the same with kernels of all types
        for driver in ({"folder": OLD}, {"FAKE_CUDA_GRAPHS": 0}, {"FAKE_CUDA_GRAPHS": 2}):
            plain, same = counts_of(program, *search, stdin=ids, **driver)
            checks.that(same == out and plain["replays"] == 0 and plain["launches"] > done["launches"], f"without graphs, beam {beam}: {same} {plain}")


def small_bench(output, *options, target="cpu,cuda"):
    """Compiles the benchmarks' model, as small as possible: results are at most as long as sources."""
    compile_model(MODELS / "bench" / "bench.xf", output, "--random-weights", 1, "--target", target, *options, *SMALL_BENCH)


def confirm_lengths():
    """A sentence at its greatest length does not stop the others."""
    program = WORK / "small"
    small_bench(program)

    def lines_of(lengths):
        return "".join(" ".join(str(3 + (7 * i + 5 * j) % 40) for j in range(length)) + "\n" for i, length in enumerate(lengths))

    lines = lines_of([5] + [14] * 7)
    for beam in (1, 2):
        options = ("--beam", beam, "--min-length", 14, "--batch", 8)
        want, got = (run(program, *options, "--device", device, stdin=lines)[1] for device in ("cpu", "cuda"))
        checks.that(got == want and [len(line.split()) for line in got.splitlines()] == [5] + [14] * 7, f"beam {beam}: {got} on the GPU, {want} on the CPU")
        done, _ = counts_of(program, *options, stdin=lines)
        checks.that(done["graphs"] == 1 and done["uploads"] <= 6, f"beam {beam}: {done}")
    # Batches whose longest sentences are equally long have the same steps: one is launched, one recorded.
    options = ("--beam", 2, "--min-length", 9, "--max-length", 9, "--batch", 4)
    batches = lines_of([14, 14, 14, 14, 14, 9, 8, 7])
    done, got = counts_of(program, *options, stdin=batches)
    want = run(program, *options, "--device", "cpu", stdin=batches)[1]
    checks.that(got == want and done["graphs"] == 1, f"two batches: {done}; {got} on the GPU, {want} on the CPU")
    # Sentences of different lengths are encoded together, without padding.
    options = ("--min-length", 3, "--max-length", 3, "--batch", 8)
    equal, _ = counts_of(program, *options, stdin=lines_of([7] * 8))
    lines = lines_of([2, 9, 4, 14, 1, 7, 12, 3])
    done, got = counts_of(program, *options, stdin=lines)
    want = run(program, *options, "--device", "cpu", stdin=lines)[1]
    checks.that(got == want and done["launches"] == equal["launches"], f"{done}, of one length {equal}; {got}, not {want}")
    checks.that(done["downloaded"] < 4096, f"what the encoder gives, 6656 bytes, comes to the host: {done}")


def confirm_logits():
    """Steps that return logits, from which the search's own kernels choose."""
    program, lines = WORK / "centred", "5 6 7\n8 9 10 11\n3 3\n20 30 12 13 17\n"
    compile_model(SOURCE / "test" / "e2e" / "centred.xf", program, "--random-weights", 3, "--target", "cpu,cuda")
    for options in ((), ("--batch", 2), ("--beam", 3, "--n-best", 2), ("--batch", 2, "--beam", 2, "--no-repeat-ngram", 2, "--min-length", 4)):
        done, got = counts_of(program, *options, stdin=lines)
        want = run(program, *options, "--device", "cpu", stdin=lines)[1]
        checks.that(got == want and done["ahead"] > 8, f"{options}: {done}; {got} on the GPU, {want} on the CPU")


def confirm_launches():
    """Ops that products with few rows compute along are no launches: in a step of one layer, the token's look-up and two norms."""
    program = WORK / "steps"
    for kind in ("f32", "bf16", "int8-weights"):
        small_bench(program, "--type", kind, "--limit", "batch=72")

        def launches_of_step(sentences):
            few, many = (counts_of(program, "--min-length", length, "--max-length", length, "--batch", 72, stdin="3 4 5 6 7 8 9 10\n" * sentences,
                                   FAKE_CUDA_GRAPHS=0)[0]["launches"] for length in (4, 8))
            return (many - few) / 4

        found = [launches_of_step(sentences) for sentences in (1, 64, 65)]
        checks.that(found == [13, 13, 16], f"{kind}: {found} launches")


def share_program(path, device):
    """Sessions of one model: the second finds code and weights on the GPU, and they stay when the first session ends."""
    from session import opened
    model = opened(path)

    def another():
        return model.session(1, device=device)

    def encoded(session):
        return session.run("encode", {"src": [[5, 6, 7, 2]]})["memory"].tolist()

    first = another()
    want = encoded(first)
    second = another()
    checks.that(encoded(second) == want, "a session with another one's program computes something else")
    first.close()
    checks.that(encoded(second) == want, "a session computes something else once the first one has ended")
    third = another()
    checks.that(encoded(third) == want, "a third session computes something else")
    second.close()
    third.close()
    checks.that(encoded(another()) == want, "a session that loads the program anew computes something else")


def refuse_launches(path):
    """A launch fails for lack of memory: the kernels before it are still running, and must not read what the next call copies."""
    from session import session_of, xf
    session = session_of(path, 1, "cuda")

    def encoded(rows, length):
        return session.run("encode", {"src": [[5 + (length * row + i) % 20 for i in range(length)] for row in range(rows)]})["memory"]

    def decoded():
        return session.run("decode", {"tgt": [[1, 5, 6]], "memory": memory, "src": [[5, 6, 7, 8]]})["logits"].tolist()

    def generated():
        return session.generate([[5, 6, 7, 2]], max_length=4, scores=0)[0][0].tokens

    def launches():
        return int(open(os.environ["FAKE_CUDA_COUNTS"]).read().split()[1])

    def refuse(what, which):
        os.environ["FAKE_CUDA_REFUSES"] = str(launches() + which)
        try:
            what()
            checks.that(False, f"launch {which} was not refused")
        except xf.Error as problem:
            checks.that("out of memory" in str(problem), f"launch {which} is refused: {problem}")
        checks.that(decoded() == want, f"something else is computed after launch {which} was refused")

    memory = encoded(1, 4)
    want = decoded()
    refuse(lambda: encoded(8, 30), 2)  # longer than what the next call copies
    before = launches()
    tokens = generated()
    count = launches() - before
    for which in range(1, count, 1 + count // 8):
        refuse(generated, which)
        checks.that(generated() == tokens, f"other tokens after launch {which} of a search was refused")


def devices():
    both, gpu, cpu = (kept_g2p(target=target) for target in ("cpu,cuda", "cuda", "cpu"))
    compile_g2p(WORK / "g2p.xfm", "--target", "cpu,cuda", "--emit=model")
    done, _ = counts_of(sys.executable, __file__, "share", WORK / "g2p.xfm", stdin="")
    checks.that(done["modules"] == 2, f"{done['modules']} modules for sessions that share")
    counts_of(sys.executable, __file__, "refused", WORK / "g2p.xfm", stdin="", FAKE_CUDA_GRAPHS=0)
    words = "hello\nworld\nknight\n"

    def says(program, device, *parts):
        status, out, err = run(program, *(["--device", device] if device else []), stdin=words, ok=False)
        checks.that(status == 1 and not out, f"{program.name} on {device}: {status} {out}")
        for part in parts:
            checks.that(part in err, f"{program.name} on {device} says {err!r}, not {part!r}")

    without_driver()
    _, expected, _ = run(cpu, "--beam", 3, "--scores", stdin=words)
    for program, device in ((both, None), (both, "cpu"), (both, "emulator"), (gpu, "emulator")):
        option = ["--device", device] if device else []
        _, out, _ = run(program, "--beam", 3, "--scores", *option, stdin=words)
        checks.that(out == expected, f"{program.name} on {device}: {out!r}, not {expected!r}")
    for program in (both, gpu):
        says(program, "cuda", "there is no NVIDIA driver")
    says(gpu, None, "there is no NVIDIA driver")
    says(gpu, "cpu", "compiled without code for the CPU")
    says(cpu, "cuda", "compiled without code for GPUs")
    says(cpu, "emulator", "compiled without code for GPUs")

    with_driver()
    for program, device in ((both, None), (both, "cuda"), (gpu, None)):
        option = ["--device", device] if device else []
        for batch in (1, 3):
            _, out, _ = run(program, "--beam", 3, "--scores", "--batch", batch, *option, stdin=words)
            checks.that(out == expected, f"{program.name} on {device}, batch {batch}: {out!r}, not {expected!r}")
    confirm_steps_ahead(both)
    for kind in ("f32", "bf16", "f16"):
        confirm_counts(kind)
    confirm_lengths()
    confirm_logits()
    confirm_launches()
    with_driver(FAKE_CUDA_GPUS=0)
    says(gpu, None, "finds no GPU")
    with_driver(FAKE_CUDA_CAPABILITY=75)
    says(gpu, "cuda", "Fake GPU is too old", "compute capability 7.5", "needs 8.0")
    with_driver(FAKE_CUDA_MEMORY=1 << 20)
    says(gpu, "cuda", "Fake GPU has", "MiB of memory free of 1.0", "more are needed")
    says(both, None, "Fake GPU has", "more are needed")
    with_driver(FAKE_CUDA_CONTEXT=0)
    says(both, None, "out of memory")
    with_driver(FAKE_CUDA_COMPILER=2)
    says(both, None, "the driver cannot take the model's code")
    # With drivers that can run no model, the CPU does.
    for driver, problem in (({"FAKE_CUDA_COMPILER": 0}, "the driver cannot take the model's code"), ({"FAKE_CUDA_START": 803}, "starting the NVIDIA driver")):
        with_driver(**driver)
        says(both, "cuda", problem)
        _, out, _ = run(both, "--beam", 3, "--scores", stdin=words)
        checks.that(out == expected, f"{driver}: {out!r}, not {expected!r}")


def gpu_check(*arguments):
    return run(sys.executable, SOURCE / "tools" / "gpu-check.py", *arguments, ok=False)


def check():
    folder, library = WORK / "check", BIN.parent / "lib" / "libxf-runtime.so"
    folder.mkdir()
    compile_g2p(folder / "g2p.xfm", "--target", "cpu,cuda", "--emit=model")
    shutil.copy(MODELS / "g2p" / "source.vocab", folder / "g2p.source.vocab")
    small_bench(folder / "bench.xfm", "--emit=model")
    gpu_check("--frame", folder / "bench.xfm")
    (folder / "bench.xfm").unlink()  # its weights are made anew
    (folder / "bench.sizes.json").write_text('{"width": 32, "ffn": 32, "layers": 1, "vocabulary": 50}')
    with_driver()
    options = ("--library", library, "--device", "cuda", "--quick")
    status, out, err = gpu_check(*options, folder)
    checks.that(status == 0 and "Fake GPU, compute capability 8.0" in out and out.count("4/4 as on the CPU") == 7 and out.count("4/4 with the same bits") == 1 and "MB/token" in out
                and ", launches are recorded\n" in out, f"{status}\n{out}{err}")
    for driver, says in (({"FAKE_CUDA_GRAPHS": 0}, "not recorded: cuGraphCreate: 801"), ({"FAKE_CUDA_GRAPHS": 2}, "not recorded: cuGraphAddKernelNode: 801"),
                         ({"folder": OLD}, "the driver has no graphs of launches")):
        with_driver(**driver)
        status, out, err = gpu_check(*options, "--seconds", "0.01", folder)
        checks.that(says in out, f"{driver}\n{out}{err}")
    with_driver()

    # A failure of one model is reported, and the others are checked.
    (folder / "g2p.xfm").unlink()
    (folder / "abroken.xfm").write_bytes(b"no model")
    status, out, err = gpu_check(*options, folder)
    checks.that(status == 1 and "abroken" in out and "FAILED" in out and "MB/token" in out, f"a broken model: {status}\n{out}{err}")
    status, out, err = gpu_check(*options, "--seconds", "0.01", folder)
    checks.that(status == 1 and out.count("has not ended after 0.01 s") == 2, f"no time: {status}\n{out}{err}")
    status, out, err = gpu_check("--library", folder / "none.so", folder)
    checks.that(status == 1 and "none.so" in err, f"no library: {status}\n{out}{err}")
    with_driver(FAKE_CUDA_GPUS=0)
    status, out, err = gpu_check(*options, folder)
    checks.that(status == 1 and "the GPU cannot be used: cuInit: 100" in err, f"no GPU: {status}\n{out}{err}")
    without_driver()
    status, out, err = gpu_check(*options, folder)
    checks.that(status == 1 and "there is no NVIDIA driver" in err, f"no driver: {status}\n{out}{err}")


if sys.argv[1] == "golden":
    golden(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "check":
    check()
elif sys.argv[1] == "share":
    share_program(sys.argv[2], sys.argv[4])
elif sys.argv[1] == "refused":
    refuse_launches(sys.argv[2])
else:
    devices()
checks.end()
