// What the rounds do not show: how long requests take at a fixed rate, how much memory a server has at rest and after
// the load, and how soon it was ready. Taken once per line, after the rounds.

import * as path from 'node:path';
import { CONNECTIONS } from './load.ts';
import type { OpenLoop } from './open-loop.ts';
import { onCore } from './process.ts';
import type { Running } from './subjects.ts';

/** One at a time; and a load that a busy installation has. */
const RATES = [100, 2000];
const SECONDS = 4;

export interface Extra {
  name: string;
  label: string;
  audits: string;
  readyMs: number;
  restMb: number;
  loadedMb: number;
  /** Null for tool calls, whose ids have to differ. */
  atRates: OpenLoop[] | null;
}

export async function measureExtra({ subject, server, request }: Running, restMb: number): Promise<Extra> {
  const atRates: OpenLoop[] = [];
  if (!subject.road) for (const rate of RATES) atRates.push(await openLoop({ ...request, rate }));
  return {
    name: subject.name,
    label: subject.label,
    audits: subject.audits,
    readyMs: server.readyMs,
    restMb,
    loadedMb: server.memoryMegabytes(),
    atRates: subject.road ? null : atRates,
  };
}

async function openLoop(order: object): Promise<OpenLoop> {
  const script = path.join(import.meta.dirname, 'open-loop.ts');
  const text = JSON.stringify({ ...order, seconds: SECONDS, connections: CONNECTIONS });
  const child = Bun.spawn(onCore(1, [process.execPath, script, text]), { stdout: 'pipe', stderr: 'inherit' });
  return JSON.parse(await child.stdout.text()) as OpenLoop;
}

export function renderExtras(extras: readonly Extra[]): string {
  const lines = ['', 'At fixed rates, waits counted from when a request was due (p50 / p99 / p99.9 ms):'];
  for (const { label, atRates } of extras) {
    for (const { rate, p50Ms, p99Ms, p999Ms, failures } of atRates ?? []) {
      const waits = [p50Ms, p99Ms, p999Ms].map(ms => ms.toFixed(2)).join(' / ');
      lines.push(`  ${rate}/s  ${waits}${failures > 0 ? `, ${failures} failed` : ''}  ${label}`);
    }
  }
  lines.push('', 'Start to ready, memory at rest and after the load, and what is recorded of a call:');
  for (const { label, readyMs, restMb, loadedMb, audits } of extras) {
    const memory = `${restMb.toFixed(0)} MB, ${loadedMb.toFixed(0)} MB`;
    lines.push(`  ${readyMs.toFixed(0)} ms, ${memory}  ${label}: ${audits}`);
  }
  return lines.join('\n');
}
