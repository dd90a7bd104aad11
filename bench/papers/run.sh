#!/bin/sh
# The papers' tables on the GPU at hand, ten minutes each at most: builds a set's programs, tunes each
# with the levers of its paper, and clocks both builds (bench/suite).
#
#	bench/papers/run.sh [-n] TABLE OUT
#
# TABLE is regdem, registers, bypass, functions, sync (the files beside this one say which programs,
# where their sources are, and what the paper has), sizes (polybench at five sizes) or hecbench
# (approximation on all of HECBENCH's programs named in PROGRAMS). -n only builds each program by
# both compilers and says what would be run: no GPU is needed.
#
# HECBENCH is a clone of zjin-lcf/HeCBench (f27000a); NVCC, GNVCC and SUITE are the real nvcc, gnvcc
# and bench/suite, built; ARCH is sm_90.
set -eu
dry=
[ "$1" = -n ] && { dry=1; shift; }
table=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
arch=${ARCH:-sm_90} common=$root/examples/common compiler=CC folder=%-cuda
mkdir -p "$out/src" && out=$(cd "$out" && pwd) source=$out/src list=$here/$table.txt
case $table in
regdem) tune='--levers maxnreg,smemspill,demote' ;;
registers) tune='--levers maxnreg --exhaustive' ;;
bypass) tune='--levers bypass,throttle,ld' ;;
functions) tune='--approximate --within 1e-3' ;;
hecbench) tune='--approximate --within 1e-3' list=$PROGRAMS ;;
sync) tune='--levers spin,throttle' source=$root/examples folder=% compiler=NVCC ;;
sizes) tune='--levers bypass,throttle,ld' list=$out/sizes.txt && echo polybench >"$list" ;;
*) echo "run.sh: no table $table" >&2; exit 2 ;;
esac
if [ "$source" = "$out/src" ]; then
	for p in "${HECBENCH:?a clone of zjin-lcf/HeCBench}"/src/*; do ln -sfn "$p" "$source/"; done
	for p in "$here"/*/Makefile; do
		p=${p%/Makefile} && ln -sfn "$p" "$source/${p##*/}-cuda"
	done
	ln -sf "$here/each.h" "$here/each.mk" "$source/"
fi

# suite SIZE RESULTS
suite() {
	if [ "$dry" ]; then
		mkdir -p "$out/dry" && ln -sfn "$source"/* "$out/dry/" # what programs include beside them
		sed 's/#.*//' "$list" | while read -r name; do
			[ "$name" ] || continue
			for by in "$NVCC" "$GNVCC"; do
				rm -rf "$out/dry/try" && cp -RL "$source/$(echo "$folder" | sed "s/%/$name/")" "$out/dry/try"
				(cd "$out/dry/try" && make clean && GNVCC_STORE=$out/store make "$compiler=$by" "ARCH=$arch" "COMMON=$common") \
					>"$out/$name.log" 2>&1 || { echo "$name: $by does not build it: $out/$name.log"; exit 1; }
			done
			echo "$name: built; would be tuned with $tune${1:+, size $1}"
		done
		return
	fi
	"$SUITE" -compiler "$compiler" -set "ARCH=$arch" -set "COMMON=$common" -set "ARGUMENTS=$1" -folder "$folder" \
		-programs "$list" -runs 2 -alone 1 -pairs 0 -budget "${BUDGET:-9m}" -threshold 0 -kernels -levers -tune "$tune" \
		-work "$out/work$1" -results "$2" -nvcc "$NVCC" -gnvcc "$GNVCC" "$source" | tee "${2%.jsonl}.txt"
}

if [ "$table" != sizes ]; then
	suite '' "$out/$table.jsonl"
else
	for n in 1024 2048 4096 8192 16384; do BUDGET=100s suite $n "$out/sizes-$n.jsonl"; done
fi
