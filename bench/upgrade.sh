#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/upgrade.sh GNVCC TOOLKITS OUT: builds kernels of threads on toolkit upgrades with the toolkit that was reported to
# do well, or the nearest that install/toolkit has, and lets gnvcc compare say what the next ones do; no GPU. Results, as
# text and JSON, go to OUT; what does not compile is in OUT/log.
#
#   OPENVM      a checkout of openvm-org/openvm at b880665cf2~1, before pull request 2124 (58 to 80 registers with 13.0)
#   STARK       one of openvm-org/stark-backend at v1.2.0, which that includes
#   UNIQUE      yes: upgrade/unique.cu, built with CUB as 13.3 has it (issue 9815 of NVIDIA/cccl: slower since 13.4 on sm_100)
#   AIRBENDER   a checkout of matter-labs/zksync-airbender at 97dbacf, before pull request 95 (spills on 8.9 since 13.0)
set -euo pipefail
here=$(realpath "$(dirname "$0")") gnvcc=$(realpath "$1") toolkits=$(realpath "$2")
mkdir -p "$3"
out=$(realpath "$3")
export GNVCC_STORE=$out/store
exec 2>>"$out/log"

# against NAME FROM TO...: compares what is recorded in the present folder
against() {
  local name=$1 from=$2 to
  shift 2
  for to in "$@"; do
    "$gnvcc" compare --static --against "$toolkits/$from" --toolkit "$toolkits/$to" >"$out/$name-$from-$to.txt" || true
    "$gnvcc" compare --static --against "$toolkits/$from" --toolkit "$toolkits/$to" --json >"$out/$name-$from-$to.json" || true
  done
}

# built VERSION ARGS...: one compile
built() {
  local version=$1
  shift
  GNVCC_NVCC=$toolkits/$version/bin/nvcc "$gnvcc" "$@"
}

if [ -n "${AIRBENDER:-}" ]; then
  cd "$AIRBENDER/gpu_prover/native"
  for f in ntt/bitrev_Z_to_natural_evals ntt/natural_evals_to_bitrev_Z; do
    built 12.4 -std=c++20 -arch=sm_89 --expt-relaxed-constexpr -dc "$f.cu" -o "$out/$(basename "$f").o"
  done
  against airbender 12.4 13.0 13.5
fi
if [ -n "${OPENVM:-}" ]; then
  rm -rf "$GNVCC_STORE"
  cd "$OPENVM/extensions/native/circuit"
  built 12.4 -std=c++17 -O3 -arch=sm_89 --expt-relaxed-constexpr -I"$STARK/crates/cuda-common/include" \
    -I../../../crates/circuits/primitives/cuda/include -I../../../crates/circuits/poseidon2-air/cuda/include \
    -I../../../crates/vm/cuda/include -Icuda/include -c cuda/src/fri.cu -o "$out/fri.o"
  against openvm 12.4 13.0 13.5
fi
if [ -n "${UNIQUE:-}" ]; then
  rm -rf "$GNVCC_STORE"
  cp -r "$here/upgrade/unique.cu" "$toolkits/13.3/include/cccl" "$out"
  cd "$out"
  built 13.3 -std=c++17 -arch=sm_100 -I"$out/cccl" -c unique.cu -o "$out/unique.o"
  against cccl 13.3 13.5
  rm -rf "$out/cccl"
fi
rm -rf "$GNVCC_STORE"
