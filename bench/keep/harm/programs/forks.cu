// class: forks; a child that does not use CUDA, one that execs, one that was there before
#include "common.h"
#include <sys/wait.h>
static int loop() {
  Data d;
  for (int t = 0; t < 10; t++) d.step(t);
  return d.right() ? 0 : 1;
}
int main(int argc, char **argv) {
  if (argc > 1) return loop();
  pid_t first = fork(), second, third;
  if (first == 0) return loop() + 10; // uses CUDA, as its parent will
  Data d;
  d.step(0);
  CK(cudaDeviceSynchronize());
  fflush(stdout);
  if ((second = fork()) == 0) _exit(4);
  if ((third = fork()) == 0) {
    execl("/proc/self/exe", argv[0], "loop", (char *)0);
    _exit(9);
  }
  for (int t = 1; t < 10; t++) d.step(t);
  int a, b, c;
  waitpid(first, &a, 0);
  waitpid(second, &b, 0);
  waitpid(third, &c, 0);
  printf("%d %d %d\n", WEXITSTATUS(a), WEXITSTATUS(b), WEXITSTATUS(c));
  return verdict(d.right() && !WIFSIGNALED(a) && !WIFSIGNALED(b) && !WIFSIGNALED(c));
}
