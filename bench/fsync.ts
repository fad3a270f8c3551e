// The floor of a durable answer: the time of one fdatasync of 8 KB just written to a file, which is about what a check adds
// to the write-ahead log. The data is appended, so that the file's length has to be synced too, or written over existing
// data, as in a log that is reused. It runs as a process of its own; the arguments are seconds, file and manner, and it
// prints the figures as one line of JSON.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { script } from './process.ts';
import type { Place } from './service.ts';

export type Manner = 'append' | 'overwrite';

export interface Fsync {
  p50Ms: number;
  p99Ms: number;
}

const BYTES = 8192;
/** The length of a log in blocks before it is begun again. */
const LOG_BLOCKS = 500;

export async function fsync(manner: Manner, seconds: number, { folder }: Place): Promise<Fsync> {
  const command = [import.meta.path, String(seconds), path.join(folder, 'fsync'), manner];
  const child = Bun.spawn(script(...command), { stdout: 'pipe', stderr: 'inherit' });
  const output = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error('the fsync script failed');
  return JSON.parse(output) as Fsync;
}

if (import.meta.main) {
  const [seconds = '1', file = '', manner = 'append'] = process.argv.slice(2);
  console.log(JSON.stringify(measure(Number(seconds), file, manner as Manner)));
}

function measure(seconds: number, file: string, manner: Manner): Fsync {
  const block = Buffer.alloc(BYTES, 1);
  const log = fs.openSync(file, 'w');
  if (manner === 'overwrite') {
    fs.writeSync(log, Buffer.alloc(BYTES * LOG_BLOCKS));
    fs.fsyncSync(log);
  }
  const waits: number[] = [];
  const end = performance.now() + seconds * 1000;
  for (let index = 0; performance.now() < end; index++) {
    fs.writeSync(log, block, 0, BYTES, (manner === 'overwrite' ? index % LOG_BLOCKS : index) * BYTES);
    const begun = performance.now();
    fs.fdatasyncSync(log);
    waits.push(performance.now() - begun);
  }
  fs.closeSync(log);
  fs.rmSync(file);
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
