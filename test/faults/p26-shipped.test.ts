// P26: every sealed entry is shipped, in order and at least once, across kills of the service and of the receiver, and
// across days in which the receiver is away while retention removes what is old. What arrived is read from the file that
// the receiver writes before it answers. The mutants move the cursor before the answer, and let retention forget it.

import { expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY } from '../../src/core/time/duration.ts';
import { Clock, entries, sealerOn, write } from '../guard/log/sealing.ts';
import { openStore } from '../store/stores.ts';
import { canCompile, SettableClock } from '../support/clock.ts';
import { figures, newDataDir, random, SEED, sql, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { freePort } from '../support/port.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';
import { shippedIn, spawnShippedReceiver } from './shipped-receiver.ts';

const KILLS = sized(40, 3, 2);
/** Sealed before the service starts, for each kill; calls are added while it runs. */
const PER_KILL = 300;
const MOST_PER_BATCH = 40;
const BADNESS = 0.03;
const HALF_A_DAY = DAY / 1000 / 2;

const MOVE_FIRST: Patch = {
  file: 'src/guard/outgoing/shipping/shipper.ts',
  find: 'const error = await this.#send(batch);',
  replace: `await moveShipping(db, state, (batch.at(-1) as Shipped).seq + 1, now());
    const error = await this.#send(batch);`,
};
const FORGET_RETENTION: Patch = {
  file: 'src/guard/log/retention.ts',
  find: 'return Math.min(places, await shippedByAll(deps.db, shippedTo));',
  replace: 'return places + 0 * (await shippedByAll(deps.db, shippedTo));',
};

// All at once: each has a store, a service and a receiver of its own, and mostly waits.
for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  test.concurrent(`${engine}: every sealed entry arrives in order, across kills`, async () => {
    const found = await killed(engine, KILLS);
    expect(found).toMatchObject({ missing: 0, outOfOrder: 0, altered: 0 });
  });
}

whenChanged(MOVE_FIRST).concurrent(
  'a mutant that moves the cursor before the answer loses entries',
  async () => {
    const { missing } = await withMutant([MOVE_FIRST], root => killed('sqlite', 2, root));
    expect(missing).toBeGreaterThan(0);
  },
);

test
  .skipIf(!need(canCompile(), 'a C compiler'))
  .concurrent('a receiver that is away for days gets everything, and retention waits for it', async () => {
    const found = await away();
    expect(found).toMatchObject({ missing: 0, outOfOrder: 0, altered: 0, kept: DAYS * PER_DAY });
  });

whenChanged(FORGET_RETENTION)
  .skipIf(!canCompile())
  .concurrent('a mutant whose retention does not ask what was shipped loses entries', async () => {
    const { missing } = await withMutant([FORGET_RETENTION], away);
    expect(missing).toBeGreaterThan(0);
  });

interface World {
  dataDir: string;
  file: string;
  port: number;
  env: Record<string, string>;
}

/** A folder with a server file that ships to a receiver on a port of its own. */
async function world(env: Record<string, string> = {}): Promise<World> {
  const dataDir = newDataDir();
  const port = await freePort();
  const config = join(dataDir, 'toolgate.yaml');
  const shipping = { siem: { type: 'http', url: `http://127.0.0.1:${port}/in` } };
  writeFileSync(config, JSON.stringify({ shipping }), { mode: 0o600 });
  const file = join(dataDir, 'arrived.jsonl');
  return { dataDir, file, port, env: { ...env, TOOLGATE_CONFIG: config } };
}

const receive = ({ port, file }: World, badness = BADNESS) =>
  spawnShippedReceiver({ port, file, badness, most: MOST_PER_BATCH });

async function killed(engine: Engine, kills: number, root?: string) {
  const chance = random(SEED);
  const { dataDir, file, port, env } = await world();
  const databaseUrl = await sealedStore(engine, kills * PER_KILL);
  const options = { dataDir, databaseUrl, env, ...(root && { root }) };
  const start = () => startService(options);
  const services = [await start()];
  if (engine === 'postgres') services.push(await start());
  const receiver = () => receive({ dataDir, file, port, env });
  let child = await receiver();
  try {
    const { key } = await (services[0] as TestService).newKey([{ tool: '*', action: 'allow' }]);
    for (let done = 0; done < kills; done++) {
      const before = shippedIn(file).length;
      const more = Math.ceil(chance() * PER_KILL * 0.8);
      await until(
        'more arrived',
        async () => shippedIn(file).length >= before + more || (await isDone(databaseUrl)),
      );
      if (done % 2 === 1) {
        child.kill('SIGKILL');
        await child.exited;
        child = await receiver();
      } else {
        const at = Math.floor(chance() * services.length);
        await (services[at] as TestService).kill('SIGKILL');
        services[at] = await start();
      }
      for (const service of services) expect((await service.check(key, 's', 't')).status).toBe(200);
    }
    await until('all is shipped', () => isDone(databaseUrl), 180_000);
    return await told(`${engine}${root ? ' mutant' : ''}`, databaseUrl, file, kills);
  } finally {
    for (const service of services) await service.kill('SIGKILL');
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** A store with so many sealed entries of yesterday. */
async function sealedStore(engine: Engine, count: number): Promise<string> {
  const store = await openStore(engine);
  const clock = new Clock();
  clock.now = Date.now();
  await write(store.db, entries(count, clock.now - DAY));
  const { settle } = await sealerOn(store.db, clock);
  await settle();
  await store.db.close();
  return store.url;
}

const PER_DAY = 20;
const DAYS = 3;

/** Days pass while nobody listens; entries older than one day may be removed. */
async function away(root?: string) {
  const clock = new SettableClock();
  const here = await world({ TOOLGATE_RETENTION: '24h', TOOLGATE_CHECKPOINT_INTERVAL: '1s', ...clock.env });
  const service = await startService({ dataDir: here.dataDir, env: here.env, ...(root && { root }) });
  let child: Bun.Subprocess | null = null;
  const left = () => count(service, 'audit_entries');
  const checkpoint = async () => (await service.admin('GET', '/audit/sealing')).body.checkpoint;
  try {
    const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
    for (let day = 1; day <= DAYS; day++) {
      for (let call = 0; call < PER_DAY; call++) await service.check(key, 's', 't');
      clock.pass(HALF_A_DAY);
      await until('they are signed', async () => (await checkpoint())?.size === day * PER_DAY);
      clock.pass(HALF_A_DAY);
    }
    await until('places are given up', async () => (await checkpoint()).prunedBefore > PER_DAY);
    if (root) await until('some are gone', async () => (await left()) < DAYS * PER_DAY);
    else await retentionPass(service, key, clock);
    const kept = await left();
    child = await receive(here, 0);
    clock.pass(120);
    await until('all is shipped', () => isDone(service.databaseUrl));
    const found = await told(`away${root ? ' mutant' : ''}`, service.databaseUrl, here.file, DAYS);
    clock.pass(120);
    // With everything shipped, retention goes on.
    if (!root) await until('retention goes on', async () => (await left()) < kept);
    return { ...found, kept };
  } finally {
    await service.kill('SIGKILL');
    child?.kill('SIGKILL');
    clock.close();
    rmSync(here.dataDir, { recursive: true, force: true });
  }
}

/** A whole pass of retention: a session is removed after the entries that may be. */
async function retentionPass(service: TestService, key: string, clock: SettableClock): Promise<void> {
  const minted = await service.json('POST', '/v1/sessions', key, { ttlMinutes: 1 });
  expect(minted.status).toBe(201);
  clock.pass(2 * HALF_A_DAY + 3600);
  await until('the session is removed', async () => (await count(service, 'sessions')) === 0);
}

async function count({ databaseUrl }: TestService, table: string): Promise<number> {
  const [row] = await sql<{ count: number }>(databaseUrl, `SELECT count(*) AS count FROM ${table}`);
  return Number(row?.count);
}

/** Whether every entry is sealed, and every place is behind the cursor. */
async function isDone(databaseUrl: string): Promise<boolean> {
  const [row] = await sql<Record<'unsealed' | 'unshipped', number>>(
    databaseUrl,
    `SELECT (SELECT count(*) FROM audit_entries e WHERE NOT EXISTS (SELECT 1 FROM seals WHERE entry_id = e.id)) AS unsealed,
       (SELECT count(*) FROM seals) - coalesce((SELECT shipped FROM shipping), 0) AS unshipped`,
  );
  return Number(row?.unsealed) === 0 && Number(row?.unshipped) === 0;
}

async function told(where: string, databaseUrl: string, file: string, faults: number) {
  const seals = await sql<{ seq: number; id: string }>(databaseUrl, 'SELECT seq, entry_id AS id FROM seals');
  const sealed = new Map(seals.map(({ seq, id }) => [Number(seq), id]));
  const seen = new Set<number>();
  const found = { missing: 0, outOfOrder: 0, altered: 0, repeats: 0 };
  let last = -1;
  for (const { seq, id } of shippedIn(file)) {
    if (sealed.get(seq) !== id) found.altered++;
    if (seen.has(seq)) found.repeats++;
    else if (seq < last) found.outOfOrder++;
    seen.add(seq);
    last = Math.max(last, seq);
  }
  found.missing = [...sealed.keys()].filter(seq => !seen.has(seq)).length;
  const violations = found.missing + found.outOfOrder + found.altered;
  figures(`P26 ${where}`, { seed: SEED, operations: sealed.size, faults, ...found, violations });
  return found;
}
