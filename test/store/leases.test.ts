// Leases of a process that died: they end with the next start where a single process serves the store, and hold where
// another replica may be at work.

import { afterAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { newDataDir, sql, until } from '../support/faults.ts';
import { type Manner, Receiver } from '../support/receiver.ts';
import { engines, startService, type TestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;
/** A longer one is not believed by the sealer, and one of more than ten minutes not by the chores. */
const SEALING_MS = 50_000;
const CHORES_MS = 540_000;
const TABLES = ['deliveries', 'notifications'];

const receivers: Receiver[] = [];
const folders: string[] = [];
afterAll(async () => {
  await Promise.all(receivers.map(each => each.close()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function hanging(): Promise<Receiver> {
  const receiver = await Receiver.start(() => 'hang');
  receivers.push(receiver);
  return receiver;
}

/** A service that dies while it sends a link and an event. */
async function died(engine: 'sqlite' | 'postgres') {
  const [approver, subscriber] = [await hanging(), await hanging()];
  const dataDir = newDataDir();
  folders.push(dataDir);
  const env = { TOOLGATE_NOTIFY_URL: approver.url };
  const service = await startService({ engine, dataDir, env });
  await service.admin('POST', '/webhooks', { url: subscriber.url, events: ['approval.created'] });
  const { key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
  expect((await service.check(key, 'prod', 'deploy')).body.decision).toBe('pending');
  const arrived = (times: number) =>
    approver.arrivals.length === times && subscriber.arrivals.length === times;
  await until('both are under way', () => arrived(1));
  await service.kill('SIGKILL');
  await leaseForLong(service);
  const answer = (manner: Manner) => {
    for (const each of [approver, subscriber]) each.answer = () => manner;
  };
  const again = () => startService({ databaseUrl: service.databaseUrl, dataDir, env });
  return { again, answer, arrived };
}

async function leaseForLong({ databaseUrl }: TestService): Promise<void> {
  const now = Date.now();
  await sql(
    databaseUrl,
    ...TABLES.map(table => `UPDATE ${table} SET leased_until = ${now + HOUR_MS}`),
    'DELETE FROM leases',
    `INSERT INTO leases (name, holder, until) VALUES ('chores', 'the dead', ${now + CHORES_MS})`,
    `UPDATE sealing SET holder = 'the dead', leased_until = ${now + SEALING_MS}`,
  );
}

/** What the dead process still holds. */
async function held({ databaseUrl }: TestService): Promise<string[]> {
  const rows = await sql<{ name: string }>(
    databaseUrl,
    `SELECT name FROM leases WHERE holder = 'the dead'
     UNION ALL SELECT 'sealing' FROM sealing WHERE holder = 'the dead' AND leased_until > 0`,
  );
  return rows.map(each => each.name);
}

test('sqlite: what a dead process had leased is sent, counted and sealed by the next', async () => {
  const { again, answer, arrived } = await died('sqlite');
  answer(200);
  const service = await again();
  expect(await held(service)).toEqual([]);
  await until('both are sent again', () => arrived(2));
  await service.kill('SIGTERM');
});

if ((await engines()).includes('postgres')) {
  test('postgres: what another replica has leased is left to it', async () => {
    const { again, arrived } = await died('postgres');
    const service = await again();
    const leased = TABLES.map(
      table => `SELECT leased_until AS "leasedUntil" FROM ${table} WHERE leased_until > ${Date.now()}`,
    );
    expect(await sql(service.databaseUrl, leased.join(' UNION ALL '))).toHaveLength(TABLES.length);
    expect(await held(service)).toContain('chores');
    expect(arrived(1)).toBe(true);
    await service.kill('SIGTERM');
  });
}
