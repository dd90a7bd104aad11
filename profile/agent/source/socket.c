// Frames to and from gnvcc: u32 length of what follows the head, u16 type, u16 zero, then the fields, all little endian
// (the agent runs on little-endian machines only, as CUDA does). Strings and bytes have a u32 length in front.
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the protocol is little endian"
#endif

static struct descriptor is = {.fd = -1};

bool descriptor_ours(const struct descriptor *d) {
  struct stat st;
  return d->fd >= 0 && fstat(d->fd, &st) == 0 && st.st_dev == d->device && st.st_ino == d->inode;
}

bool descriptor_begin(struct descriptor *d, int fd) {
  struct stat st;
  d->fd = fd;
  if (fd < 0 || fstat(fd, &st) != 0) return false;
  d->device = st.st_dev;
  d->inode = st.st_ino;
  return true;
}

bool socket_open(const char *path) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof a.sun_path) return false;
  strcpy(a.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  while (connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
    if (errno != EINTR) {
      close(fd);
      return false;
    }
  return descriptor_begin(&is, fd);
}

// The descriptor stays open until the process ends: another thread may be about to use its number.
void socket_close(void) {
  atomic_store(&agent_off, true);
  if (descriptor_ours(&is)) shutdown(is.fd, SHUT_RDWR);
}

void socket_forked(void) {
  if (descriptor_ours(&is)) close(is.fd);
  is.fd = -1;
}

// Both give false where gnvcc is gone; the agent is off then. A signal handler of the application's may interrupt us.
static bool send_all(const void *p, size_t n) {
  for (const uint8_t *c = p; n > 0;) {
    ssize_t k = descriptor_ours(&is) ? send(is.fd, c, n, MSG_NOSIGNAL) : 0;
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      socket_close();
      return false;
    }
    c += k;
    n -= (size_t)k;
  }
  return true;
}

static bool receive_all(void *p, size_t n) {
  for (uint8_t *c = p; n > 0;) {
    ssize_t k = descriptor_ours(&is) ? recv(is.fd, c, n, 0) : 0;
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      socket_close();
      return false;
    }
    c += k;
    n -= (size_t)k;
  }
  return true;
}

bool frame_send(enum frame type, const struct buffer *b) {
  if (atomic_load(&agent_off)) return false;
  if (b && (b->bad || b->n > UINT32_MAX)) { // memory ran out while it was put together
    socket_close();
    return false;
  }
  uint8_t head[8] = {0};
  uint32_t n = b ? (uint32_t)b->n : 0;
  uint16_t t = (uint16_t)type;
  memcpy(head, &n, 4);
  memcpy(head + 4, &t, 2);
  return send_all(head, sizeof head) && (n == 0 || send_all(b->p, n));
}

static bool buffer_room(struct buffer *b, size_t n) {
  if (b->bad) return false;
  if (b->n + n <= b->cap) return true;
  size_t cap = b->cap ? b->cap : 256;
  while (cap < b->n + n) cap *= 2;
  uint8_t *p = realloc(b->p, cap);
  if (!p) {
    b->bad = true;
    return false;
  }
  b->p = p;
  b->cap = cap;
  return true;
}

int frame_receive(struct buffer *b) {
  uint8_t head[8];
  if (atomic_load(&agent_off) || !receive_all(head, sizeof head)) return -1;
  uint32_t n;
  uint16_t type;
  memcpy(&n, head, 4);
  memcpy(&type, head + 4, 2);
  b->n = b->at = 0;
  b->bad = false;
  if (n > (64u << 20) || !buffer_room(b, n + 1)) { // gnvcc's frames are small
    socket_close();
    return -1;
  }
  if (n > 0 && !receive_all(b->p, n)) return -1;
  b->n = n;
  return type;
}

static void put(struct buffer *b, const void *p, size_t n) {
  if (n == 0 || !buffer_room(b, n)) return;
  memcpy(b->p + b->n, p, n);
  b->n += n;
}
void put_u8(struct buffer *b, uint8_t v) { put(b, &v, 1); }
void put_u32(struct buffer *b, uint32_t v) { put(b, &v, 4); }
void put_u64(struct buffer *b, uint64_t v) { put(b, &v, 8); }
void put_f64(struct buffer *b, double v) { put(b, &v, 8); }
void put_raw(struct buffer *b, const struct buffer *more) {
  b->bad |= more->bad;
  put(b, more->p, more->n);
}
void put_bytes(struct buffer *b, const void *p, size_t n) {
  put_u32(b, (uint32_t)n);
  put(b, p, n);
}
void put_str(struct buffer *b, const char *s) { put_bytes(b, s ? s : "", s ? strlen(s) : 0); }

static void get(struct buffer *b, void *p, size_t n) {
  if (b->bad || b->n - b->at < n) {
    b->bad = true;
    memset(p, 0, n);
    return;
  }
  memcpy(p, b->p + b->at, n);
  b->at += n;
}
uint8_t get_u8(struct buffer *b) {
  uint8_t v;
  get(b, &v, 1);
  return v;
}
uint32_t get_u32(struct buffer *b) {
  uint32_t v;
  get(b, &v, 4);
  return v;
}
uint64_t get_u64(struct buffer *b) {
  uint64_t v;
  get(b, &v, 8);
  return v;
}
double get_f64(struct buffer *b) {
  double v;
  get(b, &v, 8);
  return v;
}
const uint8_t *get_bytes(struct buffer *b, size_t *n) {
  *n = get_u32(b);
  if (b->bad || b->n - b->at < *n) {
    b->bad = true;
    *n = 0;
  }
  const uint8_t *p = b->p + b->at;
  b->at += *n;
  return p;
}
char *get_str(struct buffer *b) {
  uint32_t n = get_u32(b);
  if (b->bad || b->n - b->at < n) {
    b->bad = true;
    n = 0;
  }
  char *s = malloc((size_t)n + 1);
  if (!s) {
    b->bad = true;
    return NULL;
  }
  memcpy(s, b->p + b->at, n);
  s[n] = 0;
  b->at += n;
  return s;
}
void buffer_free(struct buffer *b) {
  free(b->p);
  *b = (struct buffer){0};
}
