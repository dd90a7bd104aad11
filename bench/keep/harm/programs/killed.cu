// class: an end by a signal that the program sends itself
#include "common.h"
#include <csignal>
int main() {
  Data d;
  for (int t = 0; t < 10; t++) d.step(t);
  puts(d.right() ? "ok" : "wrong");
  fflush(stdout);
  for (int t = 0; t < 10; t++) d.step(t);
  raise(SIGTERM);
  return 1;
}
