// What each feature adds to a check, in one table: with all of them off, with each of them, and with all that an allowed
// call can have. CPU times are of this run; instructions.ts has the instructions.

import { type Figure, spread } from './figure.ts';
import { type Instructions, instructionsOf } from './instructions.ts';
import { isBelowOne } from './targets.ts';

interface Feature {
  label: string;
  /** The line's name without its engine, and that of the line it is compared with. */
  line: string;
  against: string;
}

const FEATURES: Feature[] = [
  { label: 'everything off', line: '', against: '' },
  { label: '3 conditions', line: '-conditions', against: '' },
  {
    label: 'a limit for each of 64 keys (× the same keys without)',
    line: '-limits',
    against: '-keys',
  },
  { label: 'a shadow with 3 conditions', line: '-shadow', against: '' },
  {
    label: 'a rule that asks and shows details; a grant frees the call',
    line: '-details',
    against: '',
  },
  { label: 'the marks of the run', line: '-marks', against: '' },
  { label: 'the same, and 3 known values (× marks alone)', line: '-known', against: '-marks' },
  { label: '1 % traced', line: '-traced', against: '' },
  {
    label: 'conditions, limit, shadow and tracing together',
    line: '-everything',
    against: '',
  },
];

export interface FeatureRow {
  label: string;
  engines: ({ micros: Figure; times: Figure } | null)[];
  /** On SQLite. */
  instructions: Instructions | null;
}

export function featureRows(
  microsOf: (line: string) => Figure | null,
  ratio: (of: string, against: string) => Figure | null,
): FeatureRow[] {
  return FEATURES.map(({ label, line, against }) => ({
    label,
    engines: ['sqlite', 'postgres'].map(engine => {
      const micros = microsOf(engine + line);
      const times = ratio(engine + line, engine + against);
      return micros && times && { micros, times };
    }),
    instructions: instructionsOf(`sqlite${line}`, `sqlite${against}`),
  }));
}

const HEAD = ['', 'SQLite µs', '×', 'PostgreSQL µs', '×', 'instructions', '×'];

/** The table as Markdown, which can be read in a terminal too. */
export function featureTable(rows: readonly FeatureRow[]): string {
  const cells = rows.map(({ label, engines, instructions }) => [
    label,
    ...engines.flatMap(each => (each ? [spread(each.micros, 1), added(each.times)] : ['', ''])),
    instructions?.count.toLocaleString('en') ?? '',
    instructions?.times.toFixed(2) ?? '',
  ]);
  const drawn = [HEAD, ['---', ...HEAD.slice(1).map(() => '--:')], ...cells];
  return drawn.map(row => `| ${row.join(' | ')} |`).join('\n');
}

/** No feature makes a check cheaper: such a figure says how far the machine's own changes go. */
function added(times: Figure): string {
  return isBelowOne(times) ? `unclear: ${spread(times, 2)}` : spread(times, 2);
}
