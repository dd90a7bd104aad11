// The device's energy counter, looked at again and again (meter.c).
#ifndef GNVCC_METER_H
#define GNVCC_METER_H
#include "agent.h"

struct meter {
  double begin, seen; // when it was looked at first, and last
  uint64_t mj;        // what it said
  uint32_t count;
  struct buffer steps; // each: f64 seconds when it still said what it said before, f64 when it said something else, u64 that, millijoules
};

const char *meter_open(void); // why there is no counter, NULL: there is
void meter_begin(struct meter *m);
void meter_look(struct meter *m);

#endif
