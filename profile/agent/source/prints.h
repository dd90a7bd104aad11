// Where the output of kernels (printf) goes in a replay: into a file that has no name, and not to the terminal of who started gnvcc. The
// messages of a failed assert, which the driver writes to stderr, go nowhere.
#ifndef GNVCC_PRINTS_H
#define GNVCC_PRINTS_H
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRINTS "GNVCC_REPLAY_PRINTS" // the file's inode: by that the agent knows that the output is its own to read

static inline bool prints_keep(void) {
  FILE *f = tmpfile();
  struct stat st;
  char inode[32];
  if (!f || fstat(fileno(f), &st) != 0 || dup2(fileno(f), 1) != 1 || fclose(f) != 0 || !freopen("/dev/null", "w", stderr)) return false;
  snprintf(inode, sizeof inode, "%llu", (unsigned long long)st.st_ino);
  return setenv(PRINTS, inode, 1) == 0;
}

#endif
