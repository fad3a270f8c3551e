// The current time, for everything shown as time left or time ago: one signal that ticks once a second, and durations
// in words.

import { signal } from '@preact/signals';

export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => {
  now.value = Date.now();
});

const UNITS: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];

/** A duration like `2 d 3 h`, `59 min` or `12 s`: two units where the smaller one matters. */
export function inWords(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const at = Math.max(
    0,
    UNITS.findIndex(([, size]) => seconds >= size),
  );
  const [unit, size] = UNITS[seconds === 0 ? 3 : at] as [string, number];
  const whole = Math.floor(seconds / size);
  const below = UNITS[at + 1];
  const rest = below === undefined || whole >= 10 ? 0 : Math.floor((seconds - whole * size) / below[1]);
  return rest === 0 || below === undefined ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${below[0]}`;
}
