// P10: a delivery whose schedule is exhausted stays visible, with its fifteen attempts, and can be redelivered.
// The worker runs in the test process on a clock that jumps from one attempt to the next, so that days pass in
// a moment. The mutants forget what is exhausted, and redeliver nothing.

import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ATTEMPT_WAITS } from '../../src/core/approvals/event.ts';
import type { Deps } from '../../src/guard/deps.ts';
import type { Worker } from '../../src/guard/outgoing/worker.ts';
import type { Db } from '../../src/store/engine/db.ts';
import { figures, newDataDir, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { type Manner, Receiver, signedWith } from '../support/receiver.ts';
import { type Engine, ROOT } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';

const EVENTS = LONG ? 100 : 5;
const MUTANT_EVENTS = 2;
const MANNERS: Manner[] = [500, 'reset', 'redirect', 503, 404];

const DROPPED: Patch = {
  file: 'src/guard/outgoing/deliver.ts',
  find: 'recordAttempt(tx, record, then);',
  replace: `recordAttempt(tx, record, then);
    if (then.status === 'failed') tx.defer('DELETE FROM deliveries WHERE id = $1', [leased.id]);`,
};
const DEAF: Patch = {
  file: 'src/store/deliveries.ts',
  find: `SET status = 'pending', attempts = 0, next_attempt_at = $2, leased_until = 0 WHERE id = $1`,
  replace: 'SET next_attempt_at = $2 WHERE id = $1',
};

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  test(`${engine}: what is exhausted stays, with every attempt, and can be redelivered`, async () => {
    const found = await measure(engine, EVENTS);
    expect(found).toEqual({
      events: EVENTS,
      failed: EVENTS,
      offSchedule: 0,
      redelivered: EVENTS,
      badSignatures: 0,
    });
  });

  whenChanged(DROPPED)(`${engine}: a mutant that forgets what is exhausted is found out`, async () => {
    const found = await withMutant([DROPPED], root => measure(engine, MUTANT_EVENTS, root));
    expect(found).toMatchObject({ failed: 0, offSchedule: 0 });
  });

  whenChanged(DEAF)(`${engine}: a mutant that redelivers nothing is found out`, async () => {
    const found = await withMutant([DEAF], root => measure(engine, MUTANT_EVENTS, root));
    expect(found).toMatchObject({ failed: MUTANT_EVENTS, redelivered: 0 });
  });
}

interface Delivery {
  id: string;
  status: string;
  next: number | null;
}

class Bench {
  now = Date.now();
  readonly db: Db;
  readonly deps: Deps;
  readonly worker: Worker;
  readonly #load: <T>(file: string) => Promise<T>;

  private constructor(db: Db, deps: Deps, worker: Worker, load: <T>(file: string) => Promise<T>) {
    this.db = db;
    this.deps = deps;
    this.worker = worker;
    this.#load = load;
  }

  /** The parts of the service that deliver, from the project's source or a mutant's. */
  static async open(databaseUrl: string, root: string): Promise<Bench> {
    const load = <T>(file: string): Promise<T> => import(join(root, 'src', file));
    const fail = (error: unknown) => {
      throw error;
    };
    const { openSqlite } =
      await load<typeof import('../../src/store/engine/sqlite.ts')>('store/engine/sqlite.ts');
    const { openPostgres } =
      await load<typeof import('../../src/store/engine/postgres.ts')>('store/engine/postgres.ts');
    const { migrate } =
      await load<typeof import('../../src/store/engine/migrate.ts')>('store/engine/migrate.ts');
    const { Vault } = await load<typeof import('../../src/guard/secrets.ts')>('guard/secrets.ts');
    const { HeldResults } = await load<typeof import('../../src/guard/tasks/held-results.ts')>(
      'guard/tasks/held-results.ts',
    );
    const { HeldDetails } = await load<typeof import('../../src/guard/approvals/details.ts')>(
      'guard/approvals/details.ts',
    );
    const { Worker } =
      await load<typeof import('../../src/guard/outgoing/worker.ts')>('guard/outgoing/worker.ts');
    const { deliveries } =
      await load<typeof import('../../src/guard/outgoing/deliver.ts')>('guard/outgoing/deliver.ts');
    const { notifications } = await load<typeof import('../../src/guard/approvals/notify/notify.ts')>(
      'guard/approvals/notify/notify.ts',
    );
    const db = databaseUrl.startsWith('sqlite:')
      ? openSqlite(databaseUrl.slice('sqlite:'.length), fail)
      : await openPostgres(databaseUrl, 4);
    await migrate(db, Date.now());
    const settings = {
      approvalTimeout: 60_000,
      approvedFor: 60_000,
      toolDrift: 'allow' as const,
      toolsLock: null,
      maxOpenApprovalsPerSession: 1000,
      maxSessionsPerKey: 100,
      runRest: 3_600_000,
      resultsFor: 600_000,
      maxOpenApprovalsPerKey: 1000,
      defaultChannels: [],
      channels: {},
      oidcIssuer: null,
      oidcGroupsClaim: null,
    };
    const now = () => bench.now;
    const vault = new Vault(new Uint8Array(32));
    const details = new HeldDetails({ db, vault, now }, 0);
    const results = new HeldResults({ db, vault, now, mayGive: async () => false }, 0);
    const executing = new Set<string>();
    const deps: Deps = { processId: 'p10', executing, db, vault, settings, now, details, results };
    const rules = { allowPrivate: true };
    const notify = {
      publicUrl: 'http://127.0.0.1',
      smtpUrl: null,
      mailFrom: null,
      approverEmails: [],
      slackWebhookUrl: null,
      slack: null,
      notifyUrl: null,
      channels: {},
      rules,
      print: async () => {},
    };
    const jobs = [notifications(deps, notify, () => {}), deliveries(deps, rules, () => {})];
    const bench: Bench = new Bench(db, deps, new Worker(deps, jobs, fail), load);
    return bench;
  }

  async register(url: string): Promise<string> {
    const { createWebhook } = await this.#load<typeof import('../../src/guard/outgoing/webhooks.ts')>(
      'guard/outgoing/webhooks.ts',
    );
    const input = { url, keyId: null, events: ['approval.created', 'approval.resolved'] };
    return (await createWebhook(this.deps, 'admin', { allowPrivate: true }, input)).secret;
  }

  async emit(): Promise<void> {
    const { emit } =
      await this.#load<typeof import('../../src/guard/outgoing/outbox.ts')>('guard/outgoing/outbox.ts');
    const { listSubscribers } =
      await this.#load<typeof import('../../src/store/deliveries.ts')>('store/deliveries.ts');
    const ids = {
      id: Bun.randomUUIDv7(),
      toolCallId: Bun.randomUUIDv7(),
      keyId: 'k',
      sessionId: null,
      policyId: 'p',
    };
    const call = {
      surface: 'check' as const,
      serverName: 'prod',
      toolName: 'deploy',
      argsDigest: '',
      definitionDigest: null,
      ruleDigest: null,
      reason: '',
    };
    const times = {
      createdAt: this.now,
      expiresAt: this.now,
      resolvedAt: null,
      grantExpiresAt: null,
      spentAt: null,
      withdrawnAt: null,
      note: null,
      shows: 0,
      personId: null,
      personEmail: null,
      proof: null,
      approverGroup: null,
      votesNeeded: 1,
      valueDigests: null,
      runId: null,
      runMarks: null,
    };
    const approval = { ...ids, ...call, ...times, status: 'pending' as const, resolvedBy: null };
    await this.db.transaction({}, async tx =>
      emit(tx, await listSubscribers(tx), 'approval.created', approval, this.now),
    );
  }

  async redeliver(id: string): Promise<void> {
    const { redeliver } = await this.#load<typeof import('../../src/guard/outgoing/webhooks.ts')>(
      'guard/outgoing/webhooks.ts',
    );
    await redeliver(this.deps, 'admin', id);
  }

  /** Everything due now is tried, a few at a time. */
  async work(): Promise<void> {
    for (let left = EVENTS; left > 0; left -= 4) {
      await this.worker.tick();
      await this.worker.idle();
    }
  }

  deliveries(): Promise<Delivery[]> {
    return this.db.all('SELECT id, status, next_attempt_at AS next FROM deliveries ORDER BY id');
  }

  async attempts(id: string): Promise<number> {
    const [row] = await this.db.all<{ made: number }>(
      'SELECT count(*) AS made FROM attempts WHERE delivery_id = $1',
      [id],
    );
    return Number(row?.made);
  }
}

async function measure(engine: Engine, events: number, root = ROOT) {
  const dataDir = newDataDir();
  const databaseUrl =
    engine === 'sqlite'
      ? `sqlite:${join(dataDir, 'toolgate.db')}`
      : await (await sharedPostgres())?.createDatabase();
  const bench = await Bench.open(databaseUrl ?? '', root);
  let made = 0;
  const target = await Receiver.start(() => MANNERS[made++ % MANNERS.length] as Manner);
  const found = { events, failed: 0, offSchedule: 0, redelivered: 0, badSignatures: 0 };
  try {
    const secret = await bench.register(target.url);
    for (let index = 0; index < events; index++) await bench.emit();
    found.offSchedule = await exhaust(bench);
    const dead = (await bench.deliveries()).filter(each => each.status === 'failed' && each.next === null);
    for (const { id } of dead) if ((await bench.attempts(id)) === ATTEMPT_WAITS.length) found.failed++;
    target.answer = () => 200;
    const before = target.events.length;
    for (const { id } of dead) await bench.redeliver(id);
    await bench.work();
    const fresh = new Set(target.events.slice(before).map(each => each.id));
    const done = (await bench.deliveries()).filter(each => each.status === 'delivered');
    found.redelivered = Math.min(fresh.size, done.length);
    found.badSignatures = target.events.filter(each => !signedWith(secret, each)).length;
  } finally {
    await bench.worker.stop();
    await bench.db.close();
    await target.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
  figures(`P10 ${engine}${root === ROOT ? '' : ' mutant'}`, {
    operations: target.events.length,
    faults: events * ATTEMPT_WAITS.length,
    ...found,
    violations: 2 * events - found.failed - found.redelivered + found.offSchedule + found.badSignatures,
  });
  return found;
}

/** Lets every attempt of the schedule come; answers how many waits were not those of the schedule. */
async function exhaust(bench: Bench): Promise<number> {
  let off = 0;
  for (const wait of ATTEMPT_WAITS.slice(1)) {
    await bench.work();
    const waiting = (await bench.deliveries()).filter(each => each.status === 'pending');
    for (const { next } of waiting) {
      const ahead = Number(next) - bench.now;
      if (ahead < wait * 0.8 - 1 || ahead > wait * 1.2 + 1) off++;
    }
    bench.now += wait * 1.2 + 1;
  }
  await bench.work();
  return off;
}
