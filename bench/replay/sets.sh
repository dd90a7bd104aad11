#!/bin/bash
# sets.sh GNVCC OUT [BUDGET [NAME ...]]: the programs of sets.cu on a GPU: built, tuned by captures (BUDGET seconds each, 12), built again, and both builds
# timed by their own clock, three runs each. Prints a line a program; raw output goes to OUT.
set -u
gnvcc=$(realpath "$1") budget=${3:-12}; mkdir -p "$2"; out=$(realpath "$2"); shift 2; shift || true
here=$(cd "$(dirname "$0")" && pwd); work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
names=("$@"); [ ${#names[@]} -gt 0 ] || names=(mixed steps sets short zeros)
export GNVCC_NVCC=${GNVCC_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
"$GNVCC_NVCC" -arch=$arch -O3 "$here/sets.cu" -o "$work/plain"
build() { "$gnvcc" -arch=$arch -O3 -c sets.cu -o sets.o && "$gnvcc" -arch=$arch sets.o -o sets; }
for n in "${names[@]}"; do
  d=$work/$n; mkdir "$d"; cp "$here/sets.cu" "$d"; cd "$d" || exit 1
  export GNVCC_STORE=$d/store
  build >"$out/$n.build" 2>&1
  begun=$SECONDS; "$gnvcc" tune --budget "${budget}s" -- ./sets "$n" >"$out/$n.out" 2>"$out/$n.tune"; took=$((SECONDS - begun))
  { "$gnvcc" apply && build; } >"$out/$n.apply" 2>&1
  for i in 1 2 3; do "$work/plain" "$n"; done >"$out/$n.before"; for i in 1 2 3; do ./sets "$n"; done >"$out/$n.after"
  "$gnvcc" report --all --json >"$out/$n.json" 2>/dev/null; "$gnvcc" profile --show ./sets >"$out/$n.profile"
  b=$(awk '{print $2}' "$out/$n.before" | sort -n | head -1) a=$(awk '{print $2}' "$out/$n.after" | sort -n | head -1)
  same=$(cat "$out/$n.before" "$out/$n.after" | awk '{print $NF}' | sort -u | wc -l)
  echo "$n: $b -> $a us, $(awk "BEGIN{printf \"%.3f\", $b / $a}") times as fast, tune $took s, bits $([ "$same" = 1 ] && echo same || echo OTHER)"
done
