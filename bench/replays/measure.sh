#!/bin/sh
# What nvcc's code takes in the tuner's replay over what it takes in the program, kernel by kernel: of the
# compressor beside this file, and of the programs in FOLDERs (default: examples).
#
#	bench/replays/measure.sh [-n] OUT [FOLDER...]
#
# NVCC, GNVCC and SUITE are the real nvcc, gnvcc and bench/suite, built; ARCH the GPU's (sm_90); COMMIT is
# gnvcc's, where there is no git. BUDGET is seconds for each folder (540). A second call with the same OUT
# goes on where the first ended. -n only builds each program by both compilers: no GPU is needed.
set -eu
dry=
[ "$1" = -n ] && { dry=1; shift; }
mkdir -p "$1" && out=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# != 0 ] || set -- "$here/../../examples"

for folder in "$here" "$@"; do
	name=$(basename "$folder")
	if [ "$dry" ]; then
		for makefile in "$folder"/*/Makefile; do
			program=$(basename "$(dirname "$makefile")")
			for compiler in "${NVCC:?the real nvcc}" "${GNVCC:?gnvcc}"; do
				tree=$out/dry/$(basename "$compiler")/$name/$program
				mkdir -p "$tree"
				GNVCC_NVCC=$NVCC GNVCC_STORE=$out/dry/store make -s -C "$folder/$program" "NVCC=$compiler" "O=$tree" \
					"ARCH=${ARCH:-sm_90}" </dev/null >"$tree.log" 2>&1 ||
					{ tail -n 20 "$tree.log" >&2; echo "measure.sh: $program was not built by $compiler" >&2; exit 1; }
			done
			echo "$program: built by nvcc and by gnvcc"
		done
		continue
	fi
	"${SUITE:?bench/suite, built}" -gnvcc "${GNVCC:?gnvcc}" -nvcc "${NVCC:?the real nvcc}" -commit "${COMMIT:-}" \
		-set "ARCH=${ARCH:-sm_90}" -work "$out/$name" -budget "${BUDGET:-540}s" -results "$out/$name.jsonl" \
		-kernels "$folder" >"$out/$name.txt"
	echo "$name:"
	sed -n "/^  replay's time/p; /^replay's time/,/^$/{/^    /p;}" "$out/$name.txt"
done
