// What the parts of the agent know of each other. One part, one file:
//
//   agent.c    the way in (InitializeInjection), CUPTI's callbacks, the gate that holds other threads, fork and exit
//   socket.c   frames to and from gnvcc
//   module.c   the cubins that were loaded, and which one a launched function belongs to
//   alloc.c    memory that the application has allocated
//   texture.c  texture and surface objects, and their arrays
//   launch.c   launches: configurations, counts, arguments that stay the same, and the question to gnvcc
//   measure.c  a session of a replay: save memory, run candidates, put memory back
//   region.c   saved memory: the copies, and putting them back
//   compare.c  comparison on the device
//   prints.c   what kernels print in a replay
//   events.c   what events take themselves
//   observe.c  times of some launches
//   between.c  what is in no kernel
//   streams.c  the program's streams, and waiting until they are idle
//   sets.c     launches of one configuration told apart by their arguments
//   graph.c    graphs: their kernel nodes counted, and now and then launched one by one
//   unseen.c   what graphs take as a whole whose kernels are not
//   capture.c  a launch written to a file, to be repeated in another process
//   out.c      files of captures, and a thread that writes them
//
// The agent takes no decision. It runs on the application's threads only, inside CUPTI's callbacks, and touches nothing
// of the application's. Sessions are held in gnvcc's own replayer, which has one thread and one stream.
#ifndef GNVCC_AGENT_H
#define GNVCC_AGENT_H

#include "driver.h"
#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The protocol's version; profile/frame.go has the same number, and the same frame types.
#define PROTOCOL 19

enum frame {
  // agent -> gnvcc
  FRAME_HELLO = 1,   // u32 protocol, u32 pid, u32 driver version, u32 cupti version, str trouble ("" if none)
  FRAME_DEVICE,      // see launch.c
  FRAME_MODULE,      // u32 id, bytes cubin
  FRAME_LAUNCH,      // see launch.c; answered by GO, or by one of the orders (SESSION, CAPTURE)
  FRAME_REFUSED,     // str why an order is not carried out; GO follows
  FRAME_READY,       // a session begins: u64 bytes of device memory whose copy is on the host, f64 seconds that copying took
  FRAME_SUMMARY,     // see launch.c
  FRAME_NOTE,        // str
  FRAME_BYE,         // the process ends in order
  FRAME_OK,          // a command was done; what it gives follows
  FRAME_ERROR,       // u32 CUresult (0: ours), str what was being done, str why
  FRAME_FAULT,       // the same; the context is lost, the session is over
  FRAME_HUNG,        // the run did not end in its time
  FRAME_CAPTURED,    // str why it was given up ("": it was not), u64 bytes of memory, f64 seconds before the launch, f64 seconds from its return, f64 that it took (0: not known); GO follows, and later WRITTEN
  FRAME_WRITTEN,     // a capture's file is complete: str path, str why it is not and was removed (""), u64 bytes
  // gnvcc -> agent
  FRAME_GO = 64,      // u64 ask again after n launches with these values (0: never for this configuration); in a session: it ends
  FRAME_SESSION,      // in a replay: u32 number of variables, each str name, u8 constant; u8 the kernel reads textures or accesses surfaces
  FRAME_CAPTURE,      // the same, then str path, struct bounds as u64 memory, u64 file, f64 seconds, u32 wants (8 at most), 2 f64 each
  FRAME_LOAD,         // str path, str entry ("": the kernel's name), u32 reserve bytes, u32 carveout % and one more (0: as seen), 3 u32 grid and 3 u32 block (0: as seen) -> u32 candidate, attributes
  FRAME_UNLOAD,       // u32 candidate
  FRAME_RUN,          // u32 candidate, u32 n, u8 before (measure.c), u32 limit ms, bytes arguments of the launch before (none: the same), u32 launches before -> n f64 ns
  FRAME_GOLDEN,       // u32 limit ms -> u32 regions written, u64 bytes, f64 ns, u32 n, of n runs of written chunks u64 address, u64 bytes
  FRAME_CHECK,        // u32 candidate, u32 limit ms, u8 with an empty L2 cache, u32 bytes of dynamic shared memory more -> see do_check in measure.c
  FRAME_READ,         // u32 candidate, str variable of the candidate's own, u64 bytes -> bytes
};

// ---- socket.c

struct buffer {
  uint8_t *p;
  size_t n, cap, at; // at: how far a reader is
  bool bad;          // a reader ran over the end, or memory ran out
};

// A descriptor of ours. An application that closes descriptors it did not open may have another file at the number since, which is not ours to touch.
struct descriptor {
  int fd; // -1: none
  uint64_t device, inode;
};
bool descriptor_begin(struct descriptor *d, int fd);
bool descriptor_ours(const struct descriptor *d);
bool socket_open(const char *path);
void socket_close(void);  // for good: from now on the agent is off
void socket_forked(void); // in a child: drop the parent's connection
bool frame_send(enum frame type, const struct buffer *b);
int frame_receive(struct buffer *b); // the type; -1: gnvcc is gone
void put_u8(struct buffer *b, uint8_t v);
void put_u32(struct buffer *b, uint32_t v);
void put_u64(struct buffer *b, uint64_t v);
void put_f64(struct buffer *b, double v);
void put_bytes(struct buffer *b, const void *p, size_t n);
void put_raw(struct buffer *b, const struct buffer *more); // as it is
void put_str(struct buffer *b, const char *s);
uint8_t get_u8(struct buffer *b);
uint32_t get_u32(struct buffer *b);
uint64_t get_u64(struct buffer *b);
double get_f64(struct buffer *b);
const uint8_t *get_bytes(struct buffer *b, size_t *n); // as long as the buffer is
char *get_str(struct buffer *b); // allocated; never NULL unless memory ran out
void buffer_free(struct buffer *b);

// ---- agent.c

extern atomic_bool agent_off;         // nothing is to be done any more
extern pthread_mutex_t talk;          // held by the thread that talks to gnvcc
bool talk_begin(void);                // takes talk; false: the agent is off, which the thread that has it may not have been able to give back
extern atomic_int captures;           // stream captures under way in the process
enum inside { OUTSIDE, OURS, RESOLVING }; // whose driver calls are these? RESOLVING: ours, but modules may be loaded by them
extern __thread enum inside inside;
void note(const char *format, ...) __attribute__((format(printf, 1, 2))); // with talk held
bool gate_close(double seconds); // holds all other threads at their next call; false: they were not done in time
void gate_open(void);
void gate_enter(void);
void gate_leave(void);
void gate_keep(void); // gate_enter by the thread that has closed the gate
double now(void); // seconds, monotonic

// ---- module.c

struct module {
  struct module *next;
  uint32_t id;       // ours
  uint32_t cupti;    // CUPTI's
  CUcontext context;
  CUmodule handle;   // NULL until it is known
  uint8_t *cubin;    // a copy, until it is sent
  size_t size;
  bool sent, gone;
};

void module_loaded(CUcontext context, uint32_t cupti, const void *cubin, size_t size);
void module_unloading(CUcontext context, uint32_t cupti);
void module_bind(CUcontext context, CUmodule handle); // the module that this thread has just loaded is called handle
bool module_gone(const struct module *m);
void module_forget(void);                              // what this thread loaded last, nobody named
struct module *module_of(CUcontext context, CUmodule handle, const char *kernel); // NULL: isn't known
bool module_send(struct module *m);                    // with talk held
void modules_drop(CUcontext context);

// ---- alloc.c

enum kind { DEVICE, ASYNC, MAPPED, PINNED, REGISTERED, MANAGED, SHARED, FOUND, VARIABLE, ARRAY };
struct alloc {
  struct alloc *next;
  uint64_t base, size;
  enum kind kind;
  CUcontext context;
};
void alloc_add(uint64_t base, uint64_t size, enum kind kind, CUcontext context);
void alloc_remove(uint64_t base);
void alloc_take(uint64_t base);                       // a call begins that frees it; alloc_taken follows at its end
void alloc_take_range(uint64_t base, uint64_t size);
void alloc_taken(bool freed);
void allocs_drop(CUcontext context);
struct alloc *allocs_copy(size_t *n); // an array, allocated, sorted by address
struct total {
  uint64_t n, bytes;
};
struct total allocs_total(void);
bool alloc_holds(uint64_t p); // one of them has this address, or ends there; slow
uint64_t allocs_peak(void);   // the most bytes of the device's memory that there were at a time
const char *kind_name(enum kind kind);

// ---- texture.c

struct array {
  struct array *next;
  CUarray handle;
  CUcontext context;
  CUDA_ARRAY3D_DESCRIPTOR is;
  uint64_t row, size; // bytes, of what it holds in memory
};
struct object {
  struct object *next;
  uint64_t handle;
  bool surface, viewed; // viewed: it has a view
  CUcontext context;
  CUDA_RESOURCE_DESC of;
  CUDA_TEXTURE_DESC how;
  CUDA_RESOURCE_VIEW_DESC view;
};
void array_added(CUarray handle, const CUDA_ARRAY3D_DESCRIPTOR *d, CUcontext context);
void array_removed(CUarray handle);
bool array_find(CUarray handle, CUcontext context, struct array *found);
CUresult array_copy(const struct array *a, CUdeviceptr memory, bool back, CUstream stream); // back: from memory into the array
void object_added(uint64_t handle, bool surface, CUcontext context, const CUDA_RESOURCE_DESC *of, const CUDA_TEXTURE_DESC *how, const CUDA_RESOURCE_VIEW_DESC *view);
void object_removed(uint64_t handle, bool surface);
struct object *objects_copy(CUcontext context, size_t *n); // an array, allocated, sorted by handle
void textures_drop(CUcontext context);

// ---- launch.c

enum launch_flag {
  L_COOPERATIVE = 1, L_CLUSTER = 2, L_CAPTURED = 4, L_PROGRAMMATIC = 8, L_EVENT = 16, L_UNKNOWN = 32,
  L_NODE = 64, // it becomes a node of a graph, and is no launch: those are counted where the graph is launched
};
struct launch {
  CUfunction f; // as the application gave it: maybe a CUkernel
  CUcontext context;
  unsigned grid[3], block[3], dynamic;
  unsigned flags;
  CUstream stream;
  void **params, **extra;
  const CUlaunchConfig *config; // cuLaunchKernelEx, and whatever has attributes
  const char *why;              // of a graph's kernel node that is not launched by itself
};
struct kernel {
  struct kernel *next;
  CUfunction f, function; // function: the CUfunction behind f
  CUcontext context;
  char *name;
  struct module *module;
  uint32_t count;            // of parameters
  uint32_t *offset, *size;
  uint32_t bytes;            // of all parameters
  uint8_t *place;            // a word of arguments each: see normal() in launch.c
  bool listed;               // the driver has named all of them
  bool asked;                // the application wants to know its registers, its shared memory, or how many blocks fit
};
void kernel_asked(CUfunction f);                   // f: a CUfunction or a CUkernel
void kernel_cache(CUfunction f, uint32_t config);  // cuFuncSetCacheConfig was called
uint32_t kernel_cache_of(const struct kernel *k);  // what it was set to last; 255: it never was, or nobody knows
void launch_captured(bool success);                // a launch with a capture has returned
void on_launch(struct launch *l);
void launch_counted(struct launch *l, uint64_t n); // n more launches, of which nobody is asked
bool launch_announced(const struct launch *l);     // gnvcc knows the configuration, and so is told of its counts
struct kernel *kernel_of(CUfunction f, CUcontext context); // NULL: no memory
extern atomic_ulong graph_launches; // of graphs whose kernels are not looked at one by one
void kernels_drop(CUcontext context, struct module *m); // m NULL: all of the context
bool launch_gather(const struct launch *l, const struct kernel *k, uint8_t *into); // the arguments' bytes
void summary_send(bool all); // with talk held
void summary_offer(CUcontext context); // where it is time for one
bool put_attributes(struct buffer *b, CUfunction f); // false: the driver does not tell them all
void stream_created(CUcontext context, CUstream s);
void stream_destroyed(CUstream s);
void streams_drop(CUcontext context);
// Waits: seconds for a stream that is asked first, others for the others; false: not in time, or an error. since: that one is idle.
bool streams_idle(CUcontext context, CUstream own, double seconds, double others, double *since, CUresult *error);

// ---- measure.c

struct variable {
  char *name;
  bool constant;
};
// Holds a session: READY, then commands until GO, whose "again" it gives. False: it did not begin, and why.
bool session(const struct launch *l, const struct kernel *k, const struct variable *v, uint32_t nv, uint64_t *again, char *why, size_t n);

// ---- capture.c

struct bounds {
  uint64_t memory, file; // bytes: that the launch may reach, of what is not zero; that are written
  double seconds;        // for reading
  double patience;       // seconds that files are waited for where the program ends, where that is more than usual
  uint32_t wants;        // it is kept where the launch takes what one of these says: the least and the most seconds
  double want[8][2];     // 0 of them: whatever it takes
};
bool capture_before(const struct launch *l, const struct kernel *k, const char *path, const struct bounds *may, bool textures, const struct variable *v, uint32_t nv, char *why, size_t n);
void capture_context_gone(CUcontext context);
bool capture_pending(void);        // this thread is between the two
bool capture_rested(void); // whether the device came to rest before this launch, to capture it; forgets that
void capture_after(bool launched); // opens the gate and tells gnvcc

// ---- graph.c

extern __thread bool walking; // this thread launches a graph's nodes one by one: it holds talk, and the gate is closed
void on_graph_launch(const CUpti_CallbackData *c, CUstream stream);
void on_graph_launched(void);
bool graph_pending(void); // this thread's launch of a graph, whose nodes are switched off, has not returned; gnvcc may have gone meanwhile
void on_graph_enter(const char *name, const void *params);                          // what may destroy a graph
void on_graph_success(const char *name, const void *params, CUcontext context);    // what makes or changes one
void on_graph_failure(const char *name, const void *params);
void graphs_count(void);                                                            // counts what was launched since
void graphs_drop(CUcontext context);

// ---- unseen.c

struct unseen;
void unseen_begin(struct unseen **u, const char *why, CUcontext context, CUstream stream); // a launch of such a graph; sample_end follows. *u: NULL at its first
void unseen_end(struct unseen *u);                                                       // the graph is gone
void unseen_timed(const uint32_t *sample, bool first, double seconds);
void put_unseen(struct buffer *b);

// ---- between.c

enum call_kind { CALL_NONE, CALL_READ, CALL_WRITE, CALL_COPY, CALL_SET, CALL_ALLOC, CALL_FREE, CALL_WAIT, CALL_KINDS }; // profile/between.go has the same
enum call_kind call_kind(const char *name); // without _ptds and _ptsz
void between_open(void);
void call_begin(enum call_kind kind);
void call_end(const void *params);
unsigned between_breaks(void); // another number after each such call
// With launch.c's lock held:
void launch_follows(uint32_t shape, CUstream stream);
void launch_gap(uint32_t first, uint32_t then, double seconds); // between these, on one stream, with nothing between but two events
void put_between(struct buffer *b, bool all_of_it);

// ---- observe.c

struct shape;
extern bool observing; // some launches are timed
bool sample_wanted(uint64_t count); // of launches with the same values
void sample_burst(void);            // the next launches are timed all, to see which run at a time
// s NULL: of a graph, whose args are unseen.c's. args: those of the launch that tell sets apart, words each; NULL where memory ran out.
void sample_begin(struct shape *s, bool first, const uint32_t *args, uint32_t words, double stands, CUcontext context, CUstream stream);
void sample_end(bool launched); // the launch has returned
double sample_seconds(void);    // of the launch that has ended last in this thread, and on the device; 0: it was not timed, or the driver may have loaded it meanwhile
void samples_collect(CUcontext context); // takes the times that are there, of one context; NULL: of all
void samples_drop(CUcontext context);
// launch.c
void shape_timed(struct shape *s, bool first, bool alone, const uint32_t *args, double seconds, double stands); // alone on the device; stands: for so many launches
void shape_followed(const struct shape *s, const struct shape *then, double seconds); // between the two, with nothing there but two events
void shape_watched(struct shape *s, double seconds, double beside); // of these, another stream's kernel ran beside it

// ---- region.c

// How long the queue is held back before a timed run: long enough for the host to put two events and a launch behind it
// (measured: 2 to 11 microseconds each), so that what is timed is the device alone.
#define DELAY_NS 40000

#define CHUNK ((uint64_t)1 << 20) // bytes; compare.cu has the same number

// A region is one range of memory as it was before the launch. Memory is kept and put back in chunks.
struct region {
  uint64_t base, size;
  enum kind kind;
  const char *name;    // of a variable
  bool host;           // its content is compared and copied by the CPU
  uint64_t saved;      // the copy's address on the device, 0 if it is on the host
  uint8_t *saved_host;
  uint64_t first;      // number of its first chunk among all chunks
  uint64_t chunks;
  struct array array;  // what it is a copy of, where that has a handle: each run has it in the array
};
struct store {
  struct region *r;
  size_t n;
  uint64_t chunks, bytes; // bytes: of the device
  uint8_t *dirty;       // per chunk: must be put back before each run
  uint8_t *written;     // per chunk: the original wrote to it
  uint64_t *slot;       // per chunk: where its golden content is, + 1
  uint64_t golden;      // device memory for it, or
  uint8_t *golden_host; // host memory
  uint64_t area, area_size;
  uint64_t staging;     // device memory through which what is kept on the host is compared, STAGING bytes
  CUstream stream;
  const char *why;      // after a failure: what was being done
  CUresult code;
};
#define STAGING ((uint64_t)64 << 20)

bool store_save(struct store *s);     // copies all regions aside
bool store_take(struct store *s);     // queues the copies of arrays
bool store_restore(struct store *s);  // queues the copies that put dirty chunks back
bool store_keep(struct store *s);     // keeps the content of all written chunks as golden
void store_free(struct store *s);
bool store_fail(struct store *s, CUresult code, const char *why);

// ---- compare.c

struct found { // as in compare.cu
  uint32_t words, first;
  uint64_t relative64;
  double sum32, sum64;
  uint32_t relative32, pairs;
};
bool compare_open(CUcontext context, CUresult *error); // loads the kernels once per context
void compare_drop(CUcontext context);
bool compare_delay(CUstream stream, uint64_t ns);
bool compare_nothing(CUstream stream);
// Compares other device memory, at with, with what was saved of a region.
bool compare_one(struct store *s, const struct region *r, uint64_t with, bool *same);
// Compares every chunk with its saved or, where it has one, its golden content. found has s->chunks elements, on the host.
bool compare_all(struct store *s, bool golden, struct found *found);

// ---- prints.c
void prints_open(void);
bool prints_clear(void);          // drops what kernels have printed
void prints_trim(void);           // drops it where it is much
bool prints_sum(uint64_t sum[2]); // a sum over the lines since then; zeros but in a replay

// ---- events.c
double events_own(CUstream stream, CUevent start, CUevent end); // ns; compare_open comes first

#endif
