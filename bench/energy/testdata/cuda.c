/* A driver for tests: as many devices as GPUS says (1), of which the first is plugged in where that of the tests' NVML is
 * (profile/testdata/nvml.c). */
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags) { return getenv("NOGPU") ? 100 : 0; }
int cuDeviceGetCount(int *n) { *n = getenv("GPUS") ? atoi(getenv("GPUS")) : 1; return 0; }
int cuDeviceGet(int *device, int i) { *device = i; return 0; }
int cuDeviceGetPCIBusId(char *text, int n, int device) { strcpy(text, device == 0 ? "0000:4B:00.0" : "0000:4C:00.0"); return 0; }
