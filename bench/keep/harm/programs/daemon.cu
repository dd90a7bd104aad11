// class: a process of another session that goes on after the program has ended
#include "common.h"
#include <sys/wait.h>
int main() {
  int p[2];
  if (pipe(p)) return 9;
  pid_t child = fork(); // before CUDA is used
  if (child == 0) {
    setsid();
    if (fork()) _exit(0);
    close(p[0]);
    for (int fd = 0; fd < 3; fd++) close(fd); // nobody waits for its output
    Data d;
    for (int t = 0; t < 40; t++) d.step(t);
    char good = d.right();
    if (write(p[1], &good, 1) != 1) _exit(1);
    for (int t = 0; t < 400; t++) work<<<256, 256>>>(d.a, d.b, d.n, 0.5f, t);
    cudaDeviceSynchronize();
    _exit(0);
  }
  close(p[1]);
  waitpid(child, 0, 0);
  Data d;
  for (int t = 0; t < 20; t++) d.step(t);
  char good = 0;
  return verdict(read(p[0], &good, 1) == 1 && good && d.right());
}
