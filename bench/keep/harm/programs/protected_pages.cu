// class: registered pages under mprotect, whose faults the program counts
#include "common.h"
#include <csignal>
#include <sys/mman.h>
static char *guarded;
static const size_t size = 1 << 20;
static std::atomic<int> faults{0};
static void on_fault(int, siginfo_t *i, void *) {
  faults++;
  if ((char *)i->si_addr < guarded || (char *)i->si_addr >= guarded + size) _exit(99);
  mprotect(guarded, size, PROT_READ | PROT_WRITE);
}
int main() {
  Data d;
  guarded = (char *)mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(guarded, 1, size);
  CK(cudaHostRegister(guarded, size, cudaHostRegisterMapped));
  struct sigaction s = {};
  s.sa_sigaction = on_fault;
  s.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &s, 0);
  mprotect(guarded, size, PROT_NONE);
  for (int t = 0; t < 20; t++) d.step(t);
  bool good = d.right();
  int before = faults;
  guarded[5] = 2;
  return verdict(good && before == 0 && faults == 1, "pages under mprotect were touched");
}
