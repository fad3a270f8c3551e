// The limit per client and minute, counted together by processes that share a store. The tests set the time.
// test/approvals/rate-limit.test.ts tests how the service uses it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { GuardError } from '../../src/core/errors.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { forgetRequests, RateLimit } from '../../src/guard/rate-limit.ts';
import type { Db } from '../../src/store/engine/db.ts';
import { openStore, type TestStore } from '../store/stores.ts';
import { sql } from '../support/faults.ts';
import { need } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';

const LIMIT = 10;
const AT = Date.UTC(2030, 0, 1, 12, 0, 30);

async function admitted(limit: RateLimit, client: string, now = AT): Promise<boolean> {
  try {
    await limit.admit(client, now);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(GuardError);
    expect(error).toMatchObject({ code: 'rate_limited', retryAfter: 30 });
    return false;
  }
}

const count = (all: boolean[]): number => all.filter(Boolean).length;

test('one process counts by itself', async () => {
  const limit = new RateLimit(LIMIT, null);
  const all = [];
  for (let index = 0; index < 15; index++) all.push(await admitted(limit, 'a'));
  expect(count(all)).toBe(LIMIT);
  expect(await admitted(limit, 'b')).toBe(true);
  expect(await admitted(limit, 'a', AT + 60_000)).toBe(true);
});

const postgres = await sharedPostgres();
describe.if(need(postgres !== null, 'PostgreSQL (npm package, system binaries or TOOLGATE_TEST_PG_URL)'))(
  'processes on one store',
  () => {
    let store: TestStore;
    let others: Db;
    beforeAll(async () => {
      store = await openStore('postgres');
      others = await store.again();
    });
    afterAll(async () => {
      await others.close();
      await store.close();
    });
    const pair = () => [new RateLimit(LIMIT, store.db), new RateLimit(LIMIT, others)] as const;
    const rows = () => sql<{ client: string; count: string }>(store.url, 'SELECT * FROM request_counts');

    test('let through what one would', async () => {
      const both = pair();
      const all = [];
      for (let index = 0; index < 16; index++)
        all.push(await admitted(both[index % 2] as RateLimit, 'turns'));
      expect(all).toEqual([...Array(10).fill(true), ...Array(6).fill(false)]);
      const atOnce = Array.from({ length: 40 }, (_, index) =>
        admitted(both[index % 2] as RateLimit, 'at once'),
      );
      expect(count(await Promise.all(atOnce))).toBe(LIMIT);
    });

    test('ask no more about a client who is past it', async () => {
      const [one] = pair();
      for (let index = 0; index < 50; index++) await admitted(one, 'flood');
      const row = (await rows()).find(each => each.client === 'flood');
      expect(Number(row?.count)).toBe(LIMIT);
    });

    test('keep to it each alone while the store cannot count', async () => {
      const [one, two] = pair();
      await sql(store.url, 'ALTER TABLE request_counts RENAME TO elsewhere');
      try {
        for (const limit of [one, two]) {
          const all = [];
          for (let index = 0; index < 15; index++) all.push(await admitted(limit, 'outage'));
          expect(count(all)).toBe(LIMIT);
        }
      } finally {
        await sql(store.url, 'ALTER TABLE elsewhere RENAME TO request_counts');
      }
      expect(await admitted(new RateLimit(LIMIT, store.db), 'outage')).toBe(true);
    });

    test('leave no rows behind', async () => {
      const [one] = pair();
      for (const minutes of [0, 1, 2]) await admitted(one, 'sweep', AT + minutes * 60_000);
      const forget = forgetRequests();
      const deps = { db: store.db, now: () => AT + 2 * 60_000 } as Deps;
      // There is never more to do, also when it was done before.
      expect([await forget(deps), await forget(deps)]).toEqual([false, false]);
      const left = (await rows()).filter(each => each.client === 'sweep');
      expect(left).toHaveLength(2);
      await forget({ ...deps, now: () => AT + 60 * 60_000 });
      expect(await rows()).toEqual([]);
    });
  },
);
