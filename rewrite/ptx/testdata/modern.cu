// Cooperative groups, tensor cores, asynchronous copies, clusters, launch bounds, textures and surfaces, launch attributes.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <mma.h>
namespace cg = cooperative_groups;
using namespace nvcuda;
__global__ void __launch_bounds__(256, 2) bounded(float *x) { x[threadIdx.x] *= 2; }
__global__ void __launch_bounds__(128) bounded1(float *x) { x[threadIdx.x] *= 3; }
#if __CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ >= 4 && __CUDACC_VER_MAJOR__ == 12
__global__ void __maxnreg__(40) capped(float *x) { x[threadIdx.x] *= 4; }
#endif
__global__ void grid_sync(int *x) { cg::this_grid().sync(); x[0] = cg::this_grid().size(); }
__global__ void tiles(int *x) {
  auto b = cg::this_thread_block(); auto t = cg::tiled_partition<16>(b);
  x[b.thread_rank()] = cg::reduce(t, x[b.thread_rank()], cg::plus<int>());
  b.sync();
}
__global__ void tensor(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
__global__ void sampled(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *o) {
  float4 v = tex2D<float4>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
  float w = tex3DLod<float>(t, v.x, v.y, v.z, 1.f);
  surf2Dwrite(v, s, threadIdx.x * 16, threadIdx.y);
  o[threadIdx.x] = v; o[1].x = w;
}
#if __CUDA_ARCH__ >= 800 || !defined __CUDA_ARCH__
__global__ void pipelined(const float *g, float *o) {
  __shared__ alignas(128) float s[1024];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto b = cg::this_thread_block();
  if (!threadIdx.x) init(&bar, blockDim.x);
  b.sync();
  cuda::memcpy_async(b, s, g, cuda::aligned_size_t<128>(4096), bar);
  bar.arrive_and_wait();
  o[threadIdx.x] = s[threadIdx.x ^ 3];
}
#endif
#if __CUDA_ARCH__ >= 900 || !defined __CUDA_ARCH__
__global__ void __cluster_dims__(2, 1, 1) clustered(float *x) {
  __shared__ float s[32];
  auto c = cg::this_cluster();
  s[threadIdx.x & 31] = x[threadIdx.x]; c.sync();
  float *other = c.map_shared_rank(s, 1 - c.block_rank());
  x[threadIdx.x] = other[3]; c.sync();
}
__global__ void __launch_bounds__(128, 1, 4) bounded_cluster(float *x) { x[threadIdx.x] = 1; }
#if __CUDACC_VER_MAJOR__ >= 12
__global__ void dependent(float *x) { cudaGridDependencySynchronize(); x[0]++; cudaTriggerProgrammaticLaunchCompletion(); }
#endif
#if __CUDACC_VER_MAJOR__ >= 12
__global__ void tma(float *x, const char *src) {
  __shared__ alignas(128) char buf[256]; __shared__ unsigned long long mb;
  unsigned a = __cvta_generic_to_shared(buf), m = __cvta_generic_to_shared(&mb);
  if (!threadIdx.x) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(m));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(a), "l"(src), "r"(m) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(m));
  }
  __syncthreads();
  asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], 0;\n@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" ::"r"(m));
  x[threadIdx.x] = buf[threadIdx.x];
}
#endif
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__global__ void regs(float *x) {
  if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); else asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  x[threadIdx.x] = 1;
}
__global__ void wg(float *x, unsigned long long da, unsigned long long db) {
  float d0 = x[0], d1 = x[1], d2 = x[2], d3 = x[3];
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}" : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "l"(da), "l"(db), "r"(1));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  x[0] = d0; x[1] = d1; x[2] = d2; x[3] = d3;
}
#endif
