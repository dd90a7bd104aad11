// What memory and caches give by the pattern of accesses. Sectors are of 32 bytes, per cycle and SM.
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
static int sms, clk;
template <class F> static double cycles(F f, int n = 5) { // of the whole launch, at the SMs' clock
    static cudaEvent_t a, b;
    if (!a) cudaEventCreate(&a), cudaEventCreate(&b);
    float best = 1e9;
    for (int i = 0; i < n; i++) { float ms; cudaEventRecord(a); f(); cudaEventRecord(b); cudaEventSynchronize(b); cudaEventElapsedTime(&ms, a, b); if (ms < best) best = ms; }
    cudaError_t e = cudaGetLastError(); if (e) { printf("FAIL %s\n", cudaGetErrorString(e)); exit(1); }
    return best * 1e-3 * clk * 1e3;
}
// Rows of 8 << length bytes, 8 << pitch bytes apart: a warp's lanes lie in rows below each other. across: the block's warps lie beside each other, else below.
// op 0: read; 1: c += a; 2: exchange; 3: write; 4: in place a += 1; 5: copy. Each thread does `ilp` of them, a piece of the array apart.
template <int op, int ilp> __global__ void rows(double *a, double *c, int length, int pitch, int across, unsigned part) {
    unsigned lane = threadIdx.x & 31, high = 5 - length, columns = pitch - length, x, y;
    if (across) { unsigned w = blockIdx.x * 8 + (threadIdx.x >> 5); x = w & ((1u << columns) - 1), y = w >> columns; }
    else x = blockIdx.x & ((1u << columns) - 1), y = (blockIdx.x >> columns) * 8 + (threadIdx.x >> 5);
    unsigned i = (((y << high) + (lane >> length)) << pitch) + (x << length) + (lane & ((1u << length) - 1));
    double s = 0;
#pragma unroll
    for (int u = 0; u < ilp; u++, i += part) {
        if (op == 0) s += a[i];
        if (op == 1) c[i] = c[i] + 0.5 * a[i];
        if (op == 2) { double t = a[i]; a[i] = c[i]; c[i] = t; }
        if (op == 3) c[i] = length;
        if (op == 4) a[i] += 1;
        if (op == 5) c[i] = a[i];
    }
    if (op == 0 && s == 1.5) c[0] = 1;
}
// What L1 or shared memory serves: cycles of an SM per warp's instruction. Lanes are `apart` units of T from each other; `turns` rounds of 8.
template <class T, int op> __global__ void near(T *p, int apart, int rounds, int step) {
    extern __shared__ char raw[]; T *sh = (T *)raw;
    unsigned lane = threadIdx.x & 31, i = lane * apart & (8192 / sizeof(T) * 4 - 1);
    if (op < 2) for (unsigned k = threadIdx.x; k < 32768 / sizeof(T); k += blockDim.x) sh[k] = T();
    __syncthreads();
    T s[8] = {};
    unsigned at = (unsigned)__cvta_generic_to_shared(sh + i); T *own = p + blockIdx.x * (32768 / sizeof(T)) + i;
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int u = 0; u < 8; u++) {
            float f[4] = {}; at += step, own += step; // by 0, which ptxas doesn't know
            if (op == 0 && sizeof(T) == 4) asm volatile("ld.shared.f32 %0, [%1];" : "=f"(f[0]) : "r"(at));
            if (op == 0 && sizeof(T) == 8) asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(f[0]), "=f"(f[1]) : "r"(at));
            if (op == 0 && sizeof(T) == 16) asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3]) : "r"(at));
            if (op == 1) asm volatile("st.shared.f32 [%0], %1;" :: "r"(at), "f"(s[u].x));
            if (op == 2 && sizeof(T) == 4) asm volatile("ld.global.f32 %0, [%1];" : "=f"(f[0]) : "l"(own));
            if (op == 2 && sizeof(T) == 8) asm volatile("ld.global.v2.f32 {%0,%1}, [%2];" : "=f"(f[0]), "=f"(f[1]) : "l"(own));
            if (op == 2 && sizeof(T) == 16) asm volatile("ld.global.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3]) : "l"(own));
            if (op == 3) asm volatile("st.global.f32 [%0], %1;" :: "l"(own), "f"(s[u].x));
            if (op != 1 && op != 3) s[u].x += f[0];
        }
    }
    float t = 0; for (int u = 0; u < 8; u++) t += s[u].x;
    if (t == 1.5f) p[0] = s[0];
}
struct F1 { float x; };
template <class T, int op> static void turn(const char *what, T *p) {
    for (int apart : {0, 1, 2, 4, 8, 32}) for (int ws : {8, 32}) {
        auto t = [&](int r) { return cycles([&] { near<T, op><<<sms, ws * 32, 32768 + 4096>>>(p, apart, r, 0); }); };
        int r = 100; double d = t(3 * r) - t(r); printf("near\t%s\t%d bytes\tapart %d\t%d warps\t%.3f cycles\n", what, (int)sizeof(T), apart, ws, d / (2.0 * r * 8 * ws));
    }
}
int main() {
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0); cudaDeviceGetAttribute(&clk, cudaDevAttrClockRate, 0);
    const long bytes = 1l << 28; char *all; cudaMalloc(&all, 2 * bytes + (64 << 20)); cudaMemset(all, 0, 2 * bytes + (64 << 20));
    const char *names[] = {"read", "add", "exchange", "write", "inplace", "copy"}; double sectors[] = {1, 3, 4, 1, 2, 2};
    for (int ilp : {1, 4}) for (int op = 0; op < 6; op++) for (int length : {2, 3, 4, 5}) for (int pitch : {8, 16}) for (int across : {0, 1}) for (long off : {0l, 1280l * 1024 + 4352}) {
        if (op != 1 && op != 2 && op != 5 && off || ilp == 4 && (pitch == 16 || across || off) || length == 5 && across || off && length > 3 || across && pitch == 16) continue;
        double *a = (double *)all, *c = (double *)(all + bytes + off); int grid = bytes / 8 / 256 / ilp; unsigned part = bytes / 8 / ilp;
        double t = cycles([&] {
#define GO(o) case o: if (ilp == 1) rows<o, 1><<<grid, 256>>>(a, c, length, pitch, across, part); else rows<o, 4><<<grid, 256>>>(a, c, length, pitch, across, part); break;
            switch (op) { GO(0) GO(1) GO(2) GO(3) GO(4) GO(5) } }, 4);
        printf("rows\t%s\tx%d\t%d bytes\tpitch %d\t%s\toff %ld\t%.4f\n", names[op], ilp, 8 << length, 8 << pitch, across ? "across" : "below", off, sectors[op] * bytes / 32 / t / sms);
    }
    turn<F1, 0>("shared load", (F1 *)all); turn<F1, 1>("shared store", (F1 *)all); turn<float4, 0>("shared load", (float4 *)all); turn<float2, 0>("shared load", (float2 *)all);
    turn<F1, 2>("global load", (F1 *)all); turn<float2, 2>("global load", (float2 *)all); turn<float4, 2>("global load", (float4 *)all); turn<F1, 3>("global store", (F1 *)all);
    return 0;
}
