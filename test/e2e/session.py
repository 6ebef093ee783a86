"""Compiled files, opened with the Python package."""
from common import BIN, available_isas
import xf

LIBRARY = BIN.parent / "lib" / "libxf-runtime.so"


def opened(path):
    return xf.Model(path, LIBRARY)


def session_of(path, threads, device="cpu"):
    return opened(path).session(threads, device=device)


def isas_of(path, kind):
    """The instruction sets to test a model on. Those for some products of its type are left out if the model has no such products."""
    model, isas = opened(path), []
    for isa in available_isas(kind):
        try:
            model.session(1, isa, "cpu").close()
            isas.append(isa)
        except xf.Error as problem:
            if isa in available_isas() or f"compiled without code for {isa}" not in str(problem):
                raise
    return isas
