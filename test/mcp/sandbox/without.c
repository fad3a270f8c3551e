/* Runs a program on a kernel that lacks something: `without <error> <call>[,<call>…] [as <user>] <program> …` has these system
 * calls, by their numbers, return the error. The call `listener` is seccomp with a listener. This is what a container, a
 * list of systemd or an older kernel does to a program. */
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(what) (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, what)
#define UNLESS(number, skip) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, skip)

int main(int count, char **args) {
  struct sock_filter rules[4096];
  unsigned short used = 0;
  unsigned error = atoi(args[1]);
  int at = 3;
  if (count < 4) return 255;
  for (char *call = strtok(args[2], ","); call != NULL && used < 4000; call = strtok(NULL, ",")) {
    rules[used++] = LOAD(nr);
    if (strcmp(call, "listener") == 0) {
      rules[used++] = UNLESS(SYS_seccomp, 4);
      rules[used++] = LOAD(args[1]);
      rules[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1);
    } else {
      rules[used++] = UNLESS(atoi(call), 1);
    }
    rules[used++] = RETURN(SECCOMP_RET_ERRNO | error);
    if (strcmp(call, "listener") == 0) rules[used++] = RETURN(SECCOMP_RET_ALLOW);
  }
  rules[used++] = RETURN(SECCOMP_RET_ALLOW);
  if (strcmp(args[at], "as") == 0) {
    gid_t user = atoi(args[at + 1]);
    if (setgroups(0, NULL) < 0 || setgid(user) < 0 || setuid(user) < 0) return perror("setuid"), 255;
    at += 2;
  }
  struct sock_fprog program = {used, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
    return perror("seccomp"), 255;
  execvp(args[at], args + at);
  return perror(args[at]), 255;
}
