"""Golden numbers: compares results of a session's entries, and its greedy search, with a file. The standard library alone."""
import array
import json
import math
import struct
import time

ELEMENTS = {"f32": "f", "i32": "i", "i1": "?"}  # of the module struct


def read_safetensors(path):
    """name -> (shape, list of numbers)"""
    content = open(path, "rb").read()
    size, = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    result = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        data = array.array({"F32": "f", "F64": "d", "I32": "i", "I64": "q", "BOOL": "b", "U8": "B"}[t["dtype"]])
        data.frombytes(content[8 + size + begin:8 + size + end])
        result[name] = (t["shape"], data.tolist())
    return result


def distance(actual, expected):
    """The norm-wise error; infinite if a number is not finite and the other is not the same."""
    top = bottom = 0.0
    if len(actual) != len(expected):
        return math.inf
    for x, y in zip(actual, expected):
        if math.isfinite(x) and math.isfinite(y):
            top, bottom = top + (x - y) ** 2, bottom + y * y
        elif not (x == y or (math.isnan(x) and math.isnan(y))):
            return math.inf
    return math.sqrt(top / bottom) if bottom else math.sqrt(top)


def table_of(tensor):
    (rows, width), elements = tensor
    return [elements[i * width:(i + 1) * width] for i in range(rows)]


def array_of(info, tensor):
    """What an entry takes: the elements in the type of its input."""
    shape, elements = tensor
    return memoryview(struct.pack(f"{len(elements)}{ELEMENTS[info.dtype]}", *elements)).cast(ELEMENTS[info.dtype], shape)


def tensor_of(array):
    """What an entry gives, as the file has it."""
    view = memoryview(array)
    return list(view.shape), view.cast("B").cast(view.format).tolist()


def run(session, name, values):
    """The results of an entry; none if an input is missing."""
    entry = session.model.entries[name]
    if any(info.name not in values for info in entry.inputs):
        return {}
    results = session.run(name, {info.name: array_of(info, values[info.name]) for info in entry.inputs})
    return {output: tensor_of(array) for output, array in results.items()}


def finds_greedy(session, expected, sources):
    """Whether the search finds the file's tokens: for each sentence a start token, the result, and padding."""
    results = session.generate(sources, batch=len(sources), min_length=0, max_length=len(expected[0]) - 1)
    return all(row[1:len(best.tokens) + 1] == best.tokens and len(set(row[len(best.tokens) + 1:])) <= 1 for row, (best,) in zip(expected, results))


def compare(session, path, searches):
    """Returns the largest error of entries' results; what was compared, in words; what went wrong, in words; and the milliseconds that a run of
    all entries took. `searches`: whether greedy searches are compared, which may go other ways in types of fewer bits."""
    file = read_safetensors(path)
    values = {name[3:]: t for name, t in file.items() if name.startswith("in.")}
    expected = {name[4:]: t for name, t in file.items() if name.startswith("out.")}
    greedy = expected.pop("greedy", None)
    worst, compared, seconds, wrong = 0.0, set(), 0.0, []
    for entry in session.model.entries:
        begin = time.perf_counter()
        results = run(session, entry, values)
        seconds += time.perf_counter() - begin
        for name, t in results.items():
            values.setdefault(name, t)
            if name in expected:
                worst = max(worst, distance(t[1], expected[name][1]))
                compared.add(name)
    summary = f"{len(compared)} outputs"
    if missing := sorted(set(expected) - compared):
        wrong.append(f"no entry gives {', '.join(missing)}")
    if not expected:
        wrong.append("nothing to compare")
    if greedy and searches:
        summary += ", greedy"
        if not finds_greedy(session, table_of(greedy), table_of(file["in.src"])):
            wrong.append("greedy tokens differ")
    elif greedy:
        summary += ", greedy left out"
    return worst, summary, wrong, seconds * 1e3
