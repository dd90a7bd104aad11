// class: words that another process writes, in shared memory that is registered here
#include "common.h"
#include <sys/mman.h>
#include <sys/wait.h>
int main() {
  void *m = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  volatile unsigned *p = (volatile unsigned *)m;
  pid_t child = fork(); // before CUDA is used
  if (child == 0) {
    for (unsigned i = 1; p[0] == 0; i++) {
      p[100] = i;
      if (p[100] != i) p[200] = p[200] + 1;
    }
    _exit(0);
  }
  Data d;
  CK(cudaHostRegister(m, 1 << 20, cudaHostRegisterMapped));
  for (int t = 0; t < 30; t++) {
    d.step(t);
    CK(cudaDeviceSynchronize());
  }
  p[0] = 1;
  waitpid(child, 0, 0);
  return verdict(p[200] == 0 && d.right(), "words of another process were undone");
}
