// class: device memory of another process, by an IPC handle; both write words of it
#include "common.h"
#include <sys/wait.h>
__global__ void put(unsigned *p, unsigned v) { *p = v; }
static unsigned get(unsigned *p) {
  unsigned v;
  CK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
  return v;
}
int main() {
  int there[2], back[2];
  if (pipe(there) || pipe(back)) return 9;
  pid_t child = fork(); // before CUDA is used
  cudaIpcMemHandle_t h;
  if (child == 0) { // writes word 1000 after each step of the parent's
    unsigned *p, step;
    if (read(there[0], &h, sizeof h) != sizeof h) _exit(1);
    if (cudaIpcOpenMemHandle((void **)&p, h, cudaIpcMemLazyEnablePeerAccess)) _exit(2);
    while (read(there[0], &step, 4) == 4 && step) {
      put<<<1, 1>>>(p + 1000, step);
      if (cudaDeviceSynchronize() || write(back[1], &step, 4) != 4) _exit(3);
    }
    _exit(0);
  }
  unsigned *shared, last = 0;
  bool good = true;
  Data d;
  CK(cudaMalloc((void **)&shared, 2 << 20));
  CK(cudaMemset(shared, 0, 2 << 20));
  CK(cudaIpcGetMemHandle(&h, shared));
  if (write(there[1], &h, sizeof h) != sizeof h) return 9;
  for (unsigned step = 1; step <= 20; step++) {
    d.step(step);
    put<<<1, 1>>>(shared, step);
    CK(cudaDeviceSynchronize());
    if (write(there[1], &step, 4) != 4 || read(back[0], &last, 4) != 4) break;
    d.step(step);
    good = good && get(shared) == step && get(shared + 1000) == step;
  }
  unsigned end = 0;
  int status = 1;
  good = good && last == 20 && write(there[1], &end, 4) == 4;
  close(there[1]);
  waitpid(child, &status, 0);
  return verdict(good && status == 0 && d.right(), "words of another process were undone");
}
