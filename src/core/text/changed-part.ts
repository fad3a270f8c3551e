// What differs within a line that was changed: the text between the beginning and the end that both versions have. It
// begins and ends at blanks, so that a word is never judged by half of it. And which lines are versions of one another.

import type { Line, Skipped } from './diff.ts';

export interface ChangedPart {
  /** What both begin with. */
  start: string;
  before: string;
  after: string;
  /** What both end with. */
  end: string;
}

export function changedPart(before: string, after: string): ChangedPart {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  start = start === 0 ? 0 : before.lastIndexOf(' ', start - 1) + 1;
  const blank = end === 0 ? -1 : before.indexOf(' ', before.length - end);
  end = blank < 0 ? 0 : before.length - blank;
  return {
    start: before.slice(0, start),
    before: before.slice(start, before.length - end),
    after: after.slice(start, after.length - end),
    end: before.slice(before.length - end),
  };
}

/** The other version of each line that has one, by the place of the line: `-` and `+` lines that stand together. */
export function otherVersions(lines: readonly (Line | Skipped)[]): Map<number, string> {
  const found = new Map<number, string>();
  let block: Changed[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.mark === '-' || line.mark === '+') block.push({ at, ...line });
    else {
      addVersions(found, block);
      block = [];
    }
  }
  addVersions(found, block);
  return found;
}

type Changed = Line & { at: number };

/** A single line is the other version of a single one; of several, those of the same member of a JSON object are. */
function addVersions(found: Map<number, string>, block: readonly Changed[]): void {
  const isSingle = block.length === 2;
  const groups = Map.groupBy(block, ({ text }) => (isSingle ? '' : MEMBER.exec(text)?.[0]));
  groups.delete(undefined);
  for (const [one, other, ...more] of groups.values()) {
    if (one === undefined || other === undefined || one.mark === other.mark || more.length > 0) continue;
    found.set(one.at, other.text);
    found.set(other.at, one.text);
  }
}

const MEMBER = /^\s*"(?:[^"\\]|\\.)*":/;
