#!/usr/bin/env python3
"""Golden numbers of the tagger and the classifier from PyTorch: seeded random weights under the names of Hugging Face's BERT.

  reference.py tagger|classifier OUT_DIR      writes config.json, weights.safetensors and io.safetensors

Needs torch and numpy only. The layers are torch.nn's own modules; post-norm, GELU with erf, a key mask where the token is 0.
"""
import json
import math
import os
import struct
import sys

import numpy as np
import torch
from torch import nn

CONFIG = dict(vocab_size=90, hidden_size=48, num_attention_heads=4, num_hidden_layers=3, intermediate_size=96, num_labels=7,
              max_position_embeddings=40, type_vocab_size=2, layer_norm_eps=1e-12, hidden_act="gelu")


class Attention(nn.Module):
    def __init__(self, d, heads, eps):
        super().__init__()
        self.heads = heads
        self.self = nn.Module()
        self.self.query, self.self.key, self.self.value = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.output = nn.Module()
        self.output.dense, self.output.LayerNorm = nn.Linear(d, d), nn.LayerNorm(d, eps)

    def forward(self, x, keep):
        b, s, d = x.shape
        q, k, v = (f(x).view(b, s, self.heads, -1).transpose(1, 2) for f in (self.self.query, self.self.key, self.self.value))
        scores = (q @ k.transpose(2, 3) / math.sqrt(d // self.heads)).masked_fill(~keep[:, None, None, :], -math.inf)
        context = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, s, d)
        return self.output.LayerNorm(x + self.output.dense(context))


class Layer(nn.Module):
    def __init__(self, d, heads, hidden, eps):
        super().__init__()
        self.attention = Attention(d, heads, eps)
        self.intermediate, self.output = nn.Module(), nn.Module()
        self.intermediate.dense = nn.Linear(d, hidden)
        self.output.dense, self.output.LayerNorm = nn.Linear(hidden, d), nn.LayerNorm(d, eps)

    def forward(self, x, keep):
        x = self.attention(x, keep)
        return self.output.LayerNorm(x + self.output.dense(nn.functional.gelu(self.intermediate.dense(x))))


class Model(nn.Module):
    def __init__(self, pooled, c):
        super().__init__()
        d, eps = c["hidden_size"], c["layer_norm_eps"]
        self.bert = nn.Module()
        e = self.bert.embeddings = nn.Module()
        e.word_embeddings = nn.Embedding(c["vocab_size"], d)
        e.position_embeddings = nn.Embedding(c["max_position_embeddings"], d)
        e.token_type_embeddings = nn.Embedding(c["type_vocab_size"], d)
        e.LayerNorm = nn.LayerNorm(d, eps)
        self.bert.encoder = nn.Module()
        self.bert.encoder.layer = nn.ModuleList(
            Layer(d, c["num_attention_heads"], c["intermediate_size"], eps) for _ in range(c["num_hidden_layers"]))
        if pooled:
            self.bert.pooler = nn.Module()
            self.bert.pooler.dense = nn.Linear(d, d)
        self.classifier = nn.Linear(d, c["num_labels"])
        self.pooled = pooled

    def forward(self, ids):
        e, keep = self.bert.embeddings, ids != 0
        x = e.LayerNorm(e.word_embeddings(ids) + e.position_embeddings(torch.arange(ids.shape[1])) + e.token_type_embeddings.weight[0])
        for layer in self.bert.encoder.layer:
            x = layer(x, keep)
        if not self.pooled:
            return {"logits": self.classifier(x)}
        x = torch.tanh(self.bert.pooler.dense(x[:, 0]))
        return {"pooled": x, "logits": self.classifier(x)}


def save(path, tensors):
    header, blobs, at = {}, [], 0
    for name, value in tensors.items():
        value = np.ascontiguousarray(value)
        kind = {"f": "F32", "i": "I32"}[value.dtype.kind]
        header[name] = dict(dtype=kind, shape=list(value.shape), data_offsets=[at, at + value.nbytes])
        blobs.append(value.tobytes())
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    kind, out = sys.argv[1], sys.argv[2]
    torch.manual_seed(1 if kind == "tagger" else 2)
    model = Model(kind == "classifier", CONFIG).eval().requires_grad_(False)
    for name, value in model.named_parameters():
        value.copy_(torch.randn_like(value) * 0.1 + (1 if name.endswith("LayerNorm.weight") else 0))
    ids = torch.randint(1, CONFIG["vocab_size"], (4, 11))
    for row, length in enumerate((11, 7, 1, 4)):
        ids[row, length:] = 0
    ids[0, 5] = 0  # a pad token in the middle
    results = model(ids)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "config.json"), "w") as file:
        json.dump(CONFIG, file, indent=1)
        file.write("\n")
    save(os.path.join(out, "weights.safetensors"), {k: v.numpy() for k, v in model.state_dict().items()})
    save(os.path.join(out, "io.safetensors"),
         {"in.tokens": ids.numpy().astype(np.int32), **{"out." + k: v.numpy() for k, v in results.items()}})


if __name__ == "__main__":
    main()
