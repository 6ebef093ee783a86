"""When memory runs out, the C API reports it, frees all that it has taken, and works the next time."""
from common import BIN, Checks, MODELS, SMALL_BENCH, SOURCE, WORK, compile_model, run
from xf import _c

checks = Checks()
lib = BIN.parent / "lib"
run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", SOURCE / "test/e2e/no_memory.c", "-I", SOURCE / "runtime/include", "-L", lib,
    "-lxf-runtime", f"-Wl,-rpath,{lib}", "-o", WORK / "program")
model = WORK / "model"
compile_model(MODELS / "bench" / "bench.xf", model, *SMALL_BENCH, "--random-weights", 5, "--limit=batch=2", "--limit=target=8", "--limit=source=8",
              "--target=cpu,cuda", "--emit=model")
(WORK / "shortlist").write_text("".join(f"{source}\t{source} {source + 1}\n" for source in range(3, 40)))
for device in ("cpu", "emulator"):
    status, out, err = run(WORK / "program", model, _c.DEVICES[device], WORK / "shortlist", ok=False)
    checks.that(status == 0 and not out and not err, f"{device}: status {status}, {out[:3000]} {err}")
checks.end()
