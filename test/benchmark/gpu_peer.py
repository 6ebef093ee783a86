#!/usr/bin/env python3
"""PyTorch on an NVIDIA GPU, as the peer of xfc's code for GPUs: milliseconds of a decoder's step, and of single products.

  gpu_peer.py [--modes graph,compile] [--types f32,bf16] [--cases 1x1,4x128,...] [--matmul] [--compile-mode default]
  gpu_peer.py --check [--device cpu]

The model is Transformer-base with random weights. Steps are measured as tools/gpu-check.py measures them: what results of 40
tokens take longer than those of 8. A case is BEAMxBATCH. All that a step does, the search included, is done on the GPU:

  eager     kernel by kernel from Python
  graph     the same kernels, recorded once as a CUDA graph
  compile   kernels of torch.compile, recorded so; on the CPU nothing is recorded

Caches have a fixed number of positions, of which a mask hides those to come, so that each step is the same graph. --matmul
measures products as cuBLAS does them; `--modes ''` then leaves the decoder out. --check compares searches with plain ones that
compute all again for each token, for a small model.
"""
import argparse
import gc
import math
import os
import statistics
import sys
import time

# torch.compile needs Python's own `profile`, not the one beside this file.
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != os.path.dirname(os.path.abspath(__file__))]
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

BASE = dict(d=512, heads=8, ffn=2048, layers=6, vocabulary=32000)
SMALL = dict(d=32, heads=4, ffn=64, layers=2, vocabulary=50)
GAIN = dict(out_proj=0.3, linear1=3, linear2=3)  # of random weights, so that tokens change from step to step
START, END, PADDING = 0, 1, 0
SOURCE, SHORT, LONG = 32, 8, 40  # tokens
REPEAT = 3
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
MODES = ("eager", "graph", "compile")
CASES = "1x1,1x32,1x128,4x1,4x32,4x128"
ROWS = (1, 32, 128, 512, 1024, 4096)
PRODUCTS = ((1536, 512), (512, 512), (2048, 512), (512, 2048), (32000, 512))
CACHE_BYTES = 60e6  # more than the GPU's own caches hold


class DecoderLayer(nn.TransformerDecoderLayer):
    """PyTorch's own layer, whose forward() is for whole sequences, and a step of one token with caches."""

    def source_keys(self, memory):
        """[2, sentences, heads, source, d / heads]: what cross attention reads at each step."""
        sentences, source, d = memory.shape
        attention = self.multihead_attn
        keys = F.linear(memory, attention.in_proj_weight[d:], attention.in_proj_bias[d:])
        return keys.view(sentences, source, 2, attention.num_heads, -1).permute(2, 0, 3, 1, 4)

    def step(self, x, cache, position, mask, source_keys, source_mask, beam):
        """x: [rows, d]; cache: [rows, 2, heads, positions, d / heads], which this token's key and value are put into."""
        rows, d = x.shape
        own, cross = self.self_attn, self.multihead_attn
        qkv = F.linear(x, own.in_proj_weight, own.in_proj_bias).view(rows, 3, own.num_heads, 1, -1)
        cache.index_copy_(3, position, qkv[:, 1:])
        a = F.scaled_dot_product_attention(qkv[:, 0], cache[:, 0], cache[:, 1], attn_mask=mask)
        x = self.norm1(x + own.out_proj(a.reshape(rows, d)))
        # A sentence's beams are queries of the same keys.
        q = F.linear(x, cross.in_proj_weight[:d], cross.in_proj_bias[:d]).view(rows // beam, beam, cross.num_heads, -1).transpose(1, 2)
        a = F.scaled_dot_product_attention(q, source_keys[0], source_keys[1], attn_mask=source_mask)
        x = self.norm2(x + cross.out_proj(a.transpose(1, 2).reshape(rows, d)))
        return self.norm3(x + self.linear2(F.relu(self.linear1(x))))


class Transformer(nn.Module):
    def __init__(self, sizes, positions):
        super().__init__()
        d, layers = sizes["d"], sizes["layers"]
        layer = dict(d_model=d, nhead=sizes["heads"], dim_feedforward=sizes["ffn"], dropout=0.0, layer_norm_eps=1e-5, batch_first=True)
        self.scale = math.sqrt(d)
        self.embedding = nn.Embedding(sizes["vocabulary"], d)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), layers, enable_nested_tensor=False)
        self.decoder = nn.ModuleList(DecoderLayer(**layer) for _ in range(layers))
        self.output_bias = nn.Parameter(torch.zeros(sizes["vocabulary"]))
        angles = torch.arange(positions)[:, None] / 10000.0 ** (torch.arange(d // 2) * 2 / d)
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], 1))
        self.register_buffer("causal", torch.full((positions, positions), -math.inf).triu(1))
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=GAIN.get(name.split(".")[-2], 1) / math.sqrt(parameter.shape[1]))
        nn.init.constant_(self.output_bias[END], -1e9)  # results end by their length alone
        self.eval()

    def encode(self, ids):
        return self.encoder(self.embedding(ids) * self.scale + self.positions[:ids.shape[1]], src_key_padding_mask=ids == PADDING)

    def begin(self, tokens, position):
        """A step's input, and the mask of positions that are still to come."""
        x = self.embedding(tokens) * self.scale + self.positions.index_select(0, position)
        return x, self.causal.index_select(0, position)[None, None]

    def logits(self, x):
        return F.linear(x, self.embedding.weight, self.output_bias)

    def greedy(self, x, position, tokens, out):
        tokens.copy_(self.logits(x).argmax(-1))
        out.index_copy_(1, position, tokens[:, None])
        position.add_(1)

    def beams(self, x, position, tokens, out, scores, first, parents):
        """first: [layers, sentences, 1], where a sentence's rows begin in all layers' caches; parents: the rows that go on."""
        logits = self.logits(x)
        rows, vocabulary = logits.shape
        total = F.log_softmax(logits, -1, dtype=torch.float32) + scores[:, None]
        best, index = total.view(first.shape[1], -1).topk(rows // first.shape[1])
        parents.copy_((first + index // vocabulary).view(-1))
        tokens.copy_((index % vocabulary).view(-1))
        scores.copy_(best.view(-1))
        out.copy_(out.index_select(0, parents[:rows]))
        out.index_copy_(1, position, tokens[:, None])
        position.add_(1)


class Search:
    """A search of `batch` sentences. What changes from step to step is in tensors that keep their addresses."""

    def __init__(self, model, sizes, beam, batch, source, mode, compile_mode):
        self.model, self.beam, self.batch = model, beam, batch
        weight, rows, layers = model.embedding.weight, beam * batch, sizes["layers"]
        self.length = model.causal.shape[0]
        self.device, head = weight.device, sizes["d"] // sizes["heads"]
        integers, floats = dict(dtype=torch.long, device=self.device), dict(dtype=weight.dtype, device=self.device)
        self.position, self.tokens = torch.zeros(1, **integers), torch.zeros(rows, **integers)
        self.out = torch.zeros(rows, self.length, **integers)
        # Beams' caches are copied from one to the other in the parents' order, and back in the next step.
        self.caches = [torch.zeros(layers * rows, 2, sizes["heads"], self.length, head, **floats) for _ in range(2 if beam > 1 else 1)]
        self.source_keys = [torch.zeros(2, batch, sizes["heads"], source, head, **floats) for _ in range(layers)]
        self.source_mask = torch.zeros(batch, 1, 1, source, **floats)
        self.parents, self.scores = torch.zeros(layers * rows, **integers), torch.zeros(rows, device=self.device)
        self.first = torch.arange(0, layers * rows, beam, **integers).view(layers, batch, 1)
        self.begin, self.layer, self.choose = Transformer.begin, DecoderLayer.step, Transformer.beams if beam > 1 else Transformer.greedy
        self.graphs = []
        self.reset()
        if mode == "compile":
            # A layer is compiled once: weights are its arguments. Other cases' code would count as its variants, which are limited.
            torch._dynamo.reset()
            self.begin, self.layer, self.choose = (torch.compile(f, dynamic=False, fullgraph=True, mode=compile_mode)
                                                   for f in (self.begin, self.layer, self.choose))
        if mode != "eager" and self.device.type == "cuda":
            self.record()

    def reset(self):
        self.position.zero_()
        self.tokens.fill_(START)
        torch.arange(self.parents.numel(), out=self.parents)
        self.scores.view(self.batch, self.beam).fill_(-1e9)[:, 0] = 0  # one beam is all there is at first

    def step(self, turn):
        source, target = self.caches[turn], self.caches[turn - 1]
        search = (self.position, self.tokens, self.out)
        if self.beam > 1:
            torch.index_select(source, 0, self.parents, out=target)
            search += (self.scores, self.first, self.parents)
        x, mask = self.begin(self.model, self.tokens, self.position)
        for layer, cache, keys in zip(self.model.decoder, target.chunk(len(self.source_keys)), self.source_keys):
            x = self.layer(layer, x, cache, self.position, mask, keys, self.source_mask, self.beam)
        self.choose(self.model, x, *search)

    def record(self):
        turns, stream = range(len(self.caches)), torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.reset()
                for turn in turns:
                    self.step(turn)
        torch.cuda.current_stream().wait_stream(stream)
        for turn in turns:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.graphs[0].pool() if self.graphs else None):
                self.step(turn)
            self.graphs.append(graph)

    def run(self, sentences, length):
        """The best results' tokens."""
        ids = torch.tensor(sentences, device=self.device)
        self.reset()
        memory = self.model.encode(ids)
        for layer, keys in zip(self.model.decoder, self.source_keys):
            keys.copy_(layer.source_keys(memory))
        self.source_mask.zero_().masked_fill_((ids == PADDING)[:, None, None], -math.inf)
        for i in range(length):
            turn = i % len(self.caches)
            if self.graphs:
                self.graphs[turn].replay()
            else:
                self.step(turn)
        return self.out.view(self.batch, self.beam, -1)[:, 0, :length].tolist()


def step_time(model, sizes, beam, batch, mode, compile_mode):
    search = Search(model, sizes, beam, batch, SOURCE, mode, compile_mode)
    sentences = [[3 + (7 * i + 11 * j) % (sizes["vocabulary"] - 3) for j in range(SOURCE)] for i in range(batch)]
    seconds = {}
    for length in (SHORT, LONG):
        times = []
        for _ in range(REPEAT):
            begin = time.perf_counter()
            search.run(sentences, length)
            times.append(time.perf_counter() - begin)
        seconds[length] = min(times)
    step = max(seconds[LONG] - seconds[SHORT], 1e-9) / (LONG - SHORT)
    return f"{step * 1e3:.3f} ms/step, {batch / step:.0f} tokens/s"


def product_time(m, n, k, dtype):
    """Products take turns with weights that together are more than the GPU's caches hold, as a model's are."""
    x = torch.randn(m, k, device="cuda", dtype=dtype)
    weights = [torch.randn(n, k, device="cuda", dtype=dtype) for _ in range(int(CACHE_BYTES // (n * k * dtype.itemsize)) + 1)]
    calls = max(20, len(weights))
    stream, graph, events = torch.cuda.Stream(), torch.cuda.CUDAGraph(), [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            F.linear(x, weights[0])
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph):
        for i in range(calls):
            F.linear(x, weights[i % len(weights)])
    times = []
    for _ in range(7):
        graph.replay()  # while it runs, the timed work is launched
        events[0].record()
        graph.replay()
        events[1].record()
        events[1].synchronize()
        times.append(events[0].elapsed_time(events[1]) * 1e-3 / calls)
    seconds = statistics.median(times)
    return f"{seconds * 1e6:.1f} us, {2 * m * n * k / seconds / 1e12:.1f} TFLOP/s"


def plain_search(model, ids, beam, length):
    """The best of one sentence's beams, with PyTorch's own decoder run on all tokens at each step."""
    memory, results = model.encode(ids), [(0.0, [START])]
    for n in range(1, length + 1):
        candidates = []
        for score, tokens in results:
            x = model.embedding(torch.tensor([tokens], device=ids.device)) * model.scale + model.positions[:n]
            for layer in model.decoder:
                x = layer(x, memory, tgt_mask=model.causal[:n, :n])
            logs = torch.log_softmax(model.logits(x[0, -1]), -1).tolist()
            candidates += [(score + log, tokens + [token]) for token, log in enumerate(logs)]
        results = sorted(candidates, reverse=True)[:beam]
    return results[0][1][1:]


def check(beam, mode, options):
    """Checks that all results are as they should be; says how many different tokens they have."""
    length, source, batch = 12, 8, 5
    torch.manual_seed(4)  # its results have many different tokens; weights are drawn on the CPU, so that all devices have the same
    model = Transformer(SMALL, length).to(options.device)
    sentences = [[3 + (7 * i + 11 * j) % 47 for j in range(source - i)] for i in range(batch)]
    padded = [s + [PADDING] * (source - len(s)) for s in sentences]
    search = Search(model, SMALL, beam, batch, source, mode, options.compile_mode)
    search.run(padded[::-1], length)  # must leave no traces
    got = search.run(padded, length)
    wanted = [plain_search(model, torch.tensor([s], device=options.device), beam, length) for s in sentences]
    if got != wanted:
        raise ValueError(f"{sum(g == w for g, w in zip(got, wanted))}/{batch} as they should be")
    return f"{batch} results, {len({t for s in got for t in s})} different tokens, ok"


def attempt(title, measure):
    """Prints what `measure` returns, or why it fails, and frees its memory. Returns whether it failed."""
    failed = False
    try:
        line = measure()
    except Exception as problem:  # whatever it is, the cases that follow may succeed
        failed, line = True, f"failed: {type(problem).__name__}: {(str(problem).strip().splitlines() or [''])[0]}"
    print(f"{title}: {line}", flush=True)
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return failed


def listed(allowed):
    def parse(text):
        items = [word for word in text.split(",") if word]
        if allowed and not set(items) <= set(allowed):
            raise argparse.ArgumentTypeError(f"of {', '.join(allowed)}")
        return items
    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--modes", type=listed(MODES), default="graph,compile")
    parser.add_argument("--types", type=listed(TYPES), default="f32,bf16")
    parser.add_argument("--cases", type=lambda text: [tuple(map(int, case.split("x"))) for case in text.split(",")], default=CASES)
    parser.add_argument("--compile-mode", default="default", choices=("default", "max-autotune-no-cudagraphs"))
    parser.add_argument("--matmul", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--small", action="store_true", help="a small model: times mean nothing")
    options = parser.parse_args()

    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.mha.set_fastpath_enabled(False)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if options.device == 'cuda' else 'CPU'}", flush=True)
    failed = 0
    if options.check:
        for mode in options.modes:
            for beam in (1, 4):
                failed += attempt(f"check {mode}, beam {beam}", lambda: check(beam, mode, options))
        sys.exit(failed > 0)
    sizes = SMALL if options.small else BASE
    for name in options.types if options.modes else ():
        torch.manual_seed(1)
        with torch.device(options.device):
            model = Transformer(sizes, LONG).to(TYPES[name])
        for mode in options.modes:
            for beam, batch in options.cases:
                failed += attempt(f"torch {mode} {name} beam {beam}, batch {batch}",
                                  lambda: step_time(model, sizes, beam, batch, mode, options.compile_mode))
    if options.matmul:
        for name in options.types:
            for n, k in PRODUCTS:
                for m in ROWS:
                    failed += attempt(f"torch matmul {name} {m}x{n}x{k}", lambda: product_time(m, n, k, TYPES[name]))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
