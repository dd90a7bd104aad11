// Atomics, fences, volatile, cache hints by intrinsics, inline assembly, warp primitives.
#include <cuda/atomic>
__device__ unsigned long long total;
__global__ void atomics(int *x, float *f, double *d, unsigned long long *u) {
  int t = threadIdx.x;
  x[0] = atomicCAS(x + 1, t, 3) + atomicExch(x + 2, t);
  atomicAdd(f, 1.0f); atomicAdd(d, 2.0); atomicMax(x + 3, t); atomicAdd(&total, 3ull);
  __threadfence(); __threadfence_block(); __threadfence_system();
  volatile int *v = x; v[5] = v[6];
  cuda::atomic_ref<int, cuda::thread_scope_device> r(x[7]);
  r.fetch_add(2, cuda::memory_order_acq_rel);
  x[8] = r.load(cuda::memory_order_acquire); r.store(4, cuda::memory_order_release);
}
__global__ void hints(const float4 *__restrict__ a, float4 *b, int2 *c) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = __ldg(a + t), w = __ldcs(b + t), y = __ldcg(b + 2 * t);
  __stcs(b + t, v); __stwt(b + 3 * t, w); __stcg(b + 5 * t, y);
  c[t] = __ldca(c + 7); b[9] = a[8];
}
__global__ void assembly(unsigned *x) {
  unsigned lane, m;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("{\n\t.reg .pred p;\n\tsetp.gt.u32 p, %1, 3;\n\t@p add.u32 %0, %1, 5;\n\t@!p mov.u32 %0, 0x1f; // a comment; with a semicolon\n\t}" : "=r"(m) : "r"(lane));
  asm volatile("{ .reg .b32 t1; /* block\n comment */ L_%=: mov.b32 t1, %0; bra.uni D_%=; D_%=: }" ::"r"(m));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(x));
  float f;
  asm volatile("ld.global.cs.f32 %0, [%1+16];" : "=f"(f) : "l"(x));
  x[lane] = m + __float_as_uint(f);
}
__global__ void warps(int *x) {
  int v = x[threadIdx.x];
  v += __shfl_xor_sync(~0u, v, 1); v += __shfl_down_sync(~0u, v, 2);
  int p; v += __any_sync(~0u, v > 3) + __popc(__ballot_sync(~0u, v)) + __match_all_sync(~0u, v, &p) + p;
  
#if __CUDA_ARCH__ >= 800
  v += __reduce_add_sync(~0u, v);
#endif
  __syncwarp();
  x[threadIdx.x] = v + __syncthreads_count(v > 2) + __brev(v);
#ifndef __CUDACC_DEBUG__ // nvcc 13.5 -G: "unsupported operation"
  x[0] = __dp4a(v, v, v);
#endif
}
