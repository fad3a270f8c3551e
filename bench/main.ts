// The benchmark: the cost of a check, compared with a bare echo server, on both engines, with many rules, conditions,
// limits and a long audit log; the cost of a forwarded tool call, compared with other forwarders; and studies of a lone
// check, checks at a fixed rate, batches, checks beside a limit, memory, the start, a slow disk and workers. It says which
// targets are met. It fails when something cannot be measured or answers wrongly, never because something is slow.

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import { BATCHES } from './batches.ts';
import { BESIDE } from './beside.ts';
import { openDatabase } from './database.ts';
import { type Extra, measureExtra } from './extras.ts';
import { present } from './field/subjects.ts';
import { LATENCY } from './latency.ts';
import { LONE } from './lone.ts';
import { MILLION } from './million.ts';
import { writePages } from './page.ts';
import { printed } from './print.ts';
import { type Measured, makeReport } from './report.ts';
import { each, measureRounds, openAll } from './rounds.ts';
import type { Place } from './service.ts';
import { SLOW_DISK } from './slow-disk.ts';
import { START } from './start.ts';
import type { Studied, Study } from './study.ts';
import { SUBJECTS, type Subject } from './subjects.ts';
import { WORKERS } from './workers.ts';

const STUDIES = [START, LONE, LATENCY, BATCHES, BESIDE, MILLION, SLOW_DISK, WORKERS];
const NAMED = [...SUBJECTS, ...STUDIES];
const names = (some: { name: string }[]) => some.map(({ name }) => name).join(', ');

/** What the page is written from: rounds of 1 s differed by half from each other. */
const PAGE_ROUNDS = 3;
const PAGE_SECONDS = 4;

const USAGE = `Usage: npm run bench -- [options]

  --seconds <n>   length of one measurement (4)
  --rounds <n>    measurements of each line, taken in turn (3)
  --all           everything, also what takes minutes: ${names(NAMED.filter(({ slow }) => slow))}
  --only <names>  only these, by comma: ${names(NAMED)}
  --json          print JSON instead of the table
  --charts        write docs/bench.md with its charts, and the README's table; wants
                  ${PAGE_ROUNDS} rounds of ${PAGE_SECONDS} s at least
  --help          print this
`;

interface Options {
  seconds: number;
  rounds: number;
  chosen: (one: { name: string; slow?: boolean }) => boolean;
  json: boolean;
  charts: boolean;
}

async function main(): Promise<void> {
  const options = readOptions();
  await using resources = new AsyncDisposableStack();
  process.once('SIGINT', () => resources.disposeAsync().finally(() => process.exit(130)));

  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-bench-'));
  resources.defer(() => fs.rmSync(folder, { recursive: true, force: true }));
  const subjects = present(SUBJECTS.filter(options.chosen), console.error);
  const studies = STUDIES.filter(options.chosen);
  const postgres = needsPostgres(subjects, studies) ? await openDatabase(resources) : null;
  const place: Place = { folder, resources, postgres, tell: progress };

  const measured = await measure(subjects, studies, options, place);
  progress('');
  const report = makeReport(measured, {
    postgresql: postgres?.version ?? 'none',
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    measured: `${options.rounds} rounds of ${options.seconds} s`,
  });
  if (options.charts) writePages(report);
  console.log(options.json ? JSON.stringify(report, null, 2) : printed(report));
  if (measured.failures.length > 0) process.exitCode = 1;
}

/** Studies come first, while nothing else is running. */
async function measure(
  subjects: Subject[],
  studies: Study[],
  { rounds, seconds }: Options,
  place: Place,
): Promise<Measured> {
  const failed = new Map<string, string>();
  const studied = await study(studies, place, failed);
  const running = await openAll(subjects, place, failed);
  const rest = new Map(running.map(({ subject, server }) => [subject.name, server.memoryMegabytes()]));
  const series = await measureRounds(running, rounds, seconds, place, failed);
  const extras: Extra[] = [];
  await each(running, 'fixed rates', place, failed, async one => {
    // A tail latency needs more requests than a median.
    extras.push(await measureExtra(one, rest.get(one.subject.name)!, 2 * seconds));
  });
  return { series, extras, studies: studied, failures: [...failed.values()] };
}

async function study(studies: Study[], place: Place, failed: Map<string, string>): Promise<Studied[]> {
  const studied: Studied[] = [];
  for (const { name, title, how, run } of studies) {
    place.tell(title);
    const resources = place.resources.use(new AsyncDisposableStack());
    await run({ ...place, resources })
      .then(findings => studied.push({ name, title, how, findings }))
      .catch(error => failed.set(name, `${name}: ${error.message}`));
    await resources.disposeAsync();
  }
  return studied;
}

function needsPostgres(subjects: Subject[], studies: Study[]): boolean {
  return (
    [BESIDE, WORKERS].some(each => studies.includes(each)) ||
    subjects.some(({ service }) => service?.engine === 'postgres')
  );
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      all: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'boolean', default: false },
      charts: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const seconds = positive('--seconds', values.seconds);
  const rounds = positive('--rounds', values.rounds);
  if (values.charts && (seconds < PAGE_SECONDS || rounds < PAGE_ROUNDS))
    throw new Error(
      `--charts writes docs/bench.md from at least ${PAGE_ROUNDS} rounds of ${PAGE_SECONDS} s; ${rounds} of ${seconds} s are too few or too short. Leave out --charts, or --seconds and --rounds.`,
    );
  return {
    seconds,
    rounds,
    chosen: chosen(values.only, values.all),
    json: values.json,
    charts: values.charts,
  };
}

function positive(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${name} takes a whole number from 1, not "${text}"`);
  return Number(text);
}

function chosen(only: string | undefined, all: boolean): Options['chosen'] {
  if (only === undefined) return ({ slow }) => all || !slow;
  const wanted = only.split(',').map(name => name.trim());
  const unknown = wanted.find(name => !NAMED.some(one => one.name === name));
  if (unknown !== undefined) throw new Error(`There is no line "${unknown}"\n\n${USAGE}`);
  return ({ name }) => wanted.includes(name);
}

const begun = performance.now();

function progress(text: string): void {
  const seconds = Math.floor((performance.now() - begun) / 1000);
  const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text === '' ? '' : `${clock} ${text}`}`);
  else if (text !== '') console.error(`${clock} ${text}`);
}

await main().catch(error => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
