// What the three translation units share: a field of force that one of them defines and the others call.
#pragma once

struct Body {
    float x, y, vx, vy;
};

constexpr int centres = 24;

extern __constant__ float4 centre[centres]; // x, y, strength, softening; defined in field.cu
extern __device__ unsigned evaluations;     // how often the field was asked for by thread 0 of block 0

__device__ float2 field(float x, float y); // field.cu
__device__ Body advance(Body b, float dt); // step.cu
