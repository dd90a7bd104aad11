// Other numbers for a check: what a compiler may have taken for granted of the captured ones shows on these.
#ifndef GNVCC_VARY_H
#define GNVCC_VARY_H
#include <stdbool.h>
#include <stdint.h>

// Each gives n numbers at p other values: the same ones for the same variation (1, 2, ...) and seed.
void vary_floats(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed);
void vary_doubles(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed);
void vary_halves(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed);
void vary_bfloat16s(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed);
void vary_bytes(uint8_t *p, uint64_t n, unsigned variation, uint64_t seed); // any bytes
void vary_near(uint8_t *p, uint64_t n, bool wide, unsigned variation, uint64_t seed); // other low bits: what is cut to an integer stays that one
void vary_integers(uint8_t *p, uint64_t n, unsigned size, unsigned variation, uint64_t seed); // small ones; those of WIDE are large
// Another number in an argument's place, in every second variation: a compiler may have been told the one that was there.
void vary_scalar(uint8_t *p, bool wide, unsigned variation, uint64_t seed);
bool vary_turns(unsigned variation); // it only gives numbers other places

#endif
