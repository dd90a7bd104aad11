// The energy counter of a GPU: millijoules since the driver was loaded, of the whole device. It moves in steps (of some 20 to 100 ms).
// libnvidia-ml is opened where it is asked for, and nothing is linked: its few functions are declared here.
#ifndef GNVCC_NVML_H
#define GNVCC_NVML_H
#include <dlfcn.h>
#include <stddef.h>

#define NVML_NOT_SUPPORTED 3
#define NVML_ONLY_COUNTED 7 // there are more processes than there is room for

static struct {
  void *device;
  int (*energy)(void *, unsigned long long *), (*processes)(void *, unsigned *, void *);
} nvml;

static void *nvml_find(void *lib, const char *symbol) { return lib ? dlsym(lib, symbol) : NULL; }

// Finds a device by where it is plugged in: its number among those that a process sees is another one. NULL, or why it has no counter for us.
static const char *nvml_open(const char *bus) {
  void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!lib) return "there is no libnvidia-ml.so.1";
  int (*start)(void) = (int (*)(void))nvml_find(lib, "nvmlInit_v2");
  int (*by_bus)(const char *, void **) = (int (*)(const char *, void **))nvml_find(lib, "nvmlDeviceGetHandleByPciBusId_v2");
  int (*split)(void *, unsigned *, unsigned *) = (int (*)(void *, unsigned *, unsigned *))nvml_find(lib, "nvmlDeviceGetMigMode");
  nvml.energy = (int (*)(void *, unsigned long long *))nvml_find(lib, "nvmlDeviceGetTotalEnergyConsumption");
  nvml.processes = (int (*)(void *, unsigned *, void *))nvml_find(lib, "nvmlDeviceGetComputeRunningProcesses_v3");
  unsigned long long mj;
  unsigned is = 0, will = 0;
  if (!start || !by_bus || !nvml.energy) return "this driver's libnvidia-ml.so.1 knows no energy counter";
  if (start() != 0) return "libnvidia-ml.so.1 can't be started";
  if (by_bus(bus, &nvml.device) != 0) return "libnvidia-ml.so.1 does not know the device";
  if (split && split(nvml.device, &is, &will) == 0 && is) return "the GPU is split (MIG), and its energy counter is that of all parts";
  int r = nvml.energy(nvml.device, &mj);
  return r == 0 ? NULL : r == NVML_NOT_SUPPORTED ? "the GPU has no energy counter" : "the energy counter can't be read";
}

// Reads it. What can't be read has not moved.
static unsigned long long nvml_read(unsigned long long before) {
  unsigned long long mj;
  return nvml.energy(nvml.device, &mj) == 0 ? mj : before;
}

#endif
