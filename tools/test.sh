#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests; arguments go to ctest (`-LE long`: the quick suite). The last
# line says how many passed and failed.
set -uo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=${XF_BUILD:-$source_dir/build}

"$source_dir/tools/setup.sh" && "$source_dir/tools/build.sh" || { echo "0 passed, 1 failed"; exit 1; }
log=$build_dir/test.log
ctest --test-dir "$build_dir" --output-on-failure -j "$(nproc)" "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

count() { grep -cE "^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*$1" "$log"; }
passed=$(count ' Passed ')
skipped=$(count '\*\*\*Skipped')
total=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$log")
failed=$((total - passed - skipped))
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
