// class: memory whose free failed, and that lives on
#include "common.h"
int main() {
  Data d;
  printf("freed: %d\n", cudaFree(d.a + 64)); // an address inside of it
  printf("left: %d\n", cudaGetLastError());
  for (int t = 0; t < 20; t++) d.step(t);
  return verdict(d.right());
}
