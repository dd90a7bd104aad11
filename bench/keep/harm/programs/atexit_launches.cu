// class: launches in destructors and functions that run at the end
#include "common.h"
static Data *d;
static struct Last {
  ~Last() { // behind atexit's functions; the runtime may be gone
    if (!d) return;
    for (int t = 0; t < 5; t++) work<<<256, 256>>>(d->a, d->b, d->n, 0.5f, t);
    cudaDeviceSynchronize();
    cudaGetLastError();
    puts("destroyed");
  }
} last;
static void at_exit() {
  for (int t = 0; t < 5; t++) d->step(t);
  puts(d->right() ? "at exit: ok" : "at exit: wrong");
}
int main() {
  atexit(at_exit);
  d = new Data;
  for (int t = 0; t < 20; t++) d->step(t);
  exit(verdict(d->right()) + 5);
}
