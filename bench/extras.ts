// Measures what the rounds do not show: latencies at a fixed rate, and the memory of a server before and after the
// load. This is done once per line, after the rounds.

import * as path from 'node:path';
import { CONNECTIONS } from './load.ts';
import type { OpenLoop } from './open-loop.ts';
import { onCore } from './process.ts';
import type { Running } from './subjects.ts';

/** Requests a second: a rate at which they come one at a time, and the load of a busy installation. */
const RATES = [100, 2000];

export interface Extra {
  name: string;
  label: string;
  audits: string;
  restMb: number;
  loadedMb: number;
  /** Null for tool calls, because their ids have to differ, and for what is not asked by HTTP. */
  atRates: OpenLoop[] | null;
}

export async function measureExtra(
  { subject, server, request }: Running,
  restMb: number,
  seconds: number,
): Promise<Extra> {
  const atRates: OpenLoop[] = [];
  const byRate = !subject.road && !request.lines;
  if (byRate) for (const rate of RATES) atRates.push(await openLoop({ ...request, rate, seconds }));
  return {
    name: subject.name,
    label: subject.label,
    audits: subject.audits,
    restMb,
    loadedMb: server.memoryMegabytes(),
    atRates: byRate ? atRates : null,
  };
}

/** The order has the request, the rate and the seconds. */
export async function openLoop(order: object): Promise<OpenLoop> {
  const script = path.join(import.meta.dirname, 'open-loop.ts');
  const text = JSON.stringify({ ...order, connections: CONNECTIONS });
  const child = Bun.spawn(onCore(1, [process.execPath, script, text]), { stdout: 'pipe', stderr: 'inherit' });
  return JSON.parse(await child.stdout.text()) as OpenLoop;
}
