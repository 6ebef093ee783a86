#!/usr/bin/env python3
"""Compiles a model that Hugging Face's transformers has saved, with its tokenizer. Python's standard library alone.

The options of xfc that its files call for are found in them; others, such as --type, are passed on. The command is printed before it is run, and
after it how to run the program as generation_config.json says.
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "test" / "models"
# Tensors that are in some checkpoints twice, or that nothing reads. Where a model's output is not tied, it has a weight of its own.
SEQ2SEQ = ["lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "model.*.embed_positions.weights"]
T5 = ["lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
      "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"]
LLAMA = ["lm_head.weight", "*.inv_freq"]
BERT = ["pooler.*", "embeddings.position_ids"]
# model_type: the description, tensors to ignore, the sides that are text.
BOTH = ("source", "target")
FAMILIES = {
    **dict.fromkeys(("bart", "mbart", "pegasus", "marian", "m2m_100", "blenderbot", "plbart"), ("bart/bart.xf", SEQ2SEQ, BOTH)),
    **dict.fromkeys(("t5", "mt5", "umt5"), ("t5/t5.xf", T5, BOTH)),
    "t5gemma": ("t5gemma/t5gemma.xf", ["lm_head.out_proj.weight"], BOTH),
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3"), ("llama/llama.xf", LLAMA, BOTH)),
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert"), ("bert/bert.xf", BERT, ("source",))),
    "distilbert": ("bert/distilbert.xf", BERT, ("source",)),
    "mpnet": ("bert/mpnet.xf", BERT, ("source",)),
    "whisper": ("whisper/whisper.xf", ["proj_out.weight"], ("target",)),
}
# Descriptions that say which tokens go around a text by the parameters text_prefix and text_suffix.
WITH_AFFIXES = ("bart/bart.xf", "t5gemma/t5gemma.xf", "bert/bert.xf", "bert/distilbert.xf", "bert/mpnet.xf")
# By language_codes of M2M100's tokenizer: languages whose tokens follow those of vocab.json, in this order.
LANGUAGES = {
    "m2m100": "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig ilo is it ja jv ka "
              "kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr "
              "uk ur uz vi wo xh yi yo zh zu",
    "wmt21": "en ha is ja cs ru zh de"}
# Families whose texts have a token for their language, and where that is.
MULTILINGUAL = {"m2m_100": "--source-prefix LANGUAGE", "mbart": "--source-suffix '</s> LANGUAGE' (mBART-50: --source-prefix LANGUAGE)"}
WEIGHTS = ("model.safetensors.index.json", "model.safetensors", "pytorch_model.bin.index.json", "pytorch_model.bin")
# generation_config.json's names and the program's.
NUMBERS = {"length_penalty": "--length-penalty", "repetition_penalty": "--repetition-penalty", "no_repeat_ngram_size": "--no-repeat-ngram",
           "max_new_tokens": "--max-length"}
SAMPLING = {"temperature": "--temperature", "top_k": "--top-k", "top_p": "--top-p", "min_p": "--min-p"}
NEUTRAL = {"length_penalty": 1, "repetition_penalty": 1, "no_repeat_ngram_size": 0, "temperature": 1, "top_p": 1}


class Problem(Exception):
    pass


def read_json(path):
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise Problem(f"{path}: {problem}") from None
    if not isinstance(value, dict):
        raise Problem(f"{path}: is no JSON object")
    return value


def first_of(folder, names):
    return next((folder / name for name in names if (folder / name).exists()), None)


def affixes_of(processor):
    """The ids that a tokenizer.json's post_processor puts before and after a text; None if it does not say."""
    kind = processor.get("type") if isinstance(processor, dict) else None
    if kind == "Sequence":
        return next(filter(None, map(affixes_of, processor["processors"])), None)
    if kind in ("RobertaProcessing", "BertProcessing"):
        return [processor["cls"][1]], [processor["sep"][1]]
    if kind != "TemplateProcessing":
        return None
    sides, side = ([], []), 0
    for piece in processor["single"]:
        if "Sequence" in piece:
            side = 1
        else:
            sides[side].extend(processor["special_tokens"][piece["SpecialToken"]["id"]]["ids"])
    return sides


def m2m100_options(folder, config, vocabulary):
    """Those for M2M100's tokenizer, which adds the languages to vocab.json: the file `vocabulary` is written, with all tokens."""
    tokens = read_json(folder / "vocab.json")
    languages = LANGUAGES.get(config.get("language_codes", "m2m100"))
    if not languages:
        raise Problem(f"{folder / 'tokenizer_config.json'}: language_codes is none of {', '.join(LANGUAGES)}")
    tokens.update({f"__{language}__": len(tokens) + i for i, language in enumerate(languages.split())})
    source = f"__{config.get('src_lang') or 'en'}__"
    missing = [token for token in (source, "</s>", "<unk>") if token not in tokens]
    if missing:
        raise Problem(f"{folder / 'vocab.json'}: there is no token {', '.join(missing)}")
    try:
        vocabulary.write_text(json.dumps(tokens, ensure_ascii=False, indent=0), encoding="utf-8")
    except OSError as problem:
        raise Problem(f"{vocabulary}: {problem}") from None
    cut = [f"--{side}-{kind}" for side in BOTH for kind in (f"spm={folder / 'sentencepiece.bpe.model'}", f"vocab={vocabulary}")]
    return [*cut, f"--set=text_prefix=[{tokens[source]}]", f"--set=text_suffix=[{tokens['</s>']}]", f"--set=unknown={tokens['<unk>']}"]


def text_options(folder, model_type, description, sides, output):
    """The options for the tokenizer's files."""
    config = read_json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").exists() else {}
    if config.get("tokenizer_class") == "ByT5Tokenizer":
        return [f"--{side}-tokenizer={MODELS / 't5' / 'byt5-tokenizer.json'}" for side in sides]
    tokenizer = folder / "tokenizer.json"
    if tokenizer.exists():
        options = [f"--{side}-tokenizer={tokenizer}" for side in sides]
        try:
            affixes = affixes_of(read_json(tokenizer).get("post_processor")) if description in WITH_AFFIXES else None
        except (KeyError, IndexError, TypeError) as problem:
            raise Problem(f"{tokenizer}: post_processor: {problem!r}") from None
        if affixes:
            options += [f"--set=text_{end}fix=[{', '.join(map(str, ids))}]" for end, ids in zip(("pre", "suf"), affixes)]
        return options
    if model_type == "marian" and (folder / "source.spm").exists() and (folder / "vocab.json").exists():
        vocabularies = {"source": folder / "vocab.json", "target": first_of(folder, ["target_vocab.json", "vocab.json"])}
        return [option for side in sides for option in (f"--{side}-spm={folder / f'{side}.spm'}", f"--{side}-vocab={vocabularies[side]}")]
    if model_type == "m2m_100" and (folder / "sentencepiece.bpe.model").exists() and (folder / "vocab.json").exists():
        return m2m100_options(folder, config, pathlib.Path(f"{output}.vocab.json"))
    if model_type in ("t5", "mt5", "umt5") and (folder / "spiece.model").exists():
        return [f"--{side}-spm={folder / 'spiece.model'}" for side in sides]
    if sides == ("target",):
        return []  # whose results may be ids
    raise Problem(f"{folder} has no tokenizer.json; AutoTokenizer.from_pretrained(NAME).save_pretrained({str(folder)!r}) writes one")


def command_of(folder, output):
    config = folder / "config.json"
    model_type = read_json(config).get("model_type")
    if model_type not in FAMILIES:
        raise Problem(f"{config}: there is no description for model_type {model_type!r}, but for {', '.join(FAMILIES)}")
    description, ignored, sides = FAMILIES[model_type]
    weights = first_of(folder, WEIGHTS)
    if not weights:
        raise Problem(f"{folder} has no weights: none of {', '.join(WEIGHTS)}")
    xfc = pathlib.Path(os.environ.get("XF_BUILD", ROOT / "build")) / "bin" / "xfc"
    command = [xfc, MODELS / description, f"--config={config}", f"--weights={weights}", *(f"--ignore={name}" for name in ignored)]
    return list(map(str, [*command, *text_options(folder, model_type, description, sides, output), "-o", output]))


def token_of(folder, number):
    """The text of a special token; None if it is not known."""
    if not (folder / "tokenizer.json").exists():
        return None
    return next((token["content"] for token in read_json(folder / "tokenizer.json").get("added_tokens", []) if token["id"] == number), None)


def run_options(folder):
    """The program's options for a search as transformers does it by default."""
    config = {}
    for name in ("config.json", "generation_config.json"):
        if (folder / name).exists():
            config.update((key, value) for key, value in read_json(folder / name).items() if value is not None)
    beams, options = config.get("num_beams", 1), []
    if beams > 1:
        options += ["--beam", beams] + ["--no-early-stopping"] * (config.get("early_stopping") is not True)
    names = {**NUMBERS, **SAMPLING} if config.get("do_sample") else NUMBERS
    options += ["--sample"] * bool(config.get("do_sample"))
    for key, option in names.items():
        if key in config and config[key] != NEUTRAL.get(key) and (key != "length_penalty" or beams > 1):
            options += [option, config[key]]
    if isinstance(first := config.get("forced_bos_token_id"), int) and (token := token_of(folder, first)):
        options += ["--prefix", token, "--count-prefix"]
    return list(map(str, options))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
                                     usage="%(prog)s FOLDER -o FILE [OPTION of xfc...]")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="what save_pretrained() wrote, or a copy of a repository of the Hub")
    parser.add_argument("-o", dest="output", required=True, metavar="FILE", help="the program")
    arguments, others = parser.parse_known_args()
    try:
        command = command_of(arguments.folder, arguments.output) + others
        options = run_options(arguments.folder)
    except Problem as problem:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {problem}")
    print(shlex.join(command), file=sys.stderr)
    try:
        status = subprocess.run(command).returncode
    except OSError as problem:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {problem}; tools/build.sh builds it")
    if status == 0 and options:
        print(f"as generation_config.json says: {shlex.join([os.path.join('.', arguments.output), *options])}", file=sys.stderr)
    if status == 0 and (languages := MULTILINGUAL.get(read_json(arguments.folder / "config.json").get("model_type"))):
        print(f"languages: of texts {languages}, of results --prefix LANGUAGE --count-prefix", file=sys.stderr)
    sys.exit(status)


main()
