// Retention on both engines: what is past its time goes, in small steps and with what belongs to it; what is not
// counted, not sealed or not over stays; statistics remember; checks go on meanwhile.

import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { parseCheckpoint } from '../../../src/core/log/checkpoint.ts';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { retire } from '../../../src/guard/log/retention.ts';
import { rollUp } from '../../../src/guard/log/rollups.ts';
import { logKey } from '../../../src/guard/log/sealed-log.ts';
import { stats } from '../../../src/guard/log/stats.ts';
import { insertApproval } from '../../../src/store/approvals.ts';
import { insertDelivery, insertEvent, recordAttempt } from '../../../src/store/deliveries.ts';
import { insertGrant } from '../../../src/store/grants.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { searchAudit } from '../../../src/store/log/audit-search.ts';
import { insertOutcomes } from '../../../src/store/log/outcomes.ts';
import { insertMcpSession } from '../../../src/store/mcp-sessions.ts';
import { insertNotification } from '../../../src/store/notifications.ts';
import { insertSession } from '../../../src/store/sessions.ts';
import {
  approvalRecord,
  auditEntry,
  idAt,
  NOW,
  openStore,
  sessionRecord,
  type TestStore,
} from '../../store/stores.ts';
import { newDataDir, sql, until } from '../../support/faults.ts';
import { engines, startService } from '../../support/service.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';
import { depsAt } from '../deps.ts';
import { Clock, entries, sealerOn, type TestSealer, write } from './sealing.ts';

const OLD = NOW - 100 * DAY;
const RETENTION = 90 * DAY;

/** One of everything that belongs to a call made then. */
async function call({ db }: TestStore, at: number, over: boolean): Promise<void> {
  const id = idAt(at);
  const approval = approvalRecord({
    id,
    createdAt: at,
    expiresAt: at + HOUR,
    status: over ? 'denied' : 'pending',
  });
  await db.transaction({}, async tx => {
    await insertAudit(tx, [auditEntry({ id, at, decision: 'pending', referenceId: id })]);
    insertOutcomes(tx, [{ toolCallId: id, outcome: 'ok', durationMs: 1, at, result: null }]);
    insertApproval(tx, approval, `token ${at}`);
    insertGrant(tx, {
      id,
      referenceId: id,
      keyId: 'k',
      serverName: 's',
      toolName: 't',
      definitionDigest: null,
      ruleDigest: null,
      createdAt: at,
      expiresAt: at,
    });
    const notification = { id, approvalId: id, keyId: 'k', channel: 'email' as const, tokenEncrypted: 'x' };
    insertNotification(tx, { ...notification, createdAt: at });
    if (over) tx.defer("UPDATE notifications SET status = 'sent' WHERE id = $1", [id]);
    await insertSession(tx, sessionRecord({ id, createdAt: at, expiresAt: at + HOUR }), `hash ${at}`);
    const event = { type: 'approval.created', timestamp: '', data: { referenceId: id } };
    insertEvent(tx, { id, event: event as never, createdAt: at });
    insertDelivery(tx, { id, eventId: id, webhookId: 'w', createdAt: at });
    if (over) {
      const attempt = { id, deliveryId: id, at, status: 200, durationMs: 1, error: null, response: null };
      recordAttempt(tx, attempt, { status: 'delivered', nextAttemptAt: null });
    }
    insertMcpSession(
      tx,
      { id, keyId: 'k', sessionId: null, protocolVersion: '2025-11-25', logLevel: null },
      at,
    );
    tx.defer('INSERT INTO changes VALUES ($1, $2, $3, $3, $3, $4)', [id, at, 'x', '{}']);
  });
}

const TABLES = [
  'audit',
  'outcomes',
  'approvals',
  'grants',
  'notifications',
  'sessions',
  'events',
  'deliveries',
  'attempts',
  'connections',
  'changes',
];

/** Where all tests run. Those in which the engine has a part of its own come first, and run on both. */
const whole = await enginesWhenChanged('src/store/**', 'src/guard/log/**');
for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let deps: Deps;
    beforeEach(async () => {
      store = await openStore(engine);
      deps = depsAt(store.db);
    });
    afterEach(() => store.close());

    async function left(): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const table of TABLES) {
        const [row] = await store.db.all<{ count: number }>(`SELECT count(*) AS count FROM ${table}`);
        counts[table] = row?.count ?? 0;
      }
      return counts;
    }

    async function pass(
      retention: number | null,
      sealer: TestSealer | null = null,
    ): Promise<Record<string, number>> {
      const removed: Record<string, number> = {};
      const sealedBy = sealer && (await logKey(sealer.deps));
      const step = retire({ retention, sealedBy, removed: counts => Object.assign(removed, counts) });
      while (await step(sealer?.deps ?? deps));
      return removed;
    }

    const given = ({ notes }: TestSealer) => parseCheckpoint(notes.at(-1) ?? '');

    test('what is over goes, what is not or is younger stays, and statistics remember', async () => {
      await call(store, OLD, true);
      await call(store, OLD + HOUR, false);
      await call(store, NOW - DAY, true);
      while (await rollUp(deps));
      const before = await stats(deps, 366 * DAY);
      expect(before.totals.pending).toBe(3);
      const removed = await pass(RETENTION);
      expect(await left()).toEqual({
        audit: 1,
        outcomes: 1,
        approvals: 2,
        grants: 1,
        notifications: 2,
        sessions: 1,
        // The delivery that waits needs its event; the first one's is a minute older, and gone.
        events: 2,
        deliveries: 2,
        attempts: 1,
        connections: 1,
        changes: 3,
      });
      expect(removed).toMatchObject({ audit: 2, deliveries: 1, connections: 2 });
      while (await rollUp(deps));
      expect(await stats(deps, 366 * DAY)).toEqual(before);
    });

    test('what is more than a step’s worth goes in the same pass, of every table', async () => {
      const many = Array.from({ length: 501 }, (_, n) => idAt(OLD + n, n));
      await store.db.transaction({}, async tx => {
        insertOutcomes(
          tx,
          many.map(toolCallId => ({
            toolCallId,
            outcome: 'ok' as const,
            durationMs: 1,
            at: OLD,
            result: null,
          })),
        );
        for (const id of many) {
          insertDelivery(tx, { id, eventId: id, webhookId: 'w', createdAt: OLD });
          const connection = { id, keyId: 'k', sessionId: null, protocolVersion: 'x', logLevel: null };
          insertMcpSession(tx, connection, OLD);
        }
        tx.defer("UPDATE deliveries SET status = 'failed'", []);
      });
      expect(await pass(RETENTION)).toEqual({ connections: 501, deliveries: 501, outcomes: 501 });
      expect(await left()).toMatchObject({ connections: 0, deliveries: 0, outcomes: 0 });
    });

    test('thousands go in steps, and what becomes visible late goes later', async () => {
      const entries = Array.from({ length: 1700 }, (_, n) => auditEntry({ id: idAt(OLD + n * MINUTE, n) }));
      for (let at = 0; at < entries.length; at += 100) {
        await store.db.transaction({}, async tx => insertAudit(tx, entries.slice(at, at + 100)));
      }
      while (await rollUp(deps));
      let steps = 0;
      const step = retire({ retention: RETENTION, sealedBy: null, removed: () => {} });
      while (await step(deps)) steps++;
      expect(steps).toBe(3);
      expect((await left())['audit']).toBe(0);
      expect(await store.db.all('SELECT tag, slot FROM audit_slots')).toEqual([]);
      const late = auditEntry({ id: idAt(NOW - RETENTION - HOUR) });
      await store.db.transaction({}, async tx => insertAudit(tx, [late]));
      await pass(RETENTION);
      expect((await left())['audit']).toBe(0);
    });

    test('of a sealed log go entries that a checkpoint covered the whole period ago', async () => {
      const clock = new Clock();
      const { sealer, late } = await sealedLate(clock);
      clock.now = OLD + RETENTION + 9_999;
      await sealer.settle();
      expect(given(sealer)).toMatchObject({ pruned: 0, retention: RETENTION, givenUp: null });
      expect((await pass(RETENTION, sealer))['audit']).toBeUndefined();
      clock.now = OLD + RETENTION + 2 * MINUTE - 1;
      await sealer.settle();
      expect(given(sealer)).toMatchObject({
        pruned: 699,
        givenUp: { at: clock.now, retention: RETENTION, signedAt: OLD + 10_000 },
      });
      expect((await pass(RETENTION, sealer))['audit']).toBe(699);
      // Sealed later than its neighbours, it stays until its own checkpoint is old enough.
      const rows = await store.db.all<{ id: string }>('SELECT id FROM audit ORDER BY id LIMIT 1');
      expect(rows).toEqual([{ id: late.id }]);
      clock.now += 2 * MINUTE;
      await sealer.settle();
      expect(given(sealer)?.pruned).toBe(701);
      expect((await pass(RETENTION, sealer))['audit']).toBe(2);
    });

    if (!whole.includes(engine)) return;

    test('by default only connections that lapsed long ago go', async () => {
      await call(store, OLD, true);
      while (await rollUp(deps));
      expect(await pass(null)).toEqual({ connections: 1 });
      expect((await left())['audit']).toBe(1);
    });

    test('what is not counted yet stays', async () => {
      await call(store, OLD, true);
      expect((await pass(RETENTION))['audit']).toBeUndefined();
      expect((await left())['audit']).toBe(1);
    });

    test('a connection goes a week after its last use, to the millisecond', async () => {
      const lapsed = NOW - 7 * DAY;
      await call(store, lapsed - 1, true);
      await call(store, lapsed, true);
      expect(await pass(null)).toEqual({ connections: 1 });
      expect(await store.db.all('SELECT id FROM connections')).toEqual([{ id: idAt(lapsed) }]);
    });

    test('deliveries and events stay for five days, however short the period is', async () => {
      const needed = NOW - 5 * DAY;
      await call(store, needed - 1, true);
      await call(store, needed, true);
      await call(store, NOW - 2 * DAY, true);
      await pass(DAY);
      expect(await left()).toMatchObject({ approvals: 0, deliveries: 2, attempts: 2, events: 2 });
    });

    test('a pass a minute: no sooner, no later, and at once when the clock was set back', async () => {
      let clock = NOW;
      const at = depsAt(store.db, () => clock);
      const told: Record<string, number>[] = [];
      const step = retire({ retention: null, sealedBy: null, removed: counts => told.push(counts) });
      const passes = async (then: number): Promise<boolean> => {
        clock = then;
        await call(store, then - 8 * DAY, true);
        while (await step(at));
        return (await left())['connections'] === 0;
      };
      expect(await passes(NOW)).toBe(true);
      expect(await passes(NOW + 1)).toBe(false);
      expect(await passes(NOW + MINUTE - 1)).toBe(false);
      expect(await passes(NOW + MINUTE)).toBe(true);
      expect(await passes(NOW - HOUR)).toBe(true);
      // Each pass tells of its own, and one that removed nothing tells nothing.
      clock = NOW + HOUR;
      while (await step(at));
      expect(told).toEqual([{ connections: 1 }, { connections: 3 }, { connections: 1 }]);
    });

    /** A sealed log of 700 entries of which one was sealed two minutes late, behind a later one; and of ten more. */
    async function sealedLate(clock: Clock): Promise<{ sealer: TestSealer; late: AuditEntry }> {
      const rows = entries(700, OLD, { decision: 'deny' });
      const late = rows[350] as AuditEntry;
      const sealer = await sealerOn(store.db, clock, { retention: RETENTION });
      await write(
        store.db,
        rows.filter(row => row !== late),
      );
      clock.now = OLD + 10_000;
      await sealer.settle();
      await write(store.db, [late, ...entries(1, OLD + 1.5 * MINUTE)]);
      clock.now = OLD + 2 * MINUTE;
      await sealer.settle();
      clock.now = OLD + DAY;
      await write(store.db, entries(10, clock.now));
      clock.now += MINUTE;
      await sealer.settle();
      while (await rollUp(sealer.deps));
      return { sealer, late };
    }

    test('of a sealed log nothing goes before a checkpoint gave it up, and all of it may go', async () => {
      const clock = new Clock();
      clock.now = OLD;
      const sealer = await sealerOn(store.db, clock, { retention: RETENTION });
      await write(store.db, entries(10, OLD));
      clock.now = NOW;
      while (await rollUp(sealer.deps));
      // There is no checkpoint at all.
      expect((await pass(RETENTION, sealer))['audit']).toBeUndefined();
      await sealer.settle();
      clock.now = NOW + RETENTION;
      await sealer.settle();
      expect(given(sealer)).toMatchObject({ size: 10, pruned: 10 });
      expect((await pass(RETENTION, sealer))['audit']).toBe(10);
    });

    test('filters still find an entry that was sealed late, when its neighbours are gone', async () => {
      const clock = new Clock();
      const { sealer, late } = await sealedLate(clock);
      clock.now = OLD + RETENTION + 2 * MINUTE - 1;
      await sealer.settle();
      expect((await pass(RETENTION, sealer))['audit']).toBe(699);
      for (const filter of [{ keyId: late.keyId }, { tool: late.toolName }, { decision: late.decision }]) {
        const found = await searchAudit(store.db, { ...filter, to: OLD + MINUTE }, 10, 'z');
        expect(found.entries.map(each => each.id)).toEqual([late.id]);
      }
      clock.now += 10 * MINUTE;
      await sealer.settle();
      expect((await pass(RETENTION, sealer))['audit']).toBe(2);
      expect(await store.db.all('SELECT tag FROM audit_slots WHERE slot < $1', [idAt(OLD + HOUR)])).toEqual(
        [],
      );
    });

    test('a shorter period counts at once, a longer one keeps what was given up', async () => {
      const clock = new Clock();
      const { sealer } = await sealedLate(clock);
      const shorter = await sealerOn(store.db, clock, { retention: DAY - HOUR });
      clock.now += MINUTE;
      await shorter.settle();
      expect(given(shorter)).toMatchObject({
        pruned: 701,
        retention: DAY - HOUR,
        givenUp: { retention: DAY - HOUR },
      });
      expect((await pass(DAY - HOUR, shorter))['audit']).toBe(701);
      clock.now += MINUTE;
      await sealer.settle();
      expect(given(sealer)).toMatchObject({
        pruned: 701,
        retention: RETENTION,
        givenUp: { retention: DAY - HOUR },
      });
      const keeping = await sealerOn(store.db, clock);
      clock.now += MINUTE;
      await keeping.settle();
      expect(given(keeping)).toMatchObject({
        pruned: 701,
        retention: 'forever',
        givenUp: { retention: DAY - HOUR },
      });
    });
  });

  if (!whole.includes(engine)) continue;
  test(`${engine}: a service removes old entries while it answers checks, and says so`, async () => {
    const dataDir = newDataDir();
    const first = await startService({ engine, dataDir });
    const { key } = await first.newKey([{ tool: '*', action: 'allow' }]);
    await first.check(key, 's', 'one');
    await first.kill('SIGTERM');
    const old = Date.now() - 2 * DAY;
    const columns = 'context, surface, decision, latency_ms';
    for (let group = 0; group < 6; group++) {
      const ids = Array.from({ length: 500 }, (_, n) => `('${idAt(old + n, group * 500 + n)}', ${old + n})`);
      await sql(
        first.databaseUrl,
        `INSERT INTO audit_entries (id, at, ${columns}) SELECT v.column1, v.column2, ${columns}
         FROM (VALUES ${ids.join(', ')}) AS v CROSS JOIN (SELECT * FROM audit_entries ORDER BY id DESC LIMIT 1) AS one`,
      );
    }
    // As after an upgrade: nothing is counted yet.
    await sql(first.databaseUrl, 'DELETE FROM marks');
    const service = await startService({
      databaseUrl: first.databaseUrl,
      dataDir,
      env: { TOOLGATE_RETENTION: '24h', TOOLGATE_SEALING: 'false' },
    });
    afterAll(() => service.close());
    let checks = 0;
    await until('old entries are gone', async () => {
      expect((await service.check(key, 's', 'more')).status).toBe(200);
      checks++;
      return service.output.includes('removed what retention no longer keeps');
    });
    const [row] = await sql<{ count: number }>(service.databaseUrl, 'SELECT count(*) AS count FROM audit');
    expect(Number(row?.count)).toBe(1 + checks);
    expect((await service.request('GET', '/metrics')).text).toContain(
      'toolgate_retention_removed_total{table="audit"} 3000',
    );
    const totals = (await service.admin('GET', '/stats?window=7d')).body.totals;
    expect(totals.allow).toBe(3001 + checks);
  });
}
