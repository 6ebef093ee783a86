"""Who includes whom: paths are from the root, and go one way, which MAY states. Tools stand on the compiler and the runtime, the compiler on the
dialect and of the runtime on its ABI only, the runtime on itself; nothing stands on tests."""
import pathlib
import re

from common import Checks, SOURCE

ABI, IR = "runtime/abi", "dialect/IR"
# Of each folder: those whose files its own may include, beside each other. A folder that lies in another one has a rule of its own; in tools
# and the runtime all that lies in them has one.
MAY = {
    IR: (),
    ABI: (),
    "compiler/Support": (),
    # What makes model IR knows nothing of what becomes of it, and passes and kernels nothing of descriptions or of where weights come from.
    "compiler/Frontend": (IR, ABI, "compiler/Support"),
    "compiler/Import": (IR, ABI, "compiler/Support"),
    "compiler/Reference": (IR, "compiler/Import"),
    "compiler/Transforms": (IR, ABI),
    # What targets share stands on none of them, and no target on another.
    "compiler/Target": (IR, ABI),
    "compiler/Target/CPU": (IR, ABI, "compiler/Support", "compiler/Target"),
    "compiler/Target/GPU": (IR, ABI, "compiler/Support", "compiler/Target"),
    # Plans call kernels, and place what kernels read.
    "compiler/Conversion/XfToLLVM": (IR, ABI, "compiler/Transforms", "compiler/Target", "compiler/Target/CPU", "compiler/Target/GPU"),
    # A file is made of plans, of weights from checkpoints, and of what the interpreter computes from these when it packs them.
    "compiler/Target/Link": (IR, ABI, "compiler/Support", "compiler/Import", "compiler/Reference", "compiler/Transforms", "compiler/Target",
                             "compiler/Target/CPU", "compiler/Conversion/XfToLLVM"),
    # What became of a description is told in its own words.
    "compiler/Explain": (IR, "compiler/Frontend", "compiler/Import", "compiler/Transforms", "compiler/Target", "compiler/Conversion/XfToLLVM"),
    "compiler/Pipelines": (IR, "compiler/Import", "compiler/Transforms", "compiler/Conversion/XfToLLVM", "compiler/Target/Link"),
    "tools": (IR, ABI, "runtime", "compiler/Support", "compiler/Frontend", "compiler/Import", "compiler/Reference", "compiler/Explain",
              "compiler/Pipelines", "compiler/Target/Link"),
    "runtime": (ABI,),
}
# Against the direction: (file, what it includes).
EXCEPTIONS = {
    # What a description computes a parameter's table from is computed as the interpreter does it, which takes its parameters from there.
    ("compiler/Import/ParameterSource.cpp", "compiler/Reference/Scalar.h"),
}
# A file that one includes by a path that is not from the root would be found beside it.
FOREIGN = ("mlir/", "llvm/")


def folder_of(path):
    """The innermost folder that has a rule; None where that of a file has none."""
    folders = [folder.as_posix() for folder in pathlib.PurePosixPath(path).parents]
    found = next((folder for folder in folders if folder in MAY), None)
    return found if found in (folders[0], "tools", "runtime") else None


def may_include(path, name):
    if name.startswith(FOREIGN) or (path, name) in EXCEPTIONS:
        return True
    folder, other = folder_of(path), folder_of(name)
    return folder is not None and (other == folder or other in MAY[folder])


checks = Checks()
seen, met = 0, set()
for top in ("dialect", "compiler", "runtime", "tools"):
    for path in sorted((SOURCE / top).rglob("*")):
        if path.suffix not in (".h", ".cpp", ".c", ".td"):
            continue
        place = path.relative_to(SOURCE).as_posix()
        for name in re.findall(r'^#?include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
            seen += 1
            met.add((place, name))
            checks.that(may_include(place, name), f"{place} includes {name}")
checks.that(seen > 1000, f"only {seen} includes were found")
checks.that(EXCEPTIONS <= met, f"no exceptions any more: {EXCEPTIONS - met}")
checks.end()
