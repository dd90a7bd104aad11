// The words of lowered device code that cicc does not know by itself. cicc's own preprocessor reads this.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __grid_constant__ __attribute__((grid_constant))
#define __device_builtin__ __attribute__((device_builtin))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((cluster_dims(__VA_ARGS__)))
#define __block_size__(...) __attribute__((__block_size__(__VA_ARGS__)))
#define __maxnreg__(...) __attribute__((maxnreg(__VA_ARGS__)))
#define __nv_pure__ __attribute__((nv_pure))
#define __var_used__ __attribute__((__used__))
#define __no_sc__
#define nv_linkonce_odr weak
#define nv_weak_odr weak
#define ___device__(...) __VA_ARGS__ __attribute__((device))
// A parameter that the function changes, or takes the address of, and the copy of it that old GPUs wanted.
#define __val_param(x) x
#define __copy_param(declaration, value)
#define this __gnvcc_this
// How the front end writes float and double division.
#define fdividef(a, b) ((float)(a) / (float)(b))
#define fdivide(a, b) ((double)(a) / (double)(b))
