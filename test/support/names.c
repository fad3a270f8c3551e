// A name server of the test's own, put before the system's by LD_PRELOAD: whoever reads /etc/resolv.conf reads the
// file named by TEST_NAME_SERVERS, and the C library's own look-up of a name that ends with .silent.test takes as
// long as one takes whose name servers do not answer.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SILENT_SECONDS 30

static const char *led(const char *path) {
  const char *own = getenv("TEST_NAME_SERVERS");
  return own != NULL && path != NULL && strcmp(path, "/etc/resolv.conf") == 0 ? own : path;
}

FILE *fopen(const char *path, const char *mode) {
  static FILE *(*real)(const char *, const char *);
  if (real == NULL) real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
  return real(led(path), mode);
}

FILE *fopen64(const char *path, const char *mode) {
  static FILE *(*real)(const char *, const char *);
  if (real == NULL) real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen64");
  return real(led(path), mode);
}

static int is_silent(const char *name) {
  static const char end[] = ".silent.test";
  size_t length = name == NULL ? 0 : strlen(name);
  return length > sizeof end && strcmp(name + length - (sizeof end - 1), end) == 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (real == NULL)
    real = (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
  if (!is_silent(name)) return real(name, service, hints, found);
  sleep(SILENT_SECONDS);
  return EAI_AGAIN;
}
