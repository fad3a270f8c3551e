// The benchmark: what a check costs, next to a bare echo server, on both engines, with many rules and with a long
// audit log; and what a forwarded tool call costs, next to other forwarders. Prints figures and says which targets
// they reach; it fails only when something answers wrongly, never because something is slow.

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts';
import { barChart } from './chart.ts';
import { type Extra, measureExtra, renderExtras } from './extras.ts';
import { drive, GENERATOR } from './load.ts';
import { driveCalls } from './mcp-load.ts';
import { makeReport, type Report, renderReport, type Sample, type Series, type Target } from './report.ts';
import { openSubject, type Running, SUBJECTS, type Subject } from './subjects.ts';

const USAGE = `Usage: npm run bench -- [options]

  --seconds <n>   length of one measurement (4)
  --rounds <n>    measurements of each line, taken in turn (3)
  --only <names>  only these lines, by comma: ${SUBJECTS.map(subject => subject.name).join(', ')}
  --json          print JSON instead of the table
  --charts        draw the figures into docs/bench/
  --help          print this
`;

const CHECK_TARGETS: Target[] = ['sqlite', 'postgres'].flatMap(engine => [
  { label: `check on ${engine} against echo`, of: engine, against: 'echo', atMost: 1.6 },
  { label: `10,000 rules against 10, ${engine}`, of: `${engine}-rules`, against: engine, atMost: 1.1 },
  {
    label: `10,000 rules like a*b against 10, ${engine}`,
    of: `${engine}-stars`,
    against: engine,
    atMost: 1.1,
  },
  {
    label: `1,000,000 entries against none, ${engine}`,
    of: `${engine}-entries`,
    against: engine,
    atMost: 1.1,
  },
  {
    label: `10,000,000 entries against none, ${engine}`,
    of: `${engine}-10m-entries`,
    against: engine,
    atMost: 1.1,
  },
]);

const TARGETS: Target[] = [
  ...CHECK_TARGETS,
  { label: 'forwarded call against a bare forwarder', of: 'mcp', against: 'mcp-floor', atMost: 2 },
  { label: 'forwarded call against mcp-proxy', of: 'mcp', against: 'mcp-proxy', atMost: 1 / 4 },
  { label: 'forwarded call against supergateway', of: 'mcp', against: 'supergateway', atMost: 1 / 4 },
  { label: 'check on sqlite against cedar-wasm without audit', of: 'sqlite', against: 'cedar', atMost: 1 },
];

const WARM_UP_SECONDS = 2;
const ALONE_SECONDS = 1;

interface Options {
  seconds: number;
  rounds: number;
  subjects: Subject[];
  json: boolean;
  charts: boolean;
}

async function main(): Promise<void> {
  const options = readOptions();
  await using resources = new AsyncDisposableStack();
  process.once('SIGINT', () => resources.disposeAsync().finally(() => process.exit(130)));

  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-bench-'));
  resources.defer(() => fs.rmSync(folder, { recursive: true, force: true }));
  const running = await openAll(options.subjects, folder, resources);
  const rest = running.map(({ server }) => server.memoryMegabytes());
  const series = await measure(running, options, folder);
  const extras: Extra[] = [];
  for (const [index, one] of running.entries()) {
    progress(`fixed rates: ${one.subject.label}`);
    extras.push(await measureExtra(one, rest[index]!));
  }
  progress('');

  const report = makeReport(series, TARGETS, { seconds: options.seconds, rounds: options.rounds });
  if (options.charts) drawCharts(report, extras);
  if (options.json) console.log(JSON.stringify({ ...report, extras }, null, 2));
  else console.log(`${renderReport(report)}\n${renderExtras(extras)}`);
}

function drawCharts({ lines }: Report, extras: Extra[]): void {
  const target = path.join(import.meta.dirname, '..', 'docs', 'bench');
  fs.mkdirSync(target, { recursive: true });
  const cpu = lines.map(({ label, cpuMicros: { median, min, max } }) => ({ label, value: median, min, max }));
  fs.writeFileSync(path.join(target, 'cpu.svg'), barChart('CPU time per request', 'µs', cpu));
  const waits = extras.flatMap(({ label, atRates }) =>
    (atRates ?? []).map(({ rate, p50Ms, p99Ms }) => ({
      label: `${label}, ${rate}/s`,
      value: p50Ms,
      min: p50Ms,
      max: p99Ms,
    })),
  );
  fs.writeFileSync(
    path.join(target, 'latency.svg'),
    barChart('Waits at fixed rates, p50 to p99', 'ms', waits),
  );
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
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
  return {
    seconds: positive('--seconds', values.seconds),
    rounds: positive('--rounds', values.rounds),
    subjects: choose(values.only),
    json: values.json,
    charts: values.charts,
  };
}

function positive(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${name} takes a whole number from 1, not "${text}"`);
  return Number(text);
}

function choose(only: string | undefined): Subject[] {
  if (only === undefined) return SUBJECTS.filter(subject => !subject.onlyByName);
  const names = only.split(',').map(name => name.trim());
  const unknown = names.find(name => !SUBJECTS.some(subject => subject.name === name));
  if (unknown !== undefined) throw new Error(`There is no line "${unknown}"\n\n${USAGE}`);
  return SUBJECTS.filter(subject => names.includes(subject.name));
}

/** All servers at once: those that are not asked stand idle, and rounds can go from one to the next. */
async function openAll(
  subjects: Subject[],
  folder: string,
  resources: AsyncDisposableStack,
): Promise<Running[]> {
  const running: Running[] = [];
  const postgres = await openPostgres(subjects, resources);
  const place = { folder, resources, newDatabase: () => postgres!.createDatabase() };
  for (const subject of subjects) {
    if (subject.service?.engine === 'postgres' && !postgres) continue;
    if ((subject.road === 'mcp-proxy' || subject.road === 'supergateway') && GENERATOR !== 'wrk') {
      console.error(`${subject.name} answers in streams, which only wrk reads: its line is left out.`);
      continue;
    }
    progress(`starting ${subject.label}`);
    running.push(await openSubject(subject, place));
  }
  return running;
}

async function openPostgres(
  subjects: Subject[],
  resources: AsyncDisposableStack,
): Promise<TestPostgres | null> {
  if (!subjects.some(subject => subject.service?.engine === 'postgres')) return null;
  progress('starting PostgreSQL');
  const postgres = await startPostgres();
  if (postgres) resources.defer(() => postgres.close());
  else console.error('No PostgreSQL found: its lines are left out.');
  return postgres;
}

async function measure(running: Running[], options: Options, folder: string): Promise<Series[]> {
  for (const { subject, request, check } of running) {
    progress(`warming up ${subject.label}`);
    await check();
    await (subject.road ? driveCalls : drive)(request, WARM_UP_SECONDS, folder);
  }
  const series: Series[] = running.map(({ subject }) => ({ ...subject, samples: [] }));
  for (let round = 1; round <= options.rounds; round++) {
    for (const [index, one] of running.entries()) {
      progress(`round ${round} of ${options.rounds}: ${one.subject.label}`);
      series[index]!.samples.push(await takeSample(one, options.seconds, folder));
    }
  }
  for (const { check } of running) await check();
  return series;
}

async function takeSample(
  { subject, server, request }: Running,
  seconds: number,
  folder: string,
): Promise<Sample> {
  const before = server.cpuMicroseconds();
  const load = await (subject.road ? driveCalls : drive)(request, seconds, folder);
  const cpuMicros = (server.cpuMicroseconds() - before) / load.requests;
  // Under full load a latency says how long the queue is; a call made alone says what the road takes.
  const measured = subject.road && GENERATOR === 'wrk';
  const lone = measured ? await driveCalls(request, ALONE_SECONDS, folder, 1) : null;
  return {
    cpuMicros,
    aloneP50Ms: lone?.p50Ms ?? null,
    perSecond: load.requests / load.seconds,
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
  };
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (text !== '') console.error(text);
}

await main().catch(error => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
