#!/usr/bin/env python3
"""Golden numbers of BART's, T5's, BERT's and Llama's relatives, T5Gemma and Whisper from Hugging Face's transformers, with weights that
seeded_weights.py makes.

  transformers_reference.py [NAME...]     writes folders such as bart/marian: config.json, weights.json (names and shapes), io.safetensors, and of models that search
                                          from tokens beams.json: sources, and what a search with 4 beams finds

Needs torch, transformers and safetensors.
"""
import collections
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

from seeded_weights import seeded_weights

BART = dict(vocab_size=61, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=48,
            decoder_ffn_dim=40, max_position_embeddings=48, decoder_start_token_id=2)
PADDED_FIRST = dict(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
T5 = dict(vocab_size=61, d_model=32, d_kv=6, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)
PLAIN_GEMMA = dict(vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, head_dim=8, intermediate_size=48,
                   query_pre_attn_scalar=8, attention_bias=True, attn_logit_softcapping=None, final_logit_softcapping=None)
CASES = {
    "bart/bart": ("BartForConditionalGeneration", "BartConfig", BART),
    "bart/mbart": ("MBartForConditionalGeneration", "MBartConfig", {**BART, "scale_embedding": True}),
    "bart/m2m100": ("M2M100ForConditionalGeneration", "M2M100Config", {**BART, "scale_embedding": True, "pad_token_id": 3}),
    "bart/pegasus": ("PegasusForConditionalGeneration", "PegasusConfig", {**BART, "scale_embedding": True, **PADDED_FIRST}),
    "bart/blenderbot": ("BlenderbotForConditionalGeneration", "BlenderbotConfig", {**BART, **PADDED_FIRST}),
    "bart/plbart": ("PLBartForConditionalGeneration", "PLBartConfig", BART),
    "bart/marian": ("MarianMTModel", "MarianConfig", {**BART, "d_model": 45, "encoder_attention_heads": 5, "decoder_attention_heads": 3,
                                                      "scale_embedding": True, "activation_function": "swish", "pad_token_id": 60,
                                                      "eos_token_id": 0, "decoder_start_token_id": 60}),
    "whisper/tiny": ("WhisperForConditionalGeneration", "WhisperConfig",
                     dict(vocab_size=61, num_mel_bins=6, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                          decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=40, max_source_positions=30, max_target_positions=24,
                          decoder_start_token_id=2, pad_token_id=1, bos_token_id=0, eos_token_id=1, suppress_tokens=None, begin_suppress_tokens=None)),
    "t5/t5": ("T5ForConditionalGeneration", "T5Config", {**T5, "relative_attention_num_buckets": 30, "relative_attention_max_distance": 100}),
    "t5/flan": ("T5ForConditionalGeneration", "T5Config", {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "t5/umt5": ("UMT5ForConditionalGeneration", "UMT5Config", T5),
    "t5gemma/small": ("T5GemmaForConditionalGeneration", "T5GemmaConfig",
                      dict(encoder=dict(vocab_size=61, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=1, head_dim=8,
                                        intermediate_size=40, query_pre_attn_scalar=5, sliding_window=44),
                           decoder=dict(vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=10,
                                        intermediate_size=48, query_pre_attn_scalar=11, sliding_window=40, attn_logit_softcapping=2.0,
                                        final_logit_softcapping=8.0),
                           decoder_start_token_id=2, tie_word_embeddings=False)),
    "t5gemma/plain": ("T5GemmaForConditionalGeneration", "T5GemmaConfig", dict(encoder=PLAIN_GEMMA, decoder=PLAIN_GEMMA, decoder_start_token_id=2)),
}
BERT = dict(vocab_size=120, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=44)
SENTENCES = {  # and how a sentence is made from its tokens
    "bert/bert": ("BertModel", "BertConfig", BERT, {}),
    "bert/xlm_roberta": ("XLMRobertaModel", "XLMRobertaConfig", {**BERT, "type_vocab_size": 1, "pad_token_id": 1}, {"mean_pooling": False}),
    "bert/mpnet": ("MPNetModel", "MPNetConfig", BERT, {}),
    "bert/distilbert": ("DistilBertModel", "DistilBertConfig",
                        dict(vocab_size=120, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=44), {}),
}
LLAMA = dict(vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48,
             bos_token_id=1, eos_token_id=2)
LLAMA3 = dict(rope_type="llama3", rope_theta=1000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
CONTINUATIONS = {
    "llama/llama": ("LlamaForCausalLM", "LlamaConfig", {**LLAMA, "rope_parameters": LLAMA3, "tie_word_embeddings": True}),
    "llama/mistral": ("MistralForCausalLM", "MistralConfig", {**LLAMA, "sliding_window": 7}),
    "llama/qwen2": ("Qwen2ForCausalLM", "Qwen2Config", LLAMA),
    "llama/qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**LLAMA, "head_dim": 12}),
}
STEPS = 12


def greedy(model, **source):
    """Greedy search that computes all tokens again for each step; sentences that have ended are padded."""
    config = model.config
    tokens = torch.full((3, 1), config.decoder_start_token_id)
    ended = torch.zeros(3, dtype=torch.bool)
    for _ in range(STEPS):
        logits = model(**source, decoder_input_ids=tokens, use_cache=False).logits[:, -1]
        for word in model.generation_config.bad_words_ids or []:
            logits[:, word] = -torch.inf
        following = logits.argmax(-1).masked_fill(ended, config.pad_token_id)
        ended |= following == config.eos_token_id
        tokens = torch.cat([tokens, following[:, None]], 1)
    return tokens


def beams(model):
    """For each source, searched alone, the tokens before the end of the best of 4 beams; a search stops when 4 results have ended. "early" and "late" are
    the same with another token `end` that ends results, and by searches that go on while a beam may become better."""
    config, generator = model.config, torch.Generator().manual_seed(3)
    sources = [torch.randint(4, 60, (1, int(torch.randint(3, 30, (1,), generator=generator))), generator=generator) for _ in range(8)]

    def search(ends, early):
        results = []
        for ids in sources:
            tokens = model.generate(ids, num_beams=4, early_stopping=early, max_new_tokens=STEPS, do_sample=False, eos_token_id=ends, forced_eos_token_id=None,
                                    use_cache=False)[0, 1:].tolist()
            results.append(tokens[:next((i for i, token in enumerate(tokens) if token in ends), len(tokens))])
        return results

    results = search([config.eos_token_id], True)
    found = {"sources": [ids[0].tolist() for ids in sources], "results": results}
    if config.model_type != "m2m_100":  # whose positions do not count the padding that then comes
        end = collections.Counter(sum(results, [])).most_common(1)[0][0]
        found.update(end=end, early=search([config.eos_token_id, end], True), late=search([config.eos_token_id, end], False))
    return found


def fill(parameters):
    """Sets seeded weights, and returns their shapes."""
    shapes = {key: list(value.shape) for key, value in parameters.items()}
    for key, values in seeded_weights(shapes).items():
        parameters[key].copy_(torch.tensor(values).reshape(shapes[key]))
    return shapes


def write_files(name, config, shapes, tensors, more={}):
    folder = pathlib.Path(__file__).parent / name
    folder.mkdir(parents=True, exist_ok=True)
    shown = {key: value for key, value in config.to_diff_dict().items() if key not in ("transformers_version", "dtype")}
    (folder / "config.json").write_text(json.dumps({**shown, **more}, indent=1) + "\n")
    (folder / "weights.json").write_text(json.dumps(shapes, indent=1) + "\n")
    save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, folder / "io.safetensors")
    return folder


def whole(tensor):
    return tensor.to(torch.int32)


def padded_sources(lengths, pad, generator):
    ids = torch.randint(4, 60, (len(lengths), max(lengths)), generator=generator)
    for row, length in enumerate(lengths):
        ids[row, length:] = pad
    return ids


def write_sentences(name):
    model_class, config_class, settings, pooling = SENTENCES[name]
    config = getattr(transformers, config_class)(**settings)
    model = getattr(transformers, model_class)(config).eval()
    shapes = fill({key: value for key, value in model.state_dict().items() if not key.startswith("pooler.")})
    ids = padded_sources([40, 17, 3], config.pad_token_id, torch.Generator().manual_seed(7))
    keep = ids != config.pad_token_id
    with torch.no_grad():
        x = model(input_ids=ids, attention_mask=keep).last_hidden_state
    pooled = (x * keep[..., None]).sum(1) / keep.sum(1, keepdim=True) if pooling.get("mean_pooling", True) else x[:, 0]
    write_files(name, config, shapes, {"in.tokens": whole(ids), "out.embedding": torch.nn.functional.normalize(pooled)}, pooling)


def write_continuations(name):
    model_class, config_class, settings = CONTINUATIONS[name]
    config = getattr(transformers, config_class)(**settings)
    model = getattr(transformers, model_class)(config).eval()
    kept = {key: value for key, value in model.state_dict().items() if key != "lm_head.weight" or not config.tie_word_embeddings}
    shapes = fill(kept)
    tokens = torch.randint(4, 60, (3, 40), generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        write_files(name, config, shapes, {"in.tokens": whole(tokens), "out.logits": model(input_ids=tokens).logits})


def write(name):
    model_class, config_class, settings = CASES[name]
    config = getattr(transformers, config_class)(**settings)
    model = getattr(transformers, model_class)(config).eval()
    model.generation_config.bad_words_ids = [[config.pad_token_id]] if config.model_type == "marian" else None
    # As in a saved checkpoint: no tensor twice, and no computed tables.
    kept = model.state_dict()
    dropped = ["embed_positions.weight"] if config.model_type in ("marian", "m2m_100") else []
    if config.model_type not in ("whisper", "t5gemma"):
        dropped += ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"]
    if config.tie_word_embeddings:
        dropped += ["lm_head.weight", "lm_head.out_proj.weight", "proj_out.weight"]
    kept = {key: value for key, value in kept.items() if not key.endswith(tuple(dropped))}
    if config.model_type == "pegasus":  # a table of positions that can only come from the checkpoint
        kept["model.encoder.embed_positions.weight"].mul_(0.5)
    shapes = fill(kept)
    generator = torch.Generator().manual_seed(7)
    if config.model_type == "whisper":
        # As in the description: two frames a position.
        frames = torch.randn(3, config.num_mel_bins, 2 * config.max_source_positions, generator=generator)
        beside = frames.transpose(1, 2).reshape(len(frames), config.max_source_positions, -1)
        source, given = dict(input_features=frames), {"in.frames": beside}
    else:
        ids = padded_sources([150, 90, 7] if config.model_type in ("t5", "umt5") else [40, 17, 3], config.pad_token_id, generator)
        source, given = dict(input_ids=ids, attention_mask=ids != config.pad_token_id), {"in.src": whole(ids)}
    target = torch.randint(4, 60, (3, 40), generator=generator)[:, :20]
    target[:, 0] = config.decoder_start_token_id
    with torch.no_grad():
        logits = model(**source, decoder_input_ids=target).logits
        tokens = greedy(model, **source)
    print(name, tokens.tolist())
    if config.model_type == "whisper":  # the head that the description uses by default
        model.set_attn_implementation("eager")
        with torch.no_grad():
            looks = model(**source, decoder_input_ids=target, output_attentions=True).cross_attentions
        given["out.alignment"] = looks[-1][:, 0]
    folder = write_files(name, config, shapes, {**given, "in.tgt": whole(target), "out.logits": logits, "out.greedy": whole(tokens)})
    if config.model_type != "whisper":
        with torch.no_grad():
            (folder / "beams.json").write_text(json.dumps(beams(model)) + "\n")


for cases, writer in ((CASES, write), (SENTENCES, write_sentences), (CONTINUATIONS, write_continuations)):
    for case in cases:
        if case in (sys.argv[1:] or cases):
            writer(case)
