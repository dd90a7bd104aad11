#!/bin/sh
# The applications that gnvcc is developed against: sh bench/accept/programs.sh SOURCES INCLUDE OUT [PROGRAM...]
#
# SOURCES has a checkout of each as OWNER+NAME, INCLUDE the headers of cuBLAS, cuRAND, cuSOLVER, cuFFT
# (of pip's nvidia-cublas and so on). ACCEPT and GNVCC name the programs, NVCC nvcc, JOBS how many
# compiles at a time. The flags are those of the projects' own build files.
set -eu
sources=$1 include=$2 out=$3
shift 3
mkdir -p "$out"
run() { # NAME FOLDER FILES... with flags in $flags
	name=$1 dir=$sources/$2
	shift 2
	echo "$name"
	$ACCEPT -gnvcc "$GNVCC" -nvcc "$NVCC" -j "${JOBS:-2}" -program "$name" -dir "$dir" \
		-out "$out/$name.jsonl" $flags "$@" >"$out/$name.txt" 2>"$out/$name.err" || cat "$out/$name.err"
}
f() { for a; do printf ' -flag %s' "$a"; done; }
[ $# -gt 0 ] || set -- NPB miniBUDE AutoDock madgraph GPUMD ggml
for program; do
	case $program in
	NPB) # config/make.def and the programs' Makefiles; class C
		for b in bt cg ep ft is lu mg sp; do
			dir=GMAP+NPB-GPU/CUDA/$(echo $b | tr a-z A-Z)
			(cd "$sources/GMAP+NPB-GPU/CUDA/sys" && c++ -w -o setparams setparams.cpp)
			(cd "$sources/$dir" && ../sys/setparams $b C)
			flags=$(f -O3 -use_fast_math -std=c++14 -I../common $(sed -n 's/.*-maxrregcount *\([0-9]*\).*/-maxrregcount=\1/p' "$sources/$dir/Makefile"))
			run NPB $dir $b.cu
		done ;;
	miniBUDE) # src/cuda/model.cmake
		flags=$(f -O3 -std=c++17 -use_fast_math -restrict -extended-lambda -DCUDA -DDEFAULT '-DUSE_PPWI=1\,2\,4\,8\,16' -I. -Icuda -I"$include" -x cu)
		run miniBUDE UoB-HPC+miniBUDE/src main.cpp ;;
	AutoDock) # Makefile.Cuda, NUMWI=64
		flags=$(f -O3 -use_fast_math -std=c++17 -DN64WI -Icommon -Ihost/inc -Icuda -I"$include")
		run AutoDock ccsb-scripps+AutoDock-GPU cuda/kernels.cu ;;
	madgraph) # SubProcesses/cudacpp.mk
		flags=$(f -O3 -std=c++17 -use_fast_math -lineinfo -DMGONGPU_FPTYPE_DOUBLE -DMGONGPU_FPTYPE2_DOUBLE -I. -I.. -I../../src -I../../../../../tools -I"$include" -x cu)
		dir=madgraph5+madgraph4gpu/epochX/cudacpp/gg_ttgg.sa/SubProcesses/P1_Sigma_sm_gg_ttxgg
		run madgraph $dir CPPProcess.cc ;;
	GPUMD) # src/makefile; the files with the most work
		flags=$(f -O3 -std=c++14 -I. -I"$include")
		run GPUMD brucefan1983+GPUMD/src force/nep.cu force/tersoff1989.cu force/lj.cu force/eam.cu \
			force/fcp.cu force/nep_charge.cu measure/hac.cu main_nep/nep.cu ;;
	ggml) # src/ggml-cuda/CMakeLists.txt
		flags=$(f -O3 -use_fast_math -std=c++17 -extended-lambda -I.. -I../../include -I"$include")
		run ggml ggml-org+ggml/src/ggml-cuda rope.cu norm.cu mmvq.cu mmvf.cu softmax.cu quantize.cu binbcast.cu \
			cpy.cu getrows.cu argsort.cu im2col.cu wkv.cu ssm-conv.cu gla.cu ;;
	esac
done
