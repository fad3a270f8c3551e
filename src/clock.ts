// The service's clock: the machine's, except that it never jumps back. A machine whose time is set back would
// otherwise revive every session, key, link, grant and sign-in that had ended since. A jump is told by the
// monotonic clock; drift and small corrections pass. A restart takes the machine's time as it is.

/** Differences below this are corrections, not jumps. */
const JUMP_MS = 1000;

interface Clocks {
  wall: () => number;
  /** Milliseconds from any start that nobody can set. */
  monotonic: () => number;
}

const MACHINE: Clocks = { wall: Date.now, monotonic: () => performance.now() };

/** `jumped` is told by how much the machine's time went back. */
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
      // Set right again, or set forward: what the clock is ahead by is used up first.
      ahead = Math.max(0, ahead - jump);
    }
    return Math.round(now.wall + ahead);
  };
}
