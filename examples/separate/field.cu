// The field: the sum of attractions towards fixed centres.
#include "field.h"

__constant__ float4 centre[centres];
__device__ unsigned evaluations;

__device__ float2 field(float x, float y) {
    if (blockIdx.x == 0 && threadIdx.x == 0) evaluations++;
    float2 force = make_float2(0, 0);
    for (int k = 0; k < centres; k++) {
        float dx = centre[k].x - x, dy = centre[k].y - y;
        float r2 = dx * dx + dy * dy + centre[k].w;
        float pull = centre[k].z / (r2 * sqrtf(r2));
        force.x += pull * dx;
        force.y += pull * dy;
    }
    return force;
}
