#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/upgrade.sh GNVCC TOOLKITS OUT NAME FROM TO[,TO...] NVCC-ARGUMENTS...: one compile, in the present folder (a checkout
# of what a thread on an upgrade is about, say), with toolkit FROM, and what gnvcc compare says that the others make of its
# kernels; no GPU. TOOLKITS is the folder that has them by their versions. Results go to OUT; what does not compile is in
# OUT/log.
# bench/upgrade.sh GNVCC TOOLKITS OUT: so with upgrade/unique.cu, and CUB as 13.3 has it for both (issue 9815 of NVIDIA/cccl:
# slower since 13.4 on sm_100).
set -euo pipefail
here=$(realpath "$(dirname "$0")") gnvcc=$(realpath "$1") toolkits=$(realpath -s "$2")
mkdir -p "$3"
out=$(realpath "$3")
shift 3
export GNVCC_STORE=$out/store
exec 2>>"$out/log"
cub=
if [ $# = 0 ]; then
  cub=$out/cccl
  cp -r "$toolkits/13.3/include/cccl" "$out"
  cd "$here/upgrade"
  set -- cccl 13.3 13.5 -std=c++17 -arch=sm_100 -I"$cub" -c unique.cu
fi
name=$1 from=$2 all=$3
shift 3
rm -rf "$GNVCC_STORE"
GNVCC_NVCC=$toolkits/$from/bin/nvcc "$gnvcc" "$@" -o "$out/$name.out"
for to in ${all//,/ }; do
  "$gnvcc" compare --all --static --against "$toolkits/$from" --toolkit "$toolkits/$to" >"$out/$name-$from-$to.txt" ||
    [ $? = 1 ] # something lost
done
rm -rf "$GNVCC_STORE" "$out/$name.out" ${cub:+"$cub"}
