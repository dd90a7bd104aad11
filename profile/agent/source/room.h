// How much of the host's memory can be taken: what the operating system can give without swapping, and what the control groups of this process
// leave, each of those above it, too (a batch system ends a job that takes more). profile/capture/limits.go has the same.
#ifndef GNVCC_ROOM_H
#define GNVCC_ROOM_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The number behind a name, at the begin of a line; 0: there is none.
static inline uint64_t room_number(const char *path, const char *name) {
  char line[512];
  unsigned long long n = 0;
  FILE *f = fopen(path, "re");
  while (f && !n && fgets(line, sizeof line, f))
    if (strncmp(line, name, strlen(name)) == 0) sscanf(line + strlen(name), "%llu", &n);
  if (f) fclose(f);
  return n;
}

// What the groups that a file lists leave.
static inline uint64_t room_allowed(const char *list, const char *root) {
  static const char *const names[2][3] = {{"memory.max", "memory.current", "inactive_file "}, {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "}};
  uint64_t least = UINT64_MAX;
  char line[4096], path[8400];
  FILE *f = fopen(list, "re");
  while (f && fgets(line, sizeof line, f)) {
    char *kind = strchr(line, ':'), *group = kind ? strchr(kind + 1, ':') : NULL;
    if (!group) continue;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    bool old = strcmp(kind + 1, "memory") == 0;
    if (!old && kind[1]) continue;
    for (char *end = group + strlen(group);; *end = 0) {
      uint64_t n[3];
      for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s%s/%s", root, old ? "/memory" : "", group, i < 2 ? names[old][i] : "memory.stat");
        n[i] = room_number(path, i < 2 ? "" : names[old][i]);
      }
      uint64_t used = n[1] > n[2] ? n[1] - n[2] : 0, left = n[0] > used ? n[0] - used : 0;
      if (n[0] && left < least) least = left;
      if (!*group || !(end = strrchr(group, '/'))) break;
    }
  }
  if (f) fclose(f);
  return least;
}

static inline uint64_t room_memory(void) {
  uint64_t left = room_number("/proc/meminfo", "MemAvailable:") * 1024, allowed = room_allowed("/proc/self/cgroup", "/sys/fs/cgroup");
  return left < allowed ? left : allowed;
}

#endif
