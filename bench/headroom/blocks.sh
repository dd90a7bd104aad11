#!/bin/bash
# blocks.sh SOURCES OUT SECONDS: what fewer, longer blocks would bring to each program of SOURCES (a folder a program with HeCBench's
# Makefile and a file "run" that holds the command), as OUT/blocks.jsonl and OUT/times.jsonl, and a table.
# Beside it: headroom, loop.py, blocks.py, preload/blocks.c. nvcc and cuobjdump in PATH.
sources=$1; out=$2; end=$((SECONDS + ${3:-150})); here=$(cd "$(dirname "$0")" && pwd); mkdir -p $out
cuda=$(dirname $(dirname $(readlink -f $(command -v nvcc)))); export LD_LIBRARY_PATH=$cuda/lib64:$LD_LIBRARY_PATH
gcc -shared -fPIC -O2 -I$cuda/include $here/preload/blocks.c -o $here/blocks.so -ldl || exit 1
build() {
  cd $1 || return
  make -s ARCH=sm_90 CC="nvcc -cudart shared" >make.log 2>&1 || { echo "not built: $1: $(tail -1 make.log)"; return; }
  cuobjdump -xptx all main >/dev/null 2>&1
  for p in *.ptx; do
    [ -f $p ] || continue
    $here/headroom $p >$p.index && python3 $here/loop.py $p $p.index >looped-$p 2>$p.looped
    [ -s $p.looped ] && ptxas -arch=sm_90 looped-$p -o looped-$p.cubin 2>>make.log || rm -f looped-$p.cubin
  done
}
export -f build; export here
ls -d $sources/*/ | xargs -P 14 -I{} timeout 60 bash -c 'build {}'
echo "built after $SECONDS s: $(ls -d $sources/*/main 2>/dev/null | wc -l) programs, $(cat $sources/*/*.looped | wc -l) kernels in a loop"
for p in $sources/*/; do
  ls $p/looped-*.cubin >/dev/null 2>&1 || continue
  [ $SECONDS -lt $end ] || { echo "out of time: $p"; continue; }
  n=$(basename $p); cd $p
  BLOCKS_CUBINS=$(ls $p/looped-*.cubin | tr '\n' ':') BLOCKS_OUT=$out/blocks.jsonl BLOCKS_TIMES=$out/t LD_PRELOAD=$here/blocks.so:libcuda.so.1 \
    timeout -s INT -k 1 ${PER:-4} $(cat run) >/dev/null 2>$out/err || echo "rc $? $n: $(head -c 120 $out/err | tr '\n' ' ')"
  [ -f $out/t ] && sed "s/^{/{\"Program\":\"$n\",/" $out/t >>$out/times.jsonl; rm -f $out/t
done
rm -f $out/err
python3 $here/blocks.py $out
