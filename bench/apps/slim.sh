#!/bin/sh
# Takes what is built and run of the applications out of their repositories: about 20 MiB, for a
# machine that has no network. REPOSITORIES holds clones, bare ones too, of any depth; what is
# fetched is the commit that each has at HEAD.
#
#	slim.sh REPOSITORIES OUT
set -eu
test $# = 2 || { echo "usage: slim.sh REPOSITORIES OUT" >&2; exit 2; }
from=$1 out=$2
mkdir -p "$out"
out=$(cd "$out" && pwd)
index=$out/.index

# find OWNER NAME: the repository's git folder
find() {
	for path in "$from/$2/.git" "$from/$2.git" "$from/$2" "$from/$1+$2/repo" "$from/$1+$2/repo/.git" "$from/$1/$2/.git"; do
		if git --git-dir="$path" rev-parse -q --verify HEAD >/dev/null 2>&1; then
			echo "$path"
			return
		fi
	done
	echo "slim.sh: no repository of $1/$2 in $from" >&2
	return 1
}

# take OWNER NAME PATHS...
take() {
	owner=$1 name=$2
	shift 2
	git=$(find "$owner" "$name") || return 0
	rm -rf "${out:?}/$name"
	mkdir "$out/$name"
	# an index of our own: the clone stays as it is, and what else it lacks is not looked at
	GIT_INDEX_FILE="$index" git --git-dir="$git" --work-tree="$out/$name" checkout -q HEAD -- "$@"
	rm -f "$index"
	git --git-dir="$git" rev-parse HEAD >"$out/$name/COMMIT"
}

take UoB-HPC miniBUDE CMakeLists.txt cmake src data/bm1
take GMAP NPB-GPU CUDA
take madgraph5 madgraph4gpu epochX/cudacpp/gg_ttgg.sa
take ccsb-scripps AutoDock-GPU Makefile Makefile.Cuda version_string.sh test_cuda.sh test_cuda.cpp \
	bin common cuda host input/3ce3/derived input/7cpa/derived
take UoB-HPC CloverLeaf CMakeLists.txt cmake driver src InputDecks
take erikwijmans Pointnet2_PyTorch pointnet2_ops_lib
take ThibaultGROUEIX ChamferDistancePytorch chamfer3D
take brucefan1983 GPUMD src examples/gpumd_dynamic examples/nep_train/nep.txt
take ggml-org ggml CMakeLists.txt ggml.pc.in LICENSE cmake include src/CMakeLists.txt \
	':(glob)src/*.c' ':(glob)src/*.cpp' ':(glob)src/*.h' src/ggml-cpu src/ggml-cuda \
	tests
du -sk "$out"/* >&2
