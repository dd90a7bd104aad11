#!/bin/bash
# run.sh GNVCC OUT [SECONDS] [FIRST]: random kernels of sums and products, each built by nvcc, and by
# gnvcc with a random source recipe by hand (unroll, spec). Where gnvcc takes the recipe, both builds
# run on six kinds of data, and must give the same bits. A line a kernel goes to OUT/lines, kernels
# that differ to OUT/differ. Wants nvcc in PATH, python3 and a GPU; FIRST is the first seed.
set -u
here=$(cd "$(dirname "$0")" && pwd) GNVCC=$(realpath "$1"); mkdir -p "$2/differ"; OUT=$(realpath "$2")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
export here GNVCC OUT work
gpus=$(nvidia-smi -L | grep -c ^GPU) first=${4:-1}
for ((i = first; i < first + 100000; i++)); do echo $i $((i % gpus)); done |
  timeout "${3:-100}" xargs -P "${JOBS:-$(nproc)}" -L1 "$here/one.sh" >"$OUT/lines" 2>"$OUT/errors"
echo "taken, same bits: $(grep -c '^[0-9]* taken same' "$OUT/lines"); refused:" \
  "$(grep -c '^[0-9]* refused' "$OUT/lines"); OTHER BITS: $(grep -c '^[0-9]* taken OTHER' "$OUT/lines")"
! grep '^[0-9]* taken OTHER' "$OUT/lines"
