// Finds: the stretches of a text that a detector recognises, in UTF-16 units.

export interface Find {
  readonly from: number;
  readonly to: number;
}

/** The work that was done so far for the texts of a result, where it has to be bounded. */
export interface Spent {
  work: number;
}

/** Finds all of something in a text, in order and without overlaps, in linear time; null if that is too much work. */
export type FindIn = (text: string, spent?: Spent) => Find[] | null;

/** Something that is found under a name. */
export interface Finder {
  readonly name: string;
  readonly findIn: FindIn;
}

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
