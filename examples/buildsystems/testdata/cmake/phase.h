#pragma once
__device__ float phase(float x, float t);
