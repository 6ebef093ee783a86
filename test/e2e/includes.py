"""Includes: paths are from the root, and go in one direction, which MAY states. Tools depend on the compiler and the runtime, the compiler on the
dialect and of the runtime on its ABI only, the runtime on itself; nothing depends on tests."""
import pathlib
import re

from common import Checks, SOURCE

ABI, IR = "runtime/abi", "dialect/IR"
# For each folder, those whose files its own may include in addition to each other. A nested folder has its own rule, except in tools and
# the runtime, where one rule is for all folders.
MAY = {
    IR: (),
    ABI: (),
    "compiler/Support": (),
    # Folders that make model IR know nothing of its later use, and passes and kernels nothing of descriptions or the sources of weights.
    "compiler/Frontend": (IR, ABI, "compiler/Support"),
    "compiler/Import": (IR, ABI, "compiler/Support"),
    "compiler/Reference": (IR, "compiler/Import"),
    "compiler/Transforms": (IR, ABI),
    # Code that targets share depends on none of them, and no target on another.
    "compiler/Target": (IR, ABI),
    "compiler/Target/CPU": (IR, ABI, "compiler/Support", "compiler/Target"),
    "compiler/Target/GPU": (IR, ABI, "compiler/Support", "compiler/Target"),
    # Plans call kernels, and place what kernels read.
    "compiler/Conversion/XfToLLVM": (IR, ABI, "compiler/Transforms", "compiler/Target", "compiler/Target/CPU", "compiler/Target/GPU"),
    # A file holds plans, weights from checkpoints, and weights that the interpreter computes from these for packing.
    "compiler/Target/Link": (IR, ABI, "compiler/Support", "compiler/Import", "compiler/Reference", "compiler/Transforms", "compiler/Target",
                             "compiler/Target/CPU", "compiler/Conversion/XfToLLVM"),
    # Explanations use the description's own words.
    "compiler/Explain": (IR, "compiler/Frontend", "compiler/Import", "compiler/Transforms", "compiler/Target", "compiler/Conversion/XfToLLVM"),
    "compiler/Pipelines": (IR, "compiler/Import", "compiler/Transforms", "compiler/Conversion/XfToLLVM", "compiler/Target/Link"),
    "tools": (IR, ABI, "runtime", "compiler/Support", "compiler/Frontend", "compiler/Import", "compiler/Reference", "compiler/Explain",
              "compiler/Pipelines", "compiler/Target/Link"),
    "runtime": (ABI,),
}
# Includes against the direction: (file, included file).
EXCEPTIONS = {
    # A parameter's table is computed with the interpreter's arithmetic, while the interpreter takes its parameters from this source.
    ("compiler/Import/ParameterSource.cpp", "compiler/Reference/Scalar.h"),
}
# Other paths that are allowed. (A compiler would find a file next to the including one by a path that is not from the root, too.)
FOREIGN = ("mlir/", "llvm/")


def folder_of(path):
    """The innermost folder with a rule; None if that is neither the file's own nor tools or runtime."""
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
