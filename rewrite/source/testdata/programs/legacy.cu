/* Plain C of long ago, as it stands in many a benchmark: macros that are whole loops, on one line once they are expanded; declarations by comma; typedefs of
   nameless structs; braces left out; a lot of parentheses; trigraph-like strings; octal; the old spelling of everything. */
#include <stdio.h>
#define FOR(i, n) for ((i) = 0; (i) < (n); (i)++)
#define SWAP(a, b) do { float t_ = (a); (a) = (b); (b) = t_; } while (0)
#define IDX(x, y) ((x) + (y) * N)
#define N 16
#define BODY FOR(i, N) { FOR(j, N) { a[IDX(i, j)] = a[IDX(j, i)] * 2; if (i == j) continue; } }
#define KERNEL(name, type) extern "C" __global__ void name(type *a, int n) { int i; for (i = 0; i < n; i++) a[i] += (type)(i); }

typedef struct { int lo, hi; float w; } range_t, *range_p;
typedef unsigned int uint32, *puint32;
typedef enum { RED, GREEN = 010, BLUE } colour;
struct node { struct node *next; int value; };
static const char *banner = "??/ not a \"trigraph\" // nor a comment /* nor this";

KERNEL(add_f, float) KERNEL(add_i, int) KERNEL(add_u, uint32)

static __device__ __inline__ float dot(const float *x, const float *y, int n)
{
  int i; float s = 0.f;
  for (i = 0; i < n; i++) s += x[i] * y[i];
  return (s);
}

extern "C" __global__ void
transpose(float *a, range_t r, colour c, float scale, unsigned char flags)
{
  int i, j;
  BODY
  for (i = r.lo; i < r.hi; ++i)
    for (j = 0; j < i; ++j)
      if (c == GREEN)
        SWAP(a[IDX(i, j)], a[IDX(j, i)]);
      else if (flags & 0x80) a[i] *= scale;
      else
        for (int k = 0; k < 3; k++) a[k] = r.w, a[k + 1] -= 1;
}

__global__ void chase(struct node *p, int *out, short steps)
{
  int n = 0, *q = out, (*f)[4] = 0;
  (void)f; (void)banner;
  while (p) { n += p->value; p = p->next; if (!--steps) break; }
  do { *q++ = n; } while (--n > 0);
  for (;;) { if (n++ > 3) break; }
  switch (n) { case 1: case 2: for (int i = 0; i < n; i++) out[i] = dot((float *)out, (float *)q, i); default: ; }
}

int main(void) { add_f<<<1, 1>>>(0, 1); return 0; }
