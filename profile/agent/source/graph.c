// Graphs. What a graph's kernel nodes do is known from its instantiation on, and from what the program changes in it later: functions, grids,
// arguments. When it is launched they count as launches.
//
// Now and then a launch of it is a walk: its nodes are launched here one by one, in their order, each kernel by itself, so that it can be timed
// and captured like any other launch. For that they are all switched off in the executable graph first (cuGraphNodeSetEnabled), so that the
// program's own launch, which follows, does nothing more; behind it they are switched on again. Where something fails on the way, what was not
// launched yet is switched on before, and the program's launch does that: each node runs once, whatever happens.
//
// Only of graphs that are one row of kernels, copies and memsets: nodes that stand beside each other may wait for each other, and others can't be
// switched off. And only while the graph that was instantiated is there, whose nodes these are; not where kernels may launch graphs, which they
// can as nodes alone, and need as the host has uploaded them. All others are counted, and the reason is reported.
//
// Launches of one executable graph wait for each other, on whatever streams they are; kernels do so on one stream alone. So a graph is walked as
// long as it is launched on one, and what another gets waits for the walk.
#define _GNU_SOURCE
#include "agent.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_NODES 20000
#define MOST_BATCHES 16   // copies and memsets between kernels, in rows: each is a launch of the whole graph, with the rest of it switched off
#define PATIENCE 0.1      // seconds that other threads get to leave their calls, and the stream to come to rest
#define ROW 100           // launches, after which the stream must have come to rest again: in a full queue the next one waits for the device, and
#define ROW_PATIENCE 1.0  // what that waits for may wait for us, with the gate closed
#define ONCE 0.5          // seconds that walks may take, captures aside,
#define PART 0.02         // and the part of the time since the first one
#define DEVICE_LAUNCH 4     // CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, and
#define DEVICE_UPDATABLE 13 // CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, which old headers lack

struct node {
  CUgraphNode node;    // of the graph that was instantiated
  struct kernel *k;    // NULL: a copy, or a memset
  bool on;             // it is launched; one that the program has switched off is not
  bool empty;          // it does nothing
  struct launch l;
  uint8_t *args;
  void **params;
};

struct exec {
  struct exec *next;
  CUgraphExec exec;
  CUgraph graph; // NULL: gone
  CUcontext context;
  struct node *nodes; // in their order, where why is NULL
  size_t n;
  const char *why;  // it is not walked, NULL: it may be
  bool walked, reported; // it was; gnvcc was told of its kernels as they are now
  bool off;          // the driver has left some of its nodes switched off
  bool placed;       // it was launched, on this stream (a number that no other one gets)
  unsigned long long stream;
  CUevent done;      // behind the last walk, NULL: none yet
  uint64_t launches, counted;
  struct unseen *unseen; // NULL: it was never launched but by its nodes
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // taken before launch.c's
static struct exec *execs;
static __thread struct exec *walked; // by this thread, whose launch has not returned yet,
static __thread CUstream at;         // on this stream
__thread bool walking;
static double spent, begun; // with talk held
static atomic_bool from_device; // graphs may be launched by kernels

static void nodes_free(struct node *x, size_t n) {
  for (size_t i = 0; x && i < n; i++) free(x[i].args), free(x[i].params);
  free(x);
}

static void exec_free(struct exec *e) {
  nodes_free(e->nodes, e->n);
  unseen_end(e->unseen);
  free(e);
}

// ---- What a node does.

static CUresult get_attribute(CUgraphNode node, int id, CUlaunchAttributeValue *v) {
  memset(v, 0, sizeof *v);
  return cu.GraphKernelNodeGetAttribute(node, (CUlaunchAttributeID)id, v);
}

// Whether a kernel is launched in a way that a launch by itself may not have: on an H200 (driver 580) a cooperative node that was launched so
// ended in cudaErrorLaunchFailure. Priorities are left out: they are about other launches.
static const char *read_attributes(CUgraphNode node) {
  static const int which[] = {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                              10 /* memory synchronisation domain */};
  CUlaunchAttributeValue v;
  if (get_attribute(node, DEVICE_UPDATABLE, &v) == CUDA_SUCCESS && *(const int *)&v) return "a kernel may change a node of it";
  for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
    CUresult r = get_attribute(node, which[i], &v);
    if (r != CUDA_SUCCESS) {
      bool old = which[i] != CU_LAUNCH_ATTRIBUTE_COOPERATIVE && (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_NOT_SUPPORTED); // does not know it
      if (old) continue;
      return "the driver does not tell how its kernels are launched";
    }
    switch (which[i]) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      if (v.cooperative) return "it has cooperative launches";
      break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      if (v.clusterDim.x > 1 || v.clusterDim.y > 1 || v.clusterDim.z > 1) return "it has launches in clusters";
      break;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      if (v.accessPolicyWindow.num_bytes > 0) return "it has launches with a window of the L2 cache";
      break;
    default:
      if (*(const int *)&v) return "it has launches in a memory synchronisation domain";
    }
  }
  return NULL;
}

// Takes a kernel node's parameters over; they are copied, the driver's own may change.
static const char *take(struct node *x, const struct kernel_node *p, bool extended, CUcontext context) {
  CUfunction f = p->f || !extended ? p->f : p->kernel;
  struct kernel *k = f ? kernel_of(f, context) : NULL;
  if (!k || !k->name || !*k->name) return "a kernel of it is not known to the driver by name";
  if (!k->listed) return "the arguments of a kernel can't be read";
  CUcontext own = extended && !p->f ? p->context : NULL;
  if (own && own != context) return "it has kernels in another context";
  struct launch l = {.f = f, .context = context, .dynamic = p->dynamic, .params = p->params, .extra = p->extra};
  memcpy(l.grid, p->grid, sizeof l.grid);
  memcpy(l.block, p->block, sizeof l.block);
  uint8_t *args = calloc(1, k->bytes + 8);
  void **params = calloc(k->count + 1, sizeof *params);
  if (!args || !params || (k->count > 0 && !l.params && !l.extra) || !launch_gather(&l, k, args)) {
    free(args);
    free(params);
    return "the arguments of a kernel can't be read";
  }
  free(x->args);
  free(x->params);
  for (uint32_t i = 0; i < k->count; i++) params[i] = args + k->offset[i];
  l.params = params;
  l.extra = NULL;
  x->k = k;
  x->args = args;
  x->params = params;
  x->l = l;
  return NULL;
}

static const char *read_node(struct node *x, CUcontext context, bool walks) {
  CUgraphNodeType type;
  struct kernel_node p;
  memset(&p, 0, sizeof p);
  x->on = true;
  inside = OURS;
  bool known = cu.GraphNodeGetType(x->node, &type) == CUDA_SUCCESS, got = known && type == CU_GRAPH_NODE_TYPE_KERNEL && cu.GraphKernelNodeGetParams(x->node, &p) == CUDA_SUCCESS;
  const char *why = got && walks ? read_attributes(x->node) : NULL;
  inside = OUTSIDE;
  if (!known || why) return known ? why : "the driver does not tell what its nodes are";
  switch (type) {
  case CU_GRAPH_NODE_TYPE_KERNEL: return got ? take(x, &p, true, context) : "the driver does not tell what its kernels are";
  case CU_GRAPH_NODE_TYPE_MEMCPY: case CU_GRAPH_NODE_TYPE_MEMSET: return NULL;
  case CU_GRAPH_NODE_TYPE_GRAPH: return "it has a graph as a node";
  case CU_GRAPH_NODE_TYPE_HOST: return "it calls functions of the host";
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC: case CU_GRAPH_NODE_TYPE_MEM_FREE: return "it allocates memory";
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT: case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "it has events";
  case CU_GRAPH_NODE_TYPE_EMPTY: x->on = false, x->empty = true; return NULL;
  default: return "it has nodes of other kinds (conditional ones, semaphores)";
  }
}

// ---- The order.

struct place {
  CUgraphNode node;
  size_t at;
};

static int by_node(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  return (x->node > y->node) - (x->node < y->node);
}

// Puts nodes into their order. False: there is no such one.
static bool row(CUgraph graph, CUgraphNode *nodes, size_t n) {
  size_t edges = 0, first = n;
  if (!cu.GraphGetEdges || cu.GraphGetEdges(graph, NULL, NULL, &edges) != CUDA_SUCCESS || edges != n - 1) return false;
  CUgraphNode *from = calloc(n, sizeof *from), *to = calloc(n, sizeof *to), *out = calloc(n, sizeof *out);
  struct place *p = calloc(n, sizeof *p);
  size_t *next = calloc(n, sizeof *next);
  bool *behind = calloc(n, sizeof *behind);
  bool ok = from && to && out && p && next && behind && (n == 1 || cu.GraphGetEdges(graph, from, to, &edges) == CUDA_SUCCESS);
  for (size_t i = 0; ok && i < n; i++) p[i] = (struct place){nodes[i], i}, next[i] = n;
  if (ok) qsort(p, n, sizeof *p, by_node);
  for (size_t i = 0; ok && i < edges; i++) {
    const struct place *a = bsearch(&(struct place){from[i], 0}, p, n, sizeof *p, by_node), *b = bsearch(&(struct place){to[i], 0}, p, n, sizeof *p, by_node);
    ok = a && b && next[a->at] == n && !behind[b->at];
    if (ok) next[a->at] = b->at, behind[b->at] = true;
  }
  for (size_t i = 0; ok && i < n; i++)
    if (!behind[i]) first = i;
  size_t k = 0;
  for (size_t i = first; ok && i < n && k < n; i = next[i]) out[k++] = nodes[i];
  ok = ok && k == n;
  if (ok) memcpy(nodes, out, n * sizeof *out);
  free(from), free(to), free(out), free(p), free(next), free(behind);
  return ok;
}

// Reads a graph's nodes. What can be counted is, also where there is a reason not to walk it; where that is known before (walks is false), what only
// a walk needs is not asked for: a program may update a graph of a thousand nodes every few milliseconds.
static const char *read_graph(CUgraph graph, CUcontext context, bool walks, struct node **list, size_t *count) {
  *list = NULL;
  *count = 0;
  if (!cu.GraphGetNodes || !cu.GraphNodeGetType || !cu.GraphKernelNodeGetParams || !cu.GraphKernelNodeGetAttribute || !cu.FuncGetParamInfo || !cu.GraphNodeSetEnabled ||
      !cu.GraphNodeGetEnabled || !cu.GraphLaunch || !cu.StreamGetCtx || !cu.StreamGetId || !cu.StreamWaitEvent)
    return "this driver does not tell of its nodes";
  size_t n = 0;
  inside = OURS;
  CUresult r = cu.GraphGetNodes(graph, NULL, &n);
  if (r != CUDA_SUCCESS || n == 0 || n > MOST_NODES) {
    inside = OUTSIDE;
    return r != CUDA_SUCCESS ? "the driver does not tell of its nodes" : n ? "it has more than 20,000 nodes" : "it has no nodes";
  }
  CUgraphNode *nodes = calloc(n, sizeof *nodes);
  struct node *x = calloc(n, sizeof *x);
  const char *why = !nodes || !x ? "out of memory" : cu.GraphGetNodes(graph, nodes, &n) != CUDA_SUCCESS ? "the driver does not tell of its nodes" : NULL;
  bool ordered = !why && (!walks || row(graph, nodes, n));
  inside = OUTSIDE;
  if (!why && !ordered) why = "its nodes are no single row: some stand beside each other";
  for (size_t i = 0; nodes && x && i < n; i++) {
    x[i].node = nodes[i];
    const char *of_node = read_node(&x[i], context, walks);
    if (!why) why = of_node;
  }
  free(nodes);
  if (x) *list = x, *count = n;
  return why;
}

// ---- What the program does with graphs.

static struct exec *exec_of(CUgraphExec exec) {
  struct exec *e = execs;
  while (e && e->exec != exec) e = e->next;
  return e;
}

// A node's launch, as it is counted: with those that have times, where it was walked since it is what it is.
static struct launch as_counted(const struct exec *e, const struct node *x) {
  struct launch l = x->l;
  if (!e->walked || !launch_announced(&l)) l.flags |= L_CAPTURED;
  return l;
}

static void count(struct exec *e) {
  uint64_t n = e->launches - e->counted;
  e->counted = e->launches;
  for (size_t i = 0; n > 0 && i < e->n; i++) {
    struct node *x = &e->nodes[i];
    if (!x->k || !x->on || x->k->f != x->l.f) continue; // its module is gone
    struct launch l = as_counted(e, x);
    launch_counted(&l, n);
  }
}

void graphs_count(void) {
  pthread_mutex_lock(&lock);
  for (struct exec *e = execs; e; e = e->next) count(e);
  pthread_mutex_unlock(&lock);
}

static void drop(struct exec **p) {
  struct exec *e = *p;
  count(e);
  *p = e->next;
  exec_free(e);
}

void graphs_drop(CUcontext context) {
  pthread_mutex_lock(&lock);
  for (struct exec **p = &execs; *p;)
    if ((*p)->context == context) drop(p);
    else p = &(*p)->next;
  pthread_mutex_unlock(&lock);
}

void on_graph_enter(const char *name, const void *params) {
  bool of_exec = strcmp(name, "cuGraphExecDestroy") == 0, of_node = strcmp(name, "cuGraphDestroyNode") == 0, of_graph = strcmp(name, "cuGraphDestroy") == 0;
  if (!observing || (!of_exec && !of_node && !of_graph)) return;
  void *handle = *(void *const *)params; // the only parameter of all three
  CUevent done = NULL;
  pthread_mutex_lock(&lock);
  for (struct exec **p = &execs; *p;) {
    struct exec *e = *p;
    bool hit = of_exec ? (void *)e->exec == handle : of_graph && (void *)e->graph == handle;
    for (size_t i = 0; of_node && !hit && i < e->n; i++) hit = (void *)e->nodes[i].node == handle;
    if (hit && of_exec) {
      done = e->done;
      drop(p);
      continue;
    }
    if (hit) {
      e->graph = NULL;
      if (!e->why) e->why = of_node ? "a node of its graph was destroyed" : "the program has destroyed the graph that it was made of, without which its nodes can't be switched off";
    }
    p = &e->next;
  }
  pthread_mutex_unlock(&lock);
  inside = OURS;
  if (done) cu.EventDestroy(done);
  inside = OUTSIDE;
}

// What a call that failed has changed all the same is not known.
void on_graph_failure(const char *name, const void *params) {
  if (!observing || strncmp(name, "cuGraphExec", 11) != 0) return;
  pthread_mutex_lock(&lock);
  struct exec *e = exec_of(*(CUgraphExec const *)params); // the first parameter of them all
  if (e && !e->why) e->why = "a change of it failed";
  pthread_mutex_unlock(&lock);
}

static void instantiated(CUgraphExec exec, CUgraph graph, CUcontext context) {
  struct exec *e = calloc(1, sizeof *e);
  if (!e) return;
  *e = (struct exec){.exec = exec, .graph = graph, .context = context};
  e->why = read_graph(graph, context, true, &e->nodes, &e->n);
  pthread_mutex_lock(&lock);
  for (struct exec **p = &execs; *p;)
    if ((*p)->exec == exec) drop(p);
    else p = &(*p)->next;
  e->next = execs;
  execs = e;
  pthread_mutex_unlock(&lock);
}

// An executable graph was given all that another graph has. Its nodes keep their names; which is which is sure in a row alone.
static void updated(CUgraphExec exec, CUgraph graph, CUcontext context) {
  struct node *now = NULL;
  size_t n = 0;
  pthread_mutex_lock(&lock);
  struct exec *e = exec_of(exec);
  bool walks = e && !e->why;
  pthread_mutex_unlock(&lock);
  if (!e) return;
  const char *why = read_graph(graph, context, walks, &now, &n);
  pthread_mutex_lock(&lock);
  if (exec_of(exec) != e) { // destroyed meanwhile, against the rules
    pthread_mutex_unlock(&lock);
    nodes_free(now, n);
    return;
  }
  count(e);
  bool alike = !why && !e->why && n == e->n;
  for (size_t i = 0; alike && i < n; i++) alike = !now[i].k == !e->nodes[i].k;
  for (size_t i = 0; i < n; i++) {
    now[i].node = alike ? e->nodes[i].node : NULL;
    if (alike) now[i].on = e->nodes[i].on;
  }
  if (!e->why && !alike) e->why = why ? why : "it was updated, and which of its nodes is which isn't known";
  nodes_free(e->nodes, e->n);
  e->nodes = now;
  e->n = n;
  e->reported = false;
  pthread_mutex_unlock(&lock);
}

// A node of an executable graph was given other parameters.
static void changed(CUgraphExec exec, CUgraphNode node, const struct kernel_node *p, bool extended, CUcontext context) {
  CUfunction f = p->f || !extended ? p->f : p->kernel;
  if (f) kernel_of(f, context); // asks the driver, for which no lock may be held
  pthread_mutex_lock(&lock);
  struct exec *e = exec_of(exec);
  struct node *x = NULL;
  for (size_t i = 0; e && !x && i < e->n; i++)
    if (e->nodes[i].node == node) x = &e->nodes[i];
  if (e) count(e), e->reported = false; // what was launched had the old ones
  const char *why = !x ? "a node of it was changed that is not known" : x->k ? take(x, p, extended, context) : "a node of it has become a kernel";
  if (e && why) {
    if (!e->why) e->why = why;
    if (x) x->on = false; // what it does is not known any more
  }
  pthread_mutex_unlock(&lock);
}

// The program has switched a node on or off.
static void switched(CUgraphExec exec, CUgraphNode node, bool on) {
  pthread_mutex_lock(&lock);
  struct exec *e = exec_of(exec);
  for (size_t i = 0; e && i < e->n; i++)
    if (e->nodes[i].node == node && e->nodes[i].on != on && !e->nodes[i].empty) {
      count(e);
      e->nodes[i].on = on;
    }
  pthread_mutex_unlock(&lock);
}

void on_graph_success(const char *name, const void *params, CUcontext context) {
  if (!observing) return;
  if (strncmp(name, "cuGraphInstantiate", 18) == 0) { // all have these two first
    const struct { CUgraphExec *exec; CUgraph graph; union { uint64_t flags; const uint64_t *params; }; } *p = params; // those begin with the flags
    bool plain = strncmp(name + 18, "WithFlags", 9) == 0, more = strncmp(name + 18, "WithParams", 10) == 0;
    uint64_t flags = plain ? p->flags : more && p->params ? *p->params : 0;
    if (flags & DEVICE_LAUNCH) atomic_store(&from_device, true);
    if (p->exec) instantiated(*p->exec, p->graph, context);
  } else if (strncmp(name, "cuGraphExecUpdate", 17) == 0) {
    const struct { CUgraphExec exec; CUgraph graph; } *p = params;
    updated(p->exec, p->graph, context);
  } else if (strcmp(name, "cuGraphNodeSetEnabled") == 0) {
    const struct { CUgraphExec exec; CUgraphNode node; unsigned on; } *p = params;
    switched(p->exec, p->node, p->on != 0);
  } else if (strncmp(name, "cuGraphExecKernelNodeSetParams", 30) == 0) {
    const struct { CUgraphExec exec; CUgraphNode node; const struct kernel_node *p; } *p = params;
    changed(p->exec, p->node, p->p, strcmp(name + 30, "_v2") == 0, context);
  } else if (strncmp(name, "cuGraphExecNodeSetParams", 24) == 0) { // CUgraphNodeParams: its type, three words, and for a kernel the same as above
    const struct { CUgraphExec exec; CUgraphNode node; const int *p; } *p = params;
    if (p->p && p->p[0] == CU_GRAPH_NODE_TYPE_KERNEL) changed(p->exec, p->node, (const struct kernel_node *)(p->p + 4), true, context);
  } // of copies and memsets nothing is known that could change, and a graph with other nodes is not walked
}

// ---- A launch.

// What the driver has switched off it must switch on again: it is asked more than once.
static bool set(const struct exec *e, size_t i, bool on) {
  bool ok = false;
  for (int tries = on ? 8 : 1; tries > 0 && !ok; tries--) ok = cu.GraphNodeSetEnabled(e->exec, e->nodes[i].node, on) == CUDA_SUCCESS;
  return ok;
}

static bool switch_to(const struct exec *e, size_t from, size_t to, bool on) {
  bool ok = true;
  inside = OURS;
  for (size_t i = from; i < to && (ok || on); i++) // what is to be switched on is, as far as it can be
    if (e->nodes[i].on) ok = set(e, i, on) && ok;
  inside = OUTSIDE;
  return ok;
}

static size_t batches(const struct exec *e) {
  size_t n = 0;
  for (size_t i = 0; i < e->n; i++) n += !e->nodes[i].k && (i == 0 || e->nodes[i - 1].k);
  return n;
}

static bool whole(struct exec *e) { // asks which nodes the program has switched off
  bool ok = true;
  inside = OURS;
  for (size_t i = 0; ok && i < e->n; i++) {
    unsigned on = 1;
    struct node *x = &e->nodes[i];
    if (x->empty) continue;
    ok = cu.GraphNodeGetEnabled(e->exec, x->node, &on) == CUDA_SUCCESS && (!x->k || x->k->f == x->l.f);
    x->on = on != 0;
  }
  inside = OUTSIDE;
  return ok;
}

static bool launch_node(struct node *x, CUstream stream) {
  struct launch l = x->l;
  l.stream = stream;
  on_launch(&l);
  inside = OURS;
  CUresult r = cu.LaunchKernel(l.f, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2], l.dynamic, stream, l.params, NULL);
  inside = OUTSIDE;
  bool ok = r == CUDA_SUCCESS;
  sample_end(ok);
  if (capture_pending()) {
    launch_captured(ok);
    gate_leave(); // the capture's
  }
  return ok;
}

// Waits for the stream. False: it is not at rest in time, or in trouble.
static bool rests(CUstream stream, double seconds) {
  CUresult r;
  inside = OURS;
  for (double end = now() + seconds; (r = cu.StreamQuery(stream)) == CUDA_ERROR_NOT_READY && now() < end;) usleep(50);
  inside = OUTSIDE;
  return r == CUDA_SUCCESS;
}

// Launches all nodes, one by one. With talk held and the gate closed. False: none was launched, and none is switched off.
static bool walk(struct exec *e, CUstream stream) {
  if (!whole(e)) return false;
  if (!switch_to(e, 0, e->n, false)) {
    switch_to(e, 0, e->n, true);
    e->why = "the driver does not switch its nodes off";
    return false;
  }
  size_t i = 0, end, row = 0;
  for (bool ok = true; ok && i < e->n; i = ok ? end : i) {
    end = i + 1;
    if (++row % ROW == 0 && !(ok = rests(stream, ROW_PATIENCE))) break;
    if (e->nodes[i].k) {
      ok = !e->nodes[i].on || launch_node(&e->nodes[i], stream);
      continue;
    }
    while (end < e->n && !e->nodes[end].k) end++;
    ok = switch_to(e, i, end, true);
    inside = OURS;
    ok = ok && cu.GraphLaunch(e->exec, stream) == CUDA_SUCCESS;
    inside = OUTSIDE;
    if (ok && !switch_to(e, i, end, false)) note("a part of a graph could not be switched off, and runs twice");
  }
  if (i < e->n) {
    note("a graph could not be launched node by node from node %zu on", i);
    e->why = "a launch of it by its nodes failed";
  }
  switch_to(e, i, e->n, true);
  return true;
}

static bool due(const struct exec *e) { return !e->why && e->placed && (e->launches & (e->launches - 1)) == 0 && atomic_load(&captures) == 0; }

// Walks where there is time for it. True: the gate is closed, and stays so until the program's launch has returned.
static bool try_walk(struct exec *e, CUstream stream) {
  if (pthread_mutex_trylock(&talk) != 0) return false;
  double start = now();
  if (begun == 0) begun = start;
  if (spent >= ONCE + PART * (start - begun)) {
    pthread_mutex_unlock(&talk);
    return false;
  }
  gate_leave();
  walking = true;
  bool closed = rests(stream, PATIENCE) && gate_close(PATIENCE);
  pthread_mutex_lock(&lock); // other threads could go on until now
  bool still = closed && !e->why && atomic_load(&captures) == 0;
  pthread_mutex_unlock(&lock);
  bool done = still && walk(e, stream);
  walking = false;
  spent += done ? 1e-5 * (double)e->n : now() - start; // launches take 2 to 11 us; captures have limits of their own
  if (done) gate_keep();
  pthread_mutex_unlock(&talk);
  if (closed && !done) gate_open();
  if (!done) gate_enter(); // as any call: another thread's graph may be switched off
  return done;
}

// Notes which stream the graph is launched on. What was walked on another one comes first.
static void place(struct exec *e, CUstream stream) {
  unsigned long long id = 0;
  CUcontext own = NULL, current = NULL;
  inside = OURS;
  bool known = cu.StreamGetId && cu.StreamGetId(stream, &id) == CUDA_SUCCESS,
       here = cu.StreamGetCtx && cu.StreamGetCtx(stream, &own) == CUDA_SUCCESS && cu.CtxGetCurrent(&current) == CUDA_SUCCESS && own == current,
       other = !known || !here || (e->placed && e->stream != id);
  if (other && e->done && cu.StreamWaitEvent(stream, e->done, 0) != CUDA_SUCCESS)
    while (cu.EventQuery(e->done) == CUDA_ERROR_NOT_READY) usleep(50);
  inside = OUTSIDE;
  pthread_mutex_lock(&lock);
  if (other && !e->why) e->why = known && here ? "it is launched on several streams" : "it is launched on a stream that is not known in this context";
  e->placed = true;
  e->stream = id;
  pthread_mutex_unlock(&lock);
}

void on_graph_launch(const CUpti_CallbackData *c, CUstream stream) {
  const cuGraphLaunch_params *p = c->functionParams;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (observing && atomic_load(&captures) > 0) {
    inside = OURS;
    bool known = cu.StreamIsCapturing(stream, &status) == CUDA_SUCCESS;
    inside = OUTSIDE;
    if (!known || status != CU_STREAM_CAPTURE_STATUS_NONE) return; // it becomes a node
  }
  pthread_mutex_lock(&lock);
  struct exec *e = observing ? exec_of(p->hGraph) : NULL;
  pthread_mutex_unlock(&lock);
  if (e && e->off) e->off = !switch_to(e, 0, e->n, true);
  if (e && (!e->why || e->done)) place(e, stream);
  pthread_mutex_lock(&lock);
  if (e && e->off && !e->why) e->why = "the driver does not switch its nodes on";
  if (e && atomic_load(&from_device) && !e->why) e->why = "kernels may launch graphs";
  if (e && e->context != c->context && !e->why) e->why = "it is launched in another context";
  if (e && !e->why && batches(e) > MOST_BATCHES) e->why = "copies and memsets stand between its kernels in more than 16 places";
  if (e) e->launches++;
  bool walks = e && due(e), tells = e && !e->reported && !walks;
  if (tells || walks) e->reported = true;
  if (tells || walks) e->counted++; // by what follows, launch by launch
  pthread_mutex_unlock(&lock);
  if (!e || e->why) atomic_fetch_add(&graph_launches, 1);
  for (size_t i = 0; tells && i < e->n; i++) {
    if (!e->nodes[i].k || !e->nodes[i].on || e->nodes[i].k->f != e->nodes[i].l.f) continue;
    struct launch l = as_counted(e, &e->nodes[i]);
    if (launch_announced(&l)) {
      launch_counted(&l, 1);
      continue;
    }
    l.why = e->why ? e->why : "its nodes were not launched one by one";
    on_launch(&l);
  }
  bool done = walks && try_walk(e, stream);
  if (observing && !walks) summary_offer(c->context);
  if (e && !done && !e->walked) unseen_begin(&e->unseen, e->why, c->context, stream);
  if (!walks) return;
  pthread_mutex_lock(&lock);
  if (done) count(e), e->walked = true; // launches before it had no times
  else e->counted--, e->reported = false;
  pthread_mutex_unlock(&lock);
  if (done) walked = e, at = stream;
}

bool graph_pending(void) { return walked != NULL; }

// The gate is still closed: nobody has seen the graph with its nodes switched off.
void on_graph_launched(void) {
  struct exec *e = walked;
  if (!e) return;
  walked = NULL;
  e->off = !switch_to(e, 0, e->n, true);
  if (e->off && pthread_mutex_trylock(&talk) == 0) {
    note("a graph's nodes could not be switched on again");
    pthread_mutex_unlock(&talk);
  }
  inside = OURS;
  bool done = (e->done || cu.EventCreate(&e->done, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) && cu.EventRecord(e->done, at) == CUDA_SUCCESS;
  inside = OUTSIDE;
  (void)done; // without it the driver's own order remains: this launch, though it had nothing to do, is before the graph's next one
  gate_open();
}
