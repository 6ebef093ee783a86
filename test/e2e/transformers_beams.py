"""Searches with beams find the results of Hugging Face's transformers for small models of BART's and T5's families and T5Gemma. For Whisper there are
greedy tokens: a search continues their prefixes in the same way, and beams find the results of another search on the interpreter's logits."""

from common import Checks, MODELS, WORK, beam_search, compile_model, golden_weights, load, packed, read_safetensors, results, run, unpacked
from session import session_of

checks = Checks()
paths = sorted([*MODELS.glob("bart/*/beams.json"), *MODELS.glob("t5/*/beams.json"), *MODELS.glob("t5gemma/*/beams.json")])
checks.that(len(paths) == 12, f"other models than there should be: {paths}")
different = 0
for path in paths:
    folder, family, want = path.parent, path.parent.parent, load(path)
    compile_model(family / f"{family.name}.xf", WORK / folder.name, "--config", folder / "config.json", "--weights", golden_weights(folder))
    lines = "".join(" ".join(map(str, source)) + "\n" for source in want["sources"])
    searches = {"results": []}
    if "end" in want:
        searches["early"] = ["--end", want["end"]]
        searches["late"] = [*searches["early"], "--no-early-stopping"]
    for name, options in searches.items():
        got = run(WORK / folder.name, "--beam", 4, "--max-length", 12, *options, stdin=lines)[1].splitlines()
        checks.that(got == [" ".join(map(str, result)) for result in want[name]], f"{folder.name}, {name}: {got}, not {want[name]}")
    different += want.get("late") != want.get("early")
checks.that(different > 2, "searches that stop early and late find the same")

STEPS, BEAM, START, END = 12, 4, 2, 1
folder, whisper = MODELS / "whisper" / "tiny", WORK / "whisper"
compile_model(MODELS / "whisper" / "whisper.xf", whisper, "--config", folder / "config.json", "--weights", golden_weights(folder))
io = read_safetensors(folder / "io.safetensors")
kind, shape, content = io["in.frames"]
size = len(content) // shape[0]
told = unpacked(io["out.greedy"])
greedy = [list(told[i * (STEPS + 1):(i + 1) * (STEPS + 1)]) for i in range(shape[0])]
greedy = [row[1:row.index(END, 1) + 1] if END in row[1:] else row[1:] for row in greedy]
checks.that(len(set(map(tuple, greedy))) == shape[0], f"whisper: results are alike: {greedy}")
session = session_of(whisper, 2)
inputs = {"frames": memoryview(content).cast("f", shape)}
for many in (0, 1, 2):
    begins = [row[:many] if len(row) > many else [] for row in greedy]
    found = session.generate_from(inputs, prefixes=begins, max_length=STEPS)
    for row, begin, result in zip(greedy, begins, found):
        wanted = row[len(begin):]
        checks.that(result[0].tokens[:len(wanted)] == wanted and (len(row) == STEPS or len(result[0].tokens) == len(wanted)),
                    f"whisper: {result[0].tokens} behind {begin} of {row}")

prefixes, longest, sure = [[54, 38], [7, 9], [34, 50]], 7, 0


def logits_of(ways):
    """The interpreter's logits of the last token of each way."""
    read = [[START, *prefixes[s], *tokens] for s, tokens in ways]
    given = {"frames": (kind, [len(ways), *shape[1:]], b"".join(content[s * size:(s + 1) * size] for s, _ in ways)),
             "tgt": packed("I64", [len(read), len(read[0])], sum(read, []))}
    got = results(whisper, given, "--reference", ok=True)["logits"]
    rows, (_, positions, vocabulary) = unpacked(got), got[1]
    return [rows[vocabulary * (positions * (r + 1) - 1):vocabulary * positions * (r + 1)] for r in range(len(read))]


found = session.generate_from(inputs, prefixes=prefixes, beam=BEAM, n_best=BEAM, max_length=longest)
for prefix, got, (want, nearest) in zip(prefixes, found, beam_search(logits_of, len(prefixes), BEAM, longest, END)):
    if nearest < 1e-4:
        continue  # rounding may decide otherwise
    sure += 1
    checks.that([result.tokens for result in got] == [tokens for _, tokens in want] and
                all(abs(result.score - score) < 1e-4 for result, (score, _) in zip(got, want)), f"whisper: beams behind {prefix}: {got}, not {want}")
checks.that(sure > 0, "whisper: no search is sure")
checks.end()
