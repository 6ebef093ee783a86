"""Random descriptions: expressions of the language, of sensible size and well conditioned.

Comparisons, conversions to integers and other discontinuous operations read inputs only, so that rounding errors decide nothing.
"""
import random

BATCH = "B"
UNARY = ("relu({})", "gelu({})", "gelu_tanh({})", "quick_gelu({})", "silu({})", "sigmoid({})", "softplus({})", "tanh({})", "erf({})", "abs({})",
         "-{}", "sin({})", "cos({})", "exp(min({}, 2))", "sqrt(abs({}) + 0.5)", "log(abs({}) + 0.5)", "leaky_relu({})", "elu({})", "softsign({})", "square({})",
         "rsqrt(abs({}) + 0.5)", "({}) ^ 2", "max({}, -0.5)", "1 / (1 + abs({}))", "2 * {} - 0.5")
BINARY = ("{} + {}", "{} - {}", "{} * {}", "{} / (1 + abs({}))", "min({}, {})", "max({}, {})")


class Body:
    """Random statements on x [B, own, width], ids and keep [B, own], perhaps y [B, other, …] and z [B, own].

    `causal`: no position of `own` sees a later one. `padded`: a dimension with padding where `mark` is false, which no position sees.
    """

    def __init__(self, rng, own="S", other="T", causal=False, padded=None, mark=None):
        self.rng, self.own, self.other, self.causal, self.padded, self.mark = rng, own, other, causal, padded, mark
        self.width = rng.choice([4, 8, 12, 16, 20, 24, 32, 36, 48, 64])
        self.blocks, self.members, self.statements, self.values, self.names = [], [], [], [], 0
        self.inputs = {"x": ("f32", (BATCH, own, self.width)), "ids": ("token", (BATCH, own)), "keep": ("bool", (BATCH, own))}

    # Names and members.

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def member(self, what, prefix="m"):
        name = self.name(prefix)
        self.members.append(f"{name}: {what}")
        return name

    def param(self, *shape):
        name = self.name("w")
        self.members.append(f"param {name}: f32[{', '.join(map(str, shape))}]")
        return name

    def knows_all(self, length):
        """Whether a position may see all others along this dimension."""
        return not (self.causal and length == self.own) and length != self.padded

    def some_width(self):
        return self.rng.choice([self.width, self.width, 4, 8, 12, 16, 20, 33])

    def known(self, shape):
        return [name for name, its in self.values if its == shape]

    # Expressions of a given shape.

    def number(self, shape, depth):
        known = self.known(shape)
        if depth <= 0 and known:
            return self.rng.choice(known)
        makers = [self.unary, self.binary, self.binary, self.chosen]
        if isinstance(shape[-1], int):
            makers += [self.rows, self.norm, self.sliced, self.joined]
        if len(shape) == 3 and shape[0] == BATCH and shape[1] in (self.own, self.other):
            makers += [self.linear, self.linear, self.product, self.attention, self.attention, self.feed_forward, self.places, self.scanned]
            if self.knows_all(shape[1]):
                makers.append(self.across)
            if shape[1] == self.own:
                makers += [self.embedded, self.whole]
        if depth <= 0:
            makers = [self.linear] if len(shape) == 3 and isinstance(shape[-1], int) else [self.leaf]
        return self.rng.choice(makers)(shape, depth - 1)

    def leaf(self, shape, depth):
        """An expression of two dimensions, made from an input."""
        if shape == (BATCH, self.own):
            return self.rng.choice(["x[.., 0]", f"x[.., {self.width - 1}]"] + (["z"] if "z" in self.inputs else []))
        row = "y" if self.causal else "x"  # a step cannot read a single position of its own sequence
        return f"{self.member(f'Linear({self.inputs[row][1][-1]}, {shape[1]})')}({row}[:, 0])"

    def operand(self, shape, depth):
        """An expression of this shape or one that is broadcast to it."""
        kind = self.rng.randrange(8)
        if kind == 0:
            return f"{self.rng.uniform(-2, 2):.3f}"
        if kind == 1 and isinstance(shape[-1], int):
            return self.param(shape[-1])
        if kind == 2 and isinstance(shape[-1], int):
            return f"{self.rng.choice(['mean', 'rowmax', 'std'])}({self.number(shape, depth)})"
        if kind == 3 and len(shape) == 3 and shape[1] in (self.own, self.other) and not (self.causal and "y" not in self.inputs):
            return f"rearrange({self.number((shape[0], shape[2]), depth)}, \"b d -> b 1 d\")"
        if kind == 4 and len(shape) == 3 and shape[:2] == (BATCH, self.own):
            return "rearrange({}, \"b s -> b s 1\")".format(self.number((BATCH, self.own), depth))
        return self.number(shape, depth)

    def unary(self, shape, depth):
        return "(" + self.rng.choice(UNARY).format(self.number(shape, depth)) + ")"

    def binary(self, shape, depth):
        sides = [self.number(shape, depth), self.operand(shape, depth)]
        self.rng.shuffle(sides)
        return "(" + self.rng.choice(BINARY).format(*sides) + ")"

    def chosen(self, shape, depth):
        condition = self.condition(shape)
        if not condition:
            return self.unary(shape, depth)
        return f"where({condition}, {self.number(shape, depth)}, {self.operand(shape, depth)})"

    def condition(self, shape):
        if shape == (BATCH, self.own):
            return self.flag()
        if shape[:2] == (BATCH, self.own):
            return self.rng.choice([f"rearrange({self.flag()}, \"b s -> b s 1\")"] + (["x > 0.25"] if shape[2] == self.width else []))
        return None

    def flag(self):
        return self.rng.choice(["keep", "!keep", "ids > 7", "ids % 3 == 1", "keep & ids != 2", "keep | ids == 4", "x[.., 1] <= x[.., 2]"])

    def token(self):
        """Tokens between 0 and 29."""
        return self.rng.choice(["ids", "ids % 5", "(ids * 3 + 1) % 30", "max(ids - 3, 0)", "div(ids, 2)", "where(keep, ids, 1)", f"(ids + positions({self.own})) % 30", "int(abs(x[.., 0]) * 4) % 30"])

    def rows(self, shape, depth):
        x = self.number(shape, depth)
        return self.rng.choice([f"softmax({x})", f"log_softmax({x})", f"({x} - mean({x}))", f"({x} / (1 + std({x}, unbiased)))", f"({x} - rowmax({x}))",
                                f"({x} * rowsum({x}) / {shape[-1]})", f"({x} / sqrt(variance({x}) + 0.5))"])

    def norm(self, shape, depth):
        kind = self.rng.choice(["LayerNorm({})", "RMSNorm({})", "LayerNorm({}, affine = false)", "LayerNorm({}, bias = false)", "RMSNorm({}, eps = 0.1)"])
        return f"{self.member(kind.format(shape[-1]), 'n')}({self.number(shape, depth)})"

    def linear(self, shape, depth):
        width = self.some_width()
        bias = self.rng.choice(["", ", bias = false"])
        return f"{self.member(f'Linear({width}, {shape[-1]}{bias})')}({self.source((*shape[:2], width), depth)})"

    def product(self, shape, depth):
        width = self.some_width()
        x = self.source((*shape[:2], width), depth)
        return f"({x} @ {self.param(width, shape[-1])})" if self.rng.random() < 0.5 else f"({x} @ {self.param(shape[-1], width)}.T)"

    def source(self, shape, depth):
        """An expression of any width; at depth 0, if no value has the shape, it is made from an input."""
        if depth > 0 or self.known(shape):
            return self.number(shape, depth)
        name, (_, its) = ("x", self.inputs["x"]) if shape[1] == self.own else ("y", self.inputs["y"])
        return name if its == shape else f"{self.member(f'Linear({its[-1]}, {shape[-1]})')}({name})"

    def feed_forward(self, shape, depth):
        kind = self.rng.choice(["FeedForward({0}, {1})", "GatedFeedForward({0}, {1})", "FeedForward({0}, {1}, activation = gelu, bias = false)", "GatedFeedForward({0}, {1}, gelu_tanh, true)"])
        return f"{self.member(kind.format(shape[-1], self.some_width()), 'f')}({self.number(shape, depth)})"

    def attention(self, shape, depth):
        heads = self.rng.choice([h for h in (1, 2, 3, 4, 6) if shape[-1] % h == 0])
        groups = self.rng.choice([h for h in (1, 2, 3, 4, 6) if heads % h == 0])
        width = self.rng.choice([2, 4, 5, 8, 16])
        length = self.rng.choice(([self.other] if "y" in self.inputs else []) + ([] if self.causal and shape[1] != self.own else [self.own]))
        q = self.queries((BATCH, shape[1], heads * width), depth)
        if self.rng.random() < 0.15 and not (self.causal and length == self.own):
            rows = self.rng.randint(1, 9)
            k, v = (self.summary(rows, length, groups, w, depth) for w in (width, shape[-1] // heads))
            length = "rows"
        else:
            k, v = (self.source((BATCH, length, groups * w), depth) for w in (width, shape[-1] // heads))
        more = [m for m in [self.mask(shape[1], length)] if m]
        if self.rng.random() < 0.3:
            far = self.rng.choice([8, 20, 40])
            more.append("bias = " + self.rng.choice(["(i, j) -> -0.1 * abs(i - j)", "(h, i, j) -> (h + 1) * 0.05 * j",
                                                     f"(h, i, j) -> {self.param(far + 1, heads)}[min(abs(j - i), {far}), h]",
                                                     f"(h, i, j) -> {self.param(heads, far + 1)}[h, min(max(i - j, 0), {far})] * where(j > i, 1, {self.param(heads)}[h])",
                                                     f"(h, i, j) -> where(j >= i, {self.param(far)}[j - i], 0.1 * h)" if far > 20 else
                                                     f"(i, j) -> {self.param(far)}[min(abs(i - j) * 2, {far - 1})] + 0.01 * tanh(0.1 * (j - i))",
                                                     f"(h, i, j) -> {self.param(heads, far + 1)}[h, min(abs(j - i), {far})] - {self.param(4)}[(i + j) % 4]"]))
        if self.rng.random() < 0.3:
            more.append(f"scale = {self.rng.choice(['1', '0.3', str(width)])}")
        if self.rng.random() < 0.2:
            more.append("score = (s) -> 5 * tanh(s / 5)")
        if self.rng.random() < 0.2:
            more.append("fill = -1e9")
        result = ", ".join([f"split({q}, {heads})", f"split({k}, {groups})", f"split({v}, {groups})", *more])
        return f"merge(attend({result}))"

    def queries(self, shape, depth):
        """Queries, sometimes the same for all sentences."""
        if self.rng.random() < 0.85:
            return self.source(shape, depth)
        places = f"sinusoid({shape[2]})[positions({shape[1]})]"
        if self.rng.random() < 0.5:
            places = f"{self.member(f'Linear({shape[2]}, {shape[2]})')}({places})"
        return f"rearrange({places}, \"s d -> 1 s d\")"

    def summary(self, rows, length, heads, width, depth):
        """The context of a few learned queries, [B, rows, heads * width]."""
        name, whole = self.name("r"), heads * width
        learned = self.param(rows, whole)
        q = self.rng.choice([f"rearrange({learned}, \"m d -> 1 m d\")", f"rearrange({learned}, \"m d -> B m d\", B = size(x, 0))"])
        k, v = (self.source((BATCH, length, whole), depth) for _ in range(2))
        arguments = [f"split({each}, {heads})" for each in (q, k, v)] + [m for m in [self.mask("rows", length)] if m]
        self.statements.append(f"{name} = merge(attend({', '.join(arguments)}))")
        return name

    def mask(self, queries, keys):
        mask = self.any_mask(queries, keys)
        real = f"keys({self.mark})" if keys == self.padded else ""
        return f"({mask}) & {real}" if mask and real else mask or real

    def any_mask(self, queries, keys):
        if self.causal and queries == keys == self.own:
            return self.rng.choice(["causal", "causal", "causal & window(3, 0)", "causal & keys(keep)", "(i, j) -> j <= i & (i - j) % 3 != 1", "causal & ((i, j) -> j == 0 | i - j < 4)"])
        choices = ["", "(i, j) -> (i + j) % 3 != 1 | j == 0", "(i, j) -> j - i <= 3 | j == 0"]
        if queries == keys:
            choices += ["causal", "causal", "window(2, 1)", "causal & window(4, 0)"]
        if keys == self.own:
            choices += ["keys(keep)", "keys(ids != 0)"]
            if queries == self.own:
                choices += ["causal & keys(keep)"]
        return self.rng.choice(choices)

    def places(self, shape, depth):
        table = self.rng.choice(["sinusoid", "half_sinusoid"] if shape[-1] % 2 == 0 else ["sinusoid"])
        return f"({self.number(shape, depth)} + {table}({shape[-1]})[positions({shape[1]})])"

    def embedded(self, shape, depth):
        return f"{self.member(f'Embedding(30, {shape[-1]})', 'e')}({self.token()})"

    def whole(self, shape, depth):
        return f"({self.number(shape, depth)} * rearrange(float({self.token()}), \"b s -> b s 1\") / 8)" if self.rng.random() < 0.5 else f"({self.number(shape, depth)} + floor(4 * x[.., 0:1]))"

    def sliced(self, shape, depth):
        width = shape[-1]
        kind = self.rng.randrange(4)
        if kind == 0 or len(shape) != 3:
            start = self.rng.choice([0, 1, 4, 16])
            return f"{self.number((*shape[:-1], start + width), depth) if len(shape) != 3 else self.source((*shape[:-1], start + width), depth)}[.., {start}:{start + width}]"
        if kind == 1:
            return f"{self.source((*shape[:-1], 2 * width), depth)}[.., {self.rng.choice([0, 1])}::2]"
        if kind == 2:
            return f"chunk({self.source((*shape[:-1], 3 * width), depth)}, 3)[{self.rng.randrange(3)}]"
        return f"rearrange({self.source((*shape[:-1], 2 * width), depth)}, \"b s (d two) -> two b s d\", two = 2)[{self.rng.randrange(2)}]"

    def joined(self, shape, depth):
        width = shape[-1]
        if width < 2:
            return self.unary(shape, depth)
        if width % 2 == 0 and self.rng.random() < 0.4:
            return f"interleave({', '.join(self.make((*shape[:-1], width // 2), depth) for _ in range(2))})"
        first = self.rng.randrange(1, width)
        return f"concat({self.make((*shape[:-1], first), depth)}, {self.make((*shape[:-1], width - first), depth)})"

    def make(self, shape, depth):
        return self.source(shape, depth) if len(shape) == 3 else self.number(shape, depth)

    def scanned(self, shape, depth):
        a, b, length = self.name("a"), self.name("b"), shape[1]
        self.let(a, shape, f"sigmoid({self.number(shape, depth)})")
        self.let(b, shape, self.number(shape, depth))
        from_the_end = self.knows_all(length) and self.rng.random() < 0.5
        if self.rng.random() < 0.5:
            return f"({a} + {'advance' if from_the_end else 'delay'}({b}, {length}))"
        return f"(scan t along {length} {'reversed ' if from_the_end else ''}{{ state c = 0; c = {a}[t] * c + (1 - {a}[t]) * {b}[t]; yield {self.rng.choice(['c', 'tanh(c)', 'c * ' + a + '[t]'])} }})"

    def across(self, shape, depth):
        """Statistics along positions."""
        x = self.number(shape, depth)
        return self.rng.choice([f"rearrange(softmax(rearrange({x}, \"b s d -> b d s\")), \"b d s -> b s d\")",
                                f"({x} + rearrange(mean(rearrange({x}, \"b s d -> b d s\")), \"b d 1 -> b 1 d\"))",
                                f"({x} * {x}[:, 0:1])"])

    # Statements.

    def let(self, name, shape, expression):
        self.statements.append(f"{name} = {expression}")
        self.values.append((name, shape))

    def layer(self):
        """A stack of equal layers, or of layers with one set of weights."""
        outer = self.members, self.values, self.statements, self.inputs
        self.members, self.values, self.statements = [], [("x", self.inputs["x"][1])], []
        self.inputs = {"x": self.inputs["x"]}
        shape = self.inputs["x"][1]
        for _ in range(self.rng.randint(1, 2)):
            self.let(self.name("h"), shape, self.number(shape, 2))
        result = self.rng.choice(self.known(shape))
        block = self.name("Layer")
        body = "\n    ".join(self.statements + [f"return {self.rng.choice(['x + ', '0.5 * x + ', ''])}{self.member(f'LayerNorm({self.width})', 'n')}({result})"])
        members = "\n  ".join(self.members)
        self.blocks.append(f"block {block}() {{\n  {members}\n  apply(x: f32[B, {self.own}, {self.width}], ids: token[B, {self.own}], keep: bool[B, {self.own}]) {{\n    {body}\n  }}\n}}\n")
        self.members, self.values, self.statements, self.inputs = outer
        layers = self.member(self.rng.choice([f"[{block}() * {self.rng.randint(2, 3)}]", f"[{block}()]"]), "layers")
        stack = self.rng.choice([layers, f"[{layers}[0] * 2]"])
        name = self.name("v")
        self.statements.append(f"{name} = {self.number(shape, 1)}")
        total = self.name("v")
        add = self.rng.choice(["", f"; {total} = {total} + {name} * 0.5", f"; {total} = max({total}, {name})"])
        if add:
            self.statements.append(f"{total} = {self.rng.choice(['0', '-0.25'])}")
            self.values.append((total, shape))
        self.statements.append(f"for layer in {stack} {{ {name} = layer({name}, ids, keep){add} }}")
        self.values.append((name, shape))

    def write(self):
        self.values = [(name, shape) for name, (kind, shape) in self.inputs.items() if kind == "f32"]
        shapes = [shape for _, shape in self.values]
        for _ in range(self.rng.randint(2, 5)):
            if self.rng.random() < 0.25:
                self.layer()
                continue
            shape = self.rng.choice(shapes)
            if len(shape) == 3 and self.rng.random() < 0.3:
                shape = (*shape[:2], self.some_width())
            self.let(self.name("v"), shape, self.number(shape, self.rng.randint(1, 4)))

    def made(self):
        return [(name, shape) for name, shape in self.values if name not in self.inputs]


class Description:
    """A model with one entry: its `text`, `inputs` (name -> kind and shape) and `outputs` (name -> shape)."""

    def __init__(self, number):
        rng = random.Random(number)
        body = Body(rng)
        if rng.random() < 0.5:
            body.inputs["y"] = ("f32", (BATCH, "T", rng.choice([body.width, 8, 20])))
        if rng.random() < 0.3:
            body.inputs["z"] = ("f32", (BATCH, "S"))
        body.write()
        made = body.made()
        self.inputs = body.inputs
        self.outputs = dict(rng.sample(made, min(len(made), rng.randint(1, 3))) + [made[-1]])
        inputs = ", ".join(f"{name}: {kind}[{', '.join(map(str, shape))}]" for name, (kind, shape) in self.inputs.items())
        members, statements = "\n  ".join(body.members), "\n    ".join(body.statements)
        self.text = "\n".join([*body.blocks, f"model Random() {{\n  {members}\n  entry run({inputs}) -> {', '.join(self.outputs)} {{\n    {statements}\n  }}\n}}\n"])


class Search:
    """The `text` of a model of 30 tokens that searches: encode(src) -> memory and decode(tgt, memory, src) -> logits or, if it `continues` prompts,
    decode(tgt) -> logits.
    """

    def __init__(self, number):
        rng = random.Random(number)
        self.continues = rng.random() < 0.3
        # With padding, sentences of different lengths are searched together.
        padded = not self.continues and rng.random() < 0.5
        encoder = Body(rng, padded="S" if padded else None, mark="keep")
        decoder = Body(rng, "T", "S", causal=True, padded="S" if padded else None, mark="real")
        decoder.names = 1000
        if not self.continues:
            encoder.write()
            memory, decoder.inputs["y"] = encoder.made()[-1][0], ("f32", encoder.made()[-1][1])
        decoder.write()
        of_tokens = [(name, its) for name, its in decoder.made() if its[:2] == (BATCH, "T") and len(its) == 3]
        last, its = of_tokens[-1] if of_tokens else ("x", decoder.inputs["x"][1])
        members = [f"src_embed: Embedding(30, {encoder.width})", f"tgt_embed: Embedding(30, {decoder.width})",
                   f"last: LayerNorm({its[-1]})", f"out: Linear({its[-1]}, 30)", *encoder.members, *decoder.members]
        decode = ["x = tgt_embed(tgt)", "ids = tgt", "keep = tgt % 5 != 4", *decoder.statements, f"logits = out(last({last}))"]
        if self.continues:
            entries = self.entry("decode(tgt: token[B, T <= 40]) -> logits", decode)
            entries += "  generate(decode = decode, start = 1, end = 2)\n"
            del members[0]
        else:
            keep = "keep = src != 0" if padded else "keep = src % 4 != 3 | positions(S) == 0"
            entries = self.entry("encode(src: token[B, S <= 40]) -> memory", ["x = src_embed(src)", "ids = src", keep, *encoder.statements, f"memory = {memory}"])
            entries += self.entry("decode(tgt: token[B, T <= 40], memory, src) -> logits", ["real = src != 0", "y = memory", *decode])
            entries += "  generate(encode, decode, start = 1, end = 2" + (", pad = 0" if padded else "") + ")\n"
        self.text = "\n".join([*encoder.blocks, *decoder.blocks, "model Random() {\n  " + "\n  ".join(members) + "\n" + entries + "}\n"])

    @staticmethod
    def entry(signature, statements):
        return f"  entry {signature} {{\n    " + "\n    ".join(statements) + "\n  }\n"


if __name__ == "__main__":
    import sys
    print((Search if sys.argv[2:] else Description)(int(sys.argv[1])).text)
