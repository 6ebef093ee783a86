"""Searches with beams find what those of Hugging Face's transformers find: BART's and T5's relatives, small models of each kind."""
from common import Checks, MODELS, WORK, compile_model, golden_weights, load, run

checks = Checks()
paths = sorted([*MODELS.glob("bart/*/beams.json"), *MODELS.glob("t5/*/beams.json")])
checks.that(len(paths) == 7, f"other models than there should be: {paths}")
for path in paths:
    folder, family, want = path.parent, path.parent.parent, load(path)
    compile_model(family / f"{family.name}.xf", WORK / folder.name, "--config", folder / "config.json", "--weights", golden_weights(folder))
    lines = "".join(" ".join(map(str, source)) + "\n" for source in want["sources"])
    got = run(WORK / folder.name, "--beam", 4, "--max-length", 12, stdin=lines)[1].splitlines()
    checks.that(got == [" ".join(map(str, result)) for result in want["results"]], f"{folder.name}: {got}, not {want['results']}")
checks.end()
