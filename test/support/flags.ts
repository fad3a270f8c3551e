// How `npm test` has the tests run. Three files at a time for each core, because two thirds of the time a test waits for
// something: a process that starts, a disk, a timer. A file takes up to 2 GiB with its services, database and browser.
// --no-orphans has the kernel end whatever a test process has started when that process is gone, however it went.

import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';

const AT_ONCE = Math.max(2, Math.min(3 * availableParallelism(), Math.floor(totalmem() / 2 ** 31)));

export const FLAGS = [
  ...['--timeout', '300000', `--parallel=${AT_ONCE}`, '--no-isolate', '--no-orphans'],
  ...['--preload', join(import.meta.dir, 'cheap-here.ts')],
];
