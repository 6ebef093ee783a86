#!/usr/bin/env bash
# Checks the sources of compiler, dialect, runtime and tools as .clang-tidy says, or those whose paths match the regular expressions that are
# given: tools/tidy.sh runtime/text. Needs a build by Clang, whose precompiled headers it reads.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=${XF_BUILD:-$source_dir/build}

"$source_dir/tools/setup.sh" clang-tidy-22
[ $# -gt 0 ] || set -- "$source_dir/(compiler|dialect|runtime|tools)/.*cpp"
run-clang-tidy-22 -p "$build_dir" -quiet "$@"
