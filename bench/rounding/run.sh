#!/bin/bash
# run.sh GNVCC OUT [SECONDS] [FIRST]: random kernels (kernel.py), each built by nvcc, and by gnvcc with
# random recipes by hand. Where gnvcc takes a recipe, both builds run on eight kinds of data, with the
# values that the recipe is for and with others, and must give the same bits. A line a recipe goes to
# OUT/lines, programs that differ to OUT/differ. Wants nvcc in PATH, python3 and a GPU; FIRST is the
# first seed, JOBS how many at once (all processors), ARCH what they are built for; GENERATOR=blocks.py
# is for kernels whose blocks matter, with recipes that coarsen.
set -u
here=$(cd "$(dirname "$0")" && pwd) GNVCC=$(realpath "$1"); mkdir -p "$2"; OUT=$(realpath "$2")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
export here GNVCC OUT work ARCH=${ARCH:-sm_90}
gpus=$(nvidia-smi -L 2>/dev/null | grep -c ^GPU) first=${4:-1}; [ "$gpus" = 0 ] && gpus=1
for ((i = first; i < first + 100000; i++)); do echo $i $((i % gpus)); done |
  timeout -k 5 "${3:-100}" xargs -P "${JOBS:-$(nproc)}" -L1 "$here/one.sh" >"$OUT/lines" 2>"$OUT/errors"
count() { grep -c "^[0-9]* [^ ]* $1" "$OUT/lines"; }
echo "taken, same bits: $(count 'taken same'); refused: $(count refused); not run: $(count 'taken NONE');" \
  "does not build: $(count 'does not build'); OTHER BITS: $(count 'taken OTHER '); other NaN: $(count 'taken OTHERNAN');" \
  "FAILED: $(count 'taken FAILED'); BROKEN: $(count BROKEN)"
! grep -E '^[0-9]+ [^ ]+ (taken (OTHER|FAILED)|BROKEN)' "$OUT/lines"
