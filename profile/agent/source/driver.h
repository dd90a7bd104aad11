// The driver's functions that the agent calls. They are looked up in the libcuda that the application has loaded: the
// agent is not linked to it. A function that an older driver lacks is NULL; what is needed in any case is checked at the start.
#ifndef GNVCC_DRIVER_H
#define GNVCC_DRIVER_H
#include <cuda.h>

// What cuda.h has since 12.0 to 12.4.
#if CUDA_VERSION < 12000
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct { CUmodule *module; CUlibrary library; } cuLibraryGetModule_params; // as CUPTI hands them over
typedef struct { CUdeviceptr *dptr; size_t *bytes; CUlibrary library; } cuLibraryGetGlobal_params, cuLibraryGetManaged_params;
typedef struct { CUfunction *pFunc; } cuKernelGetFunction_params;
typedef struct { int *value; CUfunction_attribute attrib; CUkernel kernel; } cuKernelGetAttribute_params;
#endif
CUresult cuFuncGetName(const char **, CUfunction);
CUresult cuFuncGetParamInfo(CUfunction, size_t, size_t *, size_t *);
CUresult cuKernelGetFunction(CUfunction *, CUkernel);
CUresult cuKernelGetAttribute(int *, CUfunction_attribute, CUkernel, CUdevice);
CUresult cuKernelGetName(const char **, CUkernel);
CUresult cuLibraryGetModule(CUmodule *, CUlibrary);

// X(field, the declaration in cuda.h, the symbol in libcuda, needed)
#define DRIVER_FUNCTIONS(X) \
  X(GetErrorString, cuGetErrorString, "cuGetErrorString", 1) \
  X(DriverGetVersion, cuDriverGetVersion, "cuDriverGetVersion", 1) \
  X(CtxGetCurrent, cuCtxGetCurrent, "cuCtxGetCurrent", 1) \
  X(CtxGetDevice, cuCtxGetDevice, "cuCtxGetDevice", 1) \
  X(CtxSynchronize, cuCtxSynchronize, "cuCtxSynchronize", 1) \
  X(DeviceGetName, cuDeviceGetName, "cuDeviceGetName", 1) \
  X(DeviceGetUuid, cuDeviceGetUuid, "cuDeviceGetUuid", 1) \
  X(DeviceTotalMem, cuDeviceTotalMem, "cuDeviceTotalMem_v2", 1) \
  X(DeviceGetAttribute, cuDeviceGetAttribute, "cuDeviceGetAttribute", 1) \
  X(MemGetInfo, cuMemGetInfo, "cuMemGetInfo_v2", 1) \
  X(MemAlloc, cuMemAlloc, "cuMemAlloc_v2", 1) \
  X(MemFree, cuMemFree, "cuMemFree_v2", 1) \
  X(MemcpyDtoDAsync, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", 1) \
  X(MemcpyDtoH, cuMemcpyDtoH, "cuMemcpyDtoH_v2", 1) \
  X(MemcpyDtoHAsync, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", 0) \
  X(CtxSetCurrent, cuCtxSetCurrent, "cuCtxSetCurrent", 0) \
  X(StreamCreate, cuStreamCreate, "cuStreamCreate", 0) \
  X(MemcpyHtoD, cuMemcpyHtoD, "cuMemcpyHtoD_v2", 1) \
  X(Memcpy3DAsync, cuMemcpy3DAsync, "cuMemcpy3DAsync_v2", 0) \
  X(MemsetD8Async, cuMemsetD8Async, "cuMemsetD8Async", 1) \
  X(PointerGetAttribute, cuPointerGetAttribute, "cuPointerGetAttribute", 1) \
  X(EventCreate, cuEventCreate, "cuEventCreate", 1) \
  X(EventRecord, cuEventRecord, "cuEventRecord", 1) \
  X(EventQuery, cuEventQuery, "cuEventQuery", 1) \
  X(StreamWaitEvent, cuStreamWaitEvent, "cuStreamWaitEvent", 0) \
  X(EventDestroy, cuEventDestroy, "cuEventDestroy_v2", 1) \
  X(EventElapsedTime, cuEventElapsedTime, "cuEventElapsedTime", 1) \
  X(StreamQuery, cuStreamQuery, "cuStreamQuery", 1) \
  X(StreamSynchronize, cuStreamSynchronize, "cuStreamSynchronize", 1) \
  X(StreamIsCapturing, cuStreamIsCapturing, "cuStreamIsCapturing", 1) \
  X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 1) \
  X(LaunchKernel, cuLaunchKernel, "cuLaunchKernel", 1) \
  X(LaunchKernelEx, cuLaunchKernelEx, "cuLaunchKernelEx", 0) \
  X(ModuleLoad, cuModuleLoad, "cuModuleLoad", 1) \
  X(ModuleLoadData, cuModuleLoadData, "cuModuleLoadData", 1) \
  X(ModuleUnload, cuModuleUnload, "cuModuleUnload", 1) \
  X(ModuleGetFunction, cuModuleGetFunction, "cuModuleGetFunction", 1) \
  X(ModuleGetGlobal, cuModuleGetGlobal, "cuModuleGetGlobal_v2", 1) \
  X(FuncGetAttribute, cuFuncGetAttribute, "cuFuncGetAttribute", 1) \
  X(FuncSetAttribute, cuFuncSetAttribute, "cuFuncSetAttribute", 1) \
  X(FuncGetModule, cuFuncGetModule, "cuFuncGetModule", 1) \
  X(FuncGetName, cuFuncGetName, "cuFuncGetName", 0) \
  X(FuncGetParamInfo, cuFuncGetParamInfo, "cuFuncGetParamInfo", 0) \
  X(KernelGetFunction, cuKernelGetFunction, "cuKernelGetFunction", 0) \
  X(KernelGetAttribute, cuKernelGetAttribute, "cuKernelGetAttribute", 0) \
  X(KernelGetName, cuKernelGetName, "cuKernelGetName", 0) \
  X(LibraryGetModule, cuLibraryGetModule, "cuLibraryGetModule", 0) \
  X(CtxGetLimit, cuCtxGetLimit, "cuCtxGetLimit", 0) \
  X(CtxGetCacheConfig, cuCtxGetCacheConfig, "cuCtxGetCacheConfig", 0) \
  X(MemHostRegister, cuMemHostRegister, "cuMemHostRegister_v2", 0) \
  X(MemHostUnregister, cuMemHostUnregister, "cuMemHostUnregister", 0) \
  X(MemHostGetFlags, cuMemHostGetFlags, "cuMemHostGetFlags", 0) \
  X(GraphLaunch, cuGraphLaunch, "cuGraphLaunch", 0) \
  X(GraphGetNodes, cuGraphGetNodes, "cuGraphGetNodes", 0) \
  X(GraphNodeGetType, cuGraphNodeGetType, "cuGraphNodeGetType", 0) \
  X(GraphNodeSetEnabled, cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled", 0) \
  X(GraphNodeGetEnabled, cuGraphNodeGetEnabled, "cuGraphNodeGetEnabled", 0) \
  X(GraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, "cuGraphKernelNodeGetAttribute", 0)

// The fields of CUDA_KERNEL_NODE_PARAMS_v2, which cuda.h has since 12.0; older ones end with extra.
struct kernel_node {
  CUfunction f;
  unsigned grid[3], block[3], dynamic;
  void **params, **extra;
  CUfunction kernel; // a CUkernel, where f is NULL
  CUcontext context;
};

struct driver {
  // Not by cuda.h, whose functions of these names have other parameters from version to version.
  CUresult (*GraphGetEdges)(CUgraph, CUgraphNode *from, CUgraphNode *to, size_t *n); // fails where edges are of other kinds
  CUresult (*GraphKernelNodeGetParams)(CUgraphNode, struct kernel_node *);
  CUresult (*StreamGetCtx)(CUstream, CUcontext *);
  CUresult (*StreamGetId)(CUstream, unsigned long long *); // since 12.0
#define X(field, declaration, symbol, needed) __typeof__(&declaration) field;
  DRIVER_FUNCTIONS(X)
#undef X
};

extern struct driver cu;

// Fills cu. Gives the name of a needed function that is missing, or NULL.
const char *driver_find(void);

#endif
