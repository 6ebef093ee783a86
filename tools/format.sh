#!/usr/bin/env bash
# Formats all C and C++ files as .clang-format says. With --check it changes nothing, and fails where something would change.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1-}" in
  "") mode=(-i) ;;
  --check) mode=(--dry-run --Werror) ;;
  *) echo "usage: tools/format.sh [--check]" >&2; exit 2 ;;
esac
find compiler dialect runtime test tools -name '*.cpp' -o -name '*.h' -o -name '*.c' | xargs -P "$(nproc)" -n 40 clang-format-22 "${mode[@]}"
