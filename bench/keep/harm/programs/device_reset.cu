// class: cudaDeviceReset in the middle; the program goes on with new memory
#include "common.h"
int main() {
  bool good = true;
  for (int r = 0; r < 3; r++) {
    Data d(100000 + r);
    for (int t = 0; t < 20; t++) d.step(t);
    good = good && d.right();
    for (int t = 0; t < 5; t++) d.step(t); // under way
    CK(cudaDeviceReset());
  }
  return verdict(good);
}
