// A hint reaches every replica of a PostgreSQL at once, and does so again after the connection that listens was
// lost. Nothing depends on it: workers also look by themselves.

import { expect, test } from 'bun:test';
import { until } from '../support/faults.ts';
import { engines } from '../support/service.ts';
import { newStore } from './stores.ts';

test('on SQLite the one process wakes itself', async () => {
  const store = await newStore('sqlite');
  let heard = 0;
  store.db.onWake(() => heard++);
  store.db.wake();
  await until('the hint came', () => heard === 1);
  await store.close();
});

test.if((await engines()).includes('postgres'))(
  'on PostgreSQL every replica is woken, also after its connection was cut',
  async () => {
    const store = await newStore('postgres');
    const other = await store.again();
    const [{ url } = { url: '' }] = await store.db.all<{ url: string }>('SELECT current_database() AS url');
    let heard = 0;
    other.onWake(() => heard++);
    const listeners = () =>
      store.db.all<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND query ILIKE '%listen%toolgate_wake%' AND pid <> pg_backend_pid()",
        [url],
      );
    await until('it listens', async () => (await listeners()).length === 1);
    heard = 0;
    store.db.wake();
    await until('the hint came', () => heard > 0);
    for (const { pid } of await listeners()) await store.db.all('SELECT pg_terminate_backend($1)', [pid]);
    heard = 0;
    await until('a hint comes again', async () => {
      store.db.wake();
      await Bun.sleep(50);
      return heard > 0 && (await listeners()).length === 1;
    });
    expect(heard).toBeGreaterThan(0);
    await other.close();
    await store.close();
  },
);
