"""The installed files work on their own: the tools compile, and objects and libraries link into a C program."""
import os
import re
import shlex
import shutil
import struct
import sys
import zipfile

from common import BIN, Checks, MODELS, SOURCE, WORK, read_safetensors, run, write_safetensors

checks = Checks()
prefix = WORK / "installed"
run("cmake", "--install", BIN.parent, "--prefix", prefix)
for file in ("bin/xfc", "bin/xf-run", "bin/xf-opt", "bin/xf-runner", "lib/libxf-runtime.so", "lib/libxf-runtime.a", "lib/pkgconfig/xf-runtime.pc",
             "include/xf/xf.h"):
    checks.that((prefix / file).exists(), f"{file} is not installed")
xfc = prefix / "bin" / "xfc"


def compile_installed(name, output, *options):
    folder = MODELS / name
    vocabularies = ["--source-vocab", folder / "source.vocab", "--target-vocab", folder / "target.vocab"] if name == "g2p" else []
    run(xfc, folder / f"{name}.xf", "--config", folder / "config.json", "--weights", folder / "weights.safetensors", *vocabularies,
        "-o", output, *options)
    return output


program = compile_installed("g2p", WORK / "program")
checks.that(run(program, stdin="hello\n")[1] == "HH EH1 L OW0\n", "the installed compiler's program")

# An object is self-contained, and two of them link into one program.
objects = [compile_installed(name, WORK / f"{name}.o", "--emit=obj") for name in ("seed3", "g2p")]
for path in objects:
    names = run("readelf", "--syms", "--wide", path)[1]
    checks.that(" UND " not in names.split("\n", 4)[4], f"{path.name} has undefined symbols:\n{names}")
strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
include = ["-I", prefix / "include", "-I", WORK]
libraries = {
    "shared": [*include, "-L", prefix / "lib", "-lxf-runtime", f"-Wl,-rpath,{prefix}/lib"],
    "static": [*include, prefix / "lib" / "libxf-runtime.a", "-lstdc++", "-lm", "-lpthread", "-ldl"],
}
# The same as pkg-config tells them, wherever the files were moved to.
moved = WORK / "moved prefix"
shutil.copytree(prefix, moved)


def package(*options):
    return shlex.split(run("env", f"PKG_CONFIG_PATH={moved}/lib/pkgconfig", "pkg-config", *options, "xf-runtime")[1])


checks.that(run(xfc, "--version")[1].split()[1] == package("--modversion")[0], "the package's version")
libraries["shared package"] = ["-I", WORK, *package("--cflags", "--libs"), f"-Wl,-rpath,{moved}/lib"]
libraries["static package"] = ["-static", "-I", WORK, *package("--cflags", "--libs", "--static")]
model = compile_installed("seed3", WORK / "model", "--emit=model")
write_safetensors(WORK / "in", {"src": ("I64", [2, 3], struct.pack("<6q", 5, 9, 2, 7, 4, 0))})
run(prefix / "bin" / "xf-run", model, "--inputs", WORK / "in", "--outputs", WORK / "out", "--entry", "encode")
memory = read_safetensors(WORK / "out")["memory"][2]
want = [f"{bits:08x}" for bits, in struct.iter_unpack("<I", memory)] + ["HH EH1 L OW0"]
for kind, libs in libraries.items():
    run("cc", *strict, SOURCE / "test/e2e/embed.c", *objects, *libs, "-o", WORK / kind)
    got = run(WORK / kind)[1].splitlines()
    checks.that(got == want, f"{kind}: {got[:3]} …, expected {want[:3]} …")

# A project of CMake finds the same, and compiles its models: again where a file changes that one was made from.
project = WORK / "project"
for name in ("seed3", "g2p"):
    shutil.copytree(MODELS / name, project / name)
shutil.copy(SOURCE / "test/e2e/embed.c", project)
(project / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.22)
project(embed LANGUAGES C)
find_package(xf 0.1 REQUIRED)
xf_add_model(seed3 seed3/seed3.xf ${STATIC} OPTIONS --config seed3/config.json --weights seed3/weights.safetensors)
xf_add_model(g2p g2p/g2p.xf ${STATIC} OPTIONS --config g2p/config.json --weights g2p/weights.safetensors
  --source-vocab g2p/source.vocab --target-vocab g2p/target.vocab)
add_executable(embed embed.c)
target_link_libraries(embed PRIVATE seed3 g2p)
""")
for kind, linked in (("", "libxf-runtime.so =>"), ("STATIC", "libstdc++.so")):
    build = WORK / f"project built {kind}"
    run("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={moved}", f"-DSTATIC={kind}")
    run("cmake", "--build", build)
    checks.that(run(build / "embed")[1].splitlines() == want, f"a project of CMake, {kind}")
    checks.that(linked in run("ldd", build / "embed")[1], f"a project of CMake, {kind}, is not linked with {linked}")
    checks.that("Compiling" not in run("cmake", "--build", build)[1], "an unchanged project is compiled again")
    os.utime(project / "g2p" / "source.vocab")
    again = run("cmake", "--build", build)[1]
    checks.that("Compiling model g2p" in again and "Compiling model seed3" not in again, f"with another vocabulary: {again}")

# Python finds the package, and the package the installed runtime.
script = f"import xf; print(xf.Model('{WORK / 'program'}').session(1).process_lines(['hello'])[0].results[0].text)"
said = run("env", f"PYTHONPATH={moved}/lib/python", "python3", "-c", script)[1]
checks.that(said == "HH EH1 L OW0\n" and not list(prefix.rglob("__pycache__")), f"the installed package says {said}")

# pip makes a wheel of it, the runtime in it, if there is what that takes.
build_wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", WORK / "wheels"]
if run(sys.executable, "-c", "import setuptools, wheel, pip", ok=False)[0] == 0:
    shutil.copytree(moved / "lib" / "python", WORK / "package")  # where pip may write
    run(*build_wheel, WORK / "package")
    wheel, = (WORK / "wheels").iterdir()
    checks.that(re.fullmatch(r"xf-[0-9.]+-py3-none-linux_x86_64\.whl", wheel.name), f"a wheel named {wheel.name}")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(WORK / "site")
    said = run("env", f"PYTHONPATH={WORK / 'site'}", "python3", "-B", "-c", script)[1]
    checks.that(said == "HH EH1 L OW0\n", f"the package of a wheel says {said}")

# The weights are not copied: the program holds them as the object does, read-only.
sections = run("readelf", "--sections", "--wide", WORK / "static")[1]
checks.that(".lrodata" in sections, f"the images are not in read-only data:\n{sections}")
# C++ can include the header, too.
(WORK / "header.cpp").write_text('#include "seed3.h"\n')
run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", WORK / "header.cpp", *include)

# A library is linked by its own header and name.
library = compile_installed("g2p", WORK / "libg2p.so", "--emit=so")
(WORK / "library.c").write_text("""#include "libg2p.h"
#include <stdio.h>
int main(void) {
  xf_model *model = NULL;
  xf_session *session = NULL;
  xf_lines *lines = NULL;
  const char *line = "world";
  if (G2P_open(&model) || xf_session_create(model, NULL, &session) || xf_process_lines(session, &line, 1, 0, NULL, &lines)) {
    fprintf(stderr, "%s\\n", xf_message());
    return 1;
  }
  puts(xf_line_text(lines, 0, 0));
  return 0;
}
""")
run("cc", *strict, WORK / "library.c", *include, "-L", WORK, "-lg2p", f"-Wl,-rpath,{WORK}", "-o", WORK / "linked")
# Two libraries in one program, each with its model.
library = compile_installed("seed3", WORK / "libseed3.so", "--emit=so")
(WORK / "two.c").write_text("""#include "libg2p.h"
#include "libseed3.h"
#include <stdio.h>
int main(void) {
  xf_model *g2p = NULL, *seed3 = NULL, *none = NULL;
  if (G2P_open(&g2p) || Seed3_open(&seed3)) {
    fprintf(stderr, "%s\\n", xf_message());
    return 1;
  }
  printf("%s %s\\n", xf_model_name(g2p), xf_model_name(seed3));
  if (xf_open_linked("None", &none))
    printf("%s\\n", xf_message());
  xf_model_free(g2p);
  xf_model_free(seed3);
  return 0;
}
""")
run("cc", *strict, WORK / "two.c", *include, "-L", WORK, "-Wl,--no-as-needed", "-lg2p", "-lseed3", f"-Wl,-rpath,{WORK}", "-o", WORK / "two")
got = run(WORK / "two")[1]
checks.that(got == "G2P Seed3\nno library with model 'None' is loaded; this one has 'G2P'\n", f"a program with two libraries: {got}")
# The first library's functions are visible to all libraries that are loaded later.
names = run("python3", "-c", f"""import ctypes
for path, mode in (("{WORK}/libg2p.so", ctypes.RTLD_GLOBAL), ("{WORK}/libseed3.so", ctypes.RTLD_LOCAL)):
    library, model = ctypes.CDLL(path, mode), ctypes.c_void_p()
    library.xf_model_name.restype = ctypes.c_char_p
    assert library.xf_open_self(ctypes.byref(model)) == 0
    print(library.xf_model_name(model).decode())
""")[1]
checks.that(names == "G2P\nSeed3\n", f"libraries loaded one after the other: {names}")
os.rename(WORK / "program", WORK / "moved")
checks.that(run(WORK / "linked")[1] == "W ER1 L D\n", "a program with the library")
checks.that(run(WORK / "moved", stdin="world\n")[1] == "W ER1 L D\n", "a program that was moved")
checks.end()
