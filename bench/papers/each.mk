# For the programs beside this file: CC is the compiler, as in HeCBench; COMMON is examples/common.
# PROGRAM's ARGUMENTS are a problem's size.
CC      = nvcc
ARCH   ?= sm_90
COMMON ?= ../../../examples/common
ARGUMENTS ?=

main: $(PROGRAM).cu ../each.h
	$(CC) -O3 -std=c++17 -arch=$(ARCH) -I.. -I$(COMMON) -o $@ $<
run: main
	./main $(ARGUMENTS)
clean:
	rm -f main
.PHONY: run clean
