// What memory and caches give by the pattern of accesses. Sectors are of 32 bytes, per cycle and SM.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
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
// Rows of `length` bytes, `pitch` apart: a warp's lanes lie in 256/length rows below each other. across: the block's warps lie beside each other, else below.
// op 0: read; 1: c += a; 2: exchange; 3: write; 4: in place a += 1; 5: copy
template <int op> __global__ void rows(double *a, double *c, int length, long pitch, int across) {
    int lane = threadIdx.x & 31, per = length / 8, high = 32 / per;
    long columns = pitch / length, w = blockIdx.x * 8l + (threadIdx.x >> 5), x, y;
    if (across) x = w % columns, y = w / columns;
    else x = blockIdx.x % columns, y = blockIdx.x / columns * 8 + (threadIdx.x >> 5);
    long i = ((y * high + lane / per) * pitch + x * length) / 8 + lane % per;
    if (op == 0) { if (a[i] == 1.5) c[0] = 1; }
    if (op == 1) c[i] = c[i] + 0.5 * a[i];
    if (op == 2) { double t = a[i]; a[i] = c[i]; c[i] = t; }
    if (op == 3) c[i] = length;
    if (op == 4) c[i] += 1;
    if (op == 5) c[i] = a[i];
}
// The same places over and over, in each block's own piece of L2 (or all blocks' one): lanes of a warp in `lines` lines, `bytes` each lane apart in it.
template <int op> __global__ void again(float *p, long piece, int lanes, int rounds, int apart) {
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5; // `lanes` lanes of 4 bytes are in one line of 128
    float *at = p + (piece * blockIdx.x) / 4; float s = 0; unsigned mask = piece / 128 - 1;
    for (int r = 0; r < rounds; r++) {
        unsigned line = ((r * (blockDim.x >> 5) + w) * (32 / lanes) + lane / lanes) * apart & mask;
        float *q = at + line * 32 + lane % lanes;
        if (op == 0) s += __ldcg(q);
        if (op == 1) __stcg(q, s);
        if (op == 2) atomicAdd(q, 1.f);
        if (op == 3) s += *(volatile float *)q;
    }
    if (s == 1e30f) p[0] = s;
}
// Loads that L1 has, and stores: cycles of an SM per warp's instruction, by how many lines it touches and how wide a lane's part is.
template <class T, int op> __global__ void near(T *p, int lanes, int rounds, long long *out) {
    int lane = threadIdx.x & 31; T s{}; long long t = clock64();
    T *at = p + (op ? blockIdx.x * 4096l : 0);
    int i = (lane / lanes) * (128 / sizeof(T)) + lane % lanes;
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int u = 0; u < 8; u++) {
            int j = i; asm volatile("" : "+r"(j));
            if (op == 0) { T v; if (sizeof(T) == 4) asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(*(int *)&v) : "l"(at + j)); else asm volatile("ld.global.ca.b64 %0, [%1];" : "=l"(*(long long *)&v) : "l"(at + j)); if (u == 7) s = v; }
            else at[j] = s;
        }
    }
    t = clock64() - t;
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = t;
    if (*(int *)&s == 12345) out[1] = 1;
}
// A copy that is in L2: what reads and writes together get.
__global__ void l2copy(const float4 *a, float4 *b, int n, int rounds) {
    for (int r = 0; r < rounds; r++) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) __stcg(b + i, __ldcg(a + i));
}
int main() {
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0); cudaDeviceGetAttribute(&clk, cudaDevAttrClockRate, 0);
    const long bytes = 1l << 29; double *a, *c; cudaMalloc(&a, bytes); cudaMalloc(&c, bytes); cudaMemset(a, 0, bytes); cudaMemset(c, 0, bytes);
    int grid = bytes / 8 / 256; const char *names[] = {"read", "add", "exchange", "write", "inplace", "copy"}; double sectors[] = {1, 3, 4, 1, 2, 2};
    auto go = [&](int op, int length, long pitch, int across) {
        double t = cycles([&] {
            switch (op) { case 0: rows<0><<<grid, 256>>>(a, c, length, pitch, across); break; case 1: rows<1><<<grid, 256>>>(a, c, length, pitch, across); break; case 2: rows<2><<<grid, 256>>>(a, c, length, pitch, across); break;
            case 3: rows<3><<<grid, 256>>>(a, c, length, pitch, across); break; case 4: rows<4><<<grid, 256>>>(a, c, length, pitch, across); break; default: rows<5><<<grid, 256>>>(a, c, length, pitch, across); } }, 4);
        printf("rows\t%s\t%d\t%ld\t%s\t%.4f\n", names[op], length, pitch, across ? "across" : "below", sectors[op] * bytes / 32 / t / sms);
    };
    for (int op = 0; op < 6; op++) go(op, 256, 256, 1);
    for (int op : {0, 1, 2, 5}) for (int length : {32, 64, 128, 256}) for (long pitch : {2048l, 65536l, 524288l}) for (int across : {0, 1}) if (op != 5 || !across) go(op, length, pitch, across);
    float *p = (float *)a;
    for (int op = 0; op < 3; op++) for (int lanes : {1, 8, 16, 32}) for (int ws : {8, 32}) {
        int rounds = 64; const char *what[] = {"load", "store", "atomic"};
        auto t2 = [&](int rounds) { return cycles([&] { switch (op) { case 0: again<0><<<sms, ws * 32>>>(p, 131072, lanes, rounds, 1); break; case 1: again<1><<<sms, ws * 32>>>(p, 131072, lanes, rounds, 1); break; default: again<2><<<sms, ws * 32>>>(p, 131072, lanes, rounds, 1); } }); };
        double t = t2(3 * rounds) - t2(rounds), lines = 32.0 / lanes, s = lines * (lanes >= 8 ? lanes / 8 : 1);
        printf("l2\t%s\t%d lanes a line\t%d warps\t%.4f sectors\t%.4f lines\n", what[op], lanes, ws, 2 * rounds * ws * s / t, 2 * rounds * ws * lines / t);
    }
    { int n = 1 << 20; auto t2 = [&](int r) { return cycles([&] { l2copy<<<sms * 2, 1024>>>((float4 *)a, (float4 *)c, n, r); }); }; double t = t2(9) - t2(3); printf("l2\tcopy\t%.4f sectors read\n", 6.0 * n / 2 / t / sms); }
    long long *o, h; cudaMalloc(&o, 64);
    for (int op = 0; op < 2; op++) for (int wide : {4, 8}) for (int lanes : {1, 2, 4, 8, 16, 32}) for (int ws : {8, 32}) {
        if (wide == 8 && lanes > 16) continue;
        if (wide == 4) { if (op) near<float, 1><<<sms, ws * 32>>>(p, lanes, 40, o); else near<float, 0><<<sms, ws * 32>>>(p, lanes, 40, o); }
        else { if (op) near<double, 1><<<sms, ws * 32>>>((double *)p, lanes, 40, o); else near<double, 0><<<sms, ws * 32>>>((double *)p, lanes, 40, o); }
        cudaMemcpy(&h, o, 8, cudaMemcpyDeviceToHost);
        printf("l1\t%s\t%d bytes\t%d lanes a line\t%d warps\t%.3f cycles\n", op ? "store" : "load", wide, lanes, ws, h / (40.0 * 8 * ws));
    }
    return 0;
}
