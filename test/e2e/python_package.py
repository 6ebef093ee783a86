"""The Python package: it knows the C API as the header has it, and does what programs do, with numpy and without.

python_package.py use [without-numpy]: what is done with a model.
"""
import ctypes
import json
import re
import sys
import threading

if "without-numpy" in sys.argv:
    sys.modules["numpy"] = None
from common import MODELS, SOURCE, WORK, Checks, compile_model, kept_g2p, run
from session import opened, xf

checks = Checks()


def refuses(what, kind, words):
    try:
        what()
        checks.that(False, f"not refused: {words}")
    except kind as problem:
        checks.that(words in str(problem), f"{words}: {problem}")
        return problem


def use():
    program = kept_g2p()
    model = opened(program)
    checks.that(model.name == "G2P" and "xf.parameter" in model.ir, "the model's name or IR")
    checks.that((model.search.start, model.search.end, model.search.generates, model.search.source_inputs) == (1, 2, 1, 1), model.search)
    checks.that(model.limits.vocabulary == 73 and model.dims["T"] == model.limits.target, f"{model.limits} {model.dims}")
    source, = model.source_inputs
    checks.that(source == ("src", "i32", ("B", "S"), 33) and model.entries["encode"].inputs == [source], f"{source} {model.entries}")
    session = model.session(threads=2, isa="baseline", device="cpu")
    checks.that((session.threads, session.isa, session.device) == (2, "baseline", "cpu"), f"{session.threads} {session.isa} {session.device}")

    # Lines, as the program answers them.
    words = ["hello", "knight", "", "x" * 1000, "world"]
    printed = run(program, "--beam", 3, "--n-best", 2, "--json", stdin="\n".join(words) + "\n", ok=False)[1].splitlines()
    lines = session.process_lines(words, beam=3, n_best=2)
    for line, want in zip(lines, map(json.loads, printed)):
        if line.error is None:
            checks.that([r.text for r in line.results] == [r["text"] for r in want["results"]] and
                        all(abs(r.score - known["score"]) < 1e-6 for r, known in zip(line.results, want["results"])), f"{line} is not {want}")
        else:
            checks.that(not line.results and want["error"] == line.error, f"{line} is not {want}")
    checks.that([bool(line.error) for line in lines] == [False, False, True, True, False], f"{lines}")
    aligned, = session.process_lines(["knight"], line_alignments=True)
    checks.that(aligned.results[0].alignment == [1, 2, 5], f"{aligned}")
    numbers, = session.process_lines(["20 23 18 16 17 29 2"], ids=True)
    checks.that(re.fullmatch(r"\d+( \d+)*", numbers.results[0].text), f"{numbers}")

    before = model.text_to_ids("he", side="source_tokens")
    inside, = session.process_lines(["llo"], source_prefix=before, source_suffix=[])
    checks.that(inside.results[0].score == session.generate([[*before, *model.text_to_ids("llo")[:-1]]])[0][0].score, f"{inside}")

    # Tokens: the same results, and the same as of the entries.
    ids = [model.text_to_ids(word) for word in ("hello", "world")]
    found = session.generate(ids, beam=3, n_best=2, alignments=True)
    checks.that([model.ids_to_text(best.tokens) for best, _ in found] == [lines[0].results[0].text, lines[4].results[0].text], f"{found}")
    checks.that([best.score for best, _ in found] == [lines[i].results[0].score for i in (0, 4)], f"{found}")
    for sentence, results in zip(ids, found):
        for tokens, _, alignment in results:
            rows = alignment.tolist()
            checks.that(len(rows) == len(tokens) and all(len(row) == max(map(len, ids)) for row in rows), rows)
            checks.that(all(abs(sum(row[:len(sentence)]) - 1) < 1e-5 for row in rows), rows)
    memory = session.run("encode", {"src": [ids[0]]})["memory"]
    checks.that(tuple(memory.shape) == (1, len(ids[0]), 192), memory.shape)
    rows = session.encode(ids)
    checks.that([tuple(part.shape) for part in rows] == [(len(sentence), 192) for sentence in ids], [part.shape for part in rows])
    checks.that(rows[0].tolist() == memory.tolist()[0], "a sentence's rows differ from the entry's")
    logits = session.run("decode", {"tgt": [[1]], "memory": memory, "src": [ids[0]]})["logits"].tolist()[0][0]
    greedy = session.generate(ids[:1])[0][0]
    checks.that(logits.index(max(logits)) == greedy.tokens[0] and greedy.alignment is None, f"{greedy}")
    scored = session.generate(ids[:1], targets=[greedy.tokens])[0][0]
    checks.that(scored.tokens == greedy.tokens and abs(scored.score - greedy.score) < 1e-5, f"{scored} {greedy}")
    checks.that(session.generate_from({"src": [ids[0]]}) == [[greedy]], "the model's own input")
    behind = session.generate(ids, prefixes=[greedy.tokens[:2], []])
    checks.that(greedy.tokens[:2] + behind[0][0].tokens == greedy.tokens, f"{behind}")
    behind = session.generate(ids, prefix=greedy.tokens[:1])
    checks.that(greedy.tokens[:1] + behind[0][0].tokens == greedy.tokens, f"{behind}")
    banned = session.generate(ids[:1], suppress=[greedy.tokens[0]], ends=[greedy.tokens[1]])[0][0]
    checks.that(greedy.tokens[0] not in banned.tokens, f"{banned}")
    (WORK / "shortlist").write_text("\tHH EH1 L\n", encoding="utf-8")
    with xf.Shortlist(model, WORK / "shortlist") as shortlist:
        few = session.generate(ids[:1], shortlist=shortlist, max_length=9)[0][0]
        checks.that(set(few.tokens) <= {*model.text_to_ids("HH EH1 L", "target"), 2}, f"{few}")
    refuses(lambda: session.generate(ids, shortlist=shortlist), ValueError, "the Shortlist is closed")
    came = []
    session.generate(ids[:1], on_token=lambda sentence, token: came.append((sentence, token)))
    checks.that(came == [(0, token) for token in greedy.tokens], f"{came}")
    texts = [model.ids_to_text(greedy.tokens[:n], more=True) for n in range(len(greedy.tokens) + 1)]
    checks.that(all(b.startswith(a) for a, b in zip(texts, texts[1:])), f"{texts}")

    # What is wrong is said, and what is not wrong is given.
    problem = refuses(lambda: session.generate([ids[0], [], [999]]), xf.Error, "sentence 1: it has no tokens")
    checks.that(problem.status == xf.Status.INVALID_ARGUMENT and problem.results == [[greedy], [], []], f"{problem.status} {problem.results}")
    problem = refuses(lambda: session.generate(ids, beam=9), xf.Error, "beam")
    checks.that(problem.status == xf.Status.LIMIT and problem.results == [[], []], f"{problem.status} {problem.results}")
    for wrong, kind, words in (
            ({"nonsense": 1}, TypeError, "no option 'nonsense'"), ({"max_length": 2**32 + 4}, OverflowError, "max_length"),
            ({"n_best": 10**9}, xf.Error, "results"), ({"max_length": 10**9}, xf.Error, "max"),
            ({"targets": [[5]]}, ValueError, "1 targets for 2 sentences")):
        refuses(lambda wrong=wrong: session.generate(ids, **wrong), kind, words)
    for inputs, kind, words in (({"source": [[5]]}, TypeError, "no input 'source'; inputs are src"), ({}, xf.Error, "input"),
                                ({"src": [[999]]}, xf.Error, "999"), ({"src": [[5, 6], [7]]}, ValueError, ""), ({"src": [[2**40]]}, Exception, ""),
                                ({"src": [[5.5]]}, Exception, "")):
        refuses(lambda inputs=inputs: session.run("encode", inputs), kind, words)
    refuses(lambda: session.run("nonsense", {}), TypeError, "entries are encode, decode, align")
    refuses(lambda: session.process_lines(["a\0b"]), ValueError, "zero byte")
    refuses(lambda: session.process_lines("hello"), TypeError, "not a text")
    refuses(lambda: session.generate(ids, shortlist="words"), TypeError, "xf.Shortlist")
    refuses(lambda: model.text_to_ids("a", "left"), ValueError, "'left' is none of source, target")
    refuses(lambda: opened(WORK / "none"), FileNotFoundError, "none")
    refuses(lambda: opened(SOURCE / "README.md"), xf.Error, "README.md")
    refuses(lambda: xf.Model(program), FileNotFoundError, "library=")
    refuses(lambda: model.session(isa="z80"), ValueError, "'z80' is none of best, baseline")

    def disturbing(_, token):
        if token == greedy.tokens[1]:
            session.generate(ids)
    refuses(lambda: session.generate(ids[:1], on_token=disturbing), RuntimeError, "on_token must not use the session")
    checks.that(session.generate(ids[:1]) == [[greedy]], "a session after what failed in on_token")
    checks.that(session.generate([]) == session.process_lines([]) == session.encode([]) == [], "nothing to do")

    # Threads take turns with a session.
    answers = [None] * 4
    users = [threading.Thread(target=lambda i=i: answers.__setitem__(i, session.generate(ids * 5, beam=3, n_best=2))) for i in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    plain = session.generate(ids * 5, beam=3, n_best=2)
    checks.that(answers == [plain] * 4, "other results for threads that share a session")
    model.close()
    checks.that(session.generate(ids[:1]) == [[greedy]], "a session whose model is closed")
    session.close()
    session.close()
    refuses(lambda: session.encode(ids), ValueError, "the Session is closed")
    refuses(lambda: model.text_to_ids("a"), ValueError, "the Model is closed")


if "use" in sys.argv:
    use()
    checks.end()

# The header and the package say the same.
header = (SOURCE / "runtime/include/xf/xf.h").read_text(encoding="utf-8")
declared = set(re.findall(r"\b(xf_\w+)\([^;{]*\);", re.sub(r"/\*.*?\*/", "", header, flags=re.S))) - {"xf_task"}
checks.that(declared == set(xf._c.FUNCTIONS), f"functions of one alone: {declared ^ set(xf._c.FUNCTIONS)}")
structures = {"xf_limits": "Limits", "xf_search_info": "SearchInfo", "xf_tensor_info": "TensorInfo", "xf_session_options": "SessionOptions",
              "xf_tensor": "Tensor", "xf_generate_options": "GenerateOptions", "xf_hypotheses": "Hypotheses", "xf_encoding_info": "EncodingInfo"}
checks.that(set(re.findall(r"typedef struct (\w+) \{", header)) == set(structures), "structures of one alone")
rows, wanted = [], []
for name, own in structures.items():
    kind = getattr(xf._c, own)
    for field, _ in kind._fields_:
        rows.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
        wanted.append(f"{name}.{field} {getattr(kind, field).offset} {getattr(kind, field).size}")
    rows.append(f'printf("{name} %zu\\n", sizeof({name}));')
    wanted.append(f"{name} {ctypes.sizeof(kind)}")
enumerators = [(f"XF_ISA_{name.upper()}", number) for name, number in xf._c.ISAS.items()]
enumerators += [(f"XF_DEVICE_{name.upper()}", number) for name, number in xf._c.DEVICES.items()]
enumerators += [(f"XF_{name.upper()}", number) for name, number in xf._c.SIDES.items()]
enumerators += [(f"XF_{status.name}", int(status)) for status in xf.Status]
enumerators += [("XF_F32", xf._c.F32), ("XF_I32", xf._c.I32), ("XF_I1", xf._c.I1), ("XF_MAX_RANK", xf._c.MAX_RANK)]
checks.that({name for name, _ in enumerators} >= set(re.findall(r"\b(XF_\w+) = ", header)), "enumerators of the header alone")
for name, number in enumerators:
    rows.append(f'printf("{name} %d\\n", (int){name});')
    wanted.append(f"{name} {number}")
head = '#include <stddef.h>\n#include <stdio.h>\n#include "xf/xf.h"\nint main(void) {\n'
(WORK / "layout.c").write_text(head + "\n".join(rows) + "\nreturn 0;\n}\n")
run("cc", "-std=c11", "-Wall", "-Werror", "-I", SOURCE / "runtime/include", WORK / "layout.c", "-o", WORK / "layout")
checks.that(run(WORK / "layout")[1].splitlines() == wanted, f"{set(run(WORK / 'layout')[1].splitlines()) ^ set(wanted)}")

# Models with and without numpy.
for how in ([], ["without-numpy"]):
    status, out, err = run(sys.executable, __file__, "use", *how, ok=False)
    checks.that(status == 0, f"{how}: {out} {err}")

# A shared library brings its runtime; a model that predicts, one that continues prompts, features and booleans are others' tests (predictions,
# features).
folder = MODELS / "tagger"
compile_model(folder / "tagger.xf", WORK / "libtagger.so", "--config", folder / "config.json", "--weights", folder / "weights.safetensors",
              "--emit=so")
with xf.Model(WORK / "libtagger.so").session(1) as tagger:
    checks.that([len(rows) for rows in tagger.encode([[3, 4, 5], [6]])] == [3, 1], "a shared library")
checks.end()
