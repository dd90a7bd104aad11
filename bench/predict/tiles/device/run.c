// Times launches with and without tile, in turn, and compares what both have written.
//
//	run launches.txt [SECONDS] > results.jsonl
//
// A line of launches.txt: id, kernel, cubin, block in x and y, grid in x and y, turns of both loops,
// pitch, offset of the first element, threads in x, elements that a thread writes. The kernel without tile is in default.cubin. What
// is printed: the least of some times of each, microseconds, and whether all bits were the same. After
// so many seconds nothing new is begun.
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CU(call)                                                      \
    do {                                                              \
        CUresult e_ = (call);                                         \
        if (e_ != CUDA_SUCCESS) {                                     \
            const char *s_ = "?";                                     \
            cuGetErrorString(e_, &s_);                                \
            fprintf(stderr, "%s: %s (line %s)\n", #call, s_, line);   \
            exit(1);                                                  \
        }                                                             \
    } while (0)

enum { ROUNDS = 5, MODULES = 64 };

static char line[400];
static struct { char name[100]; CUmodule module; } modules[MODULES];

static CUmodule load(const char *name) {
    for (int i = 0; i < MODULES; i++) {
        if (!modules[i].module) {
            CU(cuModuleLoad(&modules[i].module, name));
            snprintf(modules[i].name, sizeof modules[i].name, "%s", name);
        }
        if (!strcmp(modules[i].name, name)) return modules[i].module;
    }
    fprintf(stderr, "too many cubins\n");
    exit(1);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    double limit = argc > 2 ? atof(argv[2]) : 1e9, begun = seconds();
    if (!f) return fprintf(stderr, "run launches.txt [SECONDS]\n"), 2;
    CUdevice device;
    CUcontext context;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    char name[200];
    CU(cuDeviceGetName(name, sizeof name, device));
    fprintf(stderr, "%s\n", name);

    const size_t array = (size_t)100 << 20, chunk = (size_t)1 << 22; // elements
    const size_t most = (size_t)8 << 20;
    float *noise = malloc(chunk * 4), *first = malloc(most * 4), *second = malloc(most * 4);
    uint32_t x = 12345;
    for (size_t i = 0; i < chunk; i++) {
        x = x * 1664525u + 1013904223u;
        noise[i] = (float)(x >> 8) / (1 << 24);
    }
    CUdeviceptr in, other, out;
    CU(cuMemAlloc(&in, array * 4));
    CU(cuMemAlloc(&other, 16 * chunk));
    CU(cuMemAlloc(&out, most * 4));
    for (size_t i = 0; i < array; i += chunk) CU(cuMemcpyHtoD(in + i * 4, noise, 4 * (array - i < chunk ? array - i : chunk)));
    for (size_t i = 0; i < 4 * chunk; i += chunk) CU(cuMemcpyHtoD(other + i * 4, noise, 4 * chunk));
    CUevent start, stop;
    CU(cuEventCreate(&start, 0));
    CU(cuEventCreate(&stop, 0));

    while (fgets(line, sizeof line, f) && seconds() - begun < limit) {
        int id, bx, by, gx, gy, n, m, pitch, offset, width, outs;
        char kernel[100], cubin[100];
        if (sscanf(line, "%d %99s %99s %d %d %d %d %d %d %d %d %d %d", &id, kernel, cubin, &bx, &by, &gx, &gy, &n, &m, &pitch, &offset,
                   &width, &outs) != 13)
            return fprintf(stderr, "what is this? %s\n", line), 1;
        CUfunction function[2];
        CU(cuModuleGetFunction(&function[0], load("default.cubin"), kernel));
        CU(cuModuleGetFunction(&function[1], load(cubin), kernel));
        CUdeviceptr from = in + (size_t)offset * 4;
        void *args[] = {&from, &other, &out, &n, &m, &pitch, &width};
        size_t bytes = (size_t)bx * by * gx * gy * outs * 4;
        float best[2] = {1e30f, 1e30f};
        for (int round = 0; round <= ROUNDS; round++)
            for (int k = 0; k < 2; k++) {
                if (round == 0) CU(cuMemsetD8(out, 0xff, bytes));
                CU(cuEventRecord(start, 0));
                CU(cuLaunchKernel(function[k], gx, gy, 1, bx, by, 1, 0, 0, args, NULL));
                CU(cuEventRecord(stop, 0));
                CU(cuEventSynchronize(stop));
                float ms;
                CU(cuEventElapsedTime(&ms, start, stop));
                if (round == 0)
                    CU(cuMemcpyDtoH(k ? second : first, out, bytes));
                else if (ms < best[k])
                    best[k] = ms;
            }
        printf("{\"ID\":%d,\"Default\":%.3f,\"Tiled\":%.3f,\"Equal\":%s}\n", id, best[0] * 1000, best[1] * 1000,
               memcmp(first, second, bytes) ? "false" : "true");
    }
    return 0;
}
