#!/bin/sh
# All applications on all GPUs of this machine, in one call: built by both compilers, run, tuned,
# built again, run again, by bench/suite; the table at the end is printed, raw results lie in OUT.
#
#	bench/apps/measure.sh [-n] OUT [NAME...]
#
# NAMEs are folders beside this file (default: order.txt). NVCC, GNVCC and SUITE are the real nvcc,
# gnvcc and bench/suite, built; SOURCES is what slim.sh made; COMMIT is gnvcc's, where there is no
# git. BUDGET is seconds for the call (540), EACH how many suites share a GPU (2: one builds while the
# other measures), TUNE further arguments of gnvcc tune, RUNS runs of each build (3). A second call
# with the same OUT goes on where the first ended. -n only builds each by both compilers: no GPU is
# needed.
set -eu
dry=
[ "$1" = -n ] && { dry=1; shift; }
mkdir -p "$1" && out=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
sources=$(cd "${SOURCES:?what bench/apps/slim.sh made}" && pwd)
cuda=$(cd "$(dirname "${NVCC:?the real nvcc}")/.." && pwd)
"$here/libraries.sh" "$cuda" "$out/links"
if [ $# != 0 ]; then printf '%s\n' "$@"; else sed '/^#/d' "$here/order.txt"; fi >"$out/programs"
jobs=${JOBS:-$(nproc)}

if [ "$dry" ]; then
	while read -r name; do
		for compiler in "$NVCC" "${GNVCC:?gnvcc}"; do
			tree=$out/dry/$(basename "$compiler")
			rm -rf "$tree/$name" && mkdir -p "$tree"
			cp "$here"/*.mk "$tree/" && cp -R "$here/$name" "$tree/"
			GNVCC_NVCC=$NVCC GNVCC_STORE=$out/dry/store make -s -C "$tree/$name" "NVCC=$compiler" "CUDA=$cuda" \
				"APPLICATIONS=$sources" "LINKS=$out/links" "JOBS=$jobs" </dev/null >"$tree/$name.log" 2>&1 ||
				{ tail -n 20 "$tree/$name.log" >&2; echo "measure.sh: $name was not built by $compiler" >&2; exit 1; }
		done
		echo "$name: built by nvcc and by gnvcc"
	done <"$out/programs"
	exit
fi

"${SUITE:?bench/suite, built}" -each "${EACH:-2}" -gnvcc "${GNVCC:?gnvcc}" -nvcc "$NVCC" \
	-commit "${COMMIT:-}" -programs "$out/programs" -figures figures -runs "${RUNS:-3}" -alone 1 \
	-set ARCH=sm_90 -set "CUDA=$cuda" -set "APPLICATIONS=$sources" -set "LINKS=$out/links" \
	-set "JOBS=$jobs" -ahead 1 -work "$out/work" -budget "${BUDGET:-540}s" -tune "${TUNE:-}" \
	-results "$out/apps.jsonl" -kernels "$here" | tee "$out/apps.txt"
