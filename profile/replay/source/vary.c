// The kinds of policy/check. Random numbers have full mantissas, since small integers hide which products were contracted into sums. NaN and infinities come last: loops that run to
// convergence may not end on them.
#include "vary.h"
#include <string.h>

enum kind { PLAIN, TURNED, WIDE, ZEROS, CANCELLING, TINY, FEW, SOME, INFINITE, NOT_A_NUMBER, KINDS };

#define FAST static inline __attribute__((always_inline)) // one copy for each format: this is most of a variation's time

FAST uint64_t mix(uint64_t *state) { // splitmix64
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

// How a format's bits are laid out.
struct format {
  unsigned bits, mantissa;
  uint64_t bias, top; // of the exponent; its largest value
  unsigned wide, tiny; // magnitudes of WIDE: 2^-wide to 2^wide; of TINY: around 2^-tiny, whose products are subnormal
};
static const struct format f32 = {32, 23, 127, 255, 20, 66}, f64 = {64, 52, 1023, 2047, 60, 520}, f16 = {16, 10, 15, 31, 4, 7}, bf16 = {16, 7, 127, 255, 20, 66};

FAST uint64_t number(const struct format *f, enum kind kind, uint64_t r, uint64_t x, uint64_t before) {
  uint64_t sign = (r & 1) << (f->bits - 1), mantissa = x & (((uint64_t)1 << f->mantissa) - 1), e = f->bias - (r >> 1 & 1);
  unsigned pick = (unsigned)(r >> 8);
  switch (kind) {
  case WIDE: e = f->bias - f->wide + pick % (2 * f->wide + 1); break;
  case ZEROS:
    if (pick & 1) return sign;
    break;
  case CANCELLING:
    if (pick & 1) return (before ^ (uint64_t)1 << (f->bits - 1)) ^ (pick >> 1 & 1);
    break;
  case TINY:
    e = pick % 8 == 0 ? 0 : f->bias - f->tiny - pick % 8;
    break;
  case FEW: case SOME: { // from 0 to 1 in steps of an eighth, of a 64th: equal ones
    unsigned steps = kind == FEW ? 8 : 64;
    double d = (double)(pick % (steps + 1)) / steps;
    uint64_t v;
    memcpy(&v, &d, sizeof d); // exact in all formats
    return v == 0 ? 0 : ((v >> f64.mantissa) - f64.bias + f->bias) << f->mantissa | (v << 12) >> (64 - f->mantissa);
  }
  case INFINITE:
    if (pick % 64 == 0) return sign | f->top << f->mantissa;
    break;
  case NOT_A_NUMBER: // one pattern: which of two comes out of an addition, nobody promises
    if (pick % 64 == 0) return f == &f64 ? 0x7ff8000000000000ull : ((uint64_t)1 << (f->bits - 1)) - 1;
    break;
  default: break;
  }
  return sign | e << f->mantissa | mantissa;
}

// What was there, each number in another's place.
FAST void turn(uint8_t *p, uint64_t n, unsigned size, uint64_t *state) {
  for (uint64_t i = n; i > 1; i--) {
    uint64_t a = 0, b = 0, j = (uint64_t)((unsigned __int128)mix(state) * i >> 64);
    memcpy(&a, p + (i - 1) * size, size);
    memcpy(&b, p + j * size, size);
    memcpy(p + (i - 1) * size, &b, size);
    memcpy(p + j * size, &a, size);
  }
}

FAST void vary(const struct format *f, uint8_t *p, uint64_t n, unsigned variation, uint64_t seed) {
  enum kind kind = (enum kind)((variation - 1) % KINDS);
  unsigned size = f->bits / 8;
  uint64_t state = seed * 0x9e3779b97f4a7c15ull ^ variation, before = 0;
  if (kind == TURNED) {
    turn(p, n, size, &state);
    return;
  }
  for (uint64_t i = 0; i < n; i++) {
    uint64_t r = mix(&state), v = number(f, kind, r, mix(&state), before);
    before = v;
    memcpy(p + i * size, &v, size);
  }
}

void vary_floats(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed) { vary(&f32, p, n, variation, seed); }
void vary_doubles(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed) { vary(&f64, p, n, variation, seed); }
void vary_halves(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed) { vary(&f16, p, n, variation, seed); }
void vary_bfloat16s(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed) { vary(&bf16, p, n, variation, seed); }

void vary_bytes(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15ull ^ variation;
  for (uint64_t i = 0; i < n; i += 8) {
    uint64_t v = mix(&state);
    memcpy(p + i, &v, n - i < 8 ? n - i : 8);
  }
}

void vary_near(uint8_t *p, uint64_t n, bool wide, unsigned variation, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15ull ^ variation;
  unsigned size = wide ? 8 : 4;
  if (vary_turns(variation)) {
    turn(p, n, size, &state);
    return;
  }
  const struct format *f = wide ? &f64 : &f32;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t v = 0, e;
    memcpy(&v, p + i * size, size);
    e = v >> f->mantissa & f->top;
    if (e != 0 && e != f->top) v ^= mix(&state) & (wide ? 0xfffffull : 0xff);
    memcpy(p + i * size, &v, size);
  }
}

void vary_integers(uint8_t *p, uint64_t n, unsigned size, unsigned variation, uint64_t seed) {
  static const uint32_t below[KINDS] = {[PLAIN] = 16, [WIDE] = 1 << 20, [ZEROS] = 2, [CANCELLING] = 8, [TINY] = 3, [FEW] = 9, [SOME] = 65, [INFINITE] = 1024, [NOT_A_NUMBER] = 256};
  uint64_t state = seed * 0x9e3779b97f4a7c15ull ^ variation;
  enum kind kind = (enum kind)((variation - 1) % KINDS);
  if (kind == TURNED) {
    turn(p, n, size, &state);
    return;
  }
  for (uint64_t i = 0; i < n; i++) {
    uint64_t r = mix(&state);
    uint32_t v = (uint32_t)(r >> 8) % below[kind];
    if (kind == CANCELLING && (r & 1)) v = -v;
    memcpy(p + i * size, &v, size);
  }
}

// Its own sign and magnitude with a full mantissa: what is no number stays. With WIDE alone it gets another magnitude, at most eight times as much or as
// little, and zero, which hides what it is multiplied with, becomes a number.
void vary_scalar(uint8_t *p, bool wide, unsigned variation, uint64_t seed) {
  const struct format *f = wide ? &f64 : &f32;
  uint64_t state = seed * 0x9e3779b97f4a7c15ull ^ variation, v = 0, all = ((uint64_t)1 << f->mantissa) - 1, r = mix(&state);
  bool far = (variation - 1) % KINDS == WIDE;
  memcpy(&v, p, wide ? 8 : 4);
  uint64_t e = v >> f->mantissa & f->top;
  if (v << (wide ? 1 : 33) == 0 && far) v = f->bias << f->mantissa;
  else if ((variation % 2 != 0 && !far) || e == 0 || e == f->top) return;
  else if (far && e > 3 && e + 3 < f->top) v += ((uint64_t)(r % 7) - 3) << f->mantissa;
  v = (v & ~all) | (mix(&state) & all);
  memcpy(p, &v, wide ? 8 : 4);
}

bool vary_turns(unsigned variation) { return (variation - 1) % KINDS == TURNED; }
