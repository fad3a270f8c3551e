// The engine for many replicas: a pool with bounds, connections that are dropped when they are no good and kept when
// they are, settings that hold, words that reach every replica, and nothing left open at the end.

import { describe, expect, test } from 'bun:test';
import { GuardError } from '../../../src/core/errors.ts';
import { type Db, StoreError, UniqueViolation } from '../../../src/store/engine/db.ts';
import { openPostgres } from '../../../src/store/engine/postgres.ts';
import { sql, until } from '../../support/faults.ts';
import { Link } from '../../support/link.ts';
import { need } from '../../support/need.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { refusal } from '../../support/refusal.ts';
import { openStore, type TestStore } from '../stores.ts';

const POOL = 2;
const LISTENERS = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`;

const pid = async (db: Pick<Db, 'all'>) =>
  (await db.all<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid;
const setting = async (db: Pick<Db, 'all'>, name: string) => (await db.all(`SHOW ${name}`))[0]?.[name];
const put = (db: Pick<Db, 'run'>, name: string) =>
  db.run("INSERT INTO settings (name, value) VALUES ($1, '')", [name]);

describe.if(need((await sharedPostgres()) !== null, 'PostgreSQL'))('postgres', () => {
  const withStore = async (work: (store: TestStore) => Promise<void>) => {
    const store = await openStore('postgres');
    try {
      await work(store);
    } finally {
      await store.close();
    }
  };
  const withDb = async (url: string, work: (db: Db) => Promise<void>, pooling?: 'transaction') => {
    const db = await openPostgres(url, POOL, pooling && { pooling });
    try {
      await work(db);
    } finally {
      await db.close();
    }
  };
  const others = async ({ db }: TestStore) =>
    (
      await db.all(
        'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
    ).length;
  const listeners = async (url: string) => (await sql<{ pid: number }>(url, LISTENERS)).map(row => row.pid);

  test('a closed handle leaves no connection behind', () =>
    withStore(async store => {
      await until('those of the migrations are gone', async () => (await others(store)) === 0);
      const db = await openPostgres(store.url, POOL);
      db.onWake(() => {});
      await pid(db.lane());
      await Promise.all([pid(db), pid(db)]);
      expect(await db.exclusively(async lane => setting(lane, 'lock_timeout'))).toBe('300ms');
      await until('the connection that listens', async () => (await others(store)) >= 4);
      await until('those of the exclusive work are gone', async () => (await others(store)) === 4);
      await db.close();
      await until('all are gone', async () => (await others(store)) === 0);
    }));

  test('a server that may lose what it has committed is refused, and nothing stays open', () =>
    withStore(async store => {
      const { url, db } = store;
      const [{ name } = { name: '' }] = await db.all<{ name: string }>('SELECT current_database() AS name');
      await sql(url, `ALTER DATABASE "${name}" SET synchronous_commit = off`);
      expect(String(await refusal(openPostgres(url, POOL)))).toMatch(
        /^(?:Error: )?PostgreSQL runs with synchronous_commit=off: an audit entry could be lost after it was promised. Turn it on.$/,
      );
      await until('no connection is left', async () => (await others(store)) === 0);
    }));

  test('a server that cannot be reached, or refuses, is told apart, without the password', () =>
    withStore(async ({ url }) => {
      expect(String(await refusal(openPostgres('postgres://ann:secret@127.0.0.1:1/store', POOL)))).toMatch(
        /^(?:Error: )?PostgreSQL at 127\.0\.0\.1:1 cannot be reached: (?!.*secret).* Is TOOLGATE_DATABASE_URL right, and the server up\?$/,
      );
      const unknown = new URL(url);
      unknown.pathname = '/unknown';
      expect(String(await refusal(openPostgres(unknown.href, POOL)))).toMatch(/ refuses us: .*"unknown"/);
    }));

  test('no more connections are used at once than the pool has, and callers wait in order', () =>
    withStore(({ url }) =>
      withDb(url, async db => {
        let [inside, most, done] = [0, 0, 0];
        const work = () =>
          db.transaction({}, async tx => {
            most = Math.max(most, ++inside);
            await tx.all('SELECT pg_sleep(0.1)::text');
            inside--;
            done++;
          });
        await Promise.all(Array.from({ length: 3 * POOL }, work));
        expect([most, done]).toEqual([POOL, 3 * POOL]);
      }),
    ));

  test('who waits too long for a connection is told so, and takes none from those who come later', () =>
    withStore(async ({ url }) => {
      const db = await openPostgres(url, 1);
      const waited = Promise.withResolvers<void>();
      // It may be ended itself by then: it has only half a second more.
      const holding = db.transaction({}, () => waited.promise).catch(() => {});
      expect(String(await refusal(db.all('SELECT 1')))).toContain(
        'No database connection became free within 2000 ms.',
      );
      waited.resolve();
      await holding;
      expect(await pid(db)).toBeNumber();
      await db.close();
    }));

  test('two thousand wait for a connection, and one more is told at once', () =>
    withStore(async ({ url }) => {
      const db = await openPostgres(url, 1);
      const released = Promise.withResolvers<void>();
      const holding = db.transaction({}, () => released.promise).catch(() => {});
      const waiting = Array.from({ length: 2000 }, () => db.all('SELECT 1').catch((error: unknown) => error));
      expect(await refusal(db.all('SELECT 1'))).toMatchObject({ code: 'overloaded', retryAfter: 1 });
      released.resolve();
      await holding;
      // On a slow machine some of them waited for too long; none was one too many.
      expect((await Promise.all(waiting)).filter(each => each instanceof GuardError)).toEqual([]);
      await db.close();
    }));

  test('work that takes too long ends with its connection; others keep theirs', () =>
    withStore(({ url }) =>
      withDb(url, async db => {
        const [slow, other] = [db.lane(), db.lane()];
        const [before, kept] = [await pid(slow), await pid(other)];
        const late = slow.transaction({}, async tx => {
          await put(tx, 'late');
          for (let each = 0; each < 4; each++) await tx.all('SELECT pg_sleep(1)::text');
        });
        expect(String(await refusal(late))).toContain('PostgreSQL did not answer within 2500 ms.');
        expect(await pid(slow)).not.toBe(before);
        expect(await pid(other)).toBe(kept);
        expect(await db.all("SELECT name FROM settings WHERE name = 'late'")).toEqual([]);
      }),
    ));

  test('one lane does one thing after another, and a refused value does not cost its connection', () =>
    withStore(async ({ db }) => {
      const lane = db.lane();
      const before = await pid(lane);
      await put(lane, 'once');
      const results = await Promise.allSettled([
        lane.transaction({}, tx => put(tx, 'once')),
        lane.transaction({}, tx => put(tx, 'twice')),
        lane.transaction({}, async () => {
          throw new RangeError('ours');
        }),
      ]);
      expect(results.map(each => each.status)).toEqual(['rejected', 'fulfilled', 'rejected']);
      expect((results[0] as PromiseRejectedResult).reason).toBeInstanceOf(UniqueViolation);
      expect((results[2] as PromiseRejectedResult).reason).toBeInstanceOf(RangeError);
      expect(await pid(lane)).toBe(before);
    }));

  test('a transaction that failed does not commit, even if nobody looked', () =>
    withStore(async ({ db }) => {
      const failing = db.transaction({}, async tx => {
        await put(tx, 'ignored');
        await tx.script('INSERT INTO nowhere VALUES (1)').catch(() => {});
      });
      const error = await failing.catch((error: unknown) => error);
      expect(error).toBeInstanceOf(StoreError);
      expect(String(error)).toContain('PostgreSQL rolled the transaction back.');
      expect(await db.all("SELECT name FROM settings WHERE name = 'ignored'")).toEqual([]);
    }));

  test('a connection to a server that only reads is left, and so is the one that listens there', () =>
    withStore(async ({ url, db }) => {
      const [{ name } = { name: '' }] = await db.all<{ name: string }>('SELECT current_database() AS name');
      await sql(url, `ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
      await withDb(url, async misled => {
        let heard = 0;
        misled.onWake(() => heard++);
        await until('it listens', async () => (await listeners(url)).length === 1);
        const [before] = await listeners(url);
        const lane = misled.lane();
        expect(String(await refusal(put(lane, 'read-only')))).toContain('read-only');
        await db.run(`ALTER DATABASE "${name}" RESET default_transaction_read_only`);
        await put(lane, 'written');
        await until('it listens elsewhere', async () => {
          const now = await listeners(url);
          return now.length === 1 && now[0] !== before;
        });
        heard = 0;
        await until('it hears', async () => {
          db.wake();
          await Bun.sleep(20);
          return heard > 0;
        });
      });
    }));

  test('a replica that could not listen at first listens once it can', () =>
    withStore(async ({ url, db }) => {
      const link = await Link.to(url);
      try {
        await withDb(link.through(url), async late => {
          link.refuse();
          let heard = 0;
          late.onWake(() => heard++);
          await until('it was refused', () => link.refused > 0);
          link.mend();
          await until('it hears', async () => {
            db.wake();
            await Bun.sleep(20);
            return heard > 0;
          });
        });
      } finally {
        await link.close();
      }
    }));

  test('a handle that was closed does not listen anew, also when it was about to', () =>
    withStore(async ({ url, db }) => {
      const [{ name } = { name: '' }] = await db.all<{ name: string }>('SELECT current_database() AS name');
      await sql(url, `ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
      await withDb(url, async misled => {
        misled.onWake(() => {});
        for (let n = 0; n < 2; n++) {
          expect(String(await refusal(put(misled.lane(), 'read-only')))).toContain('read-only');
        }
      });
      // It would have listened anew two seconds after a refusal.
      await Bun.sleep(3000);
      expect(await listeners(url)).toEqual([]);
    }));

  test('limits of time hold for a session, or for one transaction behind a proxy that pools', () =>
    withStore(async ({ url }) => {
      const all = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
      const read = async (from: Pick<Db, 'all'>) => Promise.all(all.map(name => setting(from, name)));
      const prepared = async (from: Pick<Db, 'all'>) => {
        await from.all('SELECT $1::text AS text', ['x']);
        return (await from.all('SELECT name FROM pg_prepared_statements')).length;
      };
      await withDb(url, async db => {
        expect(await read(db)).toEqual(['2s', '1s', '2500ms']);
        expect(await db.transaction({}, read)).toEqual(['2s', '1s', '2500ms']);
        expect(await prepared(db.lane())).toBeGreaterThan(0);
      });
      await withDb(
        url,
        async pooled => {
          // Outside a transaction they would stay with a connection that is somebody else's next.
          expect(await read(pooled)).toEqual(['0', '0', '0']);
          expect(await pooled.transaction({}, read)).toEqual(['2s', '1s', '2500ms']);
          expect(await prepared(pooled.lane())).toBe(0);
        },
        'transaction',
      );
    }));

  test('a word reaches every replica, by one connection that listens, and wakes nobody', () =>
    withStore(async ({ url, db }) => {
      await withDb(url, async other => {
        const words: string[] = [];
        let woken = 0;
        other.onHint(word => words.push(word));
        other.onWake(() => woken++);
        await until('it listens, and was woken for what it missed', () => woken > 0);
        expect(await listeners(url)).toHaveLength(1);
        woken = 0;
        db.sendHint('first');
        await until('the word came', () => words.length === 1);
        other.sendHint('second');
        await until('its own word came', () => words.length === 2);
        expect([words, woken]).toEqual([['first', 'second'], 0]);
        expect(other.hintsReachReplicas).toBe(true);
        db.wake();
        await until('it is woken', () => woken > 0);
        expect(words).toEqual(['first', 'second']);
      });
    }));

  test('behind a proxy that pools nobody listens, and a word reaches the replica itself', () =>
    withStore(({ url }) =>
      withDb(
        url,
        async pooled => {
          const words: string[] = [];
          let woken = 0;
          pooled.onHint(word => words.push(word));
          pooled.onWake(() => woken++);
          pooled.sendHint('word');
          pooled.wake();
          await until('both came', () => words.length === 1 && woken === 1);
          expect(await listeners(url)).toEqual([]);
          expect(pooled.hintsReachReplicas).toBe(false);
        },
        'transaction',
      ),
    ));
});
