// class: an end by SIGKILL, from a child of its own, in the middle of launches
#include "common.h"
#include <csignal>
int main() {
  pid_t me = getpid();
  int p[2];
  if (pipe(p)) return 9;
  if (fork() == 0) { // before CUDA is used
    char c;
    close(p[1]);
    if (read(p[0], &c, 1) == 1) kill(me, SIGKILL);
    _exit(0);
  }
  Data d;
  d.step(0);
  puts(d.right() ? "ok" : "wrong");
  fflush(stdout);
  if (write(p[1], "x", 1) != 1) return 9;
  for (;;) work<<<256, 256>>>(d.a, d.b, d.n, 0.5f, 1);
}
