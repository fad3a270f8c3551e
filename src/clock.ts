// The service's clock: the machine's clock, except that it never jumps back. Otherwise a machine whose time is set back
// would revive every session, key, link, grant and sign-in that had expired since. A jump is detected with the
// monotonic clock; drift and small corrections are accepted. After a restart the machine's time is used as it is.

/** Smaller differences are corrections, not jumps. */
const JUMP_MS = 1000;

interface Clocks {
  wall: () => number;
  /** Milliseconds since any starting point, from a clock that nobody can set. */
  monotonic: () => number;
}

const MACHINE: Clocks = { wall: Date.now, monotonic: () => performance.now() };

/** `jumped` is called with the milliseconds by which the machine's time went back. */
export function steadyClock(
  jumped: (backMs: number) => void,
  { wall, monotonic }: Clocks = MACHINE,
): () => number {
  let last = { wall: wall(), monotonic: monotonic() };
  let ahead = 0;
  return () => {
    const now = { wall: wall(), monotonic: monotonic() };
    const jump = now.wall - last.wall - (now.monotonic - last.monotonic);
    last = now;
    if (jump < -JUMP_MS) {
      ahead -= jump;
      jumped(-jump);
    } else if (jump > JUMP_MS) {
      // The machine's time was corrected or set forward: the difference first reduces how far this clock is ahead.
      ahead = Math.max(0, ahead - jump);
    }
    return Math.round(now.wall + ahead);
  };
}
