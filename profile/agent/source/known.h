// Chunks that a capture of this process has written already.
#ifndef GNVCC_KNOWN_H
#define GNVCC_KNOWN_H
#include <stdbool.h>
#include <stdint.h>

bool known_has(const uint64_t sum[2]); // as hash.cu has it, of a whole chunk
void known_add(const uint64_t sum[2]); // the capture under way has written it
void known_settle(bool whole);         // that capture has ended; unless it is whole, what it wrote is gone
void known_forget(void);               // one of them could not be kept

#endif
