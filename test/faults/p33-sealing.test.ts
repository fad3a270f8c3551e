// The sealed log under faults: kill -9 of sealers in the middle of their work, entries that become visible late and
// out of order, several sealers at once, and a store that refuses the seals. Every entry gets one place, and no
// check is ever the worse for it. The mutants advance before they seal, and trust the order of ids.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { depsAt } from '../guard/deps.ts';
import { Clock, entries, sealedLog, sealerOn, write } from '../guard/log/sealing.ts';
import { NOW, openStore, type TestStore } from '../store/stores.ts';
import { figures, random, SEED, sql, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { BUN, type Engine, ROOT, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const KILLS = sized(60, 6, 3);
const PER_KILL = 1500;

/** The state moves on in a transaction of its own, before the seals are in. */
const ADVANCE_FIRST: Patch = {
  file: 'src/guard/log/sealed-log.ts',
  find: `const committed = await db.transaction({}, async tx => {
      if (!(await this.#update(tx, state, { ...moved(end), size: tree.size }))) return false;`,
  replace: `const won = await this.#update(db, state, { ...moved(end), size: tree.size });
    await Bun.sleep(200);
    const committed = await db.transaction({}, async tx => {
      if (!won) return false;`,
};
/** What lies behind the newest id is taken for sealed. */
const TRUST_IDS: Patch[] = [
  {
    file: 'src/guard/log/sealed-log.ts',
    find: 'const span = this.#behind(state, state.recentId);',
    replace: 'return Promise.resolve(false); const span = this.#behind(state, state.recentId);',
  },
  {
    file: 'src/guard/log/sealed-log.ts',
    find: 'if (now < state.fullAfter) return;',
    replace: 'return;',
  },
];

const both = await enginesWhenChanged('src/store/**', 'src/guard/**');

for (const engine of both) {
  test(`${engine}: kill -9 of the sealers loses and doubles nothing`, async () => {
    const { operations, violations } = await killed(engine, KILLS, ROOT);
    expect(operations).toBe(KILLS * PER_KILL);
    expect(violations).toBe(0);
  });

  test(`${engine}: entries that become visible late are sealed all the same`, async () => {
    const { violations } = await scattered(engine, ROOT);
    expect(violations).toBe(0);
  });
}

whenChanged(ADVANCE_FIRST)('a mutant that moves on before it seals is found out', async () => {
  const found = await withMutant([ADVANCE_FIRST], async root => (await killed('sqlite', 3, root)).violations);
  expect(found).toBeGreaterThan(0);
});

whenChanged(...TRUST_IDS)('a mutant that trusts the order of ids is found out', async () => {
  const found = await withMutant(TRUST_IDS, async root => (await scattered('sqlite', root)).violations);
  expect(found).toBeGreaterThan(0);
});

/** Kills come at a random point of the work; a mutant's first comes between its two steps, and is its last. */
async function killed(engine: Engine, kills: number, root: string) {
  const chance = random(SEED);
  const store = await openStore(engine);
  const count = kills * PER_KILL;
  await fill(store, count);
  const start = () => startSealers(engine === 'postgres' ? 2 : 1, root, store.url);
  // An SQLite file serves one process.
  if (engine === 'sqlite') await store.db.close();
  let done = 0;
  for (; done < kills && !(root !== ROOT && (await torn(store.url))); done++) {
    const before = await sealedCount(store.url);
    const sealers = start();
    const target = Math.min(before + Math.ceil(chance() * PER_KILL), count);
    await until(
      'entries are sealed',
      async () =>
        (await sealedCount(store.url)) >= target ||
        (root !== ROOT && (await torn(store.url))) ||
        sealers.every(each => each.exitCode !== null),
    );
    for (const each of sealers) each.kill('SIGKILL');
    await Promise.all(sealers.map(each => each.exited));
  }
  await until('a sealer came to its end', async () => {
    const codes = await Promise.all(start().map(each => each.exited));
    // One that found the store too slow is followed by another; a mutant's may never get there.
    return root !== ROOT || codes.includes(0);
  });
  const violations = await wrongPlaces(store.url, count);
  if (root === ROOT) await sealedWhole(store, engine);
  figures(`P33 ${engine}${root === ROOT ? '' : ' mutant'}`, {
    seed: SEED,
    kills: done,
    operations: count,
    violations,
  });
  if (engine === 'postgres') await store.close();
  return { operations: count, violations };
}

function startSealers(count: number, root: string, url: string): Bun.Subprocess[] {
  const script = join(ROOT, 'test/faults/sealing-process.ts');
  return Array.from({ length: count }, () =>
    Bun.spawn([BUN, script, root, url], { stdout: 'ignore', stderr: 'ignore' }),
  );
}

async function fill({ db }: TestStore, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1000) {
    await write(db, entries(Math.min(1000, count - at), Date.now() - 86_400_000 + at));
  }
}

const number = async (url: string, query: string) =>
  Number((await sql<{ n: number | bigint }>(url, `SELECT ${query} AS n`))[0]?.n ?? 0);
const sealedCount = (url: string) => number(url, '(SELECT count(*) FROM seals)');
const torn = async (url: string) =>
  (await number(url, '(SELECT size FROM sealing)')) !== (await sealedCount(url));

/** Entries without a place or with two, and places out of line. */
async function wrongPlaces(url: string, count: number): Promise<number> {
  const missing = `(SELECT count(*) FROM audit a WHERE NOT EXISTS (SELECT 1 FROM seals s WHERE s.entry_id = a.id))`;
  const doubled = '(SELECT count(*) - count(DISTINCT entry_id) FROM seals)';
  const places = '(SELECT coalesce(max(seq) + 1, 0) FROM seals)';
  const sealed = await number(url, places);
  return (await number(url, missing)) + (await number(url, doubled)) + Math.abs(sealed - count);
}

/** Every leaf, node and signed root is right. */
async function sealedWhole(store: TestStore, engine: Engine): Promise<void> {
  const db = engine === 'sqlite' ? await store.again() : store.db;
  const { checkpoints } = await sealedLog(db, depsAt(db));
  expect(checkpoints.length).toBeGreaterThan(0);
  if (engine === 'sqlite') await db.close();
}

/** Delays between an id's time and the commit: most short, some beyond every pass but the slowest. */
const DELAYS = [0, 0, 0, 50, 500, 4000, 9000, 45_000, 130_000, 4_000_000];

async function scattered(engine: Engine, root: string) {
  const chance = random(SEED);
  const store = await openStore(engine);
  const clock = new Clock();
  const { SealedLog } = await import(join(root, 'src/guard/log/sealed-log.ts'));
  const one = await sealerOn(store.db, clock, { make: SealedLog });
  const waiting = Array.from({ length: 600 }, (_, n) => {
    const at = NOW + n * 100;
    const delay = DELAYS[Math.floor(chance() * DELAYS.length)] as number;
    return { entries: entries(1, at), visible: at + delay };
  });
  const count = waiting.length;
  while (waiting.length > 0 || clock.now < NOW + 3 * 3_600_000) {
    clock.now += waiting.length > 0 && clock.now < NOW + 200_000 ? 5000 : 600_000;
    const now = waiting.filter(each => each.visible <= clock.now);
    for (const each of now) waiting.splice(waiting.indexOf(each), 1);
    if (now.length > 0)
      await write(
        store.db,
        now.flatMap(each => each.entries),
      );
    await one.sealer.tick();
  }
  const { ids, checkpoints } = await sealedLog(store.db, one.deps);
  const late = ids.filter((id, at) => at > 0 && id < (ids[at - 1] as string)).length;
  const violations = count - new Set(ids).size + (ids.length - new Set(ids).size);
  figures(`P33 ${engine}, late entries${root === ROOT ? '' : ' mutant'}`, {
    seed: SEED,
    operations: count,
    outOfOrder: late,
    checkpoints: checkpoints.length,
    violations,
  });
  await store.close();
  return { violations };
}

const LOST = 'ALTER TABLE seals RENAME TO seals_lost';
const BACK = 'ALTER TABLE seals_lost RENAME TO seals';

test.each(both)('%s: while nothing can be sealed, checks go on and the lag shows', async engine => {
  const service = await startService({ engine, env: { TOOLGATE_CHECKPOINT_INTERVAL: '1s' } });
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  await sql(service.databaseUrl, LOST);
  let checks = 0;
  const check = async () => {
    expect((await service.check(key, 'files', 'read')).status).toBe(200);
    checks++;
  };
  await until('sealing fails and lags', async () => {
    await check();
    return (
      (await metric(service, 'seal_errors_total')) > 0 && (await metric(service, 'seal_lag_seconds')) > 5
    );
  });
  for (let more = 0; more < 100; more++) await check();
  expect(service.output).toContain('sealing the audit log failed');
  await sql(service.databaseUrl, BACK);
  const sealed = async () => (await metric(service, 'sealed_entries')) === checks;
  await until('everything is sealed', sealed);
  await until('and signed', async () => (await signedSize(service)) === checks);
  expect(await wrongPlaces(service.databaseUrl, checks)).toBe(0);
  await service.close();
});

async function metric(service: TestService, name: string): Promise<number> {
  const { text } = await service.request('GET', '/metrics');
  return Number(new RegExp(`^toolgate_${name} (.*)$`, 'm').exec(text)?.[1]);
}

async function signedSize(service: TestService): Promise<number> {
  return (await service.admin('GET', '/audit/sealing')).body.checkpoint?.size ?? 0;
}

test.if(LONG && both.includes('postgres'))(
  'postgres: two replicas seal one log; when the one at it is killed, the other goes on',
  async () => {
    const env = { TOOLGATE_CHECKPOINT_INTERVAL: '1s' };
    const one = await startService({ engine: 'postgres', env });
    const two = await startService({ databaseUrl: one.databaseUrl, env });
    const { key } = await one.newKey([{ tool: '*', action: 'allow' }]);
    for (let n = 0; n < 200; n++) await (n % 2 === 0 ? one : two).check(key, 'files', 'read');
    await until('all is signed', async () => (await signedSize(two)) === 200);
    const signed = await Promise.all([one, two].map(each => metric(each, 'checkpoints_total')));
    const [busy, other] = (signed[0] ?? 0) > 0 ? [one, two] : [two, one];
    await busy.kill();
    for (let n = 0; n < 50; n++) await other.check(key, 'files', 'read');
    await until('the other signs', async () => (await signedSize(other)) === 250, 40_000);
    expect(await wrongPlaces(other.databaseUrl, 250)).toBe(0);
    await busy.close();
    await other.close();
  },
);
