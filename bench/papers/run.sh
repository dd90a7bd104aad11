#!/bin/sh
# The papers' tables on the GPU at hand: builds a set's programs, tunes each with the levers of its
# paper, and clocks both builds (bench/suite).
#
#	bench/papers/run.sh [-n] TABLE OUT
#	bench/papers/run.sh pack OUT
#
# TABLE is regdem, functions, bypass, registers, sync (the files beside this one say which programs,
# where their sources are, and what the paper has), sizes (polybench at five sizes), hecbench
# (approximation on all of HECBENCH's programs named in PROGRAMS), or all: these but hecbench beside
# each other, one of them on the GPU at a time, and gnvcc doctor --measure before them. A second call
# goes on where the first ended. -n only builds each program by both compilers and says what would be
# run: no GPU is needed. pack leaves in OUT what all needs, for a machine without the clones:
# bench/papers, examples and HeCBench, as they stand here.
#
# HECBENCH is a clone of zjin-lcf/HeCBench (f27000a); NVCC, GNVCC and SUITE are the real nvcc, gnvcc
# and bench/suite, built; COMMIT is gnvcc's where there is no git; ARCH is sm_90. BUDGET is seconds for
# the call (540), SEARCH those of a search (8), TABLES how many tables all has begun at a time (6).
# MORE is a folder with further programs in HeCBench's form (NAME-cuda with a Makefile that goes by CC
# and ARCH, and has run), and lists TABLE.txt in place of those here.
set -eu
dry=
[ "$1" = -n ] && { dry=-n; shift; }
table=$1
mkdir -p "$2" && out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
arch=${ARCH:-sm_90} common=$root/examples/common compiler=CC folder=%-cuda source=$out/src
END=${END:-$(($(date +%s) + ${BUDGET:-540}))}
export END
tables='regdem functions bypass registers sync sizes'
list() { [ -f "${MORE:-}/$1.txt" ] && echo "$MORE/$1.txt" || echo "$here/$1.txt"; }
names() { sed 's/#.*//; s/ *$//; /^$/d' "$1"; }
case $table in
regdem) tune='--levers maxnreg,smemspill,demote' ;;
registers) tune='--levers maxnreg --exhaustive' ;;
bypass | sizes) tune='--levers bypass,throttle,ld' ;;
functions | hecbench) tune='--exact=approximate --within 1e-3' ;;
sync) tune='--levers spin,throttle' source=$root/examples folder=% compiler=NVCC ;;
all)
	measure=
	if [ -z "$dry" ]; then
		flock "$out/gpu" env GNVCC_NVCC="$NVCC" GNVCC_STORE="$out/store" "$GNVCC" doctor --measure >"$out/doctor.txt" 2>&1 &
		measure=$!
	fi
	status=0
	printf '%s\n' $tables | xargs -P "${TABLES:-6}" -I@ "$0" $dry @ "$out" || status=1
	[ -z "$measure" ] || wait "$measure" || { cat "$out/doctor.txt"; status=1; }
	exit $status ;;
pack)
	mkdir -p "$out/bench" "$out/examples" "$out/HeCBench/src"
	cp -R "$here" "$out/bench/" && cp -R "$common" "$out/examples/"
	for t in regdem functions bypass registers; do names "$(list $t)"; done | sort -u | while read -r name; do
		[ -d "$here/$name" ] || [ -d "${MORE:-}/$name-cuda" ] || cp -R "$HECBENCH/src/$name-cuda" "$out/HeCBench/src/"
	done
	names "$(list sync)" | while read -r name; do cp -R "$root/examples/$name" "$out/examples/"; done
	[ -z "${MORE:-}" ] || cp -R "$MORE" "$out/more"
	exit ;;
*) echo "run.sh: no table $table" >&2; exit 2 ;;
esac
programs=$(list "$table")
[ "$table" != hecbench ] || programs=$PROGRAMS
if [ "$source" = "$out/src" ]; then
	mkdir -p "$source"
	for p in "${HECBENCH:?a clone of zjin-lcf/HeCBench}"/src/* ${MORE:+"$MORE"/*-cuda}; do ln -sfn "$p" "$source/"; done
	for p in "$here"/*/Makefile; do
		p=${p%/Makefile} && ln -sfn "$p" "$source/${p##*/}-cuda"
	done
	ln -sf "$here/each.h" "$here/each.mk" "$source/"
fi
if [ "$table" = sizes ]; then
	programs=$out/sizes.list
	for n in 1024 2048 4096 8192 16384; do
		mkdir -p "$source/polybench$n-cuda" && cp "$here/polybench/polybench.cu" "$source/polybench$n-cuda/"
		printf 'ARGUMENTS = %s\nPROGRAM = polybench\ninclude ../each.mk\n' $n >"$source/polybench$n-cuda/Makefile"
		echo polybench$n
	done >"$programs"
fi

if [ "$dry" ]; then
	try=$out/dry-$table
	mkdir -p "$try" && ln -sfn "$source"/* "$try/" # what programs include beside them
	names "$programs" | while read -r name; do
		for by in "$NVCC" "$GNVCC"; do
			rm -rf "$try/try" && cp -RL "$source/$(echo "$folder" | sed "s/%/$name/")" "$try/try"
			(cd "$try/try" && make clean && GNVCC_STORE=$out/store make "$compiler=$by" "ARCH=$arch" "COMMON=$common") \
				>"$out/$table-$name.log" 2>&1 || { echo "$table: $name: $by does not build it: $out/$table-$name.log"; exit 1; }
		done
		echo "$table: $name: built; would be tuned with $tune"
	done
	exit
fi
left=$((END - $(date +%s)))
[ $left -gt 0 ] || exit 0
"$SUITE" -compiler "$compiler" -set "ARCH=$arch" -set "COMMON=$common" -folder "$folder" -programs "$programs" \
	-runs 2 -alone 0 -budget "${left}s" -run-limit 30s -tune-limit 90s -threshold 0 -kernels -levers -retry \
	-tune "$tune --budget ${SEARCH:-8}s --capture-limit 2G" ${COMMIT:+-commit "$COMMIT"} \
	-claim "$out/claims-$table" -gpu-lock "$out/gpu" -work "$out/work-$table" -results "$out/$table.jsonl" \
	-nvcc "$NVCC" -gnvcc "$GNVCC" "$source" | tee "$out/$table.txt"
