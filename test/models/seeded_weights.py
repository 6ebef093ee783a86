"""Weights that follow from names and shapes alone, and are the same on every machine. Only the standard library is needed."""
import json
import math
import random
import struct


def seeded_weights(shapes):
    """name -> its floats, row by row: norms around 1, small embeddings and large matrices, so that searches do not just repeat a token."""
    weights = {}
    for name, shape in shapes.items():
        rng, count = random.Random(name), math.prod(shape)
        width = 0.15 if "shared" in name else 0.1 if len(shape) == 1 or name.endswith("bias") else 1 if "embed" in name else 3.7 / math.sqrt(shape[-1])
        middle = 1 if "norm.weight" in name.lower() or "norm_embedding.weight" in name else 0
        weights[name] = [middle + rng.uniform(-width, width) for _ in range(count)]
    return weights


def write_seeded_weights(shapes_path, path):
    """Writes a safetensors file with the weights whose names and shapes a JSON object lists."""
    with open(shapes_path, encoding="utf-8") as file:
        shapes = json.load(file)
    header, data = {}, b""
    for name, values in seeded_weights(shapes).items():
        content = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shapes[name], "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
