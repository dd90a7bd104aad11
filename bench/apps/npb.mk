# A program of NPB-GPU; BENCHMARK says which.
include ../common.mk
CLASS = C

all:
	$(call taken,NPB-GPU/CUDA)
	$(MAKE) -C src $(BENCHMARK) CLASS=$(CLASS) NVCC=$(NVCC) \
		COMPUTE_CAPABILITY="-gencode arch=compute_$(SM),code=sm_$(SM)"
run:
	$(call kept,src,bin/$(BENCHMARK).$(CLASS))
figures:
	$(call has,Verification *= *SUCCESSFUL)
	$(call figure,Mop/s total *=,speed,Mop/s,more)
