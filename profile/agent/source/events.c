// What two events around a kernel take themselves: 3 to 4 microseconds on an H200, whatever the kernel. Of a kernel of 2 microseconds
// that is more than the kernel, and a gain of a half would look like one of a fifth. So an empty kernel is timed in the same way, and
// what it takes above what an empty kernel runs is taken off.
#define _GNU_SOURCE
#include "agent.h"
#include <sched.h>

// That an empty kernel runs, by the GPU's own time stamps, is 540 to 640 ns on an H200. What events take is 3.81 to 4.10 us for 18 short
// kernels of 1 to 4096 blocks, and 3.90 for the empty one: so much is left that it is the least of these.
#define EMPTY_NS 700.0
#define MOST_OWN_NS 6000 // above, it was something else
#define TIMES 9

// Nanoseconds; 0 where they aren't known. The median of several, as it is of a kernel's times.
double events_own(CUstream stream, CUevent start, CUevent end) {
  double list[TIMES];
  for (int i = -1; i < TIMES; i++) { // the first one may load code
    if (!compare_delay(stream, DELAY_NS) || cu.EventRecord(start, stream) != CUDA_SUCCESS || !compare_nothing(stream) || cu.EventRecord(end, stream) != CUDA_SUCCESS) return 0;
    CUresult r;
    while ((r = cu.EventQuery(end)) == CUDA_ERROR_NOT_READY) sched_yield();
    float ms = 0;
    if (r != CUDA_SUCCESS || cu.EventElapsedTime(&ms, start, end) != CUDA_SUCCESS) return 0;
    int at = i;
    for (; at > 0 && list[at - 1] > ms * 1e6; at--) list[at] = list[at - 1];
    if (at >= 0) list[at] = ms * 1e6;
  }
  double own = list[TIMES / 2] - EMPTY_NS;
  return own < 0 || own > MOST_OWN_NS ? 0 : own;
}
