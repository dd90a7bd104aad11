// Real calls: recursion, function pointers, virtual calls, noinline, allocation, assert, trap.
#include <cassert>
#include <cstdio>
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
struct Pair { double a; int b[3]; };
__device__ __noinline__ Pair make(Pair p, float4 v) { p.a += v.x; p.b[1] += (int)v.w; return p; }
struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };
struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3.14f * r * r; } };
typedef int (*op)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int sub(int a, int b) { return a - b; }
__device__ op table[2] = {add, sub};
__global__ void recursion(int *x) { x[threadIdx.x] = fib(x[threadIdx.x]); }
__global__ void pointers(int *x, int k) { x[threadIdx.x] = table[k](x[threadIdx.x], 3); }
__global__ void virtuals(float *x, int n) {
  Shape *s = n > 3 ? (Shape *)new Square(x[0]) : (Shape *)new Circle(x[1]);
  x[threadIdx.x] = s->area();
  delete s;
}
__global__ void structs(Pair *p, float4 v) { p[threadIdx.x] = make(p[threadIdx.x], v); }
__global__ void asserts(int *x) { assert(x[0] > 3); if (x[1] == 7) __trap(); x[2] = 1; }
__device__ __noinline__ void finish() { asm volatile("exit;"); }
__global__ void exits(int *x) { if (x[0]) finish(); x[1] = 3; }
