// class: a program that closes every file that it did not open, and opens others at their numbers
#include "common.h"
#include <fcntl.h>
#include <sys/stat.h>
static int first = 3, kept[24];
static bool intact() { // nothing but ours was written to our files
  for (int fd : kept) {
    char b[16] = "";
    struct stat s;
    if (fstat(fd, &s) || s.st_size != 4 || pread(fd, b, 4, 0) != 4 || memcmp(b, "ours", 4)) return false;
  }
  return true;
}
int main() {
  std::vector<char> open_now(256);
  for (int fd = first; fd < 256; fd++) open_now[fd] = fcntl(fd, F_GETFD) >= 0;
  for (int fd = first; fd < 256; fd++)
    if (open_now[fd]) close(fd); // what its parent left open
  for (int &fd : kept) {
    char path[] = "/tmp/harmXXXXXX";
    fd = mkstemp(path);
    unlink(path);
    if (write(fd, "ours", 4) != 4) return 9;
  }
  Data d;
  for (int t = 0; t < 30; t++) d.step(t);
  bool good = d.right();
  return verdict(good && intact(), "a file of the program's was written to");
}
