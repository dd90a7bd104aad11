// class: limits that the program sets itself: small files, few open files, no core
#include "common.h"
#include <sys/resource.h>
int main() {
  Data d(1000000);
  rlimit l = {4096, 4096};
  setrlimit(RLIMIT_FSIZE, &l); // a file of more bytes ends the process by SIGXFSZ
  int free_one = dup(0);
  close(free_one);
  l = {(rlim_t)free_one, (rlim_t)free_one};
  setrlimit(RLIMIT_NOFILE, &l); // no file can be opened any more
  for (int t = 0; t < 30; t++) d.step(t);
  return verdict(d.right());
}
