// The difference between two texts, as `diff -u` shows it.

import { diffLines, type Line } from '../../core/text/diff.ts';

const CONTEXT = 3;

export function unifiedDiff(path: string, before: string | null, after: string | null): string[] {
  const lines = diffLines(linesOf(before), linesOf(after));
  const shown = new Set<number>();
  lines.forEach(({ mark }, at) => {
    if (mark === ' ') return;
    for (let near = at - CONTEXT; near <= at + CONTEXT; near++) shown.add(near);
  });
  const header = [
    `--- ${before === null ? '/dev/null' : path}`,
    `+++ ${after === null ? '/dev/null' : path}`,
  ];
  return [...header, ...hunks(lines, shown)];
}

function linesOf(text: string | null): string[] {
  if (text === null || text === '') return [];
  const lines = text.split('\n').map(line => line.replace(/\r$/, ''));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function hunks(lines: readonly Line[], shown: ReadonlySet<number>): string[] {
  const out: string[] = [];
  let at = 0;
  let [before, after] = [1, 1];
  while (at < lines.length) {
    const hunk: Line[] = [];
    const start = [before, after] as const;
    for (; at < lines.length && shown.has(at); at++) hunk.push(lines[at] as Line);
    if (hunk.length === 0) {
      // A line that is not shown is the same in both.
      at++;
      before++;
      after++;
      continue;
    }
    const old = hunk.filter(({ mark }) => mark !== '+').length;
    const now = hunk.filter(({ mark }) => mark !== '-').length;
    before += old;
    after += now;
    out.push(
      `@@ -${place(start[0], old)} +${place(start[1], now)} @@`,
      ...hunk.map(each => each.mark + each.text),
    );
  }
  return out;
}

/** A range without lines is named by the line before it. */
function place(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}
