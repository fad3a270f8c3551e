// A clock that a test can set, put before the system's by LD_PRELOAD: every process started with it adds to the
// time of day, and to the time that has passed, what the file named by TEST_CLOCK says, in seconds. On its main
// thread only, where the program runs: the runtime's other threads wait for moments that the kernel has to know.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct offsets {
  int64_t wall;
  int64_t monotonic;
};

static const struct offsets none;
static const volatile struct offsets *added = &none;

__attribute__((constructor)) static void open_clock(void) {
  const char *name = getenv("TEST_CLOCK");
  int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  void *shared = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
  if (shared != MAP_FAILED) added = shared;
}

static int on_main_thread(void) {
  static __thread int known;
  if (known == 0) known = gettid() == getpid() ? 1 : 2;
  return known == 1;
}

int clock_gettime(clockid_t id, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(id, time);
  if (failed || !on_main_thread()) return failed;
  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) time->tv_sec += added->wall;
  if (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_BOOTTIME) time->tv_sec += added->monotonic;
  return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
  static int (*real)(struct timeval *, void *);
  if (real == NULL) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
  int failed = real(time, zone);
  if (!failed && on_main_thread()) time->tv_sec += added->wall;
  return failed;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
