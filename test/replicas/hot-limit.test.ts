// A limit for which many calls wait makes no other call wait. The test holds the lock of one on PostgreSQL: calls that
// count against it wait, calls without a limit on the same replica are answered meanwhile, and those that waited are
// answered once the lock is released. The mutant decides all of them in the same groups.

import { expect, test } from 'bun:test';
import type { Limit } from '../../src/core/policy/limit.ts';
import { countLock, limitId } from '../../src/guard/check/limits.ts';
import { openPostgres } from '../../src/store/engine/postgres.ts';
import { sql, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { engines, stalled, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const HOT: Limit = { calls: 1000, within: '1h', per: 'policy' };
const RULES = [
  { tool: 'hot', action: 'allow', limit: 'hot' },
  { tool: '*', action: 'allow' },
];
const METERED = 4;
const OTHERS = 20;

const TOGETHER: Patch = {
  file: 'src/process/services.ts',
  find: 'new CheckWork(deps, memory, true)',
  replace: 'new CheckWork(deps, memory)',
};

const there = (await engines()).includes('postgres');

test.skipIf(!there)('calls without a limit do not wait for a limit', async () => {
  let found = await measure();
  // Those that wait are given up after a second.
  if (found.others < OTHERS || found.metered < METERED) {
    stalled('calls that waited for a lock were given up');
    found = await measure();
  }
  expect(found).toEqual({ others: OTHERS, metered: METERED });
});

whenChanged(TOGETHER).skipIf(!there)('a mutant that decides them together is found out', async () => {
  const { others } = await withMutant([TOGETHER], measure);
  expect(others).toBe(0);
});

interface Found {
  /** How many of the calls without a limit were allowed while all others still waited. */
  others: number;
  /** How many of those that waited were allowed in the end. */
  metered: number;
}

async function measure(root?: string): Promise<Found> {
  const service = await startService({ engine: 'postgres', ...(root && { root }) });
  const db = await openPostgres(service.databaseUrl, 1);
  try {
    const { key, policyId } = await hotKey(service);
    const ask = async (toolName: string) =>
      (await service.json('POST', '/v1/check', key, { serverName: 'x', toolName })).body.decision === 'allow';
    await Promise.all([ask('hot'), ask('plain')]);
    let answered = 0;
    let others = 0;
    let waiting: Promise<boolean>[] = [];
    const lock = countLock(limitId(policyId, 'hot', HOT), policyId);
    await db.transaction({ exclusive: [lock] }, async tx => {
      // The lock is taken before the first answer.
      await tx.all('SELECT 1 AS one');
      waiting = Array.from({ length: METERED }, () => ask('hot').finally(() => answered++));
      await until('a call that waits for the lock', () => someWait(service.databaseUrl));
      const plain = await Promise.all(Array.from({ length: OTHERS }, () => ask('plain')));
      others = answered === 0 ? plain.filter(Boolean).length : 0;
    });
    const metered = (await Promise.all(waiting)).filter(Boolean).length;
    return { others, metered };
  } finally {
    await db.close();
    await service.close();
  }
}

async function hotKey(service: TestService): Promise<{ key: string; policyId: string }> {
  const policy = await service.admin('POST', '/policies', {
    name: 'hot',
    rules: RULES,
    limits: { hot: HOT },
  });
  const policyId = policy.body.id;
  const { key } = (await service.admin('POST', '/keys', { name: 'hot', policyId })).body;
  return { key, policyId };
}

async function someWait(databaseUrl: string): Promise<boolean> {
  const waiting = await sql(
    databaseUrl,
    `SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
     WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()`,
  );
  return waiting.length > 0;
}
