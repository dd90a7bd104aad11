#!/bin/bash
# one.sh SEED GPU: the kernels of one seed of run.sh: a line for each recipe.
s=$1; mkdir -p "$work/$s"; cd "$work/$s" || exit; trap 'cd "$work"; rm -rf "$work/$s"' EXIT
python3 "$here/${GENERATOR:-kernel.py}" "$s" "${KERNELS:-3}" "${RECIPES:-4}" || exit
export GNVCC_STORE=$work/$s/store CUDA_VISIBLE_DEVICES=$2 CUDA_CACHE_DISABLE=1
flags=$(cat "$s.flags"); [[ $flags == *-gencode* ]] || flags="-arch=$ARCH $flags"
# Without a recipe gnvcc's code is nvcc's.
"$GNVCC" -w $flags -o nvcc "$s.cu" >said 2>&1 || { echo "$s - does not build: $(head -c 200 said | tr '\n' ' ')"; exit; }
want=$(timeout 30 ./nvcc 2>&1)
# ROUNDS OF: one pin a kernel, a build, a run. What is refused leaves the kernel as the last round had it.
while read -r round; do
  declare -A had=()
  while read -r _ kernel recipe; do
    if said=$(timeout 60 "$GNVCC" pin "$kernel" "$recipe" 2>&1); then had[$kernel]=$recipe
    else echo "$s $kernel refused $recipe: $(head -c 400 <<<"$said" | tr '\n' ' ')"; fi
  done < <(grep "^$round " "$s.recipes")
  [ ${#had[@]} = 0 ] && continue
  GNVCC_LOG=$PWD/log "$GNVCC" -w $flags -o gnvcc "$s.cu" >said 2>&1 || { echo "$s - BROKEN build ${had[*]}: $(head -c 300 said | tr '\n' ' ')"; continue; }
  [ -n "${NOGPU:-}" ] && { for k in "${!had[@]}"; do echo "$s $k taken same ${had[$k]}"; done; continue; }
  got=$(timeout 30 ./gnvcc 2>&1)
  for k in "${!had[@]}"; do
    a=$(grep "^${k%<*} " <<<"$want") b=$(grep "^${k%<*} " <<<"$got") how=same
    read -r _ loose strict <<<"$a"; read -r _ loose2 strict2 <<<"$b"
    [ "$strict" = "$strict2" ] || how=OTHERNAN
    [ "$loose" = "$loose2" ] || how=OTHER
    [ -n "$loose" ] || how=NONE
    [[ $b == *error* && $a != *error* || -z $b && -n $a ]] && how=FAILED
    case $how in same) ;; *) how="$how $a $b [$flags]"; mkdir -p "$OUT/differ"
      cp "$s.cu" "$s.flags" "$s.recipes" "$OUT/differ" ;; esac
    echo "$s $k taken $how ${had[$k]}"
  done
done < <(cut -d' ' -f1 "$s.recipes" | sort -nu)
