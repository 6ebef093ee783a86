"""xfc explain: for every model, type and target, its counts add up, and so do its times, those of the kernels that the compiled plans call."""
import re

from common import BIN, Checks, MODELS, available_isas, run

checks = Checks()


def explained(description, *options):
    """For each entry, a list of (operations, megabytes, what, share of the time), the total first; and for each, the shares of members."""
    text = run(BIN / "xfc", "explain", description, *options)[1]
    timed = "measured on" in text.splitlines()[0]
    entries, members, launches = {}, {}, {}
    for line in text.splitlines():
        if match := re.match(r"(\S+): (once|called|the decoder's)", line):
            name = match[1]
            entries[name] = []
        elif match := re.match(r"([0-9.]+) (?:(\S+) )?operations, ([0-9.]+) (\S+) of weights, ([0-9.]+) (\S+) of other numbers", line):
            units = {"million": 1, "thousand": 1e-3, None: 1e-6, "MB": 1, "KB": 1e-3, "bytes": 1e-6}
            summary = [float(number) * units[unit] for number, unit in zip(match.groups()[::2], match.groups()[1::2])]
            entries[name].append((summary[0], summary[1] + summary[2], "total", 100.0))
            if said := re.search(r"on a GPU (\d+) launch", line):
                launches[name] = [int(said[1])]
        elif match := re.match(r" *([0-9.]+)% +[0-9.e-]+ +([0-9.e-]+) +([0-9.e-]+) +[0-9.e-]+ +[0-9.e-]+ +(\S.*)" if timed else r" *()([0-9.e-]+) +([0-9.e-]+) +(\S.*)", line):
            what = match[4]
            if name in launches:
                mine, what = re.match(r"((?:with the next|none|\d+ of \d+ x \d+)(?:, \d+ of \d+ x \d+)*)  +(.*)", what).groups()
                launches[name] += [int(count) for count in re.findall(r"(\d+) of", mine)]
            entries[name].append((float(match[2]), float(match[3]), what, float(match[1] or 0)))
        elif match := re.match(r" *([0-9.]+)%  (\S+)$", line):
            members.setdefault(name, []).append(float(match[1]))
    for_cpu = "cuda" not in options
    checks.that(entries and timed == for_cpu, f"{description.name} {options}: {len(entries)} entries, {'' if timed else 'not '}measured:\n{text}")
    for name, lines in entries.items():
        (operations, megabytes, _, _), *kernels = lines
        title = f"{description.name} {' '.join(map(str, options))} {name}"
        checks.that(kernels, f"{title}: no kernels\n{text}")
        for got, want, what in ((sum(k[0] for k in kernels), operations, "operations"), (sum(k[1] for k in kernels), megabytes, "bytes")):
            checks.that(abs(got - want) <= 0.01 * want + 0.006 * len(kernels), f"{title}: {what} {got} of {want}")
        on_gpu = any("cuda" in str(option) for option in options)
        checks.that(on_gpu == (name in launches), f"{title}: launches {launches.get(name)}")
        if on_gpu:
            checks.that(launches[name][0] == sum(launches[name][1:]) > 0, f"{title}: launches {launches[name]}")
        if timed:
            checks.that(abs(sum(k[3] for k in kernels) - 100) < 1, f"{title}: the shares add up to {sum(k[3] for k in kernels)}")
    return entries, members


for model in ("seed0", "seed3", "seed4", "classifier"):
    explained(MODELS / model / f"{model}.xf", "--config", MODELS / model / "config.json")
for model in ("aren-transliteration", "stories260k"):
    explained(MODELS / model / f"{model}.xf", "--type", "int8-weights")

g2p = (MODELS / "g2p" / "g2p.xf", "--config", MODELS / "g2p" / "config.json")
for options in (["--type", "bf16"], ["--type", "int8", "--at", "batch=4"], ["--target", "cuda"], ["--target", "cuda", "--type", "f16"],
                ["--target", "cpu,cuda", "--weights", MODELS / "g2p" / "weights.safetensors"]):
    explained(*g2p, *options)
for isa in {"avx512", "avx512_bf16"}.difference(available_isas("bf16")):
    status, _, err = run(BIN / "xfc", "explain", *g2p, "--isa", isa, ok=False)
    checks.that(status == 1 and f"compiled for {isa} and better; this CPU's best is" in err, f"{isa}, which this CPU lacks: {status} {err}")

# 2 sentences of 12 positions through 4 layers of width 192, or 768 between up and down: q, k, v, out, up and down.
entries, members = explained(*g2p, "--at", "source=12", "--at", "batch=2")
d, hidden, layers, positions = 192, 768, 4, 24
products = sum(operations for operations, _, what, _ in entries["encode"] if what.startswith("product"))
want = 2 * positions * layers * (4 * d * d + 2 * d * hidden) / 1e6
checks.that(abs(products - want) < 0.02 * want, f"products of the encoder: {products} million operations, not {want}")
checks.that(members["encode"][0] > 90, f"the encoder is most of itself: {members['encode']}")
checks.end()
