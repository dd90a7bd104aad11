// What the parts of the replayer know of each other: replay.c (the way through), capture.c (reads the file),
// memory.c (addresses and contents), vary.c (other numbers), texture.c (textures, surfaces and their arrays).
#ifndef GNVCC_REPLAY_H
#define GNVCC_REPLAY_H
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// X(field, the declaration in cuda.h, the symbol in libcuda, needed)
#define DRIVER_FUNCTIONS(X) \
  X(Init, cuInit, "cuInit", 1) \
  X(GetErrorString, cuGetErrorString, "cuGetErrorString", 1) \
  X(DeviceGetCount, cuDeviceGetCount, "cuDeviceGetCount", 1) \
  X(DeviceGet, cuDeviceGet, "cuDeviceGet", 1) \
  X(DeviceGetUuid, cuDeviceGetUuid, "cuDeviceGetUuid", 1) \
  X(DeviceGetName, cuDeviceGetName, "cuDeviceGetName", 1) \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 1) \
  X(CtxSetCurrent, cuCtxSetCurrent, "cuCtxSetCurrent", 1) \
  X(CtxSynchronize, cuCtxSynchronize, "cuCtxSynchronize", 1) \
  X(CtxSetLimit, cuCtxSetLimit, "cuCtxSetLimit", 1) \
  X(CtxSetCacheConfig, cuCtxSetCacheConfig, "cuCtxSetCacheConfig", 1) \
  X(ModuleLoadData, cuModuleLoadData, "cuModuleLoadData", 1) \
  X(ModuleUnload, cuModuleUnload, "cuModuleUnload", 1) \
  X(ModuleGetFunction, cuModuleGetFunction, "cuModuleGetFunction", 1) \
  X(ModuleGetGlobal, cuModuleGetGlobal, "cuModuleGetGlobal_v2", 1) \
  X(FuncGetAttribute, cuFuncGetAttribute, "cuFuncGetAttribute", 1) \
  X(FuncSetAttribute, cuFuncSetAttribute, "cuFuncSetAttribute", 1) \
  X(FuncSetCacheConfig, cuFuncSetCacheConfig, "cuFuncSetCacheConfig", 1) \
  X(LaunchKernel, cuLaunchKernel, "cuLaunchKernel", 1) \
  X(LaunchKernelEx, cuLaunchKernelEx, "cuLaunchKernelEx", 0) \
  X(StreamQuery, cuStreamQuery, "cuStreamQuery", 1) \
  X(MemAlloc, cuMemAlloc, "cuMemAlloc_v2", 1) \
  X(MemGetInfo, cuMemGetInfo, "cuMemGetInfo_v2", 1) \
  X(MemFree, cuMemFree, "cuMemFree_v2", 1) \
  X(MemcpyHtoD, cuMemcpyHtoD, "cuMemcpyHtoD_v2", 1) \
  X(MemcpyDtoH, cuMemcpyDtoH, "cuMemcpyDtoH_v2", 1) \
  X(MemcpyDtoD, cuMemcpyDtoD, "cuMemcpyDtoD_v2", 1) \
  X(MemsetD8, cuMemsetD8, "cuMemsetD8_v2", 1) \
  X(MemAddressReserve, cuMemAddressReserve, "cuMemAddressReserve", 1) \
  X(MemAddressFree, cuMemAddressFree, "cuMemAddressFree", 1) \
  X(MemCreate, cuMemCreate, "cuMemCreate", 1) \
  X(MemMap, cuMemMap, "cuMemMap", 1) \
  X(MemSetAccess, cuMemSetAccess, "cuMemSetAccess", 1) \
  X(Memcpy3D, cuMemcpy3D, "cuMemcpy3D_v2", 1) \
  X(Array3DCreate, cuArray3DCreate, "cuArray3DCreate_v2", 1) \
  X(TexObjectCreate, cuTexObjectCreate, "cuTexObjectCreate", 1) \
  X(TexObjectDestroy, cuTexObjectDestroy, "cuTexObjectDestroy", 1) \
  X(SurfObjectCreate, cuSurfObjectCreate, "cuSurfObjectCreate", 1) \
  X(SurfObjectDestroy, cuSurfObjectDestroy, "cuSurfObjectDestroy", 1) \
  X(MemHostRegister, cuMemHostRegister, "cuMemHostRegister_v2", 1) \
  X(MemHostGetDevicePointer, cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", 1)

struct driver {
#define X(field, declaration, symbol, needed) __typeof__(&declaration) field;
  DRIVER_FUNCTIONS(X)
#undef X
};
extern struct driver cu;

#define MOST_PARAMETERS 4096

// What a variation may fill a range with. BYTES: nobody reads it; NEAR: what was there, with other low bits; WORDS, OCTETS: integers.
enum numbers { NO_NUMBERS, FLOATS, DOUBLES, BYTES, HALVES, BFLOAT16S, NEAR_FLOATS, NEAR_DOUBLES, WORDS, OCTETS };

struct range {
  uint64_t base, size;
  bool on_host;
  enum numbers numbers;
  bool anew; // it is filled with other numbers now, whatever was captured
};
struct data {
  uint64_t address, size;
  const uint8_t *p;
};
struct array {
  uint64_t number, size, row; // bytes
  CUDA_ARRAY3D_DESCRIPTOR is;
  uint8_t *content; // in a row
  CUarray made;
};
struct object { // a texture's or a surface's
  uint64_t handle;
  bool surface, viewed;
  uint64_t array; // its number, 0: it is over memory
  CUDA_RESOURCE_DESC of;
  CUDA_TEXTURE_DESC how;
  CUDA_RESOURCE_VIEW_DESC view;
};
struct variable {
  const char *name;
  bool constant;
  uint64_t size;
  const uint8_t *p;
  CUdeviceptr address;
  enum numbers numbers;
};
struct after { // hashes of what the launch left in a range or a variable
  uint64_t address, size, chunks;
  bool on_host;
  const struct variable *variable; // NULL: a range
  const struct array *array;       // NULL: not one
  const uint8_t *sums;             // 16 bytes a chunk
};
struct scalar { // of the arguments
  uint32_t at;
  enum numbers is;
};
struct span {
  uint64_t from, to;
};

// A capture as it stands in its file, which stays mapped.
struct capture {
  const char *device, *kernel;
  uint8_t uuid[16];
  uint32_t grid[3], block[3], dynamic, most, carveout, cache, own_cache, parameters, attributes;
  uint64_t stack;
  uint32_t offset[MOST_PARAMETERS], size[MOST_PARAMETERS];
  const uint8_t *cubin;
  uint8_t *arguments;
  uint32_t arguments_size;
  CUlaunchAttribute attribute[64];
  struct range *range, *part; // parts: of ranges without numbers
  struct data *data;
  struct variable *variable;
  struct after *after;
  struct array *array;
  struct object *object;
  struct scalar *scalar;
  size_t scalars, parts, ranges, datas, variables, afters, arrays, objects;
  struct span *window, *slab, *host; // addresses to reserve, to map, and to register
  size_t windows, slabs, hosts;
  bool texels; // arrays may hold other numbers
};

void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void stop(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void need(CUresult r, const char *doing);

void capture_read(struct capture *c, const char *path); // stops where it is not whole

CUdevice device_find(const struct capture *c);
const char *memory_plan(struct capture *c, bool driver); // what is in the way, NULL for nothing; driver: it has started
const char *memory_reserve(struct capture *c);           // the same
void memory_fits(const struct capture *c);               // stops where the device has no room
void memory_map(struct capture *c, CUdevice device);
void memory_fill(struct capture *c, unsigned variation); // 0: as captured

struct array *array_of(const struct capture *c, uint64_t number);
void textures_make(struct capture *c);       // the arrays and objects
void textures_fill(const struct capture *c, unsigned variation); // what the arrays hold
void array_read(const struct array *a, uint8_t *into);

#endif
