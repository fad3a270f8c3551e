// Answers the kernel's questions whether a confined command may make one more process or thread. The caller waits in the
// kernel meanwhile, so there never are more than was said, however fast a command forks.

import { libc } from './libc.ts';
import { ERRNO, numberOf } from './system-calls.ts';

const RECEIVE = 0xc0502100;
const SEND = 0xc0182101;
const CONTINUE = 1;
const CLONE_THREAD = 0x10000;
const BYTES = 256;
/** Places in `struct seccomp_notif`. */
const NUMBER_AT = 16;
const FLAGS_AT = 32;

/** Threads are no processes, but a machine has room for so many only. */
const THREADS_PER_PROCESS = 64;
const MORE_THREADS = 256;
/** A fork that was granted is seen in /proc after this time at the latest. */
const SEEN_AFTER_MS = 100;
/** How long a fork waits for others to end before it is refused. This also slows down who forks on and on. */
const PATIENCE_MS = 300;
const SCAN_EVERY_MS = 10;
/** Who is refused so often within so long is ended: no program that works does that. */
const MOST_REFUSED = 100;
const WITHIN_MS = 10_000;

interface Counts {
  processes: number;
  threads: number;
}

interface Question {
  id: bigint;
  caller: number;
  adds: Counts;
  since: number;
}

export class Forks {
  readonly #listener: number;
  readonly #most: Counts;
  readonly #count: () => Counts;
  /** What there is at most: what was counted, and what was granted since. */
  #known: Counts = { processes: 0, threads: 0 };
  #scannedAt = Number.NEGATIVE_INFINITY;
  /** By its caller. A caller who asks again has finished the fork before. */
  readonly #granted = new Map<number, Question>();
  #waiting: Question[] = [];
  #refusedAt: number[] = [];

  /** `count` counts the descendants of the command now. */
  constructor(listener: number, processes: number | null, count: () => Counts) {
    this.#listener = listener;
    this.#count = count;
    const most = processes ?? Number.POSITIVE_INFINITY;
    this.#most = { processes: most, threads: most * THREADS_PER_PROCESS + MORE_THREADS };
  }

  get areWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Whether so many were refused that the command should be ended. */
  get areTooMany(): boolean {
    return this.#refusedAt.length > MOST_REFUSED;
  }

  /** Takes one question, which has to be there, and answers it at once if it can. */
  take(): void {
    const asked = new DataView(new ArrayBuffer(BYTES));
    // It fails if the caller has been killed meanwhile.
    if (libc.ioctl(this.#listener, RECEIVE, new Uint8Array(asked.buffer)) !== 0) return;
    const isThread =
      asked.getInt32(NUMBER_AT, true) === numberOf('clone') &&
      (asked.getUint32(FLAGS_AT, true) & CLONE_THREAD) !== 0;
    const question = {
      id: asked.getBigUint64(0, true),
      caller: asked.getUint32(8, true),
      adds: { processes: isThread ? 0 : 1, threads: 1 },
      since: performance.now(),
    };
    this.#granted.delete(question.caller);
    if (this.#fits(question)) this.#grant(question);
    else this.#waiting.push(question);
  }

  /** Looks again at the questions that wait. */
  retry(): void {
    const now = performance.now();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) {
      if (this.#fits(each)) this.#grant(each);
      else if (now - each.since < PATIENCE_MS) this.#waiting.push(each);
      else this.#refuse(each, now);
    }
  }
  #fits({ adds }: Question): boolean {
    if (this.#hasRoom(adds)) return true;
    if (performance.now() - this.#scannedAt < SCAN_EVERY_MS) return false;
    this.#scan();
    return this.#hasRoom(adds);
  }

  #hasRoom(adds: Counts): boolean {
    const { processes, threads } = this.#known;
    return processes + adds.processes <= this.#most.processes && threads + adds.threads <= this.#most.threads;
  }

  /** Counts anew. A fork that was granted just now may not be seen yet, so it counts once more. */
  #scan(): void {
    this.#scannedAt = performance.now();
    this.#known = this.#count();
    for (const [caller, { adds, since }] of this.#granted) {
      if (this.#scannedAt - since >= SEEN_AFTER_MS) this.#granted.delete(caller);
      else this.#add(adds);
    }
  }

  #add({ processes, threads }: Counts): void {
    this.#known = { processes: this.#known.processes + processes, threads: this.#known.threads + threads };
  }

  #grant(question: Question): void {
    // Without a limit nothing is counted.
    if (this.#most.processes !== Number.POSITIVE_INFINITY) {
      this.#add(question.adds);
      this.#granted.set(question.caller, { ...question, since: performance.now() });
    }
    this.#answer(question, 0, CONTINUE);
  }

  #refuse(question: Question, now: number): void {
    this.#refusedAt = [...this.#refusedAt.filter(at => now - at < WITHIN_MS), now];
    this.#answer(question, -ERRNO.EAGAIN, 0);
  }

  #answer({ id }: Question, error: number, flags: number): void {
    const answer = new DataView(new ArrayBuffer(24));
    answer.setBigUint64(0, id, true);
    answer.setInt32(16, error, true);
    answer.setUint32(20, flags, true);
    libc.ioctl(this.#listener, SEND, new Uint8Array(answer.buffer));
  }
}
