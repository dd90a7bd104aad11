// SPDX-License-Identifier: Apache-2.0
// Kernels that are hard to coarsen, or to load early. Each launch's memory is told by a hash.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>
#include <algorithm>
typedef unsigned u32; typedef unsigned long long u64;
#define T (blockIdx.x * 64 + threadIdx.x)
#define K(n) __global__ void n(float *o, float *x, u32 *c, int n_, float f)
K(last) { o[T] = x[T] * 3 + f; __threadfence(); if (atomicAdd(c, 1) == gridDim.x * 64 - 1) { double s = 0; for (u32 i = 0; i < gridDim.x * 64; i++) s += ((volatile float *)o)[i]; o[gridDim.x * 64] = s; *c = 0; } }
K(lastcg) { if (threadIdx.x) return; ((u32 *)o)[blockIdx.x] = n_ + blockIdx.x; __threadfence(); u32 t = atomicInc(c, gridDim.x - 1); if (t == gridDim.x - 1) { u32 s = 0; for (u32 i = 0; i < gridDim.x; i++) s += __ldcg((u32 *)o + i); ((u32 *)o)[gridDim.x] = s; } }
K(ticket) { u32 t = atomicAdd(c, 1); ((u32 *)o)[t] = 0x1000 + (t & 63); atomicMax(c + 1, T); atomicXor(c + 2, T * 7); atomicAdd((u64 *)(c + 4), (u64)T * T); }
K(trylock) { if (atomicCAS(c, 0, 1) == 0) c[1] += 5; atomicExch(c + 2, 9); if (atomicCAS(c + 4 + blockIdx.x % 8, 0, 1) == 0) atomicAdd(c + 3, 1); }
K(early_ret) { if (blockIdx.x & 1) { if (threadIdx.x > 20) return; o[T] = x[T]; if (x[T] > 0.5f) return; o[T] += 1; } else if (threadIdx.x == 7) return; for (int i = 0; i < (int)(blockIdx.x % 5); i++) { o[T] += x[T + i] * f; if (o[T] > 3) return; } o[T + 4096 * 4] = 1; }
K(counter) { int i; float s = 0; for (i = 0; i < n_; i++) { if (x[T + i] > 0.93f) break; s += x[i]; if (x[i + 3] > 0.9f) continue; s -= x[i + 1] * f; } o[T] = s + i; for (; i < n_; i += 3) { s = s * f + x[(T + i) & 1023]; if (s > 5) { s -= 4; i--; } } o[T] += s * i; }
K(nested) { u32 a = T; float s = 0; for (int i = 0; i < n_; i++) { for (int j = 0; j <= (int)(a & 3); j++) { s += x[(a + j) & 1023]; if (s > 9) break; } a = a * 1664525 + 1013904223; switch (a >> 30) { case 0: s *= 0.5f; break; case 1: s += 1; case 2: s -= 0.25f; } if ((a & 255) == 3) { o[T] = -s; return; } } o[T] = s; }
K(widths) { double d = x[T]; __half h = __float2half(x[T + 1]); long long q = T * 0x123456789ll; short w = (short)T; bool p = x[T] > 0.3f, r = x[T] > x[T + 5]; if (x[T + 2] > 0.5f) { d = d * q + w; h = __hadd(h, h); p = !p; } if (p && T % 3) { q ^= (long long)(d * 1000); w += 3; } else if (r) d /= 3; o[T] = (float)d + __half2float(h) + (float)(q & 0xffff) + w + p * 2 + r; }
K(shuffle) { float v = x[T]; for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(~0u, v, m); u32 b = __ballot_sync(~0u, x[T] > 0.5f); o[T] = v * __popc(b) + __any_sync(~0u, x[T] > 0.99f) + __reduce_add_sync(~0u, (u32)T) + __match_any_sync(~0u, (int)(x[T] * 4)) % 97; }
K(tile) { __shared__ float s[64]; __shared__ u32 h[8]; if (threadIdx.x < 8) h[threadIdx.x] = 0; s[threadIdx.x] = x[T]; __syncthreads(); float a = 0; for (int i = 0; i < 64; i++) a += s[(threadIdx.x + i * 5) & 63] * f; atomicAdd(&h[(u32)(x[T] * 8) & 7], 1); s[63 - threadIdx.x] = s[threadIdx.x]; __syncthreads(); if (threadIdx.x < 8) atomicAdd(c + threadIdx.x, h[threadIdx.x]); int n = __syncthreads_count(x[T] > 0.4f); o[T] = a + n + h[threadIdx.x & 7]; }
K(tile_ret) { __shared__ float s[64]; s[threadIdx.x] = x[T]; if (threadIdx.x >= 50) return; __syncthreads(); if (n_ & 1) { s[(threadIdx.x + 1) % 50] += 1; __syncthreads(); } o[T] = s[49 - threadIdx.x]; }
K(own) { ((u32 *)o)[T] = T; u32 a = ((u32 *)o)[blockIdx.x * 64]; if (threadIdx.x == 0) ((u32 *)o)[T + 8192 * 2] = a; float m = x[0]; if (blockIdx.x == 0 && threadIdx.x == 0) { x[2000] = m + 1; o[30000] = x[2000] * f; } o[T] = m * f; }
K(vol) { volatile float *v = o; v[T] = x[T]; float a = v[T]; v[T] = a + v[T] * 2; __threadfence_block(); o[T + 16384] = v[T]; }
K(strided) { for (u32 i = T; i < (u32)n_ * 64; i += gridDim.x * 64) { o[i & 16383] += x[i & 1023] * f; if (i % 77 == 5) o[i & 16383] -= 1; } }
K(insane) { u32 b, g; asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(b)); asm volatile("{ .reg .u32 t; mov.u32 t, %%nctaid.x; add.u32 %0, t, 1; }" : "=r"(g)); float v; asm volatile("{ .reg .pred p; setp.gt.f32 p, %1, 0f3F000000; @p ld.global.f32 %0, [%2]; @!p mov.f32 %0, 0f40000000; }" : "=f"(v) : "f"(x[T]), "l"(x + b)); asm volatile("membar.gl;"); o[b * 64 + threadIdx.x] = g * f + v; }
struct Big { float a[1000]; int n; }; // 4004 bytes
__global__ void params(float *o, const __grid_constant__ Big b, int m) { float s = 0; for (int i = 0; i < m; i++) s += b.a[(T * 7 + i) % b.n] - (blockIdx.x % 3 ? b.a[i] : 0); o[T] = s; }
__constant__ float table[1024]; __device__ float var[64]; static __device__ u32 shut;
K(constant) { float s = 0; for (int i = 0; i < n_; i++) s += table[(T + i) & 1023]; var[threadIdx.x] = f; o[T] = s + table[3]; atomicAdd(&shut, 1u); }

__global__ void tex(float *o, cudaTextureObject_t t, int n) { float s = tex1Dfetch<float>(t, 5); for (int i = 0; i < n; i++) { s += tex1Dfetch<float>(t, (T + i) & 1023); if (s > 20) break; } o[T] = s; }
// two dimensions
#define X2 (blockIdx.x * 16 + threadIdx.x)
#define Y2 (blockIdx.y * 4 + threadIdx.y)
K(plane) { int i = Y2 * n_ + X2; if (X2 < (u32)n_ && Y2 > 0) o[i & 16383] = x[i & 1023] + x[(i - n_) & 1023] * f; if (blockIdx.y == gridDim.y - 1 && blockIdx.z == gridDim.z - 1) atomicAdd(c, 1); }
K(plane_tile) { __shared__ float s[4][17]; s[threadIdx.y][threadIdx.x] = x[(Y2 * 64 + X2) & 1023]; __syncthreads(); float a = 0; for (int i = 0; i < 16; i++) a += s[threadIdx.y][i] * s[3 - threadIdx.y][15 - i]; o[((blockIdx.z * gridDim.y * 4 + Y2) * gridDim.x * 16 + X2) & 262143] = a; }
// early: who reads what it wrote
#define S 96
K(recur) { float *a = o + T * S, *b = (float *)((char *)a + (n_ & ~3)); for (int i = 0; i < 64; i++) b[i] = a[i] * f + 1; }
K(recur4) { float4 *a = (float4 *)(o + T * S); float *b = (float *)((char *)a + (n_ & ~3)); for (int i = 0; i < 16; i++) { float4 v = a[i]; b[i * 2] = v.x * f; b[i * 2 + 1] = v.w + v.y; } }
K(bytes) { unsigned char *a = (unsigned char *)(o + T * S), *b = a + n_; for (int i = 0; i < 100; i++) { b[i] = a[i] * 3 + 1; a[i + 5] ^= b[i + 1]; } }
K(mixed) { u32 *a = (u32 *)(o + T * S); unsigned char *b = (unsigned char *)a + n_; for (int i = 0; i < 40; i++) { b[i] = a[i] >> 3; b[i + 4] += (unsigned char)i; a[i + 1] += 7; } }
K(table_of) { float **p = (float **)(o + T * S); for (int i = 0; i < 8; i++) p[i] = x + 4096 + T * 64 + (i * n_) % 40; for (int i = 0; i < 8; i++) { *p[i] = *p[(i + 1) & 7] * f + i; *p[(i * 3) & 7] += 1; } for (int i = 0; i < 8; i++) o[T * S + 32 + i] = *p[i]; for (int i = 0; i < 16; i++) ((u32 *)o)[T * S + i] = 0; }
K(chase) { u32 *a = (u32 *)(o + T * S); for (int i = 0; i < 64; i++) a[i] = (i * n_ + 1) & 63; u32 at = 0; for (int i = 0; i < 40; i++) { u32 n = a[at]; a[at] = (n + i) & 63; at = n; a[63] ^= at; } a[64] = at; }
K(inplace) { float *a = o + T * S; for (int r = 0; r < 3; r++) for (int i = 1; i < 60; i++) a[i] = (a[i - 1] + a[i] + a[i + 1]) * f + x[(T + i) & 1023]; }
K(twofold) { float *a = o + T * S, *b = a + n_; for (int i = 0; i < 30; i += 2) { a[i] = b[i + 1] * f; b[i] = a[i + 1] + f; a[i + 1] = b[i] - a[i]; } }
K(local) { float l[8]; for (int i = 0; i < 8; i++) l[i] = x[T + i]; for (int i = 0; i < n_; i++) { l[(i * 3 + threadIdx.x) & 7] += l[i & 7] * f; o[T] = l[(T + i) & 7]; } }
typedef void Kern(float *, float *, u32 *, int, float);
struct One { const char *name; Kern *k; bool plane; };
#define ONE(k) {#k, k, false}
static One kinds[] = {ONE(last), ONE(lastcg), ONE(ticket), ONE(trylock), ONE(early_ret), ONE(counter), ONE(nested), ONE(widths), ONE(shuffle), ONE(tile), ONE(tile_ret), ONE(own), ONE(vol), ONE(strided), ONE(insane), ONE(constant), {"plane", plane, true}, {"plane_tile", plane_tile, true},
  ONE(recur), ONE(recur4), ONE(bytes), ONE(mixed), ONE(table_of), ONE(chase), ONE(inplace), ONE(twofold), ONE(local)};
const size_t N = 1 << 18;
static std::vector<float> init;
struct Mem { float *o, *x; u32 *c; };
static u64 mix(u64 v, const void *p, size_t n) { for (size_t i = 0; i + 8 <= n; i += 8) v = (v ^ *(const u64 *)((const char *)p + i)) * 1099511628211ull, v ^= v >> 29; return v; }
static void fill(Mem &m, cudaStream_t s) { cudaMemcpyAsync(m.x, init.data(), 4 * N, cudaMemcpyDefault, s); cudaMemcpyAsync(m.o, init.data() + 77, 4 * (N - 80), cudaMemcpyDefault, s); cudaMemsetAsync(m.c, 0, 4096, s); }
static u64 hash(Mem &m, cudaStream_t s) { static thread_local std::vector<float> h(2 * N + 1024); cudaMemcpyAsync(h.data(), m.o, 4 * N, cudaMemcpyDefault, s); cudaMemcpyAsync(h.data() + N, m.x, 4 * N, cudaMemcpyDefault, s); cudaMemcpyAsync(h.data() + 2 * N, m.c, 4096, cudaMemcpyDefault, s); cudaStreamSynchronize(s); return mix(1469598103934665603ull, h.data(), h.size() * 4); }
static void one(const One &k, Mem &m, dim3 g, int n, float f, cudaStream_t s, char *to) { fill(m, s); k.k<<<g, k.plane ? dim3(16, 4) : dim3(64), 0, s>>>(m.o, m.x, m.c, n, f); int e = cudaStreamSynchronize(s); e = e ? e : cudaGetLastError(); sprintf(to, "%s %u %u %u n %d f %g: %d %016llx\n", k.name, g.x, g.y, g.z, n, f, e, hash(m, s)); }
static Mem memory(int how) { Mem m; if (how == 0) { cudaMalloc(&m.o, 4 * N); cudaMalloc(&m.x, 4 * N); cudaMalloc(&m.c, 4096); } else if (how == 1) { cudaMallocManaged(&m.o, 4 * N); cudaMallocManaged(&m.x, 4 * N); cudaMallocManaged(&m.c, 4096); } else { cudaHostAlloc(&m.o, 4 * N, cudaHostAllocMapped); cudaHostAlloc(&m.x, 4 * N, cudaHostAllocMapped); cudaHostAlloc(&m.c, 4096, cudaHostAllocMapped); } return m; }
static int unused;
int main() {
  setvbuf(stdout, 0, _IOLBF, 0); init.resize(N); for (size_t i = 0; i < N; i++) init[i] = ((i * 2654435761u) >> 8 & 0xffff) / 65536.f; cudaMemcpyToSymbol(table, init.data() + 9, 4096); char line[200];
  for (int how = 0; how < 3; how++) { Mem m = memory(how); if (cudaGetLastError()) { puts("no such memory"); continue; }
    for (const One &k : kinds) for (int gx : {1, 2, 6, 8, 24, 7, 40}) for (int n : {0, 1, 4, 12, 33}) { if (how && (gx == 6 || gx == 24 || n == 33)) continue; if (k.plane) { for (dim3 g : {dim3(gx, 1, 1), dim3(gx, 4, 2), dim3(3, gx, 1), dim3(2, 8, gx)}) { one(k, m, g, n, 0.75f, 0, line); fputs(line, stdout); if (how) break; } continue; } one(k, m, dim3(gx), n, n == 4 ? 1.25f : 0.75f, 0, line); fputs(line, stdout); } }
  Mem m = memory(0); static Big b; memcpy(b.a, init.data(), 4000); cudaTextureObject_t t; cudaResourceDesc r = {}; r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = m.x; r.res.linear.desc = cudaCreateChannelDesc<float>(); r.res.linear.sizeInBytes = 4096; cudaTextureDesc d = {}; d.readMode = cudaReadModeElementType; cudaCreateTextureObject(&t, &r, &d, 0);
  for (int gx : {1, 2, 4, 8, 9, 16}) for (int n : {1, 4, 50}) { fill(m, 0); b.n = 3 * n; params<<<gx, 64>>>(m.o, b, n); u64 h = hash(m, 0); fill(m, 0); tex<<<gx, 64>>>(m.o, t, n); printf("params, tex %d %d: %016llx %016llx %d\n", gx, n, h, hash(m, 0), cudaGetLastError()); }
  float v[64]; u32 q; cudaMemcpyFromSymbol(v, var, 256); cudaMemcpyFromSymbol(&q, shut, 4); printf("variables %016llx %u\n", mix(1, v, 256), q);
  for (unsigned g : {0u, 65535u, 65536u, 2147483647u, 2147483648u}) { if (g == 2147483647u) { plane<<<dim3(1, g), dim3(16, 4)>>>(m.o, m.x, m.c, 4, 1); printf("y %u: %d\n", g, cudaGetLastError()); continue; } plane<<<dim3(1, g), dim3(16, 4)>>>(m.o, m.x, m.c, 4, 1); printf("y %u: %d", g, cudaGetLastError()); plane<<<dim3(2, 1, g), dim3(16, 4)>>>(m.o, m.x, m.c, 4, 1); printf(", z: %d %d\n", cudaGetLastError(), cudaDeviceSynchronize()); }
  // many threads at once, streams of their own and each thread's default one
  std::vector<std::thread> list; static char out[8][40][200]; for (int i = 0; i < 8; i++) list.emplace_back([i] { Mem m = memory(0); cudaStream_t s = cudaStreamPerThread; if (i & 1) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); for (int j = 0; j < 40; j++) { const One &k = kinds[(i * 7 + j) % (sizeof kinds / sizeof *kinds)]; one(k, m, k.plane ? dim3(4, 4, 2) : dim3(8 + i), 4 + j % 3, 0.5f, s, out[i][j]); } }); for (auto &t : list) t.join();
  for (auto &o : out) for (auto &l : o) if (!strstr(l, "constant")) printf("thread: %s", l);
  // captured in a graph, launched, with other arguments, launched
  cudaStream_t s; cudaStreamCreate(&s); for (const One &k : kinds) { fill(m, s); cudaGraph_t g; cudaGraphExec_t e; cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal); k.k<<<k.plane ? dim3(4, 4, 2) : dim3(8), k.plane ? dim3(16, 4) : dim3(64), 0, s>>>(m.o, m.x, m.c, 4, 1); cudaStreamEndCapture(s, &g); cudaGraphNode_t node; size_t n = 1; cudaGraphGetNodes(g, &node, &n); cudaKernelNodeParams p; int r = cudaGraphKernelNodeGetParams(node, &p); cudaGraphInstantiate(&e, g, 0); cudaGraphLaunch(e, s); u64 h = hash(m, s); int n2 = 12; void *own[] = {p.kernelParams[0], p.kernelParams[1], p.kernelParams[2], &n2, p.kernelParams[4]}; p.kernelParams = own; p.gridDim.x = 6; r |= cudaGraphExecKernelNodeSetParams(e, node, &p); fill(m, s); cudaGraphLaunch(e, s); printf("graph %s: %d %d %016llx %016llx\n", k.name, r, p.func == (void *)k.k, h, hash(m, s)); cudaGraphExecDestroy(e); cudaGraphDestroy(g); }
  int a = 0, bs = 0; cudaFuncAttributes fa; for (const One &k : kinds) { cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a, k.k, 64, 0); cudaOccupancyMaxPotentialBlockSize(&unused, &bs, k.k); cudaFuncGetAttributes(&fa, k.k); printf("%s: %d %d %d %zu %zu\n", k.name, a, bs, fa.numRegs, fa.sharedSizeBytes, fa.localSizeBytes); }
}
