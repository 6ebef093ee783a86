"""Options of a search, from keyword arguments to the C structure."""
import ctypes

from . import _c
from ._arrays import Ints, Rows

NUMBERS = [name for name, kind in _c.GenerateOptions._fields_ if kind in (ctypes.c_int32, ctypes.c_double, ctypes.c_uint64) and name != "size"]
LISTS = ["suppress", "ends", "prefix", "source_prefix", "source_suffix"]
ROWS = {"prefixes": ("prefix", "prefix_offsets"), "targets": ("targets", "target_offsets")}
NAMES = [*NUMBERS, *LISTS, *ROWS, "shortlist", "on_token"]


class Options:
    """`structure`, and what it points to. Raises what `on_token` raised with raise_problem()."""

    def __init__(self, library, sentences, values):
        self.structure, self.kept, self.problem, self.longest_target = _c.GenerateOptions(), [], None, 0
        library.xf_generate_options_init(ctypes.byref(self.structure), ctypes.sizeof(self.structure))
        for name, value in values.items():
            if name not in NAMES:
                raise TypeError(f"there is no option '{name}'; options are {', '.join(NAMES)}")
            if value is not None:
                self._set(name, value, sentences)

    def _set(self, name, value, sentences):
        if name in LISTS:
            numbers = self._keep(Ints(value))
            setattr(self.structure, name, numbers.address)
            setattr(self.structure, name + "_count", len(numbers))
        elif name in ROWS:
            rows = self._keep(Rows(value))
            if rows.count != sentences:
                raise ValueError(f"there are {rows.count} {name} for {sentences} sentences")
            for field, given in zip(ROWS[name], (rows.address, rows.offsets.address)):
                setattr(self.structure, field, given)
            if name == "targets":
                self.longest_target = rows.longest
        elif name == "shortlist":
            if not hasattr(value, "handle"):
                raise TypeError("shortlist must be an xf.Shortlist")
            self.structure.shortlist = self._keep(value).handle
        elif name == "on_token":
            self.structure.on_token = self._keep(_c.TokenFunction(self._guard(value)))
        else:
            setattr(self.structure, name, value)
            if getattr(self.structure, name) != value:  # more bits than the field has, which ctypes takes without a word
                raise OverflowError(f"{name}={value} is out of range")

    def _keep(self, value):
        self.kept.append(value)
        return value

    def _guard(self, function):
        """An exception may not leave the function while the runtime calls it: the first one is kept, and the search goes on."""
        def call(_context, sentence, token):
            try:
                if self.problem is None:
                    function(sentence, token)
            except BaseException as problem:
                self.problem = problem
        return call

    def raise_problem(self):
        if self.problem is not None:
            raise self.problem
