// class: ranks of a parallel program, started as mpirun does; one of them dies
#include "common.h"
#include <stdlib.h>
#include <sys/wait.h>
int main(int argc, char **argv) {
  const int ranks = 4;
  if (argc > 1) { // a rank: on its own piece, of its own size
    int rank = atoi(getenv("OMPI_COMM_WORLD_RANK"));
    Data d(50000 + 1000 * rank);
    for (int t = 0; t < 20; t++) {
      d.step(t);
      if (rank == 3 && t == 10) {
        CK(cudaDeviceSynchronize());
        abort();
      }
    }
    return d.right() ? 0 : 1;
  }
  pid_t child[ranks];
  for (int r = 0; r < ranks; r++)
    if ((child[r] = fork()) == 0) {
      char number[16];
      snprintf(number, sizeof number, "%d", r);
      setenv("OMPI_COMM_WORLD_RANK", number, 1);
      setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
      execl("/proc/self/exe", argv[0], "rank", (char *)0);
      _exit(9);
    }
  bool good = true;
  for (int r = 0; r < ranks; r++) {
    int status = 0;
    waitpid(child[r], &status, 0);
    printf("rank %d: %d\n", r, WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    good = good && (r == 3 ? WIFSIGNALED(status) : status == 0);
  }
  return verdict(good);
}
