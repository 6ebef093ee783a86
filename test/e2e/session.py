"""A compiled file, opened by the C API."""
import collections
import ctypes
import math

from common import BIN, available_isas
import capi

DEVICES = {"cpu": 1, "cuda": 2, "emulator": 3}
SOURCE, TARGET = 0, 1  # enum xf_side
TYPES = {ctypes.c_float: 0, ctypes.c_int32: 1, ctypes.c_bool: 2}
library = capi.load(BIN.parent / "lib" / "libxf-runtime.so")


def call(function, *arguments):
    capi.check(library, getattr(library, function)(*arguments))


def tensor(name, kind, shape, data):
    """An array of the ctypes type `kind`, as the C API takes it."""
    return capi.Tensor(name.encode(), TYPES[kind], len(shape), (ctypes.c_int64 * 6)(*shape), ctypes.cast(data, ctypes.c_void_p))


def tensors(inputs):
    """Inputs, name -> (ctypes type, shape, values), as the C API takes them, and the arrays of their values, which must live as long."""
    kept = {name: (kind * len(values))(*values) for name, (kind, _, values) in inputs.items()}
    return (capi.Tensor * len(inputs))(*(tensor(name, inputs[name][0], inputs[name][1], data) for name, data in kept.items())), kept


def rows_of(sentences):
    """Rows of tokens as the C API takes them: all tokens, and where each row begins."""
    flat = [token for sentence in sentences for token in sentence]
    offsets = [sum(map(len, sentences[:i])) for i in range(len(sentences) + 1)]
    return (ctypes.c_int32 * len(flat))(*flat), (ctypes.c_int64 * len(offsets))(*offsets)


# `weights`: for each token, a row with the weights of its source's tokens; empty if none were requested.
Result = collections.namedtuple("Result", "tokens score weights")
TokenFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)


def opened(path):
    model = ctypes.c_void_p()
    call("xf_open", str(path).encode(), ctypes.byref(model))
    return model


class Session:
    def __init__(self, path, threads, device="cpu", model=None, isa=None):
        """Makes a session of `model`, if that is given, or else of the file at `path`."""
        self.model, self.handle, self.is_owner = model or opened(path), ctypes.c_void_p(), not model
        options = capi.SessionOptions(ctypes.sizeof(capi.SessionOptions), threads, capi.ISA[isa] if isa else -1, DEVICES[device])
        call("xf_session_create", self.model, ctypes.byref(options), ctypes.byref(self.handle))

    def free(self):
        """Frees the session, and the model if the session opened it."""
        library.xf_session_free(self.handle)
        if self.is_owner:
            library.xf_model_free(self.model)

    def entry(self, name, inputs, shape, output):
        """Runs an entry and returns its only result as a flat list. inputs: name -> (ctypes type, shape, values)."""
        given, _kept = tensors(inputs)
        data = (ctypes.c_float * math.prod(shape))()
        results = (capi.Tensor * 1)(tensor(output, ctypes.c_float, shape, data))
        call("xf_run", self.handle, name.encode(), given, len(inputs), results, 1)
        return list(data)

    def encode(self, sentences):
        """The bytes of each sentence's rows."""
        info = capi.EncodingInfo(ctypes.sizeof(capi.EncodingInfo))
        call("xf_get_encoding_info", self.handle, ctypes.byref(info))
        sizes = [4 * info.width * (len(sentence) if info.by_token else 1) for sentence in sentences]
        ids, offsets = rows_of(sentences)
        rows = (ctypes.c_float * (sum(sizes) // 4))()
        call("xf_encode", self.handle, ids, offsets, ctypes.c_int64(len(sentences)), rows, ctypes.c_int64(len(rows)))
        return [bytes(rows)[sum(sizes[:i]):sum(sizes[:i + 1])] for i in range(len(sentences))]

    def generate(self, sentences, capacity=64, width=0, **settings):
        """For each sentence its results, best first. settings: fields of xf_generate_options, and `prefixes`, one for each sentence; width: the
        source positions in alignments."""
        ids, offsets = rows_of(sentences)
        return self.search("xf_generate", [ids, offsets, ctypes.c_int64(len(sentences))], len(sentences), capacity, width, settings)

    def generate_from(self, inputs, sentences, capacity=64, width=0, **settings):
        """Like generate(), for `sentences` sentences that are passed as the model's own inputs: name -> (ctypes type, shape, values)."""
        given, _kept = tensors(inputs)
        return self.search("xf_generate_from", [given, len(inputs)], sentences, capacity, width, settings)

    def search(self, function, source, sentences, capacity, width, settings):
        options = capi.GenerateOptions()
        library.xf_generate_options_init(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        prefix, offsets = rows_of(settings.pop("prefixes", []))
        if prefix:
            options.prefix, options.prefix_offsets = ctypes.addressof(prefix), ctypes.addressof(offsets)
        for name, value in settings.items():
            setattr(options, name, value)
        best = options.n_best
        places = sentences * best
        tokens, lengths, scores = (ctypes.c_int32 * (places * capacity))(), (ctypes.c_int32 * places)(), (ctypes.c_double * places)()
        weights = (ctypes.c_float * (places * capacity * width))()
        tokens_at, lengths_at, scores_at, weights_at = map(ctypes.addressof, (tokens, lengths, scores, weights))
        results = capi.Hypotheses(ctypes.sizeof(capi.Hypotheses), tokens_at, capacity, lengths_at, scores_at, weights_at if width else None, width)
        call(function, self.handle, *source, ctypes.byref(options), ctypes.byref(results))

        def result(place):
            at = range(place * capacity, place * capacity + lengths[place])
            return Result([tokens[t] for t in at], scores[place], [weights[t * width:(t + 1) * width] for t in at] if width else [])
        return [[result(place) for place in range(s * best, (s + 1) * best) if lengths[place] >= 0] for s in range(sentences)]

    def ids_of(self, text, side=SOURCE):
        """The ids of a text."""
        text, count = text.encode(), ctypes.c_int64()
        ids = (ctypes.c_int32 * (4 * len(text) + 20))()
        call("xf_text_to_ids", self.model, side, text, ctypes.c_int64(len(text)), ids, ctypes.c_int64(len(ids)), ctypes.byref(count))
        return ids[:count.value]

    def text_of(self, ids, more=False):
        """The text of a result or, with `more`, of its first ids."""
        given, length = (ctypes.c_int32 * len(ids))(*ids), ctypes.c_int64()
        room = [self.model, given, ctypes.c_int64(len(ids)), int(more)]
        call("xf_ids_to_text", *room, None, ctypes.c_int64(0), ctypes.byref(length))
        text = ctypes.create_string_buffer(length.value + 1)
        call("xf_ids_to_text", *room, text, ctypes.c_int64(len(text)), ctypes.byref(length))
        return text.raw[:length.value].decode()


def isas_of(path, kind):
    """The instruction sets to test a model on. Those for some products of its type are left out if the model has no such products."""
    model, isas = opened(path), []
    for isa in available_isas(kind):
        try:
            Session(path, 1, model=model, isa=isa).free()
            isas.append(isa)
        except RuntimeError as problem:
            if isa in available_isas() or f"compiled without code for {isa}" not in str(problem):
                raise
    library.xf_model_free(model)
    return isas
