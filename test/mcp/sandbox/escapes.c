/* What a confined command may try, one attempt for each name. Exits with 0 if the attempt succeeded, and else with the
 * number of the error. `many <attempt> … -- <attempt> …` makes each in a child process and prints its result. `serve` is
 * a process of the same user that the attempts aim at. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static int over(int result) { return result < 0 ? errno : 0; }

static int read_file(const char *path) {
  char byte;
  int file = open(path, O_RDONLY);
  if (file < 0) return errno;
  return over(read(file, &byte, 1));
}

static int write_file(const char *path, int flags) {
  int file = open(path, O_WRONLY | flags, 0600);
  if (file < 0) return errno;
  return over(write(file, "x", 1));
}

static int in_address(int type, int port, int binds) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int s = socket(AF_INET, type, 0);
  if (s < 0) return errno;
  if (binds) return over(bind(s, (struct sockaddr *)&address, sizeof address));
  if (connect(s, (struct sockaddr *)&address, sizeof address) < 0) return errno;
  return over(send(s, "x", 1, MSG_NOSIGNAL));
}

/* Sends with the first packet, without a call of connect(). */
static int fast_open(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  if (s < 0) return errno;
  return over(sendto(s, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address, sizeof address));
}

static socklen_t unix_address(struct sockaddr_un *address, const char *name, int abstract) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  strncpy(address->sun_path + abstract, name, sizeof address->sun_path - 2);
  return sizeof(sa_family_t) + abstract + strlen(name) + !abstract;
}

static int unix_stream(const char *name, int abstract) {
  struct sockaddr_un address;
  socklen_t length = unix_address(&address, name, abstract);
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  if (s < 0) return errno;
  return over(connect(s, (struct sockaddr *)&address, length));
}

/* One end of a pair of datagram sockets can be connected anew, without a call of socket(). */
static int pair_reconnected(const char *name, int type) {
  struct sockaddr_un address;
  socklen_t length = unix_address(&address, name, 0);
  int pair[2];
  if (socketpair(AF_UNIX, type, 0, pair) < 0) return errno;
  return over(connect(pair[0], (struct sockaddr *)&address, length));
}

/* It can also send to any address, without being connected to it. */
static int pair_sends(const char *name) {
  struct sockaddr_un address;
  socklen_t length = unix_address(&address, name, 0);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0) return errno;
  return over(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&address, length));
}

static int pair_works(void) {
  int pair[2];
  char byte;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) return errno;
  if (write(pair[0], "x", 1) < 0) return errno;
  return over(read(pair[1], &byte, 1));
}

static int processes_started(int count) {
  int made = 0, error = 0;
  for (; made < count; made++) {
    pid_t child = fork();
    if (child < 0) {
      error = errno;
      break;
    }
    if (child == 0) {
      pause();
      _exit(0);
    }
  }
  printf("%d\n", made);
  fflush(stdout);
  return error;
}

static void *waits(void *nothing) {
  pause();
  return nothing;
}

static int threads_started(int count) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  for (int made = 0; made < count; made++) {
    pthread_t thread;
    int error = pthread_create(&thread, &small, waits, NULL);
    if (error != 0) return error;
  }
  return 0;
}

static int sequential(int count) {
  for (int made = 0; made < count; made++) {
    pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
  }
  return 0;
}

/* A system call by its 32-bit number: 20 is getpid. */
static int call32(void) {
#ifdef __x86_64__
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
  return result < 0 ? -(int)result : 0;
#else
  return ENOSYS;
#endif
}

static int descriptors(void) {
  int open_ones = 0;
  for (int each = 3; each < 4096; each++)
    if (fcntl(each, F_GETFD) >= 0) open_ones++;
  return open_ones == 0 ? EBADF : 0;
}

static int escaped_child(const char *file) {
  if (fork() > 0) return 0;
  setsid();
  if (fork() > 0) _exit(0);
  FILE *note = fopen(file, "w");
  fprintf(note, "%d", getpid());
  fclose(note);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  for (;;) pause();
}

static void bomb(const char *file) {
  FILE *note = fopen(file, "w");
  fprintf(note, "%d", getpid());
  fclose(note);
  for (;;) {
    fork();
    setsid();
  }
}

/* Has the kernel send a signal when something can be read. */
static int signal_by_file(pid_t pid) {
  int ends[2];
  if (pipe(ends) < 0 || fcntl(ends[0], F_SETOWN, pid) < 0 || fcntl(ends[0], F_SETFL, O_ASYNC) < 0) return errno;
  return over(write(ends[1], "x", 1));
}

/* Runs a program that is in no folder. */
static int run_from_memory(const char *program, char **args) {
  char bytes[65536];
  int from = open(program, O_RDONLY), to = syscall(SYS_memfd_create, "program", 0);
  if (from < 0 || to < 0) return errno;
  for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0;)
    if (write(to, bytes, got) != got) return errno;
  fexecve(to, args, environ);
  return errno;
}

static int mapped(size_t bytes, int flags) {
  char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return errno;
  memset(at + bytes - 4096, 1, 4096);
  return 0;
}

static int mapped_later(size_t bytes) {
  char *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? errno : over(mprotect(at, bytes, PROT_READ | PROT_WRITE));
}

/* The stack of the first thread grows as far as its limit, which a process may raise for itself. */
static int stack(size_t size) {
  struct rlimit both = {size, size};
  return over(setrlimit(RLIMIT_STACK, &both));
}

/* A page of the stack that is moved and made larger counts as stack. */
static int stack_moved(size_t size) {
  char here;
  char *page = (char *)((unsigned long)&here & ~4095UL) - 65536;
  *(volatile char *)page = 1;
  return mremap(page, 4096, size, MREMAP_MAYMOVE) == MAP_FAILED ? errno : 0;
}

static int in_memory_file(size_t bytes) {
  int file = syscall(SYS_memfd_create, "memory", 0);
  return file < 0 ? errno : over(ftruncate(file, bytes));
}

static int in_segment(size_t bytes) {
  int id = shmget(IPC_PRIVATE, bytes, 0600);
  return id < 0 ? errno : over(shmctl(id, IPC_RMID, NULL));
}

static int traced(pid_t pid) {
  if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0) return errno;
  waitpid(pid, NULL, 0);
  ptrace(PTRACE_DETACH, pid, NULL, NULL);
  return 0;
}

static int priority_of_user(void) { return over(setpriority(PRIO_USER, 0, 1)); }

static int attempt(char **args) {
  const char *name = args[0], *first = args[1] ? args[1] : "", *second = first[0] && args[2] ? args[2] : "";
  pid_t pid = atoi(first);
  struct rlimit limit;
  char byte;
  struct iovec ours = {&byte, 1}, theirs = {(void *)&byte, 1};
#define IS(text) (strcmp(name, text) == 0)
  if (IS("read")) return read_file(first);
  if (IS("open")) return over(open(first, O_RDONLY));
  if (IS("list")) return over(open(first, O_RDONLY | O_DIRECTORY));
  if (IS("write")) return write_file(first, 0);
  if (IS("create")) return write_file(first, O_CREAT | O_EXCL);
  if (IS("truncate")) return over(truncate(first, 0));
  if (IS("truncate-open")) return over(open(first, O_WRONLY | O_TRUNC));
  if (IS("rename")) return over(rename(first, second));
  if (IS("link")) return over(link(first, second));
  if (IS("mkdir")) return over(mkdir(first, 0700));
  if (IS("unlink")) return over(unlink(first));
  if (IS("mknod")) return over(mknod(first, S_IFBLK | 0600, 0x800));
  if (IS("symlink-read")) return symlink(first, second) < 0 ? errno : read_file(second);
  if (IS("exec")) return execl(first, first, NULL), errno;
  if (IS("tcp")) return in_address(SOCK_STREAM, pid, 0);
  if (IS("tcp-bind")) return in_address(SOCK_STREAM, 0, 1);
  if (IS("udp")) return in_address(SOCK_DGRAM, pid, 0);
  if (IS("mptcp")) return over(socket(AF_INET, SOCK_STREAM, 262));
  if (IS("sctp")) return over(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP));
  if (IS("fast-open")) return fast_open(pid);
  if (IS("raw")) return over(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  if (IS("packet")) return over(socket(AF_PACKET, SOCK_RAW, 0));
  if (IS("netlink")) return over(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
  if (IS("vsock")) return over(socket(AF_VSOCK, SOCK_STREAM, 0));
  if (IS("unix")) return unix_stream(first, 0);
  if (IS("unix-abstract")) return unix_stream(first, 1);
  if (IS("pair-datagram")) return pair_reconnected(first, SOCK_DGRAM);
  if (IS("pair-raw")) return pair_reconnected(first, SOCK_RAW);
  if (IS("pair-stream")) return pair_reconnected(first, SOCK_STREAM);
  if (IS("pair-sends")) return pair_sends(first);
  if (IS("pair-works")) return pair_works();
  if (IS("io-uring")) return syscall(SYS_io_uring_setup, 1, calloc(1, 120)) < 0 ? errno : 0;
  if (IS("ptrace")) return traced(pid);
  if (IS("vm-read")) {
    theirs.iov_base = (void *)strtoull(second, NULL, 16);
    return over(process_vm_readv(pid, &ours, 1, &theirs, 1, 0));
  }
  if (IS("pidfd-getfd")) return over(syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, pid, 0), 0, 0));
  if (IS("signal")) return over(kill(pid, atoi(second)));
  if (IS("signal-by-file")) return signal_by_file(pid);
  if (IS("signal-pidfd")) return over(syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, pid, 0), 0, NULL, 0));
  if (IS("key")) return over(syscall(SYS_add_key, "user", "toolgate-test", "x", 1, -2));
  if (IS("segment")) return shmat(pid, NULL, SHM_RDONLY) == (void *)-1 ? errno : 0;
  if (IS("queue")) return over(mq_open(first, O_RDWR));
  if (IS("chown")) return over(chown(first, getuid(), getgid()));
  if (IS("attribute")) return over(setxattr(first, "user.test", "x", 1, 0));
  if (IS("user")) return geteuid() == (uid_t)pid ? 0 : EPERM;
  if (IS("exec-as")) return execl(first, first, "user", second, NULL), errno;
  if (IS("from-memory")) return run_from_memory(first, (char *[]){(char *)first, "read", (char *)second, NULL});
  if (IS("signal-thread")) return over(syscall(SYS_tgkill, pid, pid, 0));
  if (IS("limit")) return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? errno : over(prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
  if (IS("priority")) return over(setpriority(PRIO_PROCESS, pid, 1));
  if (IS("priority-user")) return priority_of_user();
  if (IS("mount")) return mount("none", first, "tmpfs", 0, NULL) < 0 ? errno : over(umount(first));
  if (IS("unshare")) return over(unshare(CLONE_NEWUSER));
  if (IS("clone-namespace")) return over(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  if (IS("clone3")) return over(syscall(SYS_clone3, NULL, 0)) == EINVAL ? 0 : ENOSYS;
  if (IS("clock")) return settimeofday(NULL, &(struct timezone){0}) < 0 ? errno : 0;
  if (IS("reboot")) return syscall(SYS_reboot, 0, 0, 0, 0) < 0 && errno == EINVAL ? 0 : EPERM;
  if (IS("type-ahead")) return ioctl(0, 0x5412, "x") < 0 && errno == EPERM ? EPERM : 0;
  if (IS("call32")) return call32();
  if (IS("descriptors")) return descriptors();
  if (IS("processes")) return processes_started(pid);
  if (IS("threads")) return threads_started(pid);
  if (IS("sequential")) return sequential(pid);
  if (IS("memory")) return malloc((size_t)pid << 20) == NULL ? ENOMEM : 0;
  if (IS("memory-shared")) return mapped((size_t)pid << 20, MAP_SHARED);
  if (IS("memory-below")) return mapped((size_t)pid << 20, MAP_PRIVATE | MAP_GROWSDOWN);
  if (IS("memory-later")) return mapped_later((size_t)pid << 20);
  if (IS("memory-stack")) return stack((size_t)pid << 20);
  if (IS("memory-moved")) return stack_moved((size_t)pid << 20);
  if (IS("memory-file")) return in_memory_file((size_t)pid << 20);
  if (IS("memory-segment")) return in_segment((size_t)pid << 20);
  if (IS("escaped-child")) return escaped_child(first);
  if (IS("bomb")) bomb(first);
  fprintf(stderr, "unknown attempt %s\n", name);
  return 255;
}

static int bound(int type, const char *name, int abstract) {
  struct sockaddr_un address;
  socklen_t length = unix_address(&address, name, abstract);
  int s = socket(AF_UNIX, type, 0);
  if (bind(s, (struct sockaddr *)&address, length) < 0) exit(errno);
  if (type == SOCK_STREAM) listen(s, 10);
  return s;
}

static void let_go(int signal) { (void)signal; }

/* Sockets of the host: a stream at a path, datagrams at a path, and an abstract name; a queue of messages, and a segment
 * of shared memory. Says where a byte of it lies, and the number of the segment. SIGTERM ends it. */
static void serve(char **args) {
  static char secret = 's';
  bound(SOCK_STREAM, args[0], 0);
  bound(SOCK_DGRAM, args[1], 0);
  bound(SOCK_STREAM, args[2], 1);
  int segment = shmget(IPC_PRIVATE, 4096, 0600);
  if (segment < 0 || mq_open(args[3], O_CREAT | O_RDWR, 0600, NULL) < 0) exit(errno);
  signal(SIGTERM, let_go);
  printf("%p %d\n", (void *)&secret, segment);
  fflush(stdout);
  pause();
  shmctl(segment, IPC_RMID, NULL);
  mq_unlink(args[3]);
}

static int in_child(char **args) {
  int status;
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(attempt(args));
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

int main(int count, char **args) {
  if (count < 2) return 255;
  if (strcmp(args[1], "serve") == 0) return serve(args + 2), 0;
  if (strcmp(args[1], "many") != 0) return attempt(args + 1);
  for (int from = 2, to = 2; to <= count; to++) {
    if (to < count && strcmp(args[to], "--") != 0) continue;
    args[to] = NULL;
    printf("%d\n", in_child(args + from));
    fflush(stdout);
    from = to + 1;
  }
  return 0;
}
