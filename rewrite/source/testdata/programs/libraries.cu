// Headers of the toolkit that are as large as C++ gets.
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <cub/cub.cuh>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <mma.h>

template <int BLOCK>
__global__ void blockSum(const int *in, int *out, int n)
{
  using Reduce = cub::BlockReduce<int, BLOCK>;
  __shared__ typename Reduce::TempStorage storage;
  int v = 0;
  for (int i = threadIdx.x; i < n; i += BLOCK) v += in[i];
  int sum = Reduce(storage).Sum(v);
  if (threadIdx.x == 0) *out = sum;
}

__global__ void wmma(const half *a, const half *b, float *c, int k)
{
  namespace w = nvcuda::wmma;
  w::fragment<w::matrix_a, 16, 16, 16, half, w::row_major> fa;
  w::fragment<w::matrix_b, 16, 16, 16, half, w::col_major> fb;
  w::fragment<w::accumulator, 16, 16, 16, float> fc;
  w::fill_fragment(fc, 0.0f);
  for (int i = 0; i < k; i += 16) { w::load_matrix_sync(fa, a + i, k); w::load_matrix_sync(fb, b + i, k); w::mma_sync(fc, fa, fb, fc); }
  w::store_matrix_sync(c, fc, 16, w::mem_row_major);
}

__global__ void groups(int *a, int n)
{
  auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  int v = a[tile.thread_rank()];
  for (int i = 0; i < n; i++) v += tile.shfl_xor(v, 1);
  a[0] = cooperative_groups::reduce(tile, v, cooperative_groups::plus<int>());
}

struct Square { __device__ int operator()(int x) const { return x * x; } };

int main()
{
  thrust::device_vector<int> v(10);
  thrust::sort(v.begin(), v.end());
  blockSum<128><<<1, 128>>>(0, 0, 1);
  return thrust::transform_reduce(v.begin(), v.end(), Square(), 0, thrust::plus<int>());
}
