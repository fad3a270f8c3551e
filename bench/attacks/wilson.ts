// The interval in which a share probably lies, by Wilson's method: unlike the usual one it holds for none of 600, too.

/** For 95 %. */
const Z = 1.959964;

export interface Share {
  count: number;
  of: number;
}

export function wilson({ count, of }: Share): [from: number, to: number] {
  if (of === 0) return [0, 1];
  const share = count / of;
  const scale = 1 + Z ** 2 / of;
  const middle = (share + Z ** 2 / (2 * of)) / scale;
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / of + Z ** 2 / (4 * of ** 2));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** As in `3 of 600 (0.2–1.5 %)`. */
export function told(share: Share): string {
  const [from, to] = wilson(share).map(part => (100 * part).toFixed(1));
  return `${share.count} of ${share.of} (${from}–${to} %)`;
}
