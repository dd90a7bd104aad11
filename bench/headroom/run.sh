#!/bin/bash
# run.sh OUT SECONDS: every program once for its shapes, and those with a restrict build twice more.
#
# Beside it: bin/NAME.base and bin/NAME.restrict (linked with -cudart shared), launch.so,
# indexonly.txt (the kernels of which ptx.IndexOnly says so, with their dimensions), runs.txt
# ("NAME ./main ARGS", a line a program).
out=$1; end=$((SECONDS + ${2:-240})); here=$(cd "$(dirname "$0")" && pwd); mkdir -p $out
export LD_LIBRARY_PATH=$here:$LD_LIBRARY_PATH HEADROOM_TIMES=$out/t
mkdir -p $here/w; cd $here/w
one() { # mode build name args
  [ $SECONDS -lt $end ] || { echo "out of time: $3 $2"; return; }
  unset HEADROOM_KERNELS HEADROOM_OUT
  [ $1 = shapes ] && export HEADROOM_KERNELS=$here/indexonly.txt HEADROOM_OUT=$out/shapes.jsonl
  LD_PRELOAD=$here/launch.so timeout -k 2 6 $here/bin/$3.$2 $4 >/dev/null 2>$out/err ||
    echo "rc $? $3 $2: $(head -c 200 $out/err)"
  [ -f $out/t ] &&
    sed "s/^{/{\"Program\":\"$3\",\"Build\":\"$2\",\"Mode\":\"$1\",/" $out/t >>$out/times.jsonl
  rm -f $out/t
}
while read name cmd; do
  args=${cmd#./main}
  if [ -x $here/bin/$name.restrict ]; then
    one times base $name "$args"; one times restrict $name "$args"
  fi
  one shapes base $name "$args"
done <$here/runs.txt
rm -f $out/err
wc -l $out/*.jsonl; echo "headroom took $SECONDS s"
