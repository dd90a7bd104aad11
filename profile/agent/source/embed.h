// EMBED(name, "file"): a file of the source folder as text with a zero at its end.
#ifndef GNVCC_EMBED_H
#define GNVCC_EMBED_H

#define EMBED(name, file) \
  __asm__(".section .rodata\n" \
          ".global " #name "\n" \
          ".hidden " #name "\n" \
          #name ":\n" \
          ".incbin \"" file "\"\n" \
          ".byte 0\n" \
          ".previous\n"); \
  extern const char name[]

#endif
