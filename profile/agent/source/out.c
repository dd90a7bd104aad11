// Files of captures (out.h). A capture reads while the program waits, and so memory of the device is copied within it, at 0.5 ms a GB (H200), where
// the way to a file takes 450 to 1,900. The thread here takes the copies out while the program runs on. It runs no code of the program's, takes no lock that others hold for long, and no signal is handled in it.
//
// The device's memory that is used is a quarter of what is free at most, and the program has it back as soon as it asks for memory that would be
// short, or how much there is. Then captures that are not written yet are given up.
#define _GNU_SOURCE
#include "out.h"
#include "hash.h"
#include "known.h"
#include "room.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define IN_MEMORY 0x01021994          // a file system whose files take memory
#define PIECES 4                      // on the host, at a time
#define OPEN 64                       // files
#define SLABS 64
#define SLAB ((uint64_t)64 << 20)     // bytes of one at least
#define SPARE ((uint64_t)64 << 20)    // bytes that stay free when the program allocates
#define PATIENCE 2.0                  // seconds that files are waited for where the program ends, or as many as gnvcc says,
#define PART 0.05                     // or this part of the time since the first one

struct slab { // of the device's memory
  CUdeviceptr p;
  uint64_t size, used;
  unsigned jobs; // that have their bytes in it
  CUcontext context;
};
struct job {
  struct job *next;
  uint8_t *bytes;    // a record, or a piece with data
  struct slab *slab; // or data in it, at
  uint64_t at, n, address;
  bool data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // never held across a call of the driver's
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct out *outs, *done; // the oldest first
static struct slab slabs[SLABS];
static struct { uint8_t *p; bool taken, pinned; } pieces[PIECES + 1]; // the last one is the thread's
static struct descriptor files[OPEN];
static atomic_bool file_open[OPEN], stop, copying, has_slabs; // copying: the thread is in a call of the driver's
static atomic_uint contexts; // that have ended
static struct out *aside_of, *closing; // the thread is at a copy of this one's; completes this one
static bool runs;
static double begun; // the first one
static double patience = PATIENCE;
static CUcontext going; // it ends now, and its memory with it

bool out_give_up(struct out *o, const char *why) {
  const char *none = NULL;
  atomic_compare_exchange_strong(&o->why, &none, why);
  return false;
}

// Waits for the thread, with the lock held.
static void pause_for_thread(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if ((t.tv_nsec += 10000000) >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  pthread_cond_timedwait(&changed, &lock, &t);
}

// ---- Writing, in the thread.

// Nobody's disk is filled, nor the memory that stands for one: less than a twentieth of it stays free, of a large one 4 GiB
// (profile/capture/limits.go has the same).
static bool roomy(struct out *o) {
  struct statfs fs;
  if (fstatfs(o->file.fd, &fs) != 0) return true; // a write will tell
  uint64_t size = (uint64_t)fs.f_bsize, keep = fs.f_blocks * size / 20, most = (uint64_t)4 << 30, left = fs.f_bavail * size;
  if (fs.f_type == IN_MEMORY && room_memory() < left) left = room_memory();
  return left > (keep < most ? keep : most) + PIECE || out_give_up(o, "the disk of the capture's file is nearly full");
}

static bool write_all(struct out *o, const void *p, size_t n) {
  if (o->written + n > o->may.file) return out_give_up(o, "the size limit for captures is reached");
  if (o->written + n > o->longest) return out_give_up(o, "the program may not write files as large as the capture (RLIMIT_FSIZE)");
  for (const uint8_t *b = p; n > 0;) {
    ssize_t k = descriptor_ours(&o->file) ? write(o->file.fd, b, n) : 0;
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return out_give_up(o, "the file of the capture can't be written (is the disk full?)");
    b += k;
    n -= (size_t)k;
    o->written += (size_t)k;
  }
  return true;
}

static bool write_head(struct out *o, uint32_t type, uint64_t length) {
  uint64_t head[2] = {type, length};
  return write_all(o, head, sizeof head);
}

static bool zero(const uint8_t *p, uint64_t n) { return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0); }

bool out_fill(struct out *o, uint64_t n) {
  return atomic_fetch_add(&o->filled, n) + n <= o->may.memory || out_give_up(o, "the launch reaches more memory than a capture may have");
}

static void write_data(struct out *o, uint64_t address, const uint8_t *p, uint64_t n, bool counted) {
  if (!roomy(o)) return; // asked once a piece: it reads files
  for (uint64_t i = 0; i < n; i += HASH_CHUNK) {
    uint64_t k = n - i < HASH_CHUNK ? n - i : HASH_CHUNK, at = address + i;
    if (zero(p + i, k)) continue;
    if ((!counted && !out_fill(o, k)) || !write_head(o, REC_DATA, 8 + k) || !write_all(o, &at, 8) || !write_all(o, p + i, k)) return;
  }
}

// Copies data of a slab to the host and writes it.
static void write_aside(struct out *o, const struct job *j) {
  static CUstream stream;
  static CUcontext current; // of the stream
  static unsigned ended; // contexts, and the stream may have been of one of them
  uint8_t *to = pieces[PIECES].p;
  for (uint64_t at = 0, n; at < j->n && !o->why && !atomic_load(&stop); at += n) {
    n = j->n - at < PIECE ? j->n - at : PIECE;
    atomic_store(&copying, true);
    bool ok = !atomic_load(&stop);
    ok = ok && cu.CtxSetCurrent(o->context) == CUDA_SUCCESS;
    if (ok && !pieces[PIECES].pinned && cu.MemHostRegister) // once, whatever comes of it
      pieces[PIECES].pinned = true, cu.MemHostRegister(to, PIECE, CU_MEMHOSTREGISTER_PORTABLE);
    if (ok && (current != o->context || ended != atomic_load(&contexts))) {
      ended = atomic_load(&contexts);
      ok = cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
      current = ok ? o->context : NULL;
    }
    ok = ok && cu.MemcpyDtoHAsync(to, j->slab->p + j->at + at, n, stream) == CUDA_SUCCESS && cu.StreamSynchronize(stream) == CUDA_SUCCESS;
    atomic_store(&copying, false);
    if (!ok) out_give_up(o, "what a capture had left on the device can't be read");
    else write_data(o, j->address + at, to, n, true);
  }
}

static void work(struct out *o, const struct job *j) {
  if (o->why) return;
  if (j->slab) write_aside(o, j);
  else if (j->data) write_data(o, j->address, j->bytes, j->n, false);
  else write_all(o, j->bytes, j->n);
}

// The next job, with its file: what waits in the host's memory first, which is little. NULL: there is none.
static struct job *take(struct out **of) {
  for (int aside = 0; aside < 2; aside++)
    for (struct out *o = outs; o; o = o->next) {
      struct job **list = aside ? &o->asides : &o->jobs, *j = *list;
      if (!j || (aside && !o->ended)) continue;
      if (!(*list = j->next)) *(aside ? &o->last_aside : &o->last) = list;
      *of = o;
      aside_of = aside ? o : NULL;
      return j;
    }
  return NULL;
}

static void give_back(struct job *j) {
  if (j->slab && --j->slab->jobs == 0) j->slab->used = 0;
  for (int i = 0; i < PIECES; i++)
    if (j->data && pieces[i].p == j->bytes) pieces[i].taken = false;
  if (!j->data) free(j->bytes);
  free(j);
  aside_of = NULL;
  pthread_cond_broadcast(&changed);
}

// Closes a file of which everything is written, or nothing any more.
static void complete(struct out *o) {
  if (!o->why) write_head(o, REC_END, 0);
  if (descriptor_ours(&o->file)) close(o->file.fd);
  if (o->place >= 0) atomic_store(&file_open[o->place], false);
  if (o->why && o->file.fd >= 0) unlink(o->path);
}

static struct out *completed(void) {
  for (struct out **p = &outs; *p; p = &(*p)->next)
    if ((*p)->ended && !(*p)->jobs && !(*p)->asides) {
      struct out *o = *p;
      *p = o->next;
      return o;
    }
  return NULL;
}

static void drop(struct out *o) {
  free(o->path);
  free(o);
}

// gnvcc is gone, or the process is about to be: nobody wants the files. The device's memory is the program's again.
static void abandon(void) {
  for (struct out *o = outs; o; o = o->next) out_give_up(o, "gnvcc is gone");
  for (struct out *o; (o = done); drop(o)) {
    done = o->next;
    unlink(o->path);
  }
}

// Frees the slabs of a context in which nothing is; gone: they went with it. With the lock held but for the driver's calls.
static void free_slabs(CUcontext context, bool gone) {
  bool some = false;
  for (struct slab *s = slabs; s < slabs + SLABS; s++) {
    if (s->p && !s->jobs && s->context == context) {
      CUdeviceptr p = s->p;
      s->p = 0;
      pthread_mutex_unlock(&lock);
      enum inside before = inside;
      inside = OURS;
      if (!gone) cu.MemFree(p);
      inside = before;
      pthread_mutex_lock(&lock);
    }
    some |= s->p != 0;
  }
  atomic_store(&has_slabs, some);
}

// Gives the device's memory back when everything is written: other processes may need it. That waits for the program's work on the device, once.
static void free_all(void) {
  for (struct slab *s = slabs; s < slabs + SLABS; s++) {
    if (!s->p || s->jobs || s->context == going) continue;
    atomic_store(&copying, true);
    free_slabs(s->context, atomic_load(&stop) || cu.CtxSetCurrent(s->context) != CUDA_SUCCESS);
    atomic_store(&copying, false);
  }
}

static void *works(void *unused) {
  (void)unused;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; // another thread's captures of streams are no business of ours
  inside = OURS;
  cu.ThreadExchangeStreamCaptureMode(&mode);
  pthread_mutex_lock(&lock);
  while (!atomic_load(&stop)) {
    struct out *o = NULL;
    struct job *j;
    if (atomic_load(&agent_off)) abandon();
    if (!outs && atomic_load(&has_slabs)) free_all();
    if ((j = take(&o))) {
      pthread_mutex_unlock(&lock);
      work(o, j);
      pthread_mutex_lock(&lock);
      give_back(j);
    } else if ((o = closing = completed())) {
      pthread_mutex_unlock(&lock);
      complete(o);
      pthread_mutex_lock(&lock);
      struct out **end = &done;
      while (*end) end = &(*end)->next;
      o->next = closing = NULL;
      if (o->told) *end = o;
      else drop(o);
      pthread_cond_broadcast(&changed);
    } else {
      struct timespec t;
      clock_gettime(CLOCK_REALTIME, &t);
      t.tv_sec++;
      pthread_cond_timedwait(&changed, &lock, &t);
    }
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static bool begin(void) {
  pthread_t thread;
  sigset_t all, was;
  if (runs) return true;
  if (!(pieces[PIECES].p = malloc(PIECE))) return false;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &was) != 0) return false;
  begun = now();
  runs = pthread_create(&thread, NULL, works, NULL) == 0 && pthread_detach(thread) == 0;
  pthread_sigmask(SIG_SETMASK, &was, NULL);
  return runs;
}

// ---- Captures, in the program's threads.

static void open_file(struct out *o) {
  struct rlimit most;
  o->longest = getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY ? most.rlim_cur : UINT64_MAX;
  for (o->place = OPEN - 1; o->place >= 0 && atomic_load(&file_open[o->place]);) o->place--;
  if (o->place < 0) {
    out_give_up(o, "too many captures are on their way to the disk");
    return;
  }
  int fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  files[o->place] = (struct descriptor){.fd = fd}; // at once: another thread may fork
  atomic_store(&file_open[o->place], true);
  bool open_now = descriptor_begin(&o->file, fd);
  files[o->place] = o->file;
  struct stat st; // between the two another thread may have closed it and got its number
  if (!open_now) out_give_up(o, "can't create the file of the capture");
  else if (lstat(o->path, &st) != 0 || st.st_dev != o->file.device || st.st_ino != o->file.inode) {
    o->file.fd = -1;
    out_give_up(o, "the program closes files that it did not open");
  }
}

struct out *out_open(const char *path, const struct bounds *may, CUcontext context) {
  struct out *o = calloc(1, sizeof *o);
  if (!o || !(o->path = strdup(path)) || !begin()) {
    free(o);
    return NULL;
  }
  o->may = *may;
  o->context = context;
  o->file.fd = o->place = -1;
  o->last = &o->jobs;
  o->last_aside = &o->asides;
  open_file(o);
  pthread_mutex_lock(&lock);
  if (may->patience > patience) patience = may->patience;
  struct out **end = &outs;
  while (*end) end = &(*end)->next;
  *end = o;
  pthread_mutex_unlock(&lock);
  return o;
}

static void add(struct out *o, struct job j) {
  struct job *x = malloc(sizeof *x);
  pthread_mutex_lock(&lock);
  if (x) {
    *x = j;
    struct job ***end = j.slab ? &o->last_aside : &o->last;
    **end = x;
    *end = &x->next;
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  if (!x) out_give_up(o, "out of memory");
}

void out_write(struct out *o, enum record type, struct buffer *b, const void *more, size_t n) {
  uint64_t head[2] = {type, b->n + n};
  uint8_t *all = b->bad ? NULL : malloc(sizeof head + b->n + n);
  if (!all) out_give_up(o, "out of memory");
  else {
    memcpy(all, head, sizeof head);
    if (b->n) memcpy(all + sizeof head, b->p, b->n);
    if (n) memcpy(all + sizeof head + b->n, more, n);
    add(o, (struct job){.bytes = all, .n = sizeof head + b->n + n});
  }
  buffer_free(b);
}

uint8_t *out_piece(double until, bool pinned) {
  int i = 0;
  pthread_mutex_lock(&lock);
  for (;; pause_for_thread()) {
    for (i = 0; i < PIECES && pieces[i].taken;) i++;
    if (i < PIECES || now() > until || atomic_load(&agent_off)) break;
  }
  if (i < PIECES) pieces[i].taken = true;
  pthread_mutex_unlock(&lock);
  if (i == PIECES) return NULL;
  if (!pieces[i].p) pieces[i].p = malloc(PIECE);
  // While pages are pinned the device copies into them by itself; else it is slower.
  if (pinned && pieces[i].p && !pieces[i].pinned && cu.MemHostRegister)
    pieces[i].pinned = cu.MemHostRegister(pieces[i].p, PIECE, CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS;
  if (!pieces[i].p) pieces[i].taken = false;
  return pieces[i].p;
}

void out_data(struct out *o, uint64_t address, uint8_t *piece, uint64_t n) {
  add(o, (struct job){.bytes = piece, .n = n, .address = address, .data = true});
}

// Room for so many bytes, where there is some, with the lock held but for calls of the driver's.
static struct slab *room(uint64_t n, CUcontext context) {
  struct slab *s = slabs, *end = slabs + SLABS;
  while (s < end && (!s->p || s->context != context || s->size - s->used < n)) s++;
  if (s < end) return s;
  uint64_t ours = 0, size = n < SLAB ? SLAB : n;
  size_t left = 0, total = 0;
  for (s = slabs; s < end; s++) ours += s->p ? s->size : 0;
  for (s = slabs; s < end && s->p;) s++;
  if (s == end || !cu.CtxSetCurrent || !cu.StreamCreate || !cu.MemcpyDtoHAsync) return NULL;
  pthread_mutex_unlock(&lock);
  CUdeviceptr p = 0;
  bool ok = cu.MemGetInfo(&left, &total) == CUDA_SUCCESS && ours + size <= (left + ours) / 4 && cu.MemAlloc(&p, size) == CUDA_SUCCESS;
  pthread_mutex_lock(&lock);
  if (!ok) return NULL;
  *s = (struct slab){.p = p, .size = size, .context = context};
  atomic_store(&has_slabs, true);
  return s;
}

bool out_aside(struct out *o, uint64_t address, uint64_t from, uint64_t n, CUstream stream) {
  pthread_mutex_lock(&lock);
  struct slab *s = room(n, o->context);
  uint64_t at = s ? s->used : 0;
  if (s) s->used += n, s->jobs++;
  pthread_mutex_unlock(&lock);
  if (!s) return false;
  if (cu.MemcpyDtoDAsync(s->p + at, from, n, stream) != CUDA_SUCCESS) out_give_up(o, "memory that the launch reaches can't be copied");
  if (out_fill(o, n) && atomic_load(&o->filled) > o->may.file) out_give_up(o, "the size limit for captures is reached");
  add(o, (struct job){.slab = s, .at = at, .n = n, .address = address});
  return true;
}

void out_end(struct out *o, bool told) {
  pthread_mutex_lock(&lock);
  o->told = told;
  o->ended = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

void outs_report(void) {
  for (struct out *o;;) {
    pthread_mutex_lock(&lock);
    if ((o = done)) done = o->next;
    pthread_mutex_unlock(&lock);
    if (!o) return;
    struct buffer b = {0};
    put_str(&b, o->path);
    put_str(&b, o->why);
    put_u64(&b, o->written);
    if (!frame_send(FRAME_WRITTEN, &b) && !o->why) unlink(o->path);
    if (o->why) known_forget(); // later captures named what is not there
    buffer_free(&b);
    drop(o);
  }
}

// Gives up what is kept on a device, of one context or (NULL) all, and waits until nothing of it is in use: that the thread has done with its piece.
static void drop_asides(CUcontext context, const char *why) {
  double until = now() + 1;
  for (struct out *o = outs; o; o = o->next)
    if ((o->asides || o == aside_of) && (!context || o->context == context)) out_give_up(o, why);
  for (struct slab *s = slabs; s < slabs + SLABS;)
    if (s->p && s->jobs && (!context || s->context == context) && now() < until) pause_for_thread();
    else s++;
}

void outs_yield(uint64_t bytes) {
  CUcontext context = NULL;
  size_t left = 0, total = 0;
  enum inside before = inside;
  if (!atomic_load(&has_slabs)) return;
  inside = OURS;
  bool enough = cu.CtxGetCurrent(&context) != CUDA_SUCCESS || (bytes < UINT64_MAX - SPARE && cu.MemGetInfo(&left, &total) == CUDA_SUCCESS && left > bytes + SPARE);
  inside = before;
  if (enough) return;
  pthread_mutex_lock(&lock);
  drop_asides(NULL, "the program needed the memory of the device in which it was kept");
  free_slabs(context, false);
  pthread_mutex_unlock(&lock);
}

void outs_context_gone(CUcontext context) {
  if (!atomic_load(&has_slabs)) return;
  pthread_mutex_lock(&lock);
  going = context;
  drop_asides(context, "its context ended before it was written");
  free_slabs(context, true);
  going = NULL;
  atomic_fetch_add(&contexts, 1);
  pthread_mutex_unlock(&lock);
}

void outs_flush(void) {
  static double waited; // at all ends together
  if (!runs) return;
  pthread_mutex_lock(&lock);
  double from = now(), part = PART * (from - begun), most = part > patience ? part : patience;
  while ((outs || closing || atomic_load(&has_slabs)) && now() - from < most - waited && !atomic_load(&agent_off)) pause_for_thread();
  waited += now() - from;
  pthread_mutex_unlock(&lock);
}

// Whether a call of the thread's is under way is waited for: the driver goes as soon as the process does.
void outs_leave(void) {
  atomic_store(&stop, true);
  for (int i = 0; i < 1000 && atomic_load(&copying); i++) usleep(1000);
}

void outs_finish(void) {
  if (!runs) return;
  outs_flush();
  pthread_mutex_lock(&lock);
  for (struct out *o = outs; o; o = o->next) out_give_up(o, "the program ended before it was written");
  for (double until = now() + 0.5; (outs || closing) && now() < until;) pause_for_thread();
  pthread_mutex_unlock(&lock);
  outs_report();
  outs_leave();
}

void outs_forked(void) {
  for (int i = 0; i < OPEN; i++)
    if (atomic_load(&file_open[i]) && ((files[i].fd >= 0 && !files[i].inode) || descriptor_ours(&files[i]))) close(files[i].fd);
}
