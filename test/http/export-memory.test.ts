// Exporting a long log takes no memory to speak of, whether its reader is fast or slow: the service holds a page at
// a time. The text is several times as large as what the process may grow by.

import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { fillAudit } from '../../bench/fill.ts';
import { newDataDir } from '../support/faults.ts';
import { LONG } from '../support/need.ts';
import { ADMIN_TOKEN, type Engine, engines, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const ENTRIES = LONG ? 1_000_000 : 100_000;
/** Long entries make a long text of fewer rows. */
const REASON = 'This is not for agents. '.repeat(40);
const READ_BY = ['src/http/serving/stream.ts', 'src/http/admin/**', 'src/guard/log/**', 'src/store/log/**'];
const MIB = 1024 * 1024;
const MOST_GROWTH = 100 * MIB;

function memoryOf({ process }: TestService): number {
  const status = readFileSync(`/proc/${process.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

async function openFilled(engine: Engine): Promise<TestService> {
  const dataDir = newDataDir();
  const first = await startService({ engine, dataDir });
  const { key } = await first.newKey([{ tool: '*', action: 'deny', reason: REASON }]);
  await first.check(key, 'github', 'create_issue');
  await first.kill('SIGTERM');
  await fillAudit(first.databaseUrl, ENTRIES - 1);
  // Neither sealing nor counting the new entries is what is measured here.
  const env = { TOOLGATE_SEALING: 'false' };
  return startService({ databaseUrl: first.databaseUrl, dataDir, env });
}

interface Export {
  bytes: number;
  lines: number;
  /** How much the process held at most, above what it held before. */
  growth: number;
}

async function exportAll(service: TestService, pause: number): Promise<Export> {
  const before = memoryOf(service);
  const found = { bytes: 0, lines: 0, growth: 0 };
  const response = await fetch(`${service.url}/admin/v1/audit/export`, {
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  let looked = 0;
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    found.bytes += chunk.length;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) found.lines++;
    if (found.bytes - looked < MIB) continue;
    looked = found.bytes;
    found.growth = Math.max(found.growth, memoryOf(service) - before);
    if (pause > 0) await Bun.sleep(pause);
  }
  return found;
}

for (const engine of await engines()) {
  whenChanged(...READ_BY)(`${engine}: an export of ${ENTRIES} entries holds a page at a time`, async () => {
    const service = await openFilled(engine);
    try {
      // Once with a fast reader, so that what the runtime needs at first is not counted; then with a slow one.
      expect((await exportAll(service, 0)).lines).toBe(ENTRIES);
      const found = await exportAll(service, 2);
      console.log(`export ${engine}: ${found.bytes >> 20} MiB, held ${found.growth >> 20} MiB more`);
      expect(found.lines).toBe(ENTRIES);
      expect(found.bytes).toBeGreaterThan(MOST_GROWTH);
      expect(found.growth).toBeLessThan(MOST_GROWTH);
    } finally {
      await service.close();
    }
  });
}
