// A long audit log made by the benchmark is one that the service takes for its own: it starts on it, shows it, and has
// not to count it first, which would be measured with the checks.

import { expect, test } from 'bun:test';
import { fillAudit } from '../../bench/fill.ts';
import { sql } from '../support/faults.ts';
import { engines, startService } from '../support/service.ts';

const ENTRIES = 2000;
/** The last minute is never counted yet: 750 entries at most. */
const UNCOUNTED = `SELECT count(*) AS count FROM audit_entries
  WHERE at >= (SELECT at FROM marks WHERE name = 'rolled up')`;
const MARKS = "SELECT at FROM marks WHERE name IN ('rolled up', 'contexts counted to')";

test.each(await engines())('a log that was filled is read as it is, %s', async engine => {
  const first = await startService({ engine });
  const { key } = await first.newKey([{ tool: 'github__create_issue', action: 'allow' }]);
  expect((await first.check(key, 'github', 'create_issue')).body.decision).toBe('allow');
  await first.kill('SIGTERM');

  const told: number[] = [];
  await fillAudit(first.databaseUrl, ENTRIES, done => told.push(done));
  expect(told).toEqual([0, ENTRIES]);
  const [left] = await sql<{ count: number }>(first.databaseUrl, UNCOUNTED);
  expect(Number(left?.count)).toBeLessThan(ENTRIES / 2);
  const marks = await sql<{ at: number }>(first.databaseUrl, MARKS);
  expect(marks).toEqual([marks[0], marks[0]] as typeof marks);

  const second = await startService({ databaseUrl: first.databaseUrl, dataDir: first.dataDir });
  try {
    const { body } = await second.admin('GET', '/audit?limit=100');
    expect(body.entries).toHaveLength(100);
    expect(new Set(body.entries.map((item: { id: string }) => item.id)).size).toBe(100);
    expect(body.entries[99]).toMatchObject({ toolName: 'create_issue', decision: 'allow' });
    expect((await second.check(key, 'github', 'create_issue')).body.decision).toBe('allow');
  } finally {
    await second.kill('SIGTERM');
    await first.close();
  }
});
