// Compares two lists of lines: which lines were removed and which were added, in order. Equal lines at the start and
// the end are skipped first. If the rest is too large to compare pair by pair, all old lines count as removed and all
// new ones as added.

export interface Line {
  mark: ' ' | '-' | '+';
  text: string;
}

const MAX_PAIRS = 4_000_000;

export function diffLines(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  return [
    ...marked(' ', before.slice(0, start)),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...marked(' ', before.slice(before.length - end)),
  ];
}

/** Equal lines that are left out. */
export interface Skipped {
  mark: '…';
  count: number;
}

/** The lines without the equal ones that are further than `around` lines from every change. */
export function nearChanges(lines: readonly Line[], around: number): (Line | Skipped)[] {
  const near = new Set<number>();
  for (const [at, { mark }] of lines.entries()) {
    if (mark === ' ') continue;
    for (let beside = at - around; beside <= at + around; beside++) near.add(beside);
  }
  const shown: (Line | Skipped)[] = [];
  for (const [at, line] of lines.entries()) {
    const last = shown.at(-1);
    if (near.has(at)) shown.push(line);
    else if (last?.mark === '…') last.count++;
    else shown.push({ mark: '…', count: 1 });
  }
  return shown;
}

function marked(mark: Line['mark'], texts: readonly string[]): Line[] {
  return texts.map(text => ({ mark, text }));
}

function middle(before: readonly string[], after: readonly string[]): Line[] {
  if (before.length * after.length > MAX_PAIRS) return [...marked('-', before), ...marked('+', after)];
  const common = commonLengths(before, after);
  const width = after.length + 1;
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const down = common[(i + 1) * width + j] ?? -1;
    const right = common[i * width + j + 1] ?? -1;
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ mark: ' ', text: before[i++] as string });
      j++;
    } else if (j >= after.length || (i < before.length && down >= right))
      lines.push({ mark: '-', text: before[i++] as string });
    else lines.push({ mark: '+', text: after[j++] as string });
  }
  return lines;
}

/** For each pair of positions, the length of the longest common subsequence of the lines from there on. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] =
        before[i] === after[j]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0);
    }
  }
  return lengths;
}
