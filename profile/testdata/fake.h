// What the fake driver, the fake CUPTI and the application of the tests know of each other.
#include <cuda.h>
#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>

#define FAKE_CONTEXT ((CUcontext)1)
#define FAKE_KERNEL ((CUfunction)2)
#define FAKE_OTHER ((CUfunction)3)  // a second kernel of the application's
#define FAKE_LOADED ((CUfunction)4) // a candidate
#define FAKE_TOOL ((CUfunction)5)
#define FAKE_COMPARE ((CUfunction)8)
#define FAKE_HASH ((CUfunction)11)
#define FAKE_LOOK ((CUfunction)12)
#define FAKE_SETS ((CUfunction)9)    // k(pointer, int, int)
#define FAKE_MODULE ((CUmodule)6)
#define FAKE_TOOLS ((CUmodule)7)
#define FAKE_STREAM ((CUstream)10)
#define FAKE_BYTES (1 << 20)

extern unsigned char fake_theirs[2 * FAKE_BYTES]; // a variable of another module
extern atomic_int fake_capturing; // a stream is being captured
extern atomic_int fake_harm;      // calls that would have ended the capture
extern int fake_tools;            // modules of the agent's that are loaded
void fake_compute(CUdeviceptr p);
extern double fake_clock; // ms, of launches that take what the application says
size_t fake_kept(void); // bytes of the device's memory that the agent has
int fake_most(CUfunction f); // dynamic shared memory that it may be launched with
void fake_node(int i, CUdeviceptr p); // what a node of the graph is given
void fake_graph_launch(void);
extern unsigned fake_grid;            // of all nodes
int fake_disabled(void);              // nodes that are switched off
extern int fake_attributes;           // of nodes, that were asked for
extern int fake_waits, fake_strays;   // for events, and kernels on FAKE_STREAM
extern int fake_graph_launches;       // the agent's
int fake_runs(CUdeviceptr p); // of kernels that were given it

struct fake_array { // a CUarray is one of these
  size_t row, rows;
  unsigned char *bytes;
};
extern struct fake_array *fake_written; // by kernels, as a surface: each byte is 1 more, by a candidate SURFACE more

extern int fake_interrupt;               // cupti.c
extern CUpti_CallbackFunc fake_callback; // the agent's
