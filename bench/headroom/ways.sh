#!/bin/bash
# ways.sh ways|hints SOURCES OUT SECONDS [COUNTS]: what other ways of launching would bring to each
# program of SOURCES (a folder a program with HeCBench's Makefile and a file "run" that holds the
# command), or frequencies of basic blocks and early launches; as OUT/ways.jsonl and
# OUT/ways-times.jsonl (hints...), and a table. A program is told to end after 5 s.
# Beside it: table.py, preload/; for hints the binary hints, and COUNTS as it wants them. nvcc, ptxas
# and cuobjdump in PATH; CC is the compiler ("gnvcc -cudart shared": beside recipes).
mode=$1 sources=$2 out=$3 end=$((SECONDS + ${4:-150})) here=$(cd "$(dirname "$0")" && pwd)
counts=$5 cuda=$(dirname $(dirname $(readlink -f $(command -v nvcc)))); mkdir -p $out
export LD_LIBRARY_PATH=$cuda/lib64:$LD_LIBRARY_PATH CC=${CC:-nvcc -cudart shared} mode here counts
gcc -shared -fPIC -O2 -I$cuda/include $here/preload/$mode.c -o $out/$mode.so -ldl || exit 1
build() {
  cd $1 && [ ! -x main ] || return
  make -s ARCH=sm_90 CC="$CC" >make.log 2>&1 || { echo "not built: $1: $(tail -1 make.log)"; return; }
  [ $mode = hints ] || return
  cuobjdump -xptx all main >/dev/null 2>&1
  for p in *.ptx; do
    b=${p%.ptx}
    [ -f $p ] && $here/hints $counts $(basename $1) $p 2>>make.log || continue
    for v in "" .freq .wait .both; do ptxas -arch=sm_90 $b$v.ptx -o $b$v.cubin 2>>make.log; done
    printf %s "$PWD/$b:" >>ptxs
  done
}
export -f build
ls -d $sources/*/ | xargs -P 14 -I{} timeout 120 bash -c 'build {}'
export HEADROOM_OUT=$out/o HEADROOM_TIMES=$out/t
for p in $sources/*/; do
  n=$(basename $p)
  [ -x $p/main ] && [ -f $p/run ] || continue
  [ $SECONDS -lt $end ] || { echo "out of time: $n"; continue; }
  cd $p; export HEADROOM_PTX=$(cat ptxs 2>/dev/null)
  timeout -s INT -k 1 5 env LD_PRELOAD=$out/$mode.so:libcuda.so.1 $(cat run) >/dev/null 2>$out/err
  rc=$?
  [ $rc = 0 ] || [ $rc = 124 ] || echo "rc $rc $n: $(head -c 120 $out/err | tr '\n' ' ')"
  [ -f $out/t ] && sed "s/^{/{\"Program\":\"$n\",/" $out/t >>$out/$mode-times.jsonl
  [ -f $out/o ] && sed "s/^{/{\"Program\":\"$n\",/" $out/o >>$out/$mode.jsonl
  rm -f $out/t $out/o
done
rm -f $out/err $out/$mode.so
python3 $here/table.py $mode $out
