#include <cooperative_groups.h>
#include <cstdio>
#include <vector>
#include <algorithm>
namespace cg = cooperative_groups;
__global__ void red(float *x, int n) { auto b=cg::this_thread_block(); __shared__ float s[256]; int i=blockIdx.x*blockDim.x+threadIdx.x; s[threadIdx.x]= i<n?x[i]:0; for (int d=128;d;d/=2){ b.sync(); if (threadIdx.x<d) s[threadIdx.x]+=s[threadIdx.x+d];} if(!threadIdx.x) x[blockIdx.x]=s[0]; }
int main(){ std::vector<float> h(1<<16,1.f); float*d; cudaMalloc(&d,4<<16); cudaMemcpy(d,h.data(),4<<16,cudaMemcpyHostToDevice); red<<<256,256>>>(d,1<<16); std::sort(h.begin(),h.end()); cudaMemcpy(h.data(),d,4<<10,cudaMemcpyDeviceToHost); printf("%f\n",h[0]); }
