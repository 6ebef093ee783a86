#!/usr/bin/env bash
# Installs what the build and the tests need, and the packages that are named, from Debian's packages; nothing if all is there.
set -euo pipefail

packages=(cmake ninja-build g++ clang-22 ccache python3 python3-numpy
  llvm-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  clang-format-22 libfmt-dev nlohmann-json3-dev libgtest-dev libbenchmark-dev libzip-dev libicu-dev zlib1g-dev sentencepiece qemu-user pkg-config "$@")
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}" >&2
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "tools/setup.sh: only root can install them, and there is no sudo" >&2; exit 1; }
    as_root=(sudo)
  fi
  # A list of packages that could not be refreshed may still be good enough.
  "${as_root[@]}" apt-get update >&2 || true
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >&2
fi
