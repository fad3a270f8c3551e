// The suites about coding agents alone: `npx bun bench/attacks/coding/main.ts` prints their section of docs/attacks.md, and with
//

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Place } from '../../service.ts';
import { CodingGuard } from './guard.ts';
import { playCoding } from './play.ts';

const begun = performance.now();
const tell = (text: string) =>
  console.error(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${text}`);

await using resources = new AsyncDisposableStack();
process.once('SIGINT', () => resources.disposeAsync().finally(() => process.exit(130)));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-coding-'));
resources.defer(() => fs.rmSync(folder, { recursive: true, force: true }));
const place: Place = { folder, resources, postgres: null, tell };

const report = await playCoding(await CodingGuard.open(place), tell);
console.log(JSON.stringify(report, null, 2));
tell('done');
