// What captures have read, on its way into their files behind the program: by a thread of ours, from the host's memory and from copies on the device.
#ifndef GNVCC_OUT_H
#define GNVCC_OUT_H
#include "agent.h"

enum record { REC_KERNEL = 1, REC_ATTRIBUTE, REC_RANGE, REC_DATA, REC_VARIABLE, REC_AFTER, REC_END, REC_ARRAY = 11, REC_OBJECT, REC_BEFORE };

#define PIECE ((uint64_t)8 << 20) // bytes that are copied from the device at a time

// A file. It is made by the thread that captures, and written by the other one.
struct out {
  struct out *next;
  struct descriptor file;
  int place; // among those that a child has to close
  char *path;
  struct bounds may;
  uint64_t written, longest; // bytes: of the file; that the program may write to one, a byte more and a signal would end it
  atomic_ulong filled;       // bytes of memory in chunks that are not zero
  _Atomic(const char *) why; // it was given up
  struct job *jobs, **last, *asides, **last_aside;
  CUcontext context;
  bool ended, told; // nothing follows; gnvcc expects it, or is told why not
};

struct out *out_open(const char *path, const struct bounds *may, CUcontext context); // NULL: no memory, or no thread; why: it can't be written
bool out_give_up(struct out *o, const char *why);                                   // false; the first reason stands
bool out_fill(struct out *o, uint64_t n);                                           // counts so many bytes of memory
void out_write(struct out *o, enum record type, struct buffer *b, const void *more, size_t n); // b is freed
uint8_t *out_piece(double until, bool pinned);                                      // room for PIECE bytes; NULL: there was none until then
void out_data(struct out *o, uint64_t address, uint8_t *piece, uint64_t n);         // what a piece holds, without what is zero; n 0: nothing
// Copies memory of the device aside, as the stream's next work. It is written when all else is. False: no room.
bool out_aside(struct out *o, uint64_t address, uint64_t from, uint64_t n, CUstream stream);
void out_end(struct out *o, bool told); // nothing follows: it is complete or given up, and no longer the caller's
void outs_report(void);                  // tells gnvcc which files are complete, or not; with talk held
void outs_yield(uint64_t bytes);         // the program is about to need so much of the device's memory; UINT64_MAX: to ask how much there is
void outs_context_gone(CUcontext context);
void outs_flush(void);                   // a context, or the process, is about to end: waits for files, for a time
void outs_finish(void);                  // the process ends: what is not written then is given up
void outs_leave(void);                   // the same at once, from wherever a signal came
void outs_forked(void);

#endif
