// class: a program that reads its input and writes to both outputs
#include "common.h"
int main() {
  Data d;
  char line[64];
  for (int t = 0; fgets(line, sizeof line, stdin); t++) {
    d.step(atoi(line));
    fprintf(t % 2 ? stderr : stdout, "step %d\n", atoi(line));
  }
  return verdict(d.right());
}
