#!/usr/bin/env bash
# Configures and builds everything into build/ (or the folder in XF_BUILD).
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=${XF_BUILD:-$source_dir/build}
# Clang reads its precompiled headers several times as fast as GCC does. A folder that is configured keeps its compiler, and its kind of build.
if [ ! -f "$build_dir/CMakeCache.txt" ]; then
  export CC=${CC:-clang-22} CXX=${CXX:-clang++-22}
fi
cmake -G Ninja -S "$source_dir" -B "$build_dir" >&2
cmake --build "$build_dir" -- "$@" >&2
