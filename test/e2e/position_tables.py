"""The library's position tables, of odd and the smallest widths, too, are those of the programs that introduced them."""
import math
import struct

from common import Checks, WORK, compile_model, results

checks = Checks()
ROWS, WIDTHS = 9, (1, 2, 3, 4, 5, 8)


def interleaved(p, i, d):
    """"Attention Is All You Need"."""
    return (math.cos if i % 2 else math.sin)(p / 10000 ** ((i - i % 2) / d))


def halves(p, i, d):
    """Hugging Face's MarianSinusoidalPositionalEmbedding: the columns of the one above, even ones first."""
    sines = (d + 1) // 2
    return interleaved(p, 2 * i if i < sines else 2 * (i - sines) + 1, d)


def timing(p, i, d):
    """tensor2tensor's get_timing_signal_1d."""
    half = d // 2
    if i == 2 * half:
        return 0.0
    return (math.sin if i < half else math.cos)(p * math.exp(-math.log(10000) / max(half - 1, 1) * (i % half)))


TABLES = {"sinusoid": interleaved, "half_sinusoid": halves, "timing_signal": timing}
names = [(table, d) for table in TABLES for d in WIDTHS]
rows = "\n".join(f"    {table}_{d} = {table}({d})[positions(S)]" for table, d in names)
(WORK / "tables.xf").write_text(f"model M() {{\n  entry run(x: f32[S, 1]) -> {', '.join(f'{table}_{d}' for table, d in names)} {{\n{rows}\n  }}\n}}\n")
compile_model(WORK / "tables.xf", WORK / "tables", "--random-weights", 1, "--emit=model")
got = results(WORK / "tables", {"x": ("F32", [ROWS, 1], bytes(4 * ROWS))})
for table, d in names:
    kind, shape, content = got[f"{table}_{d}"]
    want = [TABLES[table](p, i, d) for p in range(ROWS) for i in range(d)]
    numbers = struct.unpack(f"<{ROWS * d}f", content)
    checks.that(shape == [ROWS, d] and all(abs(x - y) < 1e-6 for x, y in zip(numbers, want)), f"{table}({d}): {numbers}, not {want}")
checks.end()
