"""Configurations of Hugging Face's transformers beside those that have golden numbers: what says the same in other words gives the same numbers,
and what a description does not compute is an error, as no weight would show it."""
import json
import math

from common import BIN, Checks, MODELS, WORK, compile_model, golden_weights, load, packed, read_safetensors, run, unpacked, write_safetensors

checks = Checks()


def changed(folder, changes):
    """A golden model's configuration with other members; without those that are `...`."""
    config = {**load(MODELS / folder / "config.json"), **changes}
    path = WORK / "config.json"
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not ...}))
    family = folder.split("/")[0]
    return MODELS / family / f"{family}.xf", "--config", path


def compiled(folder, changes, *options):
    description, *config = changed(folder, changes)
    compile_model(description, WORK / "model", *config, "--weights", golden_weights(MODELS / folder), *options)


def agrees(folder, changes, times=1):
    """Whether logits are so many times the golden ones."""
    compiled(folder, changes, "--emit=model")
    io = read_safetensors(MODELS / folder / "io.safetensors")
    if "out.logits" in io:
        kind, shape, _ = io["out.logits"]
        io["out.logits"] = packed(kind, shape, [times * logit for logit in unpacked(io["out.logits"])])
    write_safetensors(WORK / "io", {name: tensor for name, tensor in io.items() if name != "out.greedy"})
    status, out, err = run(BIN / "xf-run", WORK / "model", "--golden", WORK / "io", ok=False)
    checks.that(status == 0, f"{folder} with {changes}: {out}{err}")


# What has the default of its class may be missing or null.
LLAMA3 = dict(type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)
agrees("bart/m2m100", dict(scale_embedding=..., activation_function=...))
agrees("llama/llama", dict(rope_parameters=..., rope_theta=1000.0, rope_scaling={**LLAMA3, "original_max_position_embeddings": 16},
                           bos_token_id=None, num_key_value_heads=2.0, head_dim=None))
agrees("llama/llama", dict(rope_parameters=..., rope_theta=1000.0, rope_scaling=LLAMA3, max_position_embeddings=16))
agrees("llama/qwen2", dict(rope_parameters=..., rope_scaling=None, bos_token_id=None, sliding_window=4, use_sliding_window=False))
agrees("llama/qwen3", dict(bos_token_id=...))
agrees("bert/xlm_roberta", dict(pad_token_id=..., model_type="camembert"))
# mT5 never scales what its logits are made of.
agrees("t5/flan", dict(model_type="mt5", feed_forward_proj=...))
agrees("t5/t5", dict(model_type="mt5", feed_forward_proj="relu", scale_decoder_outputs=...), times=math.sqrt(32))
# UL2's activation.
outputs = []
for kind, options in (("gated-silu", ()), ("gated-gelu", ("--set", "activation=silu"))):
    compiled("t5/flan", dict(feed_forward_proj=kind), "--emit=model", *options)
    outputs.append((WORK / "model").read_bytes())
checks.that(outputs[0] == outputs[1], "t5: gated-silu is something else than silu")
# What goes around a text.
for changes, around in ((dict(model_type="camembert", bos_token_id=5, eos_token_id=6), (5, 6)), (dict(bos_token_id=..., eos_token_id=None), (0, 2))):
    compiled("bert/xlm_roberta", changes, "--emit=xf")
    text = (WORK / "model").read_text()
    checks.that(f"prefix = [{around[0]}]" in text and f"suffix = [{around[1]}]" in text, f"bert with {changes}: not {around} around a text")


def refused(folder, changes, words):
    description, *config = changed(folder, changes)
    status, _, err = compile_model(description, WORK / "model", *config, "--random-weights", 1, "--emit=xf", ok=False)
    checks.that(status == 1 and words in err, f"{folder} with {changes}: {status}, {err}")


refused("bart/bart", dict(model_type="mvp"), "'model_type' must be \"bart\", \"mbart\", \"pegasus\", \"marian\", \"m2m_100\", \"blenderbot\" or \"plbart\"")
refused("bart/bart", dict(tie_word_embeddings=False), "'tie_word_embeddings' must be true, not false")
refused("bart/marian", dict(share_encoder_decoder_embeddings=False), "'share_encoder_decoder_embeddings' must be true, not false")
refused("t5gemma/small", dict(model_type="t5gemma2"), "'model_type' must be \"t5gemma\"")
refused("t5/t5", dict(model_type="longt5"), "'model_type' must be \"t5\", \"mt5\" or \"umt5\"")
refused("t5/t5", dict(feed_forward_proj="gelu"), "'feed_forward_proj' must be \"relu\", \"gated-gelu\" or \"gated-silu\"")
refused("whisper/tiny", dict(tie_word_embeddings=False), "'tie_word_embeddings' must be true, not false")
refused("llama/llama", dict(model_type="gemma"), "'model_type' must be")
refused("llama/qwen2", dict(use_sliding_window=True), "'use_sliding_window' must be false, not true")
refused("llama/llama", dict(rope_parameters=dict(rope_type="yarn", rope_theta=1e4)), "'yarn', given for 'rope', is not defined")
refused("bert/bert", dict(model_type="electra"), "'model_type' must be")
refused("bert/bert", dict(is_decoder=True), "'is_decoder' must be false, not true")
checks.end()
