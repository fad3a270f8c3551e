// PostgreSQL ends connections that nobody uses at the moment, as an administrator or a proxy does: the next users find
// new ones in their place. Whatever was sent before the end was noticed fails and is not sent again.

import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { sql, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

/** More than the pool has. */
const AT_ONCE = 12;
const END = `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;
const NOT_NOTICED: Patch = {
  file: 'src/store/engine/postgres-connection.ts',
  find: 'if (this.#sql === sql) this.drop();',
  replace: '',
};

const server = await sharedPostgres();

describe.if(need(server?.owned === true, 'a PostgreSQL on this machine'))('postgres', () => {
  test('who comes after the end of idle connections does not notice', async () => {
    expect(await failed()).toEqual([]);
  });

  whenChanged(NOT_NOTICED)('a mutant that learns of the end by its first user is found out', async () => {
    expect(await withMutant([NOT_NOTICED], failed)).not.toEqual([]);
  });
});

/** Statuses other than 200 of those who came next; 0 if nobody answered. */
async function failed(root?: string): Promise<number[]> {
  const service = await startService({ engine: 'postgres', ...(root && { root }) });
  try {
    await reads(service);
    const ended = await sql<{ pid: number }>(service.databaseUrl, END);
    await until('the ends of the connections', () => ended.every(({ pid }) => !existsSync(`/proc/${pid}`)));
    // Answered by the same loop as the connections: by now it has heard of their ends.
    await service.request('GET', '/healthz');
    return (await reads(service)).filter(status => status !== 200);
  } catch (error) {
    // A service that ends itself is found out too.
    if (/ECONNREFUSED|ECONNRESET/.test(String(error))) return [0];
    throw error;
  } finally {
    await service.close();
  }
}

async function reads(service: TestService): Promise<number[]> {
  const asked = Array.from({ length: AT_ONCE }, () => service.admin('GET', '/policies'));
  return (await Promise.all(asked)).map(({ status }) => status);
}
