#!/bin/bash
# examples.sh GNVCC OUT [BUDGET [NAME ...]]: the examples on a GPU: built, run, tuned by captures (BUDGET seconds each, 8),
# built again, run again, and compared by their own clock in new processes, two of each build in turn.
set -u
gnvcc=$(realpath "$1") out=$2 budget=${3:-8}; shift; shift; shift || true
here=$(cd "$(dirname "$0")" && pwd); top=${TOP:-$(dirname "$(dirname "$here")")}
names=("$@"); [ ${#names[@]} -gt 0 ] || read -ra names < <(make -s -C "$top/examples" list)
mkdir -p "$out"; out=$(realpath "$out"); work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
export GNVCC_STORE=$work/store GNVCC_LOG=$out/log GNVCC_NVCC=${GNVCC_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
{ date -u; nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; "$GNVCC_NVCC" --version | tail -2; "$gnvcc" version; } >"$out/machine.txt" 2>&1
build() { make -s -C "$top/examples/$1" NVCC="$gnvcc" ARCH="$arch" O="$work/$1"; }
export -f build; export gnvcc arch work top
printf '%s\n' "${names[@]}" | xargs -P 12 -I{} bash -c 'build {}' >"$out/build.txt" 2>&1
total() { sed -n 's/.*: total \([0-9.]*\) us, correct$/\1/p'; }
for n in "${names[@]}"; do cp -r "$work/$n" "$work/$n.before"; done
for n in "${names[@]}"; do
  read -ra options < <(sed -n 's/^TUNE *?= *//p' "$top/examples/$n/Makefile") || options=()
  s=$(date +%s.%N)
  timeout 60 "$gnvcc" tune --budget "${budget}s" ${options[@]+"${options[@]}"} -- "$work/$n/$n" >"$out/$n.out" 2>"$out/$n.err"; rc=$?
  echo "$n rc $rc $(awk "BEGIN{print $(date +%s.%N)-$s}") s" >>"$out/tune.txt"
done
"$gnvcc" apply >"$out/apply.txt" 2>&1
printf '%s\n' "${names[@]}" | xargs -P 12 -I{} bash -c 'build {}' >>"$out/build.txt" 2>&1
for n in "${names[@]}"; do
  for r in 1 2; do
    "$work/$n.before/$n" 2>&1 | total >>"$out/$n.before"; "$work/$n/$n" 2>&1 | total >>"$out/$n.after"
  done
done
"$gnvcc" report --all -v >"$out/report.txt" 2>&1; "$gnvcc" report --all --json >"$out/report.json" 2>&1
python3 - "$out" "${names[@]}" <<'P'
import math, sys
out, names, ratios = sys.argv[1], sys.argv[2:], []
for n in names:
    try:
        b, a = (min(float(x) for x in open(f"{out}/{n}.{w}")) for w in ("before", "after"))
    except ValueError:
        print(f"{n:14} no figure"); continue
    ratios.append(b / a); print(f"{n:14} {b:10.2f} -> {a:10.2f} us  {b / a:.3f}")
print(f"{len(ratios)} examples, geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least {min(ratios):.3f}")
P
sort -k4 -n "$out/tune.txt" | awk '{t[NR]=$4} END {print "tune: median", t[int((NR+1)/2)], "s, longest", t[NR], "s"}'
