#!/bin/bash
cd "$(dirname "$0")" || exit 1
for w in never before context last low; do for i in 1 2; do CUDA_MODULE_LOADING=LAZY timeout 30 ./probe $w > probe.$w.$i 2>&1; done; done
for w in never before context last low; do cat probe.$w.1; tail -1 probe.$w.2; done | tee ${OUT:-.}/probe.txt | cut -c1-110
