"""The same inputs give the same file, byte for byte: no decision of the compiler depends on memory addresses, which differ from process to
process."""
from common import Checks, WORK, compile_g2p

checks = Checks()
ways = {
    "an executable": [],
    "an executable in int8": ["--type", "int8"],
    "code for a GPU": ["--target", "cuda", "--emit=ptx"],
}
for name, options in ways.items():
    files = []
    for i in range(2):
        out = WORK / f"out{i}"
        compile_g2p(out, *options, isas=None)
        files.append(out.read_bytes())
    checks.that(files[0] == files[1], f"{name}: two compilations give one file")
checks.end()
