# CloverLeaf, a hydrodynamics mini-app of some hundred kernels; DECK says which mesh. Its own check of the result is
# the deck's test problem.
include ../common.mk

all:
	$(call taken,CloverLeaf)
	test -d src/build || cmake -S src -B src/build -DMODEL=cuda -DENABLE_MPI=OFF -DCUDA_ARCH=$(ARCH) \
		-DCMAKE_CUDA_COMPILER=$(NVCC) >/dev/null
	$(MAKE) -j $(JOBS) -C src/build
run:
	$(call kept,src,build/cuda-cloverleaf --file InputDecks/$(DECK).in)
figures:
	$(call has,PASSED)
	$(call figure,Wall clock,time,s,less)
