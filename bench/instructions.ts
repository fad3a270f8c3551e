// The instructions of the lines that Valgrind has counted (npm run bench:count wrote them to counts.json). Other work on
// the machine changes times, and not these.

import reference from './counts.json' with { type: 'json' };

const COUNTS: Record<string, number> = reference.counts;

/** The names of the counts, by line. They are of SQLite with sealing off. */
const NAMES: Record<string, string> = {
  echo: 'echo',
  sqlite: 'check',
  'sqlite-keys': 'check',
  'sqlite-conditions': 'conditions',
  'sqlite-limits': 'limit',
  'sqlite-shadow': 'shadow',
  'sqlite-details': 'details',
  'sqlite-marks': 'marks',
  'sqlite-known': 'known',
  'sqlite-traced': 'traced',
  'sqlite-everything': 'traced-everything',
  'mcp-4k': 'call',
  'mcp-4k-others': 'call-others',
  'mcp-4k-hide': 'call-hide',
};

export interface Instructions {
  count: number;
  /** Times those of the line that it is compared with. */
  times: number;
}

/** Null if one of the two lines was not counted. */
export function instructionsOf(of: string, against: string): Instructions | null {
  const [count, base] = [of, against].map(line => COUNTS[NAMES[line] ?? '']);
  return count === undefined || base === undefined ? null : { count, times: count / base };
}

export function shownInstructions({ count, times }: Instructions): string {
  return `${count.toLocaleString('en')} (${times.toFixed(2)} ×)`;
}
