#!/bin/bash
# blocks.sh SOURCES OUT SECONDS: what fewer, longer blocks would bring to each program of SOURCES
# (a folder a program with HeCBench's Makefile and a file "run" that holds the command), as
# OUT/blocks.jsonl and OUT/times.jsonl, and a table. A program is told to end after 2 s; one that has
# launched nothing until then is run once more, for 6 s (PER="2 6").
# Beside it: loop.py, table.py, preload/. nvcc, ptxas and cuobjdump in PATH. A program that is
# built already (main, and PTX.cubin with PTX.cubin.list) is taken as it is.
sources=$1 out=$2 end=$((SECONDS + ${3:-150})); here=$(cd "$(dirname "$0")" && pwd); mkdir -p $out
cuda=$(dirname $(dirname $(readlink -f $(command -v nvcc))))
export LD_LIBRARY_PATH=$cuda/lib64:$LD_LIBRARY_PATH here
gcc -shared -fPIC -O2 -I$cuda/include $here/preload/blocks.c -o $out/blocks.so -ldl || exit 1
build() {
  cd $1 && [ ! -x main ] || return
  make -s ARCH=sm_90 CC="nvcc -cudart shared" >make.log 2>&1 ||
    { echo "not built: $1: $(tail -1 make.log)"; return; }
  cuobjdump -xptx all main >/dev/null 2>&1
  for p in *.ptx; do
    [ -f $p ] || continue
    python3 $here/loop.py $p >looped 2>$p.cubin.list && [ -s $p.cubin.list ] &&
      ptxas -arch=sm_90 looped -o $p.cubin 2>>make.log || rm -f $p.cubin $p.cubin.list
  done
  rm -f *.o *.ptx looped
}
export -f build
ls -d $sources/*/ | xargs -P 14 -I{} timeout 120 bash -c 'build {}'
echo "built after $SECONDS s: $(ls $sources/*/main | wc -l) programs," \
  "$(cat $sources/*/*.cubin.list | wc -l) kernels in a loop"
export HEADROOM_OUT=$out/blocks.jsonl HEADROOM_TIMES=$out/t
for per in ${PER:-2 6}; do
  for p in $sources/*/; do
    n=$(basename $p)
    [ -x $p/main ] && [ -f $p/run ] && ! grep -qs "^{\"Program\":\"$n\"" $out/times.jsonl || continue
    [ $SECONDS -lt $end ] || { echo "out of time: $n"; continue; }
    cd $p; export HEADROOM_CUBINS=$(ls $PWD/*.cubin 2>/dev/null | tr '\n' ':')
    LD_PRELOAD=$out/blocks.so:libcuda.so.1 timeout -s INT -k 1 $per $(cat run) >/dev/null 2>$out/err
    rc=$?
    [ $rc = 0 ] || [ $rc = 124 ] || echo "rc $rc $n: $(head -c 120 $out/err | tr '\n' ' ')"
    [ -f $out/t ] && sed "s/^{/{\"Program\":\"$n\",/" $out/t >>$out/times.jsonl; rm -f $out/t
  done
done
rm -f $out/err $out/blocks.so
python3 $here/table.py blocks $out
