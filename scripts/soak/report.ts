// Makes the table of a soak: each figure, its limit, and whether it keeps the limit. The table is printed and written
// to docs/soak.md.

import { commit, machine } from '../conditions.ts';
import type { Rates } from './load.ts';
import type { Compared } from './log.ts';
import { count, quantile, statusText, type Tally } from './tally.ts';

const MIB = 1024 * 1024;
const SHED_P99_MS = 1000;
const LATE_P99_MS = 500;
/** The promised three seconds, and one more for a fully loaded machine. */
const SLOWEST_MS = 4000;
const GOODPUT_SHARE = 0.8;
/**
 * A share of the saturated rate: a service that answers more than this when overloaded was measured while the machine
 * was busy.
 */
const UNDERRATED_SHARE = 1.25;
/**
 * The share of all checks due while the replica was up that must be sent: a generator that cannot send does not
 * overload.
 */
const SENT_SHARE = 0.95;

export interface Soaked {
  name: string;
  rates: Rates;
  seconds: number;
  tally: Tally;
  compared: Compared;
  /** The faults, and the second in which each was over. */
  happened: { name: string; until: number }[];
  /** The seconds of the load without a fault. */
  calm: Set<number>;
  /** The memory of a replica that was never restarted, in bytes, once a second. */
  memory: number[];
}

export interface Row {
  name: string;
  value: string;
  limit: string;
  kept: boolean;
}

export function rowsOf({ tally, compared, rates, ...run }: Soaked): Row[] {
  const { saturated, sustainable } = rates;
  const goodput = average(tally.verdictsPerSecond.filter((_, second) => run.calm.has(second)));
  const [early, late] = [third(run.memory, 1), third(run.memory, 2)];
  const shedP99 = quantile(tally.shedMs, 0.99);
  const { ms: slowestMs, status, second } = tally.slowest;
  const wrong = tally.wrong.length + compared.twice;
  const due = tally.sent + tally.notSent;
  const faults = Object.entries(Object.groupBy(run.happened, fault => fault.name));
  return [
    fact(
      'checks sent',
      `${tally.sent} in ${run.seconds} s, ${Math.round(tally.sent / run.seconds)} a second`,
    ),
    row(
      'sent of those due',
      percent(tally.sent / due),
      `at least ${percent(SENT_SHARE)}`,
      tally.sent >= SENT_SHARE * due,
    ),
    row(
      'sent late by the generator, p50, p99, most',
      ms(tally.lateMs),
      `p99 below ${LATE_P99_MS} ms, or the machine was busy with something else`,
      quantile(tally.lateMs, 0.99) < LATE_P99_MS,
    ),
    fact('faults', faults.map(([name, all]) => `${all?.length} x ${name}`).join(', ') || 'none'),
    fact('answers', statusText(tally.statuses)),
    fact('replica not there; connection lost before an answer', `${tally.unreachable}; ${tally.lost}`),
    row('wrong answers', `${wrong} ${tally.wrong[0] ?? ''}`.trim(), 'none', wrong === 0),
    row(
      'verdicts that the log lacks',
      `${compared.missing} of ${compared.verdicts}`,
      'none',
      compared.missing === 0,
    ),
    row(
      'goodput between faults',
      share(goodput, sustainable),
      `at least ${percent(GOODPUT_SHARE)}, and not far above the ${saturated} of a saturated service, or that was measured too low`,
      goodput >= GOODPUT_SHARE * sustainable && goodput <= UNDERRATED_SHARE * saturated,
    ),
    fact('goodput over all', share(count(tally.verdictMs) / run.seconds, sustainable)),
    ...faults.map(([name, all = []]) =>
      fact(
        `seconds until goodput is back, ${name}`,
        all.map(({ until }) => secondsUntilBack(tally, until, sustainable)).join(', '),
      ),
    ),
    fact('verdict p50, p99, slowest', ms(tally.verdictMs)),
    row(
      'shed (503) p50, p99, slowest',
      ms(tally.shedMs),
      `p99 below ${SHED_P99_MS} ms`,
      shedP99 < SHED_P99_MS,
    ),
    fact('failed closed (500) p50, p99, slowest', ms(tally.failedMs)),
    row(
      'slowest answer, from when it was sent',
      `${Math.round(slowestMs)} ms (status ${status}, after ${second} s)`,
      `below ${SLOWEST_MS} ms`,
      slowestMs < SLOWEST_MS,
    ),
    row(
      'memory in the last third',
      `${Math.round(late / MIB)} MiB, after ${Math.round(early / MIB)} MiB in the second`,
      'at most 20 % and 16 MiB more',
      late < early * 1.2 + 16 * MIB,
    ),
  ];
}

/** The time until three consecutive seconds together reach the wanted share. */
function secondsUntilBack({ verdictsPerSecond }: Tally, until: number, sustainable: number): number | string {
  const back = verdictsPerSecond.findIndex(
    (_, second) =>
      second >= until && average(verdictsPerSecond.slice(second, second + 3)) >= GOODPUT_SHARE * sustainable,
  );
  return back < 0 ? 'not' : back - until;
}

export function print({ name, rates }: Soaked, rows: readonly Row[]): void {
  const width = Math.max(...rows.map(each => each.name.length));
  console.log(`\n${name}: ${rates.sustainable} checks a second are sustainable`);
  for (const { name, value, limit, kept } of rows) {
    const asked = limit === '' ? '' : ` (${limit})`;
    console.log(`${kept ? '      ' : 'FAILED'}  ${name.padEnd(width)}  ${value}${asked}`);
  }
}

export function page(soaked: readonly { run: Soaked; rows: Row[] }[], missing: readonly string[]): string {
  const failed = soaked.flatMap(({ rows }) => rows).filter(({ kept }) => !kept).length;
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  return `# Overload, measured

Written by \`npm run soak\`; do not edit. ${summary(failed, missing)}

- Date: ${date} UTC
- Commit: ${commit()}
- Machine: ${machine()}

Checks arrive at twice the sustainable rate, whether or not earlier ones are answered, while faults come one after
another. To find the sustainable rate, the service is saturated first; then shares of that rate are tried, from four fifths
down. The first at which at most 1 % of the checks are refused for a minute, and the p99 stays below a second, is the
sustainable rate. Latencies count from the moment a check was due, so they include the generator's own delay. The generator has a
core to itself; service and database share the others. A check has 3 s from when it was read, so an answer may take longer than
that from when it was sent; the limit for the slowest answer leaves one more second.
${soaked.map(({ run, rows }) => section(run, rows)).join('')}`;
}

function summary(failed: number, missing: readonly string[]): string {
  const kept = failed === 0 && missing.length === 0;
  const text = kept ? 'Every limit is kept.' : `**Not passed**: ${failed} limits are not kept.`;
  return [text, ...missing.map(each => `Not measured: ${each}`)].join(' ');
}

function section({ name, rates, seconds }: Soaked, rows: readonly Row[]): string {
  const lines = rows.map(each => {
    const verdict = each.limit === '' ? '' : each.kept ? 'kept' : '**not kept**';
    return `| ${each.name} | ${each.value} | ${each.limit} | ${verdict} |`;
  });
  return `
## ${name}

${2 * rates.sustainable} checks a second for ${seconds} s; ${rates.sustainable} are sustainable, of ${rates.saturated} when saturated.

| | | Limit | |
|---|---|---|---|
${lines.join('\n')}
`;
}

const fact = (name: string, value: string): Row => ({ name, value, limit: '', kept: true });
const row = (name: string, value: string, limit: string, kept: boolean): Row => ({
  name,
  value,
  limit,
  kept,
});
const percent = (of: number): string => `${Math.floor(of * 1000) / 10} %`;
const average = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / Math.max(values.length, 1);

function share(rate: number, of: number): string {
  return `${Math.round(rate)} a second, ${percent(rate / of)} of the sustainable rate`;
}

function ms(times: readonly number[]): string {
  return [0.5, 0.99, 1].map(each => `${quantile(times, each)} ms`).join(', ');
}

/** The median of a third of the samples. */
function third(samples: readonly number[], which: 0 | 1 | 2): number {
  const size = Math.floor(samples.length / 3);
  const sorted = samples.slice(which * size, (which + 1) * size).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
