// Which system calls a confined command is refused, as data: by name, with the numbers of both architectures. filter.ts
// makes the program of them that the kernel runs.

/** Numbers on x86-64 and on arm64; null where the call does not exist. From the kernel's asm/unistd.h. */
export const NUMBERS = {
  accept: [43, 202],
  accept4: [288, 242],
  acct: [163, 89],
  add_key: [248, 217],
  bind: [49, 200],
  bpf: [321, 280],
  chown: [92, null],
  chroot: [161, 51],
  clock_settime: [227, 112],
  clone: [56, 220],
  clone3: [435, 435],
  connect: [42, 203],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  fchown: [93, 55],
  fchownat: [260, 54],
  file_setattr: [469, 469],
  finit_module: [313, 273],
  fork: [57, null],
  fremovexattr: [199, 16],
  fsconfig: [431, 431],
  fsetxattr: [190, 7],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  ioctl: [16, 29],
  ioperm: [173, null],
  iopl: [172, null],
  ioprio_set: [251, 30],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  lchown: [94, null],
  listen: [50, 201],
  lremovexattr: [198, 15],
  lsetxattr: [189, 6],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  migrate_pages: [256, 238],
  mmap: [9, 222],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  move_pages: [279, 239],
  mq_open: [240, 180],
  mq_unlink: [241, 181],
  mremap: [25, 216],
  msgctl: [71, 187],
  msgget: [68, 186],
  msgrcv: [70, 188],
  msgsnd: [69, 189],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  prlimit64: [302, 261],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  removexattr: [197, 14],
  removexattrat: [466, 466],
  request_key: [249, 218],
  sched_setaffinity: [203, 122],
  sched_setattr: [314, 274],
  sched_setparam: [142, 118],
  sched_setscheduler: [144, 119],
  semctl: [66, 191],
  semget: [64, 190],
  semop: [65, 193],
  semtimedop: [220, 192],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  setpriority: [141, 140],
  settimeofday: [164, 170],
  setxattr: [188, 5],
  setxattrat: [463, 463],
  shmat: [30, 196],
  shmctl: [31, 195],
  shmget: [29, 194],
  socket: [41, 198],
  socketpair: [53, 199],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
  vfork: [58, null],
  vhangup: [153, 58],
} satisfies Record<string, [x64: number, arm64: number | null]>;

export type CallName = keyof typeof NUMBERS;

export function numberOf(name: CallName): number | null {
  return NUMBERS[name][process.arch === 'arm64' ? 1 : 0];
}

/** True if the argument, masked, is (`is`) or is not (`isNot`) one of these. Only its lower 32 bits are looked at. */
export interface ArgumentTest {
  argument: number;
  mask?: number;
  is?: readonly number[];
  isNot?: readonly number[];
}

export interface Rule {
  calls: readonly CallName[];
  /** What the call returns instead of being made. */
  refusal: keyof typeof ERRNO;
  /** Refused if one of these is true; without it, always. */
  when?: readonly ArgumentTest[];
}

export const ERRNO = { EPERM: 1, EAGAIN: 11, ENOMEM: 12, EACCES: 13, ENOSYS: 38, EOPNOTSUPP: 95 } as const;

const NEW_NAMESPACES = 0x7e020000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const PRIO_USER = 2;
const IOPRIO_WHO_USER = 3;
const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
const MAP_ANONYMOUS = 0x20;
const MAP_SHARED = 0x01;
const MAP_SHARED_VALIDATE = 0x03;
const MAP_GROWSDOWN = 0x100;
const MAP_TYPE = 0x0f;

/**
 * What no confined command may do, because it would reach other processes, the kernel or the whole machine, or get
 * around the limits: io_uring makes calls that no filter sees, and the flags of clone3 lie in memory, where no filter
 * can read them. C libraries go on with `clone` when `clone3` does not exist.
 */
export const ALWAYS: readonly Rule[] = [
  { calls: ['clone3', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'], refusal: 'ENOSYS' },
  { calls: ['clone'], refusal: 'EPERM', when: [{ argument: 0, mask: NEW_NAMESPACES, isNot: [0] }] },
  {
    refusal: 'EPERM',
    calls: [
      ...(['ptrace', 'process_vm_readv', 'process_vm_writev', 'pidfd_getfd', 'kcmp'] as const),
      ...(['process_madvise', 'process_mrelease', 'perf_event_open', 'bpf', 'userfaultfd'] as const),
      ...(['add_key', 'request_key', 'keyctl', 'unshare', 'setns', 'chroot', 'pivot_root'] as const),
      ...(['mount', 'umount2', 'move_mount', 'open_tree', 'open_tree_attr', 'mount_setattr'] as const),
      ...(['fsopen', 'fsconfig', 'fsmount', 'fspick', 'open_by_handle_at', 'fanotify_init'] as const),
      ...(['init_module', 'finit_module', 'delete_module', 'kexec_load', 'kexec_file_load'] as const),
      ...(['reboot', 'swapon', 'swapoff', 'acct', 'quotactl', 'quotactl_fd', 'iopl', 'ioperm'] as const),
      ...(['settimeofday', 'clock_settime', 'sethostname', 'setdomainname', 'syslog', 'vhangup'] as const),
    ],
  },
  // Shared memory, messages and semaphores that any process of the user finds by a number or a name, past every path.
  {
    refusal: 'ENOSYS',
    calls: [
      ...(['shmget', 'shmat', 'shmctl', 'msgget', 'msgsnd', 'msgrcv', 'msgctl'] as const),
      ...(['semget', 'semop', 'semtimedop', 'semctl', 'mq_open', 'mq_unlink'] as const),
    ],
  },
  // The limits and priorities of other processes, among them the service. 0 is the caller itself.
  {
    refusal: 'EPERM',
    calls: ['prlimit64', 'sched_setaffinity', 'sched_setattr', 'sched_setparam', 'sched_setscheduler'],
    when: [{ argument: 0, isNot: [0] }],
  },
  { calls: ['migrate_pages', 'move_pages'], refusal: 'EPERM', when: [{ argument: 0, isNot: [0] }] },
  {
    calls: ['setpriority'],
    refusal: 'EPERM',
    when: [
      { argument: 0, is: [PRIO_USER] },
      { argument: 1, isNot: [0] },
    ],
  },
  {
    calls: ['ioprio_set'],
    refusal: 'EPERM',
    when: [
      { argument: 0, is: [IOPRIO_WHO_USER] },
      { argument: 1, isNot: [0] },
    ],
  },
  // These write into a terminal as if its user had typed.
  { calls: ['ioctl'], refusal: 'EPERM', when: [{ argument: 1, is: [TIOCSTI, TIOCLINUX] }] },
];

/**
 * No socket of any kind, except pairs that are connected from the start, which programs use between their own
 * processes. A pair of datagram sockets is refused, because it can send to other addresses.
 */
export const NO_NETWORK: readonly Rule[] = [
  { calls: ['socket', 'connect', 'bind', 'listen', 'accept', 'accept4'], refusal: 'EACCES' },
  {
    calls: ['socketpair'],
    refusal: 'EACCES',
    when: [
      { argument: 0, isNot: [AF_UNIX] },
      { argument: 1, mask: 0xf, isNot: [SOCK_STREAM, SOCK_SEQPACKET] },
    ],
  },
];

/** Where `write` is limited: owners and attributes, which Landlock does not keep from being changed anywhere. */
export const LIMITED_WRITE: readonly Rule[] = [
  { calls: ['chown', 'lchown', 'fchown', 'fchownat'], refusal: 'EPERM' },
  {
    refusal: 'EOPNOTSUPP',
    calls: [
      ...(['setxattr', 'lsetxattr', 'fsetxattr', 'setxattrat', 'file_setattr'] as const),
      ...(['removexattr', 'lremovexattr', 'fremovexattr', 'removexattrat'] as const),
    ],
  },
];

/** Where `memory` is limited: memory that RLIMIT_DATA does not count. */
export const LIMITED_MEMORY: readonly Rule[] = [
  { calls: ['memfd_create', 'memfd_secret'], refusal: 'ENOSYS' },
  // It would make any size of a page of the stack, which goes on counting as stack. C libraries copy then.
  { calls: ['mremap'], refusal: 'ENOMEM' },
  {
    calls: ['mmap'],
    refusal: 'EPERM',
    when: [
      {
        argument: 3,
        mask: MAP_TYPE | MAP_ANONYMOUS,
        is: [MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED_VALIDATE | MAP_ANONYMOUS],
      },
      { argument: 3, mask: MAP_GROWSDOWN, is: [MAP_GROWSDOWN] },
    ],
  },
];

/** The calls that make processes and threads. */
export const FORKS: readonly CallName[] = ['fork', 'vfork', 'clone'];
