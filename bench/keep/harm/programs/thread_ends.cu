// class: threads that are cancelled and that call exit, while others launch
#include "common.h"
#include <pthread.h>
static void *launches(void *) {
  Data d;
  for (int t = 0;; t++) {
    work<<<256, 256>>>(d.a, d.b, d.n, 0.5f, t);
    cudaDeviceSynchronize();
    pthread_testcancel();
  }
  return 0;
}
int main() {
  Data d;
  d.step(0);
  for (int r = 0; r < 4; r++) {
    pthread_t t;
    pthread_create(&t, 0, launches, 0);
    usleep(30000);
    pthread_cancel(t);
    pthread_join(t, 0);
    d.step(r);
  }
  int bad = verdict(d.right());
  fflush(stdout);
  std::thread([=] { exit(bad + 6); }).detach();
  for (int t = 0;; t++) {
    work<<<256, 256>>>(d.a, d.b, d.n, 0.5f, t);
    usleep(1000);
  }
}
