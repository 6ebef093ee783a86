#!/bin/sh
# Checks models on this machine's GPU and prints one table: golden numbers, agreement with the CPU, times.
#
#   tools/gpu-check.sh [--prepare] [--bench] [--device NAME] [FOLDER]
#
# FOLDER (default: build/gpu-check) holds what is compiled for the check. Where xfc runs it is filled first; --prepare does
# only that, for a machine that has the GPU but not LLVM: carry build/gpu-check and build/lib/libxf-runtime.so there and run
# this script again. It needs Python's standard library alone, and downloads nothing. --bench adds the benchmarks' base model
# with random weights (250 MB) and times its decoder. --device emulator checks the check.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
build=${XF_BUILD:-$root/build}
only_prepare= bench= device=cuda folder=$build/gpu-check
while [ $# -gt 0 ]; do
  case $1 in
    --prepare) only_prepare=1 ;;
    --bench) bench=1 ;;
    --device) device=$2; shift ;;
    -*) echo "usage: tools/gpu-check.sh [--prepare] [--bench] [--device NAME] [FOLDER]" >&2; exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done

# compile NAME DESCRIPTION OPTION..., for the targets $target
target=cpu,cuda
compile() {
  name=$1; description=$2; shift 2
  [ "$folder/$name.xfm" -nt "$build/bin/xfc" ] || "$build/bin/xfc" "$description" --target "$target" --emit=model -o "$folder/$name.xfm" "$@"
}
# golden NAME DESCRIPTION DATA OPTION...
golden() {
  data=$3; cp "$data/io.safetensors" "$folder/$1.io.safetensors"
  name=$1 description=$2; shift 3
  compile "$name" "$description" --config "$data/config.json" --weights "$data/weights.safetensors" "$@"
}
if "$build/bin/xfc" --version >/dev/null 2>&1; then
  mkdir -p "$folder"
  models=$root/test/models
  for seed in seed0 seed2 seed3 seed4 tagger classifier; do golden $seed "$models/$seed/$seed.xf" "$models/$seed"; done
  for norm in postnorm prenorm; do golden seed1-$norm "$models/seed1/seed1.xf" "$models/seed1/$norm"; done
  # gpu-check.py knows by these names' endings how far off numbers may be.
  for model in seed0 seed4 tagger; do
    golden $model-bf16 "$models/$model/$model.xf" "$models/$model" --type bf16
    target=cuda; golden $model-f16 "$models/$model/$model.xf" "$models/$model" --type f16; target=cpu,cuda
  done
  compile g2p "$models/g2p/g2p.xf" --config "$models/g2p/config.json" --weights "$models/g2p/weights.safetensors"
  cp "$models/g2p/source.vocab" "$folder/g2p.source.vocab"
  [ -z "$bench" ] || compile bench "$models/bench/bench.xf" --random-weights 1 --limit=batch=32 \
    --set d_model=512 --set heads=8 --set ffn=2048 --set enc_layers=6 --set dec_layers=6 --set vocab=32000
fi
[ -n "$only_prepare" ] || exec python3 "$root/tools/gpu-check.py" --library "$build/lib/libxf-runtime.so" --device "$device" "$folder"
