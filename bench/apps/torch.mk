# A PyTorch extension, built by its own setup.py in the folder EXTENSION of its sources; run.py, next to the
# Makefile, runs it with the python3 that has PyTorch.
include ../common.mk

export PYTORCH_NVCC = $(NVCC)
export TORCH_CUDA_ARCH_LIST = $(SM:%0=%.0)
export MAX_JOBS = $(JOBS)
export CUDA_HOME = $(CUDA)
export PYTHONPATH := $(CURDIR)/$(EXTENSION):$(PYTHONPATH)

run:
	$(call kept,$(EXTENSION),python3 $(CURDIR)/run.py)
figures:
	$(call figure,forward and backward:,pass,ms,less)
