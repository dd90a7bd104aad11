#!/bin/sh
# What observation costs a program: seconds of its own under `gnvcc tune --observe` over those without, of
# the programs beside this file and of others that print "NAME: 1.23 s".
#
#	bench/observe/measure.sh [-n] OUT [COMMAND...]
#
# A first run observes and captures; a second one, whose captures the store has, only observes. NVCC and
# GNVCC are the real nvcc and gnvcc; ARCH the GPU's (sm_90); ROUNDS is how often each is run in turn (5).
# COMMANDs are further programs, a word each with its arguments. -n only builds: no GPU is needed.
#
# OUT/times.txt has every run; the table has the medians, and what tune said of captures. At the end of
# each program's first run its captures are replayed: none may have other bits (OUT/replays.txt).
set -eu
dry=
[ "$1" = -n ] && { dry=1; shift; }
mkdir -p "$1" && out=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
export GNVCC_NVCC="${NVCC:?the real nvcc}" GNVCC_STORE="$out/store"
"${GNVCC:?gnvcc}" -arch="${ARCH:-sm_90}" -O3 -std=c++17 -o "$out/programs" "$here/programs.cu"
[ "$dry" ] && { echo "measure.sh: built"; exit; }
: >"$out/times.txt"; : >"$out/replays.txt"; : >"$out/said.txt"

run() { # KIND NAME COMMAND...
	kind=$1 name=$2
	shift 2
	"$@" >"$out/log" 2>&1 || { cat "$out/log" >&2; echo "measure.sh: $name failed ($kind)" >&2; exit 1; }
	awk -v kind="$kind" -v name="$name" '$1 ~ /:$/ && $3 == "s" { print name, kind, $2; exit }' "$out/log" >>"$out/times.txt"
	sed -n "s/^gnvcc: /$name, $kind: /p" "$out/log" >>"$out/said.txt"
}
for program in sides long short waits wide frontier "$@"; do
	case $program in sides|long|short|waits|wide|frontier) command="$out/programs $program" name=$program ;; *) command=$program name=$(basename "${program%% *}") ;; esac
	for _ in $(seq "${ROUNDS:-5}"); do
		rm -rf "$out/store/captures"
		run plain "$name" $command
		run first "$name" "$GNVCC" tune --observe -- $command
		run second "$name" "$GNVCC" tune --observe -- $command
	done
	"$GNVCC" tune --budget 20 >"$out/log" 2>&1 || true
	sed "s/^/$name: /" "$out/log" >>"$out/replays.txt"
done
sort -k1,2 -k3n "$out/times.txt" | awk '
	{ key = $1 " " $2; if (key != last) flush(); last = key; t[++n] = $3 }
	function flush() { if (n) { median[last] = t[int((n + 1) / 2)]; split(last, w, " "); names[w[1]] = 1 }; n = 0 }
	END {
		flush()
		printf "%-12s %10s %22s %14s\n", "program", "alone", "observed and captured", "observed"
		for (x in names) {
			p = median[x " plain"]; a = median[x " first"] / p; b = median[x " second"] / p
			printf "%-12s %8.3f s %22.3f %14.3f\n", x, p, a, b
			la += log(a); lb += log(b); k++
		}
		printf "%-12s %10s %22.3f %14.3f\n", "geomean", "", exp(la / k), exp(lb / k)
	}' | tee "$out/table.txt"
grep -h "delayed\|captured" "$out/said.txt" | sort | uniq -c | sort -rn | head -n 20
