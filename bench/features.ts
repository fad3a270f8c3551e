// What each feature adds to a check, in one table: with all of them off, with each of them, and with all that an allowed
// call can have. CPU times are of this run; the instructions, which other load does not change, are those of bench/counts.json.

import reference from './counts.json' with { type: 'json' };
import { type Figure, spread } from './figure.ts';

interface Feature {
  label: string;
  /** The line's name without its engine, and that of the line it is compared with. */
  line: string;
  against: string;
  /** Its name in bench/counts.json. */
  count: string;
}

const FEATURES: Feature[] = [
  { label: 'everything off', line: '', against: '', count: 'check' },
  { label: '3 conditions', line: '-conditions', against: '', count: 'conditions' },
  {
    label: 'a limit for each of 64 keys (× the same keys without)',
    line: '-limits',
    against: '-keys',
    count: 'limit',
  },
  { label: 'a shadow with 3 conditions', line: '-shadow', against: '', count: 'shadow' },
  {
    label: 'a rule that asks and shows details; a grant frees the call',
    line: '-details',
    against: '',
    count: 'details',
  },
  { label: '1 % traced', line: '-traced', against: '', count: 'traced' },
  {
    label: 'conditions, limit, shadow and tracing together',
    line: '-everything',
    against: '',
    count: 'traced-everything',
  },
];

export interface FeatureRow {
  label: string;
  engines: ({ micros: Figure; times: Figure } | null)[];
  instructions: number | null;
  /** Of the instructions with everything off. */
  instructionTimes: number | null;
}

const counts: Record<string, number> = reference.counts;

export function featureRows(
  microsOf: (line: string) => Figure | null,
  ratio: (of: string, against: string) => Figure | null,
): FeatureRow[] {
  return FEATURES.map(({ label, line, against, count }) => {
    const instructions = counts[count] ?? null;
    return {
      label,
      engines: ['sqlite', 'postgres'].map(engine => {
        const micros = microsOf(engine + line);
        const times = ratio(engine + line, engine + against);
        return micros && times && { micros, times };
      }),
      instructions,
      instructionTimes: instructions === null ? null : instructions / counts['check']!,
    };
  });
}

const HEAD = ['', 'SQLite µs', '×', 'PostgreSQL µs', '×', 'instructions', '×'];

/** The table as Markdown, which can be read in a terminal too. */
export function featureTable(rows: readonly FeatureRow[]): string {
  const cells = rows.map(({ label, engines, instructions, instructionTimes }) => [
    label,
    ...engines.flatMap(each => (each ? [spread(each.micros, 1), spread(each.times, 2)] : ['', ''])),
    instructions?.toLocaleString('en') ?? '',
    instructionTimes?.toFixed(2) ?? '',
  ]);
  const drawn = [HEAD, ['---', ...HEAD.slice(1).map(() => '--:')], ...cells];
  return drawn.map(row => `| ${row.join(' | ')} |`).join('\n');
}
