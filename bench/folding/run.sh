#!/bin/bash
# run.sh OUT [SEEDS]: what ptxas makes of an instruction whose operands are constants, against what the GPU makes of it.
set -eu
out=$(realpath -m "$1") seeds=${2:-3} here=$(cd "$(dirname "$0")" && pwd); mkdir -p "$out"
cuda=${CUDA_HOME:-/usr/local/cuda} work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
{ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; "$cuda/bin/ptxas" --version | tail -2; } >"$out/machine.txt"
gcc -O2 -I"$cuda/include" "$here/compare.c" -o "$work/compare" -L"$cuda/lib64/stubs" -lcuda
for s in $(seq "$seeds"); do
  mkdir "$work/$s"; cd "$work/$s"
  python3 "$here/gen.py" "$s" 1024
  "$cuda/bin/ptxas" -arch sm_90 t.ptx -o t.cubin
  "$work/compare" 1024 t.cubin >"$out/fold$s.txt"
done
grep -hv '^ ' "$out"/fold*.txt | awk '{d[$1]+=$2; n[$1]+=$4} END {for(k in d) print k, d[k], "of", n[k]}' | sort
