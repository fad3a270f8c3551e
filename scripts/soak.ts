// npm run soak: two replicas on one PostgreSQL at twice the rate they sustain, while links stall, a replica is
// killed and the database restarts. Prints a table; ends with 1 if an answer was wrong, memory grew, what was shed
// waited, or too few checks were answered between the faults.

import * as fs from 'node:fs';
import { parseArgs } from 'node:util';
import { sql } from '../test/support/faults.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { startService, type TestService } from '../test/support/service.ts';
import { type Fault, faults, openLink } from './soak/faults.ts';
import { type Kind, OpenLoad, percentile } from './soak/load.ts';

const USAGE = `Usage: npm run soak -- [options]

  --minutes <n>  how long, at twice the sustainable rate (10)
  --rate <n>     checks a second that are sustainable; measured first when left out
  --help         print this
`;

/** Deep enough for a commit to be full, and so short that nobody waits long in it. */
const QUEUE_LIMIT = '1000';
const CALM_S = 15;
/** After a fault: the promised two seconds until checks are answered again, and one for the second it began in. */
const RECOVERY_S = 3;
const SUSTAINED_P99_MS = 1000;
const STEP_S = 6;

const MIB = 1024 * 1024;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const postgres = await startPostgres();
if (postgres === null) throw new Error('There is no PostgreSQL here.');
const databaseUrl = await postgres.createDatabase();
const link = await openLink(databaseUrl);
const replica = (url: string) =>
  startService({
    databaseUrl: url,
    env: { TOOLGATE_QUEUE_LIMIT: QUEUE_LIMIT, TOOLGATE_LOG_LEVEL: 'error' },
  });
const steady = await replica(databaseUrl);
let mortal = await replica(link.url);

try {
  process.exitCode = (await soak()) ? 0 : 1;
} finally {
  await steady.kill('SIGTERM');
  await mortal.kill('SIGTERM');
  link.close();
  await postgres.close();
}

async function soak(): Promise<boolean> {
  const kinds = await makeKinds(steady);
  const urls = [() => steady.url, () => mortal.url];
  const sustainable = values.rate === undefined ? await measure(urls, kinds) : Number(values.rate);
  const seconds = Math.round(Number(values.minutes) * 60);
  say(`${sustainable} checks a second are sustainable; now ${2 * sustainable} for ${seconds} s`);
  const load = new OpenLoad(urls, kinds);
  const memory = watch(steady);
  const disturbed = disturb(seconds);
  await load.run(2 * sustainable, seconds);
  load.close();
  const { happened, calm } = await disturbed;
  return report(load, { sustainable, seconds, happened, calm, memory: memory.stop() });
}

/** Three of four allowed, some denied, a few of a session that is revoked before the load begins. */
async function makeKinds(service: TestService): Promise<Kind[]> {
  const { key } = await service.newKey([
    { tool: 'soak__no', action: 'deny' },
    { tool: 'soak__yes', action: 'allow' },
  ]);
  const session = (await service.json('POST', '/v1/sessions', key)).body as { id: string; token: string };
  await service.json('DELETE', `/v1/sessions/${session.id}`, key);
  const kinds: Kind[] = Array.from({ length: 20 }, () => ({ token: key, tool: 'yes', decision: 'allow' }));
  for (const index of [3, 7, 11, 15]) kinds[index] = { token: key, tool: 'no', decision: 'deny' };
  kinds[19] = { token: session.token, tool: 'yes', decision: null };
  return kinds;
}

/** The highest rate at which everything gets its verdict and hardly anybody waits a second. */
async function measure(urls: (() => string)[], kinds: readonly Kind[]): Promise<number> {
  await step(urls, kinds, 300);
  let good = 0;
  let failures = 0;
  for (
    let rate = 500;
    failures < 2;
    rate = Math.round(failures > 0 ? rate : rate * (rate < 2000 ? 1.5 : 1.2))
  ) {
    const load = await step(urls, kinds, rate);
    const p99 = percentile(load.verdictMs, 0.99);
    const sent = load.seconds.reduce((sum, each) => sum + each.sent, 0);
    const kept = sent / STEP_S > rate * 0.95 && load.shedMs.length === 0 && p99 < SUSTAINED_P99_MS;
    say(`${rate} a second: p99 ${p99.toFixed(0)} ms, ${load.shedMs.length} shed${kept ? '' : ': too many'}`);
    // Once more: something else may have been at work on the machine.
    failures = kept ? 0 : failures + 1;
    if (kept) good = rate;
  }
  if (good === 0) throw new Error('Not even 500 checks a second are sustained here.');
  return good;
}

async function step(urls: (() => string)[], kinds: readonly Kind[], rate: number): Promise<OpenLoad> {
  const load = new OpenLoad(urls, kinds);
  await load.run(rate, STEP_S);
  load.close();
  return load;
}

interface Disturbance {
  happened: Map<string, number>;
  /** Seconds of the load in which nothing was wrong. */
  calm: Set<number>;
}

async function disturb(seconds: number): Promise<Disturbance> {
  const begun = performance.now();
  const elapsed = () => (performance.now() - begun) / 1000;
  const happened = new Map<string, number>();
  const calm = new Set(Array.from({ length: seconds }, (_, second) => second));
  const all = faults(postgres as NonNullable<typeof postgres>, link, async () => {
    await mortal.kill('SIGKILL');
    mortal = await revived();
  });
  for (let turn = 0; elapsed() + CALM_S < seconds - CALM_S; turn++) {
    await Bun.sleep(CALM_S * 1000);
    const fault = all[turn % all.length] as Fault;
    const from = Math.floor(elapsed());
    await fault.run();
    const to = Math.ceil(elapsed()) + RECOVERY_S;
    for (let second = from; second <= to; second++) calm.delete(second);
    happened.set(fault.name, (happened.get(fault.name) ?? 0) + 1);
    say(`${from} s: ${fault.name}, ${(elapsed() - from).toFixed(1)} s`);
  }
  return { happened, calm };
}

/** As whatever looks after a process does: tried again while it does not start. */
async function revived(): Promise<TestService> {
  for (let tries = 1; ; tries++) {
    try {
      return await replica(link.url);
    } catch (error) {
      if (tries === 5) throw error;
      say(`a start failed: ${(error as Error).message.trim().split('\n').at(-1)}`);
    }
  }
}

/** The memory of a replica that lives through all of it. */
function watch(service: TestService): { stop: () => number[] } {
  const samples: number[] = [];
  const timer = setInterval(() => {
    const status = fs.readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
    samples.push(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024);
  }, 1000);
  const stop = () => {
    clearInterval(timer);
    return samples;
  };
  return { stop };
}

interface Run extends Disturbance {
  sustainable: number;
  seconds: number;
  memory: number[];
}

async function report(load: OpenLoad, run: Run): Promise<boolean> {
  say('comparing verdicts with the log');
  const missing = await notLogged(load.ids);
  const calm = load.seconds.filter((_, second) => run.calm.has(second));
  const goodput = calm.reduce((sum, each) => sum + each.verdicts, 0) / Math.max(calm.length, 1);
  const overall = load.verdictMs.length / run.seconds;
  const [early, late] = [third(run.memory, 1), third(run.memory, 2)];
  const shedP99 = percentile(load.shedMs, 0.99);
  const rows: [string, string, boolean][] = [
    ['checks sent', `${load.seconds.reduce((sum, each) => sum + each.sent, 0)} in ${run.seconds} s`, true],
    ['not sent, all connections busy', String(load.notSent), true],
    ['faults', [...run.happened].map(([name, count]) => `${count} x ${name}`).join(', ') || 'none', true],
    [
      'answers by status',
      [...load.statuses].map(([status, count]) => `${status}: ${count}`).join(', '),
      true,
    ],
    ['connections lost before an answer', String(load.lost), true],
    ['wrong answers', `${load.wrong.length} ${load.wrong[0] ?? ''}`, load.wrong.length === 0],
    ['verdicts that the log lacks', String(missing), missing === 0],
    ['goodput between faults', share(goodput, run.sustainable), goodput >= 0.8 * run.sustainable],
    ['goodput over all', share(overall, run.sustainable), true],
    ['verdict p50, p99', ms(percentile(load.verdictMs, 0.5), percentile(load.verdictMs, 0.99)), true],
    ['shed p50, p99', ms(percentile(load.shedMs, 0.5), shedP99), shedP99 < 1000],
    ['slowest answer', ms(load.slowestMs), load.slowestMs < 4000],
    ['memory, second third', `${Math.round(early / MIB)} MiB`, true],
    ['memory, last third', `${Math.round(late / MIB)} MiB`, late < early * 1.2 + 16 * MIB],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value, good] of rows)
    console.log(`${good ? '      ' : 'FAILED'}  ${name.padEnd(width)}  ${value}`);
  return rows.every(([, , good]) => good);
}

function share(rate: number, of: number): string {
  return `${Math.round(rate)} a second, ${Math.round((100 * rate) / of)} % of the sustainable rate`;
}

function ms(...times: number[]): string {
  return times.map(each => `${each.toFixed(0)} ms`).join(', ');
}

/** The median of a third of the samples. */
function third(samples: readonly number[], which: 0 | 1 | 2): number {
  const size = Math.floor(samples.length / 3);
  return percentile(samples.slice(which * size, (which + 1) * size), 0.5);
}

/** Goes through the log in pages, so that millions of verdicts can be compared. */
async function notLogged(ids: ReadonlySet<string>): Promise<number> {
  const left = new Set(ids);
  for (let after = ''; ; ) {
    const page = await sql<{ id: string }>(
      databaseUrl,
      `SELECT id FROM audit WHERE id > '${after}' ORDER BY id LIMIT 50000`,
    );
    for (const { id } of page) left.delete(id);
    const last = page.at(-1);
    if (last === undefined) return left.size;
    after = last.id;
  }
}

function say(text: string): void {
  console.error(text);
}
