#!/bin/bash
# Runs all of it where there is a GPU; about a minute. Raw output goes to $OUT (default: .).
cd "$(dirname "$0")" || exit 1
out=${OUT:-.}
mkdir -p "$out/facts"; t=$out/facts
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
(grep . /proc/sys/kernel/randomize_va_space; uname -a; ls -l /dev/nvidia* ) > $t/machine.txt 2>&1
cupti=$(ls -d /usr/local/cuda*/extras/CUPTI/lib64 /usr/local/cuda*/targets/x86_64-linux/lib 2>/dev/null | while read -r d; do [ -e $d/libcupti.so.13 ] && echo $d; done | head -1)
export LD_LIBRARY_PATH=$cupti:$LD_LIBRARY_PATH
echo "CUPTI: $cupti"
echo "== addresses"
for i in 1 2 3; do CUDA_INJECTION64_PATH=$PWD/injection.so U_MODE=all ./record maps > $t/a.aslr.$i 2>/dev/null; done
for i in 1 2; do CUDA_INJECTION64_PATH=$PWD/injection.so U_MODE=all setarch -R ./record maps > $t/a.noaslr.$i 2>/dev/null; setarch -R ./record > $t/a.noaslr.plain.$i; ./record > $t/a.aslr.plain.$i; done
cmp $t/a.noaslr.plain.1 $t/a.noaslr.plain.2 && echo "setarch -R: same addresses in two runs"
for a in aslr.1 aslr.2 aslr.plain.1 noaslr.1 noaslr.plain.1; do
 grep -v '^maps' $t/a.$a > $t/a.$a.list
 for r in "" "setarch -R"; do for hold in placeholder none; do for cupti in in out; do
  ( [ $cupti = in ] && export CUDA_INJECTION64_PATH=$PWD/injection.so U_MODE=all
  $r timeout 60 ./again $t/a.$a.list $hold > "$t/b.$a.${r:+R}.$hold.$cupti" 2>&1
  echo "A $a; B ${r:-ASLR} $hold cupti-$cupti: $(tail -1 "$t/b.$a.${r:+R}.$hold.$cupti") $(grep '^range' "$t/b.$a.${r:+R}.$hold.$cupti" | grep -v ' had ' | awk '{printf "%s%s:%s(%s) ", $2, $3, $7, $8}')" ) &
 done; done; wait; done; done
echo "== pointers"; timeout 60 ./pointers > $t/pointers.txt 2>&1; grep NaN $t/pointers.txt
echo "== memory"; timeout 100 ./memory | tee $t/memory.txt
echo "== cost"
for m in none callback activity both all; do echo "-- $m"; CUDA_INJECTION64_PATH=$PWD/injection.so U_MODE=$m timeout 60 ./cost 10000; done 2>&1 | tee $t/cost.txt
tar -C $out -czf $out/facts.tgz facts && rm -r $t
