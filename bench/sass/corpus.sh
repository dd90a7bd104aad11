#!/bin/bash
# Builds cubins of several toolkits, architectures and recipes, and keeps what nvdisasm says of some of them, for sim/sass's
# tests on kept output:
#
#   corpus.sh TOOLKITS FOLDER SOURCE.cu...      # TOOLKITS holds 13.5, 13.0 and 12.4
#   GNVCC_SASS=FOLDER go test ./sim/sass -run Kept -v
set -u
kits=$1 out=$2
shift 2
mkdir -p "$out"/{ptx,cub,js}
n=0
for source in "$@"; do
  name=$(echo "$source" | sed 's|^[./]*||; s|/|_|g; s|\.cu$||')
  arch=compute_75
  grep -q cluster "$source" && arch=compute_90
  "$kits/13.5/bin/nvcc" -w -std=c++17 -arch=$arch -ptx -Iexamples/common -I"$(dirname "$source")" \
    "$source" -o "$out/ptx/$name.ptx" 2>/dev/null || { echo "left out: $source"; continue; }
  for a in 75 80 86 90 100 120; do
    "$kits/13.5/bin/ptxas" -arch sm_$a "$out/ptx/$name.ptx" -o "$out/cub/$name.$a.cubin" 2>/dev/null
  done
  set -- 75 80 89 90 100 120
  shift $((n++ % 6))
  "$kits/13.0/bin/ptxas" -arch sm_$1 --maxrregcount=32 "$out/ptx/$name.ptx" -o "$out/cub/$name.$1.r32.cubin" 2>/dev/null
  if [ $1 -lt 100 ]; then
    sed 's/^\.version.*/.version 8.0/' "$out/ptx/$name.ptx" >"$out/old.ptx"
    "$kits/12.4/bin/ptxas" -arch sm_$1 "$out/old.ptx" -o "$out/cub/$name.$1.k124.cubin" 2>/dev/null
  fi
done
n=0
for cubin in "$out"/cub/*.cubin; do
  name=$(basename "$cubin")
  [ $((n++ % 3)) = 0 ] && "$kits/13.5/bin/nvdisasm" -json "$cubin" >"$out/js/$name.json" 2>/dev/null
done
