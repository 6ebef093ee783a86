"""Who includes whom: paths are from the root, and go one way. Tools stand on the compiler and the runtime, the compiler on the dialect and of
the runtime on its ABI only, the runtime on itself; nothing stands on tests. Of the back ends, what targets share stands on none of them, and no
target on another."""
import re

from common import Checks, SOURCE

# Of each folder: what its files may include.
MAY = {"dialect": ("dialect/",), "compiler": ("compiler/", "dialect/", "runtime/abi/"), "runtime": ("runtime/",),
       "tools": ("tools/", "compiler/", "dialect/", "runtime/")}
# A file that one includes by a path that is not from the root would be found beside it.
FOREIGN = ("mlir/", "llvm/")


def target_of(path):
    """Whose back end a file belongs to: a target's, "" if targets share it, None if it is no back end's."""
    found = re.fullmatch(r"compiler/Target/(?:(CPU|GPU)/)?\w+\.\w+", path)
    return found and (found[1] or "")


def crosses_targets(path, name):
    return target_of(path) is not None and target_of(name) not in (None, "", target_of(path))


checks = Checks()
seen = 0
for folder, allowed in MAY.items():
    for path in sorted((SOURCE / folder).rglob("*")):
        if path.suffix not in (".h", ".cpp", ".c", ".td"):
            continue
        place = path.relative_to(SOURCE).as_posix()
        for name in re.findall(r'^#?include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
            seen += 1
            checks.that(name.startswith(allowed + FOREIGN) and not crosses_targets(place, name), f"{place} includes {name}")
checks.that(seen > 1000, f"only {seen} includes were found")
checks.end()
