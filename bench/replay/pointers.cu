// What the driver tells about pointers of every kind, which NaN comes out of arithmetic, and which block ids memory has that is mapped twice.
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <sys/mman.h>
#define CK(x) do { int e = (int)(x); if (e) { printf("%s: error %d\n", #x, e); } } while (0)
__device__ int variable[1000];
__constant__ int constant[100];
__managed__ int managed_variable[10];
__device__ void *heap;
__global__ void k(int *p) { variable[0] = p ? 1 : constant[0]; if (p) managed_variable[0] = 1; }
__global__ void alloc() { heap = malloc(1000); }
static void ask(const char *name, const void *q) {
  CUdeviceptr p = (CUdeviceptr)q, base = 0, start = 0, mb = 0;
  unsigned type = 0; unsigned long long id = 0, block = 0; size_t size = 0, rs = 0, ms = 0; int mapped = -1, managed = -1, ord = -9, legacy = -1;
  CUdeviceptr dp = 0; CUcontext c = 0; CUmemoryPool pool = 0;
  int e[14];
  e[0] = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
  e[1] = cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p);
  e[2] = cuPointerGetAttribute(&block, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, p);
  e[3] = cuMemGetAddressRange(&base, &size, p);
  e[4] = cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p);
  e[5] = cuPointerGetAttribute(&rs, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p);
  e[6] = cuPointerGetAttribute(&mb, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, p);
  e[7] = cuPointerGetAttribute(&ms, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, p);
  e[8] = cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, p);
  e[9] = cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
  e[10] = cuPointerGetAttribute(&ord, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p);
  e[11] = cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p);
  e[12] = cuPointerGetAttribute(&dp, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p);
  e[13] = cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, p);
  int e14 = cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
  
  printf("%-24s %#14llx type %u(%d) id %llu(%d) block %llu(%d) addressrange %#llx+%zu(%d) range %#llx+%zu(%d,%d) mapping %#llx+%zu(%d,%d) mapped %d(%d) managed %d(%d) ordinal %d(%d) ipc %d(%d) devptr %#llx(%d) ctx %d(%d) pool %d(%d)\n",
         name, (unsigned long long)p, type, e[0], id, e[1], block, e[2], (unsigned long long)base, size, e[3], (unsigned long long)start, rs, e[4], e[5],
         (unsigned long long)mb, ms, e[6], e[7], mapped, e[8], managed, e[9], ord, e[10], legacy, e[11], (unsigned long long)dp, e[12], c != 0, e[13], pool != 0, e14);
}
__global__ void nans(unsigned *o, unsigned long long *o2, float a, float b, double c, double d, float one, double done, float inf, double dinf) {
  o[0] = __float_as_uint(a + b); o[1] = __float_as_uint(b + a); o[2] = __float_as_uint(a * b); o[3] = __float_as_uint(b * a);
  o[4] = __float_as_uint(fmaf(a, one, b)); o[5] = __float_as_uint(fmaf(one, a, b)); o[6] = __float_as_uint(fmaf(b, one, a));
  o[7] = __float_as_uint(fminf(a, one)); o[8] = __float_as_uint(fminf(a, b)); o[9] = __float_as_uint(fmaxf(b, a)); o[10] = __float_as_uint(inf - inf);
  o[11] = __float_as_uint(-a); o[12] = __float_as_uint(fabsf(-a)); o[13] = __float_as_uint(a / one); o[14] = __float_as_uint(sqrtf(-one)); o[15] = __float_as_uint((float)c);
  o2[0] = __double_as_longlong(c + d); o2[1] = __double_as_longlong(d + c); o2[2] = __double_as_longlong(c * d); o2[3] = __double_as_longlong(d * c);
  o2[4] = __double_as_longlong(fma(c, done, d)); o2[5] = __double_as_longlong(fma(done, c, d)); o2[6] = __double_as_longlong(fma(d, done, c));
  o2[7] = __double_as_longlong(fmin(c, done)); o2[8] = __double_as_longlong(fmin(c, d)); o2[9] = __double_as_longlong(fmax(d, c)); o2[10] = __double_as_longlong(dinf - dinf);
  o2[11] = __double_as_longlong(-c); o2[12] = __double_as_longlong((double)a); o2[13] = __double_as_longlong(c / done); o2[14] = __double_as_longlong(sqrt(-done));
}
int main() {
  cudaSetDeviceFlags(cudaDeviceMapHost);
  CK(cudaFree(0));
  k<<<1, 1>>>(nullptr); alloc<<<1, 1>>>(); CK(cudaDeviceSynchronize());
  char *a, *b, *pool, *man, *pin, *wc, *map2; void *v;
  CK(cudaMalloc(&a, 1000)); CK(cudaMalloc(&b, 5 << 20));
  ask("cudaMalloc 1000", a); ask("interior", a + 500); ask("in its alignment gap", a + 1000); ask("one past 512", a + 512); ask("5 MiB", b); ask("5 MiB interior", b + (3 << 20)); ask("5 MiB + size", b + (5 << 20)); ask("5 MiB - 1", b - 1);
  CK(cudaMallocAsync(&pool, 1 << 20, 0)); CK(cudaDeviceSynchronize()); ask("pool", pool); ask("pool interior", pool + 70000);
  char *pool2; CK(cudaMallocAsync(&pool2, 1 << 20, 0)); CK(cudaDeviceSynchronize()); ask("pool second", pool2);
  CK(cudaMallocManaged(&man, 1 << 20)); ask("managed", man);
  CK(cudaMallocHost(&pin, 1 << 20)); ask("pinned", pin); ask("pinned interior", pin + 5000);
  CK(cudaHostAlloc(&wc, 1 << 20, cudaHostAllocWriteCombined | cudaHostAllocMapped)); ask("write-combined", wc);
  char *reg = (char *)mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CK(cudaHostRegister(reg, 1 << 20, cudaHostRegisterMapped)); ask("registered", reg); ask("malloc'ed host", malloc(100000)); ask("stack", &a); ask("null", 0); ask("two floats", (void *)0x3f8000003f800000ull);
  CK(cudaGetSymbolAddress(&v, variable)); ask("variable", v); CK(cudaGetSymbolAddress(&v, constant)); ask("constant", v); CK(cudaGetSymbolAddress(&v, managed_variable)); ask("managed variable", v);
  void *h; CK(cudaMemcpyFromSymbol(&h, heap, 8)); ask("device heap", h);
  CK(cudaFree(b)); ask("freed 5 MiB", b); CK(cudaFreeAsync(pool, 0)); CK(cudaDeviceSynchronize()); ask("freed pool", pool);
  CUmemAllocationProp prop = {}; prop.type = CU_MEM_ALLOCATION_TYPE_PINNED; prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc acc = {}; acc.location = prop.location; acc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemGenericAllocationHandle hd; CUdeviceptr r1, r2; size_t S = 2 << 20;
  CK(cuMemCreate(&hd, S, &prop, 0)); CK(cuMemAddressReserve(&r1, 4 * S, 0, 0, 0)); CK(cuMemAddressReserve(&r2, S, 0, 0, 0));
  CK(cuMemMap(r1 + S, S, 0, hd, 0)); CK(cuMemSetAccess(r1 + S, S, &acc, 1)); CK(cuMemMap(r2, S, 0, hd, 0)); CK(cuMemSetAccess(r2, S, &acc, 1));
  ask("vmm reserved, unmapped", (void *)r1); ask("vmm mapped", (void *)(r1 + S)); ask("vmm mapped interior", (void *)(r1 + S + 4096)); ask("vmm twice", (void *)r2);
  CUmemGenericAllocationHandle hd2; CK(cuMemCreate(&hd2, S, &prop, 0)); CK(cuMemMap(r1 + 2 * S, S, 0, hd2, 0)); CK(cuMemSetAccess(r1 + 2 * S, S, &acc, 1)); ask("vmm second segment", (void *)(r1 + 2 * S));
  (void)map2;
  unsigned *o; unsigned long long *o2; CK(cudaMallocManaged(&o, 256)); CK(cudaMallocManaged(&o2, 256));
  float fa, fb; double da, db; unsigned ua = 0x7fc12345, ub = 0xffc54321; unsigned long long la = 0x7ff8123456789abcull, lb = 0xfff8cba987654321ull;
  memcpy(&fa, &ua, 4); memcpy(&fb, &ub, 4); memcpy(&da, &la, 8); memcpy(&db, &lb, 8);
  nans<<<1, 1>>>(o, o2, fa, fb, da, db, 1.f, 1., 1.f / 0.f, 1. / 0.); CK(cudaDeviceSynchronize());
  const char *n[] = {"a+b", "b+a", "a*b", "b*a", "fma(a,1,b)", "fma(1,a,b)", "fma(b,1,a)", "min(a,1)", "min(a,b)", "max(b,a)", "inf-inf", "-a", "f32 fabs, f64 (double)a", "a/1", "sqrt(-1)", "f32 (float)c"};
  for (int i = 0; i < 16; i++) printf("NaN %-24s f32 %08x f64 %016llx\n", n[i], o[i], i < 15 ? o2[i] : 0ull);
}
