#!/bin/bash
# Builds the programs with the toolkit in $1 into the folder $2: they find libcuda.so.1 where they run.
set -e
kit=$1 out=$2
mkdir -p "$out"
cd "$(dirname "$0")"
for p in record again cost memory pointers probe; do
  "$kit/bin/nvcc" -arch=sm_90 -O2 -std=c++17 -c $p.cu -o "$out/$p.o" &
done
wait
names=$(cd "$out" && nm -u *.o | awk '$2 ~ /^cu[A-Z]/ && $2 !~ /^cuda/ {print $2}' | sort -u)
for f in $names; do echo "int $f(void) { return 0; }"; done > "$out/stub.c"
gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so" "$out/stub.c"
for p in record again cost memory pointers probe; do
  "$kit/bin/nvcc" -arch=sm_90 -L"$out" "$out/$p.o" -o "$out/$p" -lcuda &
done
wait
gcc -shared -fPIC -O2 -Wall -Wextra -Werror -I"$kit/include" injection.c -o "$out/injection.so" -Wl,--allow-shlib-undefined "$kit/lib/libcupti.so" -Wl,-rpath,/usr/local/cuda/extras/CUPTI/lib64:/usr/local/cuda/lib64
rm -f "$out"/*.o "$out/stub.c" "$out/libcuda.so"
cp run.sh probe.sh "$out/"
