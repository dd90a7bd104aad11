// class: timers and handlers; signals that one thread waits for while all others block them
#include "common.h"
#include <csignal>
#include <sys/time.h>
static std::atomic<long> alarms{0};
static void on_alarm(int) { alarms++; }
int main() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr); // every thread that is begun from here on blocks it
  std::atomic<int> came{0};
  std::thread waiter([&] {
    for (int sig; came < 20 && sigwait(&set, &sig) == 0;) came++;
  });
  struct sigaction s = {};
  s.sa_handler = on_alarm; // no SA_RESTART: calls are interrupted
  sigaction(SIGALRM, &s, 0);
  itimerval v = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &v, 0);
  Data d;
  for (int t = 0; t < 20; t++) {
    d.step(t);
    CK(cudaDeviceSynchronize());
    int before = came;
    kill(getpid(), SIGUSR1);
    for (int k = 0; k < 5000 && came == before; k++) usleep(1000);
  }
  waiter.join();
  v = {};
  setitimer(ITIMER_REAL, &v, 0);
  return verdict(d.right() && alarms > 0);
}
