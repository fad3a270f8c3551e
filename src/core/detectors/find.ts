// Finds: the stretches of a text that a detector recognises, in UTF-16 units.

export interface Find {
  readonly from: number;
  readonly to: number;
}

/** The work that was done so far for the texts of a result, where it has to be bounded. */
export interface Spent {
  work: number;
}

/** A stretch of a text, so that somebody else can have a turn between two stretches of a long one. */
export interface Stretch {
  readonly from: number;
  readonly until: number;
}

/** What begins in a stretch of a text, in order and without overlaps, in linear time; of the whole text without a stretch. */
export type FindIn = (text: string, stretch?: Stretch) => Find[];

/** What matches in a whole text, in order and without overlaps, in linear time; null if that is too much work. */
export type SearchIn = (text: string, spent?: Spent) => Find[] | null;

/** Something that is found under a name. */
export type Finder = { readonly name: string } & (
  | { readonly findIn: FindIn }
  | { readonly searchIn: SearchIn }
);

export const whole = (text: string): Stretch => ({ from: 0, until: text.length });

/** Sorts finds and joins those that overlap. */
export function joined(finds: Find[]): Find[] {
  if (finds.length < 2) return finds;
  finds.sort((a, b) => a.from - b.from);
  const all: { from: number; to: number }[] = [];
  for (const { from, to } of finds) {
    const last = all.at(-1);
    if (last !== undefined && from < last.to) last.to = Math.max(last.to, to);
    else all.push({ from, to });
  }
  return all;
}

/** The matches of an expression that begin in a stretch. */
export function* matchesIn(
  text: string,
  expression: RegExp,
  { from, until }: Stretch,
): Iterable<RegExpExecArray> {
  let at = from;
  for (;;) {
    expression.lastIndex = at;
    const match = expression.exec(text);
    if (match === null || match.index >= until) return;
    at = expression.lastIndex;
    yield match;
  }
}
