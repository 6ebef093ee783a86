#!/usr/bin/env python3
"""Published architectures, from checkpoints of Hugging Face's transformers, beside CTranslate2, which reads those, too.

  families.py --data DIR --results DIR [--models NAME,...] [--threads 2] [--rounds 5]

Weights are random, as speed does not depend on them. DIR of --data gets a folder for each model (9 GB for nllb-600m). Calls of the engines take turns;
medians go to families.json of --results, of which `table.py write` makes a table. The end token is never chosen, so that results have as many tokens
as here; in f32 the greedy ones of both engines have to be the same. Needs torch, transformers and ctranslate2.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

import compiled

# transformers needs Python's own `profile`, not the one beside this file.
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != os.path.dirname(os.path.abspath(__file__))]
TYPES = {"f32": "float32", "int8": "int8"}
SOURCE_TOKENS, TARGET_TOKENS = 25, 25
FRAMES, SPEECH_TOKENS = 1500, 60  # half a minute; two frames of the spectrogram a position
SPEECH = "whisper"
CASES = {"greedy, 1": (1, 1), "beam 4, 8": (8, 4)}  # sentences or windows, beams
BOS, END, UNKNOWN = 0, 2, 3  # as most of these models have them
MARIAN = dict(vocab_size=58101, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
              encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="swish", max_position_embeddings=512, scale_embedding=True,
              pad_token_id=58100, eos_token_id=0, decoder_start_token_id=58100)
BART = dict(vocab_size=50265, d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12, decoder_attention_heads=12,
            encoder_ffn_dim=3072, decoder_ffn_dim=3072, decoder_start_token_id=END,
            normalize_before=False, normalize_embedding=True)  # which only CTranslate2 reads
FLAN = dict(vocab_size=32128, d_model=768, d_kv=64, d_ff=2048, num_layers=12, num_heads=12, feed_forward_proj="gated-gelu",
            decoder_start_token_id=0)
NLLB = dict(vocab_size=256206, d_model=1024, encoder_layers=12, decoder_layers=12, encoder_attention_heads=16, decoder_attention_heads=16,
            encoder_ffn_dim=4096, decoder_ffn_dim=4096, scale_embedding=True, decoder_start_token_id=END)
WHISPER = dict(vocab_size=51865, num_mel_bins=80, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
               decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_source_positions=FRAMES, max_target_positions=448,
               bos_token_id=50257, eos_token_id=50257, pad_token_id=50257, decoder_start_token_id=50258)
# What the decoder reads behind its start token: the language, the task, no times.
PROMPT = (50259, 50359, 50363)
SPEECH_NAMES = {50257: "<|endoftext|>", 50258: "<|startoftranscript|>", 50363: "<|notimestamps|>"}
# For each model the folder of its description, transformers' names, and the published model's settings.
MODELS = {
    "opus-mt": ("bart", "MarianMTModel", "MarianConfig", MARIAN),
    "bart-base": ("bart", "BartForConditionalGeneration", "BartConfig", BART),
    "flan-t5-base": ("t5", "T5ForConditionalGeneration", "T5Config", FLAN),
    "nllb-600m": ("bart", "M2M100ForConditionalGeneration", "M2M100Config", NLLB),
    "whisper-base": (SPEECH, "WhisperForConditionalGeneration", "WhisperConfig", WHISPER),
}


def word(token):
    return f"w{token}"


def save(folder, model_class, config_class, settings):
    """A checkpoint with a tokenizer, which CTranslate2's converter asks for."""
    import tokenizers
    import torch
    import transformers

    torch.manual_seed(1)
    config = getattr(transformers, config_class)(**settings)
    model = getattr(transformers, model_class)(config)
    model.generation_config.alignment_heads = []
    model.save_pretrained(folder)
    known = SPEECH_NAMES if config.model_type == SPEECH else {config.pad_token_id: "<pad>"}
    names = [known.get(token) or word(token) for token in range(config.vocab_size)]
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({name: token for token, name in enumerate(names)}, unk_token=names[UNKNOWN]))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token=names[BOS], pad_token=names[config.pad_token_id], unk_token=names[UNKNOWN],
                                         eos_token=names[config.eos_token_id]).save_pretrained(folder)


def prepare(name, folder):
    """What both engines read."""
    family, *published = MODELS[name]
    if not (folder / "config.json").exists():
        save(folder, *published)
    description = pathlib.Path(compiled.ROOT) / "test" / "models" / family / f"{family}.xf"
    for precision, theirs in TYPES.items():
        subprocess.run([os.path.join(compiled.BUILD, "bin", "xfc"), description, "--config", folder / "config.json",
                        "--weights", folder / "model.safetensors", "--ignore", "lm_head.weight", "--ignore", "*.embed_tokens.weight",
                        "--type", precision, "--emit=model", "-o", folder / f"xfc-{precision}.model"], check=True, stderr=subprocess.DEVNULL)
        if not (folder / f"ct2-{precision}").exists():
            from ctranslate2.converters import TransformersConverter
            TransformersConverter(str(folder)).convert(str(folder / f"ct2-{precision}"), quantization=theirs)


class Translation:
    """Sentences, as both engines take them. Calls return the best result of each."""

    def __init__(self, config, sentences):
        rng = np.random.default_rng(1)
        self.end, self.pad = config["eos_token_id"], config["pad_token_id"]
        self.sources = [rng.integers(4, config["vocab_size"] - 4, SOURCE_TOKENS) for _ in range(sentences)]

    def ours(self, session, beams):
        search, tokens, _ = session.generate(self.sources, beams, TARGET_TOKENS, TARGET_TOKENS, [self.end])

        def run():
            search()
            return tokens.tolist()
        return run

    def theirs(self, folder, precision, threads, beams):
        import ctranslate2
        engine = ctranslate2.Translator(str(folder / f"ct2-{precision}"), compute_type=TYPES[precision], intra_threads=threads)
        words = [[word(token) for token in source] for source in self.sources]

        def run():
            results = engine.translate_batch(words, beam_size=beams, max_decoding_length=TARGET_TOKENS, suppress_sequences=[[word(self.end)]])
            return [[self.pad if text == "<pad>" else int(text[1:]) for text in result.hypotheses[0]] for result in results]
        return run


class Transcription:
    """Spectrograms of half a minute."""

    def __init__(self, config, windows):
        self.end = config["eos_token_id"]
        self.spectrogram = np.random.default_rng(1).standard_normal((windows, config["num_mel_bins"], 2 * FRAMES)).astype(np.float32)

    def ours(self, session, beams):
        frames = np.ascontiguousarray(self.spectrogram.transpose(0, 2, 1)).reshape(len(self.spectrogram), FRAMES, -1)
        search, tokens, _ = session.generate_from({"frames": frames}, beams, SPEECH_TOKENS, [self.end], PROMPT)

        def run():
            search()
            return tokens.tolist()
        return run

    def theirs(self, folder, precision, threads, beams):
        import ctranslate2
        engine = ctranslate2.models.Whisper(str(folder / f"ct2-{precision}"), compute_type=TYPES[precision], intra_threads=threads)
        prompt = [WHISPER["decoder_start_token_id"], *PROMPT]

        def run():
            # Half of its greatest length is for the prompt.
            results = engine.generate(ctranslate2.StorageView.from_array(self.spectrogram), [prompt] * len(self.spectrogram), beam_size=beams,
                                      max_length=2 * SPEECH_TOKENS, suppress_tokens=[self.end], suppress_blank=False)
            return [result.sequences_ids[0] for result in results]
        return run


def measure(name, folder, precision, threads, rounds):
    """Records of all cases."""
    with open(folder / "config.json", encoding="utf-8") as file:
        config = json.load(file)
    session = compiled.Session(str(folder / f"xfc-{precision}.model"), threads)
    for case, (sentences, beams) in CASES.items():
        work = (Transcription if MODELS[name][0] == SPEECH else Translation)(config, sentences)
        engines = work.ours(session, beams), work.theirs(folder, precision, threads, beams)
        ours, theirs = (engine() for engine in engines)
        assert list(map(len, ours)) == list(map(len, theirs)), f"{name}, {case}: results have other lengths"
        assert ours == theirs or precision != "f32" or beams > 1, f"{name}, {case}: results are others"
        times = [[], []]
        for _ in range(rounds):
            for engine, taken in zip(engines, times):
                begin = time.perf_counter()
                engine()
                taken.append(time.perf_counter() - begin)
        ours, theirs = (statistics.median(taken) * 1e3 for taken in times)
        yield dict(model=name, precision=precision, case=case, threads=threads, ours_ms=ours, peer_ms=theirs, ratio=theirs / ours)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("--data", required=True, type=pathlib.Path)
    ap.add_argument("--results", required=True, type=pathlib.Path)
    ap.add_argument("--models", default=",".join(MODELS), type=lambda text: text.split(","))
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=5)
    a = ap.parse_args()
    path = a.results / "families.json"
    records = json.loads(path.read_text()) if path.exists() else []
    for name in a.models:
        prepare(name, a.data / name)
        measured = [record for precision in TYPES for record in measure(name, a.data / name, precision, a.threads, a.rounds)]
        print(*measured, sep="\n", flush=True)
        records = [record for record in records if record["model"] != name] + measured
        path.write_text(json.dumps(sorted(records, key=lambda record: list(MODELS).index(record["model"])), indent=1))


if __name__ == "__main__":
    main()
