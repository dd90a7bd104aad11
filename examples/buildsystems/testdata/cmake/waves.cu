#include "phase.h"

__global__ void waves(float *out, int n, float t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = SCALE * sinf(phase(static_cast<float>(i), t));
}

void launch(float *out, int n, float t) { waves<<<(n + 127) / 128, 128>>>(out, n, t); }
