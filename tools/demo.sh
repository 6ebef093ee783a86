#!/usr/bin/env bash
# Pronounces words: builds the compiler, compiles the g2p model to one program, and runs it.
#   tools/demo.sh [WORD…]     or words on standard input, one a line; else a list of its own
# Standard output is only `word<TAB>PHONE PHONE …`.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=${XF_BUILD:-$source_dir/build}

words=("$@")
if [ ${#words[@]} -eq 0 ] && [ ! -t 0 ]; then
  mapfile -t words
fi
if [ ${#words[@]} -eq 0 ]; then
  words=(hello world compiler transformer attention pronunciation)
fi

"$source_dir/tools/setup.sh"
"$source_dir/tools/build.sh" xfc xf-run xf-opt xf-runner
model=$source_dir/test/models/g2p
"$build_dir/bin/xfc" "$model/g2p.xf" --config "$model/config.json" --weights "$model/weights.safetensors" \
  --source-vocab "$model/source.vocab" --target-vocab "$model/target.vocab" -o "$build_dir/g2p" >&2

status=0
phones=$(mktemp)
trap 'rm -f "$phones"' EXIT
printf '%s\n' "${words[@]}" | "$build_dir/g2p" > "$phones" || status=$?
paste <(printf '%s\n' "${words[@]}") "$phones"
exit $status
