// class: an end by _exit, with launches under way
#include "common.h"
int main() {
  Data d;
  for (int t = 0; t < 10; t++) d.step(t);
  bool good = d.right();
  printf("%s\n", good ? "ok" : "wrong");
  fflush(stdout);
  for (int t = 0; t < 10; t++) d.step(t);
  _exit(good ? 3 : 1);
}
