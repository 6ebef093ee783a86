#!/usr/bin/env bash
# Builds the runtime, what reads files, and the interpreter with sanitizers, and runs their tests and those of bad input.
#   tools/sanitize.sh [address,undefined | thread]
# Needs a finished build (build/, or the folder in XF_BUILD), whose compiler makes the programs that the sanitized runtime runs.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=${XF_BUILD:-$source_dir/build}
sanitizers=${1:-address,undefined}
[[ $sanitizers != -* ]] || { echo "usage: tools/sanitize.sh [address,undefined | thread]" >&2; exit 2; }
sanitized=$source_dir/build-${sanitizers//,/-}
[ -x "$build_dir/bin/xfc" ] || { echo "tools/sanitize.sh: $build_dir holds no xfc; tools/build.sh makes it" >&2; exit 1; }

targets=(runtime-tests runner-tests)
tests='^(runtime|runner)$'
if [ "$sanitizers" != thread ]; then
  targets+=(import-tests reference-tests xf-parse xf-run)
  tests='^(runtime|runner)$|^import\.|^reference\.'
fi
cmake -G Ninja -S "$source_dir" -B "$sanitized" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 \
  -DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -DXF_SANITIZE="$sanitizers" >&2
cmake --build "$sanitized" -- "${targets[@]}" >&2
# The compiler is the other build's; it puts the sanitized runner into the programs that it makes.
cp "$build_dir/bin/xfc" "$sanitized/bin/xfc"

# Containers and pools of memory cross the border to LLVM's code, which does not mark the parts of them that are in use.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1
ctest --test-dir "$sanitized" --output-on-failure -R "$tests" --no-tests=error
if [ "$sanitizers" != thread ]; then
  "$(sed -n 's/^XF_LIT:FILEPATH=//p' "$sanitized/CMakeCache.txt")" -sv "$sanitized/test" --filter 'Frontend/'
fi
export XF_BIN=$sanitized/bin XF_SOURCE=$source_dir
checks=(mutations g2p)
# bad_input needs xf-run, which is not built with the thread sanitizer: that would watch LLVM's threads, too.
[ "$sanitizers" = thread ] || checks+=(bad_input)
for test in "${checks[@]}"; do
  echo "e2e.$test with $sanitizers" >&2
  python3 "$source_dir/test/e2e/$test.py"
done
echo "nothing found with $sanitizers"
