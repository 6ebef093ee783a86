#!/bin/sh
# Checks models on this machine's GPU and prints one table: golden numbers, agreement with the CPU, times.
#
#   tools/gpu-check.sh [--prepare] [--bench] [--device NAME] [FOLDER]
#
# FOLDER (default: build/gpu-check) holds what is compiled for the check. Where xfc runs it is filled first; --prepare does
# only that, for a machine that has the GPU but not LLVM: carry tools, runtime/python, build/gpu-check (some 30 MB) and
# build/lib/libxf-runtime.so there and run this script again. It needs Python's standard library alone, and downloads nothing.
# Each model is checked in a process of its own, for at most 5 minutes, and what is found is printed at once. --bench adds the
# benchmarks' base model with random weights and times its decoder: what a step reads, and how near that comes to the memory's
# bandwidth, which is measured. Its weights (250 MB in f32, 125 MB in bf16) are made where they are needed. --device emulator
# checks the check, in some minutes: the model of --bench is a small one then (bench-small), and figures of time mean nothing.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
build=${XF_BUILD:-$root/build}
usage() { echo "usage: tools/gpu-check.sh [--prepare] [--bench] [--device best|cpu|cuda|emulator] [FOLDER]" >&2; exit 2; }
only_prepare= bench= device=cuda quick= folder=$build/gpu-check
while [ $# -gt 0 ]; do
  case $1 in
    --prepare) only_prepare=1 ;;
    --bench) bench=1 ;;
    --device) case ${2-} in best | cpu | cuda | emulator) device=$2 ;; *) usage ;; esac; shift ;;
    --help) sed -n '2,/^set -e/{/^set -e/!s/^# \{0,1\}//p}' "$0"; exit ;;
    -*) usage ;;
    *) folder=$1 ;;
  esac
  shift
done

command -v python3 >/dev/null || { echo "tools/gpu-check.sh needs python3 (its standard library alone)" >&2; exit 1; }
[ "$device" != emulator ] || quick="--quick --seconds 7200"

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
  for type in f32 bf16; do
    name=g2p; [ $type = f32 ] || name=g2p-$type
    compile $name "$models/g2p/g2p.xf" --config "$models/g2p/config.json" --weights "$models/g2p/weights.safetensors" --type $type
    cp "$models/g2p/source.vocab" "$folder/$name.source.vocab"
  done
  # bench NAME OPTION...: the sizes are for gpu-check.py, which counts what a step of the decoder reads. It makes the weights anew, too.
  bench() {
    name=$1 d=$2 ffn=$3 layers=$4 vocab=$5; shift 5
    [ ! "$folder/$name.frame" -nt "$build/bin/xfc" ] || return 0
    compile "$name" "$models/bench/bench.xf" --random-weights 1 --limit=batch=128 --limit=beam=4 --limit=source=128 \
      --limit=target=128 --set d_model=$d --set heads=8 --set ffn=$ffn --set enc_layers=$layers --set dec_layers=$layers --set vocab=$vocab "$@"
    python3 "$root/tools/gpu-check.py" --frame "$folder/$name.xfm"
    rm "$folder/$name.xfm"
    echo "{\"width\": $d, \"ffn\": $ffn, \"layers\": $layers, \"vocabulary\": $vocab}" > "$folder/$name.sizes.json"
  }
  if [ -n "$bench" ] && [ "$device" = emulator ]; then
    bench bench-small 64 128 1 500
    bench bench-small-bf16 64 128 1 500 --type bf16
  elif [ -n "$bench" ]; then
    bench bench 512 2048 6 32000
    bench bench-bf16 512 2048 6 32000 --type bf16
  fi
fi
[ -d "$folder" ] || { echo "there is no $folder: run tools/gpu-check.sh --prepare where xfc is built, and carry it here" >&2; exit 1; }
[ -n "$only_prepare" ] || exec python3 "$root/tools/gpu-check.py" --library "$build/lib/libxf-runtime.so" --device "$device" $quick "$folder"
