// Two replicas that write the same new audit contexts at once never wait for each other in a ring, in whatever order
// their checks came. SQLite has one writer, so there is no such ring.

import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Refused, type Transaction } from '../../../src/store/engine/db.ts';
import { unlimited } from '../../../src/store/engine/postgres-connection.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { ContextMemory } from '../../../src/store/log/contexts.ts';
import { sql, until, withMutant } from '../../support/faults.ts';
import type { Patch } from '../../support/mutant.ts';
import { need } from '../../support/need.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { whenChanged } from '../../support/when-changed.ts';
import { auditEntry, openStore } from '../stores.ts';

const ANY_ORDER: Patch = {
  file: 'src/store/log/contexts.ts',
  find: 'wanted.sort((a, b) => (a.digest < b.digest ? -1 : 1));',
  replace: '',
};

const [X, BETWEEN, Y] = ['x', 'between', 'y'].map(toolName => auditEntry({ toolName })) as [
  AuditEntry,
  AuditEntry,
  AuditEntry,
];
const WAITING = `SELECT count(*) AS waiting FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

describe.if(need((await sharedPostgres()) !== null, 'PostgreSQL'))('postgres', async () => {
  const store = await openStore('postgres');
  afterAll(() => store.close());

  /** What becomes of two replicas that both have written one context when they come to the one between. */
  async function crossed(Memory: typeof ContextMemory): Promise<PromiseSettledResult<void>[]> {
    const server = { url: store.url, pooling: 'session', patience: 1, misled: () => {} } as const;
    const connections = [unlimited(server), unlimited(server), unlimited(server)] as const;
    const [holder, one, other] = connections;
    const held = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const write = async (tx: Transaction, entries: AuditEntry[]) => {
      await tx.script("SET LOCAL lock_timeout = '60s'");
      await new Memory().of(tx, entries);
    };
    const holding = holder.transaction({}, async tx => {
      await write(tx, [BETWEEN]);
      held.resolve();
      await release.promise;
      throw new Refused('given up again');
    });
    await held.promise;
    const writing = [
      one.transaction({}, tx => write(tx, [X, BETWEEN, Y])),
      other.transaction({}, tx => write(tx, [Y, BETWEEN, X])),
    ];
    const settled = Promise.allSettled(writing);
    const waiting = async () => Number((await sql<{ waiting: number }>(store.url, WAITING))[0]?.waiting);
    await until('both wait', async () => (await waiting()) === 2);
    release.resolve();
    await holding.catch(() => {});
    const result = await settled;
    for (const each of connections) each.drop();
    await store.db.run('DELETE FROM audit_contexts');
    return result;
  }

  const failures = (settled: PromiseSettledResult<void>[]) =>
    settled.flatMap(each => (each.status === 'rejected' ? [String(each.reason.message)] : []));

  test('new contexts are written in one order by all', async () => {
    expect(failures(await crossed(ContextMemory))).toEqual([]);
  });

  whenChanged(ANY_ORDER)('a mutant that writes them as they come is found out', async () => {
    const found = await withMutant([ANY_ORDER], async root =>
      failures(await crossed((await import(join(root, 'src/store/log/contexts.ts'))).ContextMemory)),
    );
    expect(found).toEqual([expect.stringContaining('deadlock')]);
  });
});
