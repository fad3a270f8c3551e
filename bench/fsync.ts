// The floor of a durable answer: the median time of one fdatasync of 8 KB just written to a file, which is about what a
// check adds to the write-ahead log. The data is appended, so that the file's length has to be synced too, or written
// over existing data, as in a log that is reused. The arguments are seconds, file and manner; it prints milliseconds.

import * as fs from 'node:fs';
import { summarise } from './figure.ts';

const BYTES = 8192;
/** The length to which SQLite lets a log grow before it starts again from the beginning. */
const LOG_BLOCKS = 500;

const [seconds = '1', file = '', manner = 'append'] = process.argv.slice(2);
const block = Buffer.alloc(BYTES, 1);
const log = fs.openSync(file, 'w');
if (manner === 'overwrite') {
  fs.writeSync(log, Buffer.alloc(BYTES * LOG_BLOCKS));
  fs.fsyncSync(log);
}
const waits: number[] = [];
const end = performance.now() + Number(seconds) * 1000;
for (let index = 0; performance.now() < end; index++) {
  fs.writeSync(log, block, 0, BYTES, (manner === 'overwrite' ? index % LOG_BLOCKS : index) * BYTES);
  const begun = performance.now();
  fs.fdatasyncSync(log);
  waits.push(performance.now() - begun);
}
fs.closeSync(log);
fs.rmSync(file);
console.log(summarise(waits).median);
