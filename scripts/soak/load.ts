// Puts a stage under load: starts the generator on its own core, so that it neither takes time from the service nor
// waits for it, and finds the rate that the stage sustains.

import * as path from 'node:path';
import { CORES } from '../../bench/process.ts';
import type { Line, Order } from './generator.ts';
import { count, quantile, type Tally } from './tally.ts';

/** This many connections to each replica fill every commit. */
const SATURATING = 256;
const WARM_S = 5;
const SATURATED_S = 15;
/** The shares of the saturated rate that are tried. If not even a third is sustained, the figure is meaningless. */
const SHARES = [0.8, 0.7, 0.6, 0.5, 0.4, 0.33];
/**
 * Long enough for all work that follows checks: sealing, the roll-ups of a minute, vacuum, a checkpoint of the
 * database.
 */
const CONFIRM_S = 65;
const SUSTAINED_P99_MS = 1000;
/**
 * The share that pauses of the disk may cost: at 20,000 a second, the queue that the soak allows is full after 50 ms.
 */
const REFUSED_SHARE = 0.01;
/** An attempt that has failed by then is not continued. */
const TRY_S = 10;
/** Several times the queue of a replica, so that it is the service that refuses checks. */
const MOST_CONNECTIONS = 4000;

export type Target = Pick<Order, 'urls' | 'kinds' | 'idFile'>;

export const PINNED = CORES.length > 1 && Bun.which('taskset') !== null;

/** Processes started after this call leave the last core to the generator. */
export function leaveOneCore(): void {
  if (PINNED) Bun.spawnSync(['taskset', '-a', '-p', '-c', CORES.slice(0, -1).join(','), String(process.pid)]);
}

export function openLoad(
  target: Target,
  rate: number,
  seconds: number,
  say: Say,
  signal?: AbortSignal,
): Promise<Tally> {
  return generate({ ...target, rate, seconds, connections: MOST_CONNECTIONS }, say, signal);
}

type Say = (text: string) => void;

export interface Rates {
  /** The median of the verdicts a second when every connection sends its next check at once. */
  saturated: number;
  sustainable: number;
}

/**
 * Finds the largest share of the saturated rate at which, for a minute, 99 % of the checks are answered and hardly any
 * wait.
 */
export async function measureRates(target: Target, say: Say): Promise<Rates> {
  const closed = { ...target, rate: null, connections: SATURATING };
  await generate({ ...closed, seconds: WARM_S }, say);
  const { verdictsPerSecond } = await generate({ ...closed, seconds: SATURATED_S }, say);
  const whole = Array.from({ length: SATURATED_S }, (_, second) => verdictsPerSecond[second] ?? 0).sort(
    (a, b) => a - b,
  );
  const saturated = whole[Math.floor(whole.length / 2)] ?? 0;
  say(`${saturated} verdicts a second when saturated (${whole[0] ?? 0} to ${whole.at(-1) ?? 0})`);
  if ((whole[0] ?? 0) < saturated / 2)
    say('That varies: something else seems to be at work on this machine.');
  for (const share of SHARES) {
    const sustainable = Math.round(saturated * share);
    if ((await kept(target, sustainable, TRY_S, say)) && (await kept(target, sustainable, CONFIRM_S, say)))
      return { saturated, sustainable };
  }
  throw new Error('What is sustained varies too much to be measured; let nothing else run on this machine.');
}

/** Whether, at this rate, 99 % of the checks are answered and hardly any wait. */
async function kept(target: Target, rate: number, seconds: number, say: Say): Promise<boolean> {
  const tally = await openLoad(target, rate, seconds, say);
  const [p99, refused] = [quantile(tally.verdictMs, 0.99), count(tally.shedMs) + tally.notSent];
  const good = refused <= tally.sent * REFUSED_SHARE && p99 < SUSTAINED_P99_MS;
  say(`${rate} a second, ${seconds} s: p99 ${p99} ms, ${refused} refused: ${good ? 'kept' : 'too many'}`);
  return good;
}

export async function generate(order: Order, say: Say, signal?: AbortSignal): Promise<Tally> {
  const script = path.join(import.meta.dirname, 'generator.ts');
  const pinned = PINNED ? ['taskset', '-c', String(CORES.at(-1))] : [];
  const child = Bun.spawn([...pinned, process.execPath, script], {
    stdin: new Blob([JSON.stringify(order)]),
    stdout: 'pipe',
    stderr: 'inherit',
    ...(signal === undefined ? {} : { signal }),
  });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines.map(each => JSON.parse(each) as Line)) {
      if ('tally' in line) return line.tally;
      say(line.progress);
    }
  }
  throw new Error('The generator ended without its figures.');
}
