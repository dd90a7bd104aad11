// class: nothing unusual, launches in a loop
#include "common.h"
int main() {
  Data d;
  for (int t = 0; t < 20; t++) d.step(t);
  return verdict(d.right());
}
