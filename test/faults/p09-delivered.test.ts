// P9: every event reaches every webhook at least once, signed, across kills of the service and of receivers
// that also answer errors, hang, reset and redirect. What arrived is read from files that the receivers write
// before they answer. The mutant marks a delivery as done before it is sent.

import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ASK_ALL } from '../approvals/gate.ts';
import { figures, newDataDir, random, SEED, sql, until, verdictOf, withMutant } from '../support/faults.ts';
import { type Load, startLoad } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { freePort } from '../support/port.ts';
import { type ProgramOptions, spawnReceiver, writtenIn } from '../support/receiver.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const KILLS = sized(60, 4, 3);
const MUTANT_KILLS = 6;
const RECEIVERS = 2;
const BADNESS = 0.15;
/** Held calls between two kills: about what the receivers take meanwhile. */
const CALLS = 30;
const DRAINED_WITHIN_MS = LONG ? 600_000 : 180_000;

const MARK_FIRST: Patch[] = [
  {
    file: 'src/store/deliveries.ts',
    find: 'UPDATE deliveries SET leased_until = $3\n',
    replace: `UPDATE deliveries SET leased_until = $3, status = 'delivered'\n`,
  },
  {
    file: 'src/store/deliveries.ts',
    find: `attempts = attempts + 1\n     WHERE id = $1 AND status = 'pending'`,
    replace: 'attempts = attempts + 1\n     WHERE id = $1',
  },
];

// All at once: each has a store, a service and receivers of its own, and mostly waits for what is tried again.
for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  test.concurrent(`${engine}: every event arrives, verified, across kills`, async () => {
    const found = await measure(engine, KILLS);
    expect(found).toMatchObject({ kills: KILLS, undelivered: 0, badSignatures: 0, followed: 0 });
  });

  whenChanged(...MARK_FIRST).concurrent(
    `${engine}: a mutant that marks before it sends loses events`,
    async () => {
      const found = await withMutant(
        MARK_FIRST,
        async root => (await measure(engine, MUTANT_KILLS, root)).undelivered,
      );
      expect(found).toBeGreaterThan(0);
    },
  );
}

interface Hook extends ProgramOptions {
  id: string;
  child: Bun.Subprocess;
}

async function measure(engine: Engine, kills: number, root?: string) {
  const chance = random(SEED);
  const dataDir = newDataDir();
  const env = { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000000' };
  const options = { engine, dataDir, env, ...(root && { root }) };
  let service = await startService(options);
  const again = { ...options, databaseUrl: service.databaseUrl };
  const hooks: Hook[] = [];
  for (let index = 0; index < RECEIVERS; index++)
    hooks.push(await newHook(service, join(dataDir, `r${index}`)));
  const held = new Held();
  const { key } = await service.newKey(ASK_ALL);
  try {
    for (let killed = 0; killed < kills; killed++) {
      const load = holdCalls(service, key, held);
      await until('calls held', () => held.total >= (killed + 1) * CALLS * (0.5 + chance()));
      if (killed % 3 === 1) await restart(hooks[Math.floor(chance() * hooks.length)] as Hook);
      else {
        await service.kill('SIGKILL');
        service = await startService(again);
      }
      await load.stop();
      await answerSome(service, held);
    }
    const waiting = `SELECT id FROM deliveries WHERE status = 'pending'`;
    await until(
      'nothing waits',
      async () => (await sql(again.databaseUrl, waiting)).length === 0,
      DRAINED_WITHIN_MS,
    );
    const found = { kills, ...(await compare(again.databaseUrl, hooks)) };
    figures(`P9 ${engine}${root ? ' mutant' : ''}`, {
      seed: SEED,
      operations: found.deliveries,
      faults: kills,
      ...found,
      violations: found.undelivered + found.badSignatures + found.followed,
    });
    return found;
  } finally {
    await service.kill('SIGKILL');
    for (const { child } of hooks) child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function newHook(service: TestService, file: string): Promise<Hook> {
  const port = await freePort();
  const made = await service.admin('POST', '/webhooks', { url: `http://127.0.0.1:${port}/hook` });
  const options = { port, file, secret: made.body.secret, badness: BADNESS };
  return { ...options, id: made.body.id, child: await spawnReceiver(options) };
}

async function restart(hook: Hook): Promise<void> {
  hook.child.kill('SIGKILL');
  await hook.child.exited;
  hook.child = await spawnReceiver(hook);
}

/** The approvals that clients know of. */
class Held {
  total = 0;
  readonly open: string[] = [];
}

function holdCalls(service: TestService, key: string, held: Held): Load {
  return startLoad({
    connections: 2,
    url: () => service.url,
    next: () => ({ token: key, body: JSON.stringify({ serverName: 'prod', toolName: 'deploy' }) }),
    answered: answer => {
      const referenceId = verdictOf(answer)?.referenceId;
      if (referenceId === undefined) return;
      held.total++;
      held.open.push(referenceId);
    },
  });
}

/** A few answers, so that both kinds of events are about. */
async function answerSome(service: TestService, held: Held): Promise<void> {
  const chosen = held.open.splice(0, 5);
  for (const referenceId of chosen) {
    const path = `/approvals/${referenceId}/resolve`;
    // A busy database may be too late for one; then the person tries again, and may find it done.
    await until('it is answered', async () =>
      [200, 409].includes((await service.admin('POST', path, { action: 'approve' })).status),
    );
  }
}

async function compare(databaseUrl: string, hooks: Hook[]) {
  const found = { events: 0, deliveries: 0, undelivered: 0, duplicates: 0, badSignatures: 0, followed: 0 };
  const events = await sql<{ id: string }>(databaseUrl, 'SELECT id FROM events');
  found.events = events.length;
  for (const { file } of hooks) {
    const written = writtenIn(file);
    const taken = written.filter(each => each.manner === 200 && each.verified);
    const ids = new Set(taken.map(each => each.id));
    found.deliveries += events.length;
    found.undelivered += events.filter(each => !ids.has(each.id)).length;
    found.duplicates += taken.length - ids.size;
    found.badSignatures += written.filter(each => !each.verified).length;
    found.followed += written.filter(each => each.path !== '/hook').length;
  }
  return found;
}
