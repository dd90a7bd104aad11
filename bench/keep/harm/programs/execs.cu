// class: exec in the middle, by the program itself
#include "common.h"
int main(int argc, char **argv) {
  Data d;
  for (int t = 0; t < 10; t++) d.step(t);
  printf("%s: ", argc > 1 ? "again" : "first");
  int bad = verdict(d.right());
  fflush(stdout);
  if (argc > 1 || bad) return bad;
  for (int t = 0; t < 10; t++) d.step(t);
  execl("/proc/self/exe", argv[0], "again", (char *)0);
  return 9;
}
