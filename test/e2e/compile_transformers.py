"""tools/compile-transformers.py: checkpoints as transformers saves them become the files that xfc makes with the options that the pages name."""
import json
import re
import shutil
import sys

from common import BIN, HERE, MODELS, SOURCE, WORK, Checks, golden_weights, read_safetensors, run, write_safetensors
from tokenizer_tools import PIECES, added, byte_level, pieces_model

checks = Checks()
SPECIAL = ("<s>", "<pad>", "</s>")
SAME = ["--emit=model", f"--isa={HERE[0]}"]  # whose files depend on nothing but the model


def compile_folder(folder, *options):
    """(status, what is printed) of the script."""
    script = SOURCE / "tools" / "compile-transformers.py"
    status, _, err = run("env", f"XF_BUILD={BIN.parent}", sys.executable, script, folder, "-o", WORK / "made", *options, ok=False)
    return status, err


def checkpoint(place, files, twice=()):
    """A folder with the configuration and weights of a small model, others that some checkpoints have, too (`twice`), and files: name -> content."""
    folder = WORK / place.replace("/", "-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(MODELS / place / "config.json", folder)
    tensors = read_safetensors(golden_weights(MODELS / place))
    write_safetensors(folder / "model.safetensors", {**tensors, **{name: ("F32", [2], bytes(8)) for name in twice}})
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


def tokenizer(post_processor=None):
    return {"version": "1.0", "normalizer": None, "pre_tokenizer": byte_level(), "post_processor": post_processor, "decoder": byte_level(),
            "added_tokens": [added(i, name, special=True) for i, name in enumerate(SPECIAL)],
            "model": {"type": "BPE", "vocab": {name: i for i, name in enumerate([*SPECIAL, *PIECES])}, "merges": []}}


def template(before, after):
    pieces = [*({"SpecialToken": {"id": SPECIAL[i], "type_id": 0}} for i in before), {"Sequence": {"id": "A", "type_id": 0}},
              *({"SpecialToken": {"id": SPECIAL[i], "type_id": 0}} for i in after)]
    return {"type": "TemplateProcessing", "single": pieces, "pair": pieces,
            "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]} for i, name in enumerate(SPECIAL)}}


def confirm(description, folder, options, *more):
    """The file is the one that `options` make."""
    status, said = compile_folder(folder, *SAME, *more)
    checks.that(status == 0, f"{folder.name}: {status} {said}")
    given = [option.replace("FOLDER", str(folder)) for option in options]
    run(BIN / "xfc", MODELS / description, "--config", folder / "config.json", "--weights", folder / "model.safetensors", *given, *SAME, *more, "-o",
        WORK / "want")
    checks.that((WORK / "made").read_bytes() == (WORK / "want").read_bytes(), f"{folder.name}: another file than with {options}: {said}")
    return said


both = ["--source-tokenizer=FOLDER/tokenizer.json", "--target-tokenizer=FOLDER/tokenizer.json"]
tied = ["lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"]
ignored = [f"--ignore={name}" for name in tied]
generation = {"num_beams": 4, "length_penalty": 2.0, "early_stopping": False, "no_repeat_ngram_size": 3, "forced_bos_token_id": 0, "temperature": 0.5}
bart = checkpoint("bart/bart", {"tokenizer.json": tokenizer({"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]}),
                                "generation_config.json": generation}, tied)
said = confirm("bart/bart.xf", bart, [*both, *ignored, "--set=text_prefix=[0]", "--set=text_suffix=[2]"])
wanted = "--beam 4 --no-early-stopping --length-penalty 2.0 --no-repeat-ngram 3 --prefix '<s>' --count-prefix"
checks.that(f"as generation_config.json says: {WORK / 'made'} {wanted}\n" in said, said)
# What it says can be run.
status, said = compile_folder(bart, f"--isa={HERE[-1]}")
line = re.search("says: (.*)", said)[1]
checks.that(len(run("sh", "-c", line, stdin="Hello\n")[1].splitlines()) == 1, f"{line} prints no line")
(bart / "generation_config.json").write_text(json.dumps({"do_sample": True, "temperature": 0.5, "top_k": 50, "top_p": 1.0, "length_penalty": 2.0}))
checks.that(f"{WORK / 'made'} --sample --temperature 0.5 --top-k 50\n" in compile_folder(bart, *SAME)[1], "options of samples")

bytes_to_characters = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
processors = {"type": "Sequence", "processors": [bytes_to_characters, template([], [2, 0])]}
mbart = checkpoint("bart/mbart", {"tokenizer.json": tokenizer(processors)}, tied)
confirm("bart/bart.xf", mbart, [*both, *ignored, "--set=text_suffix=[2, 0]"], "--type=int8")
pieces = {name: i for i, name in enumerate(["</s>", "<unk>", *PIECES, "<pad>"])}
marian = checkpoint("bart/marian", {"source.spm": pieces_model(), "target.spm": pieces_model(), "vocab.json": pieces}, tied)
cut = [f"--{side}-{kind}" for side in ("source", "target") for kind in (f"spm=FOLDER/{side}.spm", "vocab=FOLDER/vocab.json")]
confirm("bart/bart.xf", marian, [*cut, *ignored])
# M2M100's tokenizer: a vocabulary, which lacks some pieces, and the languages behind it.
names = ["<s>", "<unk>", "</s>", "<pad>", *PIECES[:49]]
settings = {"tokenizer_class": "M2M100Tokenizer", "language_codes": "wmt21", "src_lang": "cs"}
m2m100 = checkpoint("bart/m2m100", {"sentencepiece.bpe.model": pieces_model(), "vocab.json": {name: i for i, name in enumerate(names)},
                                    "tokenizer_config.json": settings}, tied)
cut = [f"--{side}-{kind}" for side in ("source", "target") for kind in ("spm=FOLDER/sentencepiece.bpe.model", f"vocab={WORK / 'made.vocab.json'}")]
confirm("bart/bart.xf", m2m100, [*cut, *ignored, "--ignore=model.*.embed_positions.weights", "--set=text_prefix=[57]", "--set=text_suffix=[2]",
                                 "--set=unknown=1"])
status, said = compile_folder(m2m100, f"--isa={HERE[-1]}")
checks.that(status == 0 and "languages: of texts --source-prefix LANGUAGE, of results --prefix LANGUAGE" in said, said)
for options, prefix in (([], 57), (["--source-prefix", "__is__"], 55)):
    text, numbers = ("\n".join(lines) + "\n" for lines in (["ab A", "a zZ?"], [f"{prefix} 4 5 6 4 31 2", f"{prefix} 4 5 4 30 1 1 2"]))
    results, ids = (run(WORK / "made", *given, "--beam", "3", "--scores", stdin=lines)[1].splitlines()
                    for given, lines in (([*options, "--prefix", "__zh__"], text), (["--ids", "--prefix", "59"], numbers)))
    checks.that([line.split("\t")[:2] for line in results] == [line.split("\t")[:2] for line in ids], f"{options}: {results} {ids}")
for change, words in (({"language_codes": "nllb"}, "language_codes is none of m2m100, wmt21"), ({"src_lang": "xx"}, "there is no token __xx__")):
    (m2m100 / "tokenizer_config.json").write_text(json.dumps({**settings, **change}))
    status, said = compile_folder(m2m100)
    checks.that(status == 1 and words in said and "Traceback" not in said, f"{change}: {status} {said}")
confirm("t5/t5.xf", checkpoint("t5/t5", {"spiece.model": pieces_model()}, ["encoder.embed_tokens.weight", "lm_head.weight"]),
        ["--source-spm=FOLDER/spiece.model", "--target-spm=FOLDER/spiece.model", "--ignore=encoder.embed_tokens.weight", "--ignore=lm_head.weight"])
t5gemma = checkpoint("t5gemma/plain", {"tokenizer.json": tokenizer(template([2], [])), "generation_config.json": {"max_new_tokens": 7}},
                     ["lm_head.out_proj.weight"])
said = confirm("t5gemma/t5gemma.xf", t5gemma, [*both, "--ignore=lm_head.out_proj.weight", "--set=text_prefix=[2]", "--set=text_suffix=[]"])
checks.that(f"{WORK / 'made'} --max-length 7\n" in said, said)
llama = checkpoint("llama/llama", {"tokenizer.json": tokenizer(template([1], []))},
                   ["lm_head.weight", "model.layers.0.self_attn.rotary_emb.inv_freq"])
confirm("llama/llama.xf", llama, [*both, "--ignore=lm_head.weight", "--ignore=*.inv_freq"])
xlm = checkpoint("bert/xlm_roberta", {"tokenizer.json": tokenizer(template([0], [2]))}, ["pooler.dense.bias"])
confirm("bert/bert.xf", xlm, [both[0], "--ignore=pooler.*"])
confirm("bert/distilbert.xf", checkpoint("bert/distilbert", {"tokenizer.json": tokenizer(template([2], [1]))}),
        [both[0], "--set=text_prefix=[2]", "--set=text_suffix=[1]"])
confirm("whisper/whisper.xf", checkpoint("whisper/tiny", {}, ["proj_out.weight"]), ["--ignore=proj_out.weight"])
byt5 = checkpoint("t5/t5", {"tokenizer_config.json": {"tokenizer_class": "ByT5Tokenizer"}})
checks.that("byt5-tokenizer.json" in compile_folder(byt5, *SAME)[1], "ByT5")

# What cannot be compiled is said.
for name, content, words in (("config.json", None, "config.json: [Errno 2]"), ("config.json", "{", "config.json: Expecting"),
                             ("config.json", "[]", "is no JSON object"),
                             ("config.json", '{"model_type": "gemma"}', "for model_type 'gemma', but for bart"),
                             ("model.safetensors", None, "has no weights"), ("model.safetensors", "{}", "model.safetensors"),
                             ("tokenizer.json", None, "has no tokenizer.json; AutoTokenizer"),
                             ("tokenizer.json", '{"post_processor": {"type": "TemplateProcessing"}}', "tokenizer.json: post_processor")):
    folder = WORK / "changed"
    shutil.copytree(bart, folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    status, said = compile_folder(folder)
    checks.that(status == 1 and words in said and "Traceback" not in said, f"{name} {content}: {status} {said}")
    shutil.rmtree(folder)
status, said = compile_folder(bart, "--nonsense")
checks.that(status == 1 and "--nonsense" in said, f"an option that xfc lacks: {status} {said}")
checks.end()
