"""Running models that xfc has compiled: the C API (xf/xf.h, which says more of everything here) for Python.

    import xf
    model = xf.Model("libg2p.so")           # xfc --emit=so; or a program, or a bare model file
    session = model.session(threads=2)
    for line in session.process_lines(["hello", "world"], beam=4):
        print(line.results[0].text)

Arrays are numpy's, and inputs may be nested lists; without numpy, results are memoryviews, and inputs whatever gives such ones of the right type.
A model may be used by many threads at once. A session serves one call at a time: others wait. Calls do not hold Python's lock.
"""
import collections
import contextlib
import ctypes
import errno
import functools
import os
import threading
import weakref

from . import _arrays, _c
from ._arrays import Ints, Rows, Tensors, section, zero_rows, zeros
from ._c import Status
from ._options import Options

__all__ = ["Error", "Model", "Session", "Shortlist", "Entry", "Hypothesis", "Limits", "Line", "Result", "SearchInfo", "Status", "TensorInfo"]

Limits = collections.namedtuple("Limits", [name for name, _ in _c.Limits._fields_[1:]])
SearchInfo = collections.namedtuple("SearchInfo", [name for name, _ in _c.SearchInfo._fields_[1:]])
Entry = collections.namedtuple("Entry", "inputs outputs")
# shape: sizes and names of dimensions. dtype: "f32", "i32" or "i1". bound: values are below it (0: any).
TensorInfo = collections.namedtuple("TensorInfo", "name dtype shape bound")
# alignment: a row for each token, with the weights of its source's tokens; None if none were asked for.
Hypothesis = collections.namedtuple("Hypothesis", "tokens score alignment")
# error: what is wrong with the line, which has no results then, or None.
Line = collections.namedtuple("Line", "results error")
# alignment: for each token of the text the number of the line's token that it looks at most, or -1; None if it was not asked for.
Result = collections.namedtuple("Result", "text score alignment")


class Error(Exception):
    """What a call of the runtime says, and its Status. results: of a search, what the sentences have that nothing is wrong with."""

    def __init__(self, message, status, results=None):
        super().__init__(message)
        self.status, self.results = Status(status), results


def _runtime(path, library):
    """The runtime for a file: the one in it, if it is a shared library, or else `library`, or the one that is installed with this package."""
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if library is None:
        with contextlib.suppress(OSError, AttributeError):
            return _c.load(path)
        library = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libxf-runtime.so")
        if not os.path.exists(library):
            raise FileNotFoundError(f"{path} is no shared library (xfc --emit=so): library= says where libxf-runtime.so is")
    return _c.load(os.path.abspath(library))


def _c_text(text):
    """Bytes that end with a zero byte, which the text may not have itself."""
    text = text if isinstance(text, bytes) else text.encode()
    if b"\0" in text:
        raise ValueError("a zero byte in a text")
    return text


def _number_of(name, names):
    """What the C API calls `name`."""
    if name not in names:
        raise ValueError(f"'{name}' is none of {', '.join(names)}")
    return names[name]


class _Object:
    """Something that the runtime made, and how to free it."""

    def __init__(self, library, free, make, *arguments):
        self.library, handle = library, ctypes.c_void_p()
        self.check(make(*arguments, ctypes.byref(handle)))
        self._handle, self._finalizer = handle, weakref.finalize(self, free, handle)

    @property
    def handle(self):
        if not self._finalizer.alive:
            raise ValueError(f"the {type(self).__name__} is closed")
        return self._handle

    def check(self, status, results=None):
        if status:
            raise Error(self.library.xf_message().decode(), status, results)

    def close(self):
        """Frees it; otherwise that happens when nothing refers to it any more."""
        self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Model(_Object):
    """A compiled program, shared library or model file. library: path of a libxf-runtime.so, for files other than shared
    libraries; None: the one beside this package."""

    def __init__(self, path, library=None):
        path = os.path.abspath(path)
        runtime = _runtime(path, library)
        super().__init__(runtime, runtime.xf_model_free, runtime.xf_open, _c_text(os.fsencode(path)))

    def session(self, threads=0, isa="best", device="best"):
        """A session of the model; threads=0: as many as the process may use. isa, device: a name of xf_isa and xf_device, in small letters."""
        return Session(self, threads, isa, device)

    @property
    def name(self):
        return self.library.xf_model_name(self.handle).decode()

    @functools.cached_property
    def limits(self):
        return Limits(*self._fields(_c.Limits, self.library.xf_get_limits))

    @functools.cached_property
    def search(self):
        """How it generates, with the numbers of special tokens."""
        return SearchInfo(*self._fields(_c.SearchInfo, self.library.xf_get_search_info))

    @property
    def ir(self):
        """The model's IR before fusion; empty if it was compiled from kernel IR."""
        size = ctypes.c_uint64()
        text = self.library.xf_model_ir(self.handle, ctypes.byref(size))
        return ctypes.string_at(text, size.value).decode() if size.value else ""

    @functools.cached_property
    def dims(self):
        """The named dimensions of shapes, and their limits."""
        return {self._dim(dim): self.library.xf_dim_limit(self.handle, dim) for dim in range(self.library.xf_dim_count(self.handle))}

    @functools.cached_property
    def entries(self):
        """What Session.run() can run: the name and the Entry of each."""
        c, model = self.library, self.handle

        def infos(entry, count, info):
            return [self._info(info, entry, i) for i in range(count(model, entry))]
        return {c.xf_entry_name(model, e).decode(): Entry(infos(e, c.xf_input_count, c.xf_input_info), infos(e, c.xf_output_count, c.xf_output_info))
                for e in range(c.xf_entry_count(model))}

    @functools.cached_property
    def source_inputs(self):
        """What Session.generate_from() takes."""
        return [self._info(self.library.xf_source_info, i) for i in range(self.search.source_inputs)]

    def text_to_ids(self, text, side="source"):
        """The ids that a line becomes; with side="target" a prefix or target, with "source_tokens" a source_prefix or source_suffix."""
        text, count, ids = text.encode(), ctypes.c_int64(), (ctypes.c_int32 * 0)()
        side = _number_of(side, _c.SIDES)
        while True:
            self.check(self.library.xf_text_to_ids(self.handle, side, text, len(text), ids, len(ids), ctypes.byref(count)))
            if count.value <= len(ids):
                return ids[:count.value]
            ids = (ctypes.c_int32 * count.value)()

    def ids_to_text(self, ids, more=False):
        """The text of a result. more=True: of its first ids, as far as others cannot change it."""
        ids, length = Ints(ids), ctypes.c_int64()
        text = ctypes.create_string_buffer(0)
        while True:
            self.check(self.library.xf_ids_to_text(self.handle, ids.address, len(ids), more, text, len(text), ctypes.byref(length)))
            if length.value < len(text):
                return text.raw[:length.value].decode(errors="replace")
            text = ctypes.create_string_buffer(length.value + 1)

    def _fields(self, structure, get):
        info = structure()
        self.check(get(self.handle, ctypes.byref(info)))
        return [getattr(info, name) for name, _ in structure._fields_[1:]]

    def _dim(self, dim):
        return self.library.xf_dim_name(self.handle, dim).decode()

    def _info(self, get, *index):
        info = _c.TensorInfo()
        self.check(get(self.handle, *index, ctypes.byref(info)))
        shape = tuple(size if size >= 0 else self._dim(-size - 1) for size in info.shape[:info.rank])
        return TensorInfo(info.name.decode(), _arrays.NAMES[info.dtype], shape, info.bound)


class Shortlist(_Object):
    """A lexical table: what sentences may be translated with. For searches of its model; ids=True: its tokens are numbers."""

    def __init__(self, model, path, ids=False):
        c = model.library
        super().__init__(c, c.xf_shortlist_free, c.xf_shortlist_open, model.handle, _c_text(os.fsencode(path)), ids)


class Session(_Object):
    """What runs a model: threads, and the memory that they need."""

    def __init__(self, model, threads=0, isa="best", device="best"):
        c, options = model.library, _c.SessionOptions()
        c.xf_session_options_init(ctypes.byref(options), ctypes.sizeof(options))
        options.threads, options.isa, options.device = threads, _number_of(isa, _c.ISAS), _number_of(device, _c.DEVICES)
        super().__init__(c, c.xf_session_free, c.xf_session_create, model.handle, ctypes.byref(options))
        self.model, self._lock, self._user = model, threading.Lock(), None

    def close(self):
        with self._alone():
            super().close()

    @property
    def threads(self):
        return self.library.xf_session_threads(self.handle)

    @property
    def isa(self):
        return self.library.xf_session_isa(self.handle).decode()

    @property
    def device(self):
        """"cpu", "emulator", or the GPU's name."""
        return self.library.xf_session_device(self.handle).decode()

    def run(self, entry, inputs):
        """Runs an entry. inputs: the name and the array of each; returns the outputs likewise."""
        signature = self.model.entries.get(entry)
        if signature is None:
            raise TypeError(f"there is no entry '{entry}'; entries are {', '.join(self.model.entries)}")
        given, outputs = Tensors(signature.inputs, inputs), (_c.Tensor * len(signature.outputs))()
        arguments = entry.encode(), given.tensors, len(given), outputs, len(outputs)
        with self._alone():
            self.check(self.library.xf_output_shapes(self.handle, *arguments))
            results = {}
            for tensor in outputs:
                results[tensor.name.decode()], tensor.data = zeros(tensor.dtype, tensor.shape[:tensor.rank])
            self.check(self.library.xf_run(self.handle, *arguments))
        return results

    def generate(self, sentences, alignments=False, **options):
        """For each sentence (ids) its hypotheses, best first. options: fields of xf_generate_options; suppress, ends and prefix are lists, `prefixes`
        and `targets` one list for each sentence, on_token a function of a sentence and a token."""
        rows = Rows(sentences)
        source = rows.address, rows.offsets.address, rows.count
        return self._search(self.library.xf_generate, source, rows.count, rows.longest if alignments else 0, options)

    def generate_from(self, inputs, sentences=None, alignment_width=0, **options):
        """The same for a batch of sentences given as the model's own inputs (Model.source_inputs), by name. sentences: how many, where that is not
        the first dimension of the first input. alignment_width: how many positions of the source an alignment has."""
        given = Tensors(self.model.source_inputs, inputs)
        if sentences is None:
            sentences = given.tensors[0].shape[0] if len(given) else 0
        return self._search(self.library.xf_generate_from, (given.tensors, len(given)), sentences, alignment_width, options)

    def encode(self, sentences):
        """An array for each sentence (ids): a row for each of its tokens or, if the model's result has no tokens, one for the sentence."""
        rows, info = Rows(sentences), _c.EncodingInfo()
        with self._alone():
            self.check(self.library.xf_get_encoding_info(self.handle, ctypes.byref(info)))
            shapes = [(length, info.width) if info.by_token else (info.width,) for length in rows.lengths]
            results, address, size = zero_rows(shapes)
            self.check(self.library.xf_encode(self.handle, rows.address, rows.offsets.address, rows.count, address, size))
        return results

    def process_lines(self, lines, ids=False, **options):
        """A Line for each text. ids=True: lines are numbers, and so are their results. source_prefix, source_suffix: lists of tokens."""
        if isinstance(lines, (str, bytes)):
            raise TypeError("lines are a list of texts, not a text")
        texts = [_c_text(line) for line in lines]
        chosen, handle = Options(self.library, len(texts), options), ctypes.c_void_p()
        given = (ctypes.c_char_p * len(texts))(*texts)
        with self._alone():
            self.check(self.library.xf_process_lines(self.handle, given, len(texts), ids, ctypes.byref(chosen.structure), ctypes.byref(handle)))
        try:
            return [self._line(handle, line, chosen.structure.line_alignments) for line in range(len(texts))]
        finally:
            self.library.xf_lines_free(handle)

    def _line(self, lines, line, aligned):
        def result(index):
            text = self.library.xf_line_text(lines, line, index).decode(errors="replace")
            return Result(text, self.library.xf_line_score(lines, line, index), self._alignment(lines, line, index) if aligned else None)
        error = self.library.xf_line_error(lines, line)
        return Line([result(index) for index in range(self.library.xf_line_results(lines, line))], error.decode() if error else None)

    def _alignment(self, *place):
        count = self.library.xf_line_alignment(*place, None, 0)
        source = (ctypes.c_int32 * count)()
        self.library.xf_line_alignment(*place, source, count)
        return source[:]

    def _search(self, function, source, sentences, width, values):
        chosen = Options(self.library, sentences, values)
        options, limits = chosen.structure, self.model.limits
        # Values out of range, which are an error, need no memory.
        best = min(max(options.n_best, 0), max(limits.beam, 1))
        capacity = chosen.longest_target or (min(options.max_length, limits.target) if options.max_length > 0 else limits.target)
        places = sentences * best
        tokens, scores = (ctypes.c_int32 * (places * capacity))(), (ctypes.c_double * places)()
        lengths = (ctypes.c_int32 * places)(*[-1] * places)
        weights, weights_at = zeros(_c.F32, (places * capacity * width,)) if width else (None, None)
        at = [ctypes.addressof(array) for array in (tokens, lengths, scores)]
        found = _c.Hypotheses(tokens=at[0], capacity=capacity, lengths=at[1], scores=at[2], alignments=weights_at, alignment_width=width)
        with self._alone():
            status = function(self.handle, *source, ctypes.byref(options), ctypes.byref(found))
        chosen.raise_problem()

        def hypothesis(place):
            length = lengths[place]
            aligned = section(weights, place * capacity * width, (length, width)) if width else None
            return Hypothesis(tokens[place * capacity:place * capacity + length], scores[place], aligned)
        results = [[hypothesis(place) for place in range(s * best, (s + 1) * best) if lengths[place] >= 0] for s in range(sentences)]
        self.check(status, results)
        return results

    @contextlib.contextmanager
    def _alone(self):
        """For the time of a call of the runtime."""
        if self._user == threading.get_ident():
            raise RuntimeError("on_token must not use the session that calls it")
        with self._lock:
            self._user = threading.get_ident()
            try:
                yield
            finally:
                self._user = None
