// Nobody acts with a sign-in, or in a role, that has ended: on every route on which operators change something, the sign-in
// ends through another replica after the request was let in and before its first transaction begins, which is the last
// moment. No such request succeeds, and none changes anything. The same request of somebody who is still signed in does.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { logKey } from '../../src/guard/log/sealed-log.ts';
import { actingAs } from '../../src/guard/people/acting.ts';
import { changeOperator, deleteOperator, resetOperator } from '../../src/guard/people/operators.ts';
import { hashPassword } from '../../src/guard/people/passwords.ts';
import { openSignIn, type SignedIn, signOut, signOutEverywhere } from '../../src/guard/people/sign-ins.ts';
import { RateLimit } from '../../src/guard/rate-limit.ts';
import { routes } from '../../src/http/routes.ts';
import { type Serving, serve } from '../../src/http/server.ts';
import type { Route } from '../../src/http/serving/route.ts';
import type { Services } from '../../src/http/serving/services.ts';
import { stream } from '../../src/http/serving/stream.ts';
import { createLog } from '../../src/log.ts';
import { createServices } from '../../src/process/services.ts';
import { loadConfig } from '../../src/settings/config.ts';
import { type Db, dbThrough } from '../../src/store/engine/db.ts';
import { insertOperator } from '../../src/store/operators.ts';
import { depsAt } from '../guard/deps.ts';
import { StubServer } from '../guard/server-sign-ins/stub-server.ts';
import { openStore, type TestStore } from '../store/stores.ts';
import { newDataDir, until } from '../support/faults.ts';
import { refusal } from '../support/refusal.ts';
import { ADMIN_TOKEN, type Engine, engines } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { type Asked, HERE, REQUESTS, type World } from './acting-requests.ts';
import { OWN, PASSWORD } from './people.ts';

/**
 * With them an operator changes nothing: they read, send something for trial, or make a challenge that is not stored. What a
 * tool server shows when it is tried, the service itself notes, as it does when agents call.
 */
const READS = [
  'POST /admin/v1/policies/:id/replay',
  'POST /admin/v1/keys/:id/suggest',
  'POST /admin/v1/keys/:id/connected-tools/:toolId/test',
  'POST /admin/v1/tool-servers/:id/test',
  'POST /admin/v1/notifications/channels/:name/test',
  'POST /admin/v1/webhooks/:id/test',
  'POST /admin/v1/me/passkeys/options',
];
const OPERATORS = ['own', 'view', 'resolve', 'admin'];
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

test('every route on which operators change something is tried', () => {
  const changing = routes.filter(each => each.method !== 'GET' && OPERATORS.includes(each.access));
  const known = [...Object.keys(REQUESTS), ...READS];
  expect(changing.map(nameOf).filter(each => !known.includes(each))).toEqual([]);
});

const TABLES = {
  sqlite: `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
  postgres: `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
};
const NOTE = `CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO writes VALUES (1); RETURN NULL; END'`;
const NOTING = {
  sqlite: 'BEGIN INSERT INTO writes VALUES (1); END',
  postgres: 'EXECUTE FUNCTION note_write()',
};

/** Has the store itself note every row that is written: to compare all that is stored would take a hundred times as long. */
async function noteWrites(db: Db, engine: Engine): Promise<void> {
  const tables = await db.all<{ name: string }>(TABLES[engine]);
  await db.run('CREATE TABLE writes (one bigint)');
  if (engine === 'postgres') await db.run(NOTE);
  for (const { name } of tables)
    for (const change of ['INSERT', 'UPDATE', 'DELETE'])
      await db.run(
        `CREATE TRIGGER writes_${name}_${change} AFTER ${change} ON ${name} FOR EACH ROW ${NOTING[engine]}`,
      );
}

/** Who waits for a lock on PostgreSQL. */
const WAITING = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

interface Person extends SignedIn {
  secret: string;
}

/** How a sign-in ends, or the role. */
const ENDS: Record<string, (deps: Deps, person: Person) => Promise<unknown>> = {
  deleted: (deps, { operatorId }) => deleteOperator(deps, 'admin', operatorId),
  reset: (deps, { operatorId }) => resetOperator(deps, 'admin', operatorId),
  'signed out': (deps, { secret }) => signOut(deps, secret),
  'signed out everywhere': (deps, { operatorId }) => signOutEverywhere(deps, operatorId),
  demoted: (deps, { operatorId }) => changeOperator(deps, 'admin', operatorId, { role: 'user' }),
};
/** What anybody may do who is signed in. */
const anyRole = ({ access, path }: Route): boolean => access === 'own' || path === '/oauth/authorize';

/** The store of the service that is tried. `meanwhile` runs before its next transaction, or a later one. */
class Paused {
  meanwhile: (() => Promise<unknown>) | null = null;
  after = 0;
  readonly db: Db;

  constructor(db: Db) {
    this.db = dbThrough(db, lane => ({
      all: (sql, params) => lane.all(sql, params),
      run: (sql, params) => this.#pause().then(() => lane.run(sql, params)),
      transaction: (locks, work) => this.#pause().then(() => lane.transaction(locks, work)),
    }));
  }

  async #pause(): Promise<void> {
    if (this.meanwhile === null || this.after-- > 0) return;
    const once = this.meanwhile;
    this.meanwhile = null;
    await once();
  }
}

const upstream = new StubServer();
afterAll(() => upstream.close());

/** Whether a route looks again at who asks is not up to the store; that they wait for each other is, and is tried on both. */
const routed = await enginesWhenChanged('src/store/**', 'src/guard/people/**', 'src/http/**');
for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let replica: Db;
    let paused: Paused;
    let deps: Deps;
    let world: World;
    let services: Services;
    let serving: Serving;
    let passwordHash: string;
    let dataDir: string;
    beforeAll(async () => {
      store = await openStore(engine);
      replica = engine === 'postgres' ? await store.again() : store.db;
      paused = new Paused(store.db);
      deps = depsAt(replica, Date.now);
      passwordHash = await hashPassword(PASSWORD);
      dataDir = newDataDir();
      writeFileSync(join(dataDir, 'toolgate.yaml'), 'stdioServers: {}\n');
      const env = { TOOLGATE_DATA_DIR: dataDir, TOOLGATE_PUBLIC_URL: HERE, TOOLGATE_OAUTH: 'on' };
      const { config } = loadConfig({ ...env, TOOLGATE_DATABASE_URL: store.url }, dataDir);
      const log = createLog('error', line => process.stderr.write(line));
      const theirs = depsAt(paused.db, Date.now);
      services = createServices(config, () => config, theirs, ADMIN_TOKEN, await logKey(deps), log, null);
      services.serverSignIns.servedAt(HERE);
      // This one counts in memory: counting in the store comes before anybody is recognised.
      services.approveLimit = new RateLimit(10_000, null);
      serving = serve(services, '127.0.0.1', 0);
      const { serverSignIns } = createServices(
        config,
        () => config,
        deps,
        ADMIN_TOKEN,
        await logKey(deps),
        log,
        null,
      );
      serverSignIns.servedAt(HERE);
      world = { deps, serverSignIns, upstream: upstream.url };
      await noteWrites(store.db, engine);
      // There is an admin besides those who are tried.
      await newPerson();
    });
    afterAll(async () => {
      await serving.stop(5000, () => {});
      if (replica !== store.db) await replica.close();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    });

    async function newPerson(): Promise<Person> {
      const id = newId();
      const operator = { id, email: `${id}@example.com`, role: 'admin' as const, createdAt: Date.now() };
      await insertOperator(deps.db, operator, passwordHash);
      const browser = { ip: '192.0.2.1', userAgent: 'test', replaces: null };
      const { operator: signedIn, secret } = await deps.db.transaction({}, tx =>
        openSignIn(tx, deps, { ...operator, groups: [] }, browser),
      );
      return { ...signedIn, secret };
    }

    async function send(method: string, { path, body, form, cookie }: Asked, { secret }: Person) {
      const cookies = [`toolgate_session=${secret}`, ...(cookie === undefined ? [] : [cookie])];
      const json = body !== undefined && { 'Content-Type': 'application/json' };
      const { status } = await fetch(`http://127.0.0.1:${serving.port}${path}`, {
        method,
        headers: { ...OWN, Cookie: cookies.join('; '), ...json },
        redirect: 'manual',
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(form !== undefined && { body: new URLSearchParams(form) }),
      });
      return status;
    }

    /** How many rows have been written, changed and deleted since the beginning, by transactions that came to their end. */
    async function writes(): Promise<number> {
      const [row] = await replica.all<{ rows: number }>('SELECT count(*) AS rows FROM writes');
      return Number(row?.rows);
    }

    for (const route of routes.filter(each => routed.includes(engine) && nameOf(each) in REQUESTS)) {
      const { method } = route;
      const prepare = REQUESTS[nameOf(route)] as (typeof REQUESTS)[string];
      test(nameOf(route), async () => {
        for (const [how, end] of Object.entries(ENDS)) {
          if (how === 'demoted' && anyRole(route)) continue;
          const person = await newPerson();
          const asked = await prepare(world, person);
          let before = -1;
          paused.after = asked.after ?? 0;
          paused.meanwhile = async () => {
            await end(deps, person);
            before = await writes();
          };
          const status = await send(method, asked, person);
          expect([how, status]).toEqual([how, how === 'demoted' ? 403 : 401]);
          // It is -1 where the request came to no transaction.
          expect(await writes()).toBe(before);
        }
        const person = await newPerson();
        expect(await send(method, await prepare(world, person), person)).toBeOneOf([200, 201, 202, 204, 303]);
      });
    }

    test('an admin who becomes an approver meanwhile ends no grant of others', async () => {
      const person = await newPerson();
      const asked = (await REQUESTS['DELETE /admin/v1/grants/:id']?.(world, person)) as Asked;
      paused.meanwhile = () => changeOperator(deps, 'admin', person.operatorId, { role: 'approver' });
      expect(await send('DELETE', asked, person)).toBe(403);
    });

    test('who is ended waits for what they are changing', async () => {
      for (const [how, end] of Object.entries(ENDS)) {
        const person = await newPerson();
        const events: string[] = [];
        const acting = actingAs(depsAt(store.db, Date.now), person, 'viewer');
        const ended = await acting.db.transaction({}, async () => {
          const done = end(deps, person).then(() => events.push('ended'));
          const waits = async () => engine === 'sqlite' || (await replica.all(WAITING)).length > 0;
          await until('the end waits, or is done', async () => events.length > 0 || (await waits()));
          events.push('changed');
          return { done };
        });
        await ended.done;
        expect([how, ...events]).toEqual([how, 'changed', 'ended']);
      }
    });

    const HELD = {
      'a change': () => REQUESTS['POST /admin/v1/operators'],
      // Nothing is changed by it, so it has no transaction.
      'a read': () => async () => ({ path: '/admin/v1/policies/none/replay', body: { version: 1 } }),
    };
    test.each(Object.entries(HELD))(
      '%s whose body is held back until the sign-in has ended is refused',
      async (_, prepare) => {
        const person = await newPerson();
        const asked = (await prepare()?.(world, person)) as Asked;
        // A use is noted after a minute, which tells that somebody was recognised.
        await replica.run('UPDATE sign_ins SET used_at = used_at - 120000 WHERE id = $1', [person.signInId]);
        const slow = await sendHalf(serving.port, asked, person);
        const used = 'SELECT id FROM sign_ins WHERE id = $1 AND used_at >= created_at';
        await until(
          'the request was let in',
          async () => (await replica.all(used, [person.signInId])).length > 0,
        );
        await deleteOperator(deps, 'admin', person.operatorId);
        expect(await slow.rest()).toStartWith('HTTP/1.1 401 ');
      },
    );

    test('a long answer breaks off when the sign-in ends', async () => {
      const person = await newPerson();
      const who = { kind: 'operator', actor: 'admin', signedIn: person, needed: 'viewer' } as const;
      async function* pages() {
        for (let page = 0; page < 100; page++) yield `page ${page}`;
      }
      const reader = stream({ services, who }, pages()).getReader();
      expect((await reader.read()).done).toBe(false);
      await deleteOperator(deps, 'admin', person.operatorId);
      // The page that was made ahead may still come.
      await reader.read().catch(() => {});
      expect(await refusal(reader.read())).toMatchObject({ code: 'unauthenticated' });
    });
  });
}

/** A request of which the last byte is missing until `rest` is called, which returns the answer. */
async function sendHalf(port: number, { path, body }: Asked, { secret }: Person) {
  const text = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Sec-Fetch-Site: same-origin',
    `Cookie: toolgate_session=${secret}`,
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
    'Connection: close',
  ];
  let answer = '';
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data: (_, data) => {
        answer += data.toString();
      },
      close: () => resolve(),
    },
  });
  socket.write(`${head.join('\r\n')}\r\n\r\n${text.slice(0, -1)}`);
  const rest = async () => {
    socket.write(text.slice(-1));
    await closed;
    return answer;
  };
  return { rest };
}
