#include "phase.h"

__device__ float phase(float x, float t) { return 0.25f * x - 1.5f * t; }
