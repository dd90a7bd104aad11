#!/bin/bash
# one.sh SEED GPU: one kernel of run.sh.
s=$1; cd "$work" || exit; python3 "$here/kernel.py" "$s" || exit
export GNVCC_STORE=$work/store$s CUDA_VISIBLE_DEVICES=$2
flag=; [ $((s % 5)) = 0 ] && flag=-use_fast_math
clean() { rm -rf "$s".* "nvcc$s" "gnvcc$s" "$GNVCC_STORE"; }
nvcc -arch=native $flag -o "nvcc$s" "$s.cu" >/dev/null 2>&1 || { echo "$s does not build"; clean; exit; }
"$GNVCC" -arch=native $flag -o "gnvcc$s" "$s.cu" >/dev/null 2>&1
if ! said=$(timeout 60 "$GNVCC" pin k "$(cat "$s.recipe")" 2>&1); then
  echo "$s refused $(head -c 300 <<<"$said" | tr '\n' ' ')"; clean; exit
fi
"$GNVCC" -arch=native $flag -o "gnvcc$s" "$s.cu" >/dev/null 2>&1
a=$(timeout 20 "./nvcc$s") b=$(timeout 20 "./gnvcc$s")
if [ "$a" = "$b" ]; then echo "$s taken same $(cat "$s.recipe")"
else echo "$s taken OTHER $a $b $flag $(cat "$s.recipe")"; cp "$s".* "$OUT/differ"; fi
clean
