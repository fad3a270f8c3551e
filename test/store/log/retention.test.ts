// Deleting what is past its time: the row at the very bound stays, and so does what is younger, not over, not placed.

import { expect, test } from 'bun:test';
import { insertApproval, resolveApproval } from '../../../src/store/approvals.ts';
import { insertDelivery, recordAttempt } from '../../../src/store/deliveries.ts';
import type { Transaction } from '../../../src/store/engine/db.ts';
import { insertGrant } from '../../../src/store/grants.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { searchAudit } from '../../../src/store/log/audit-search.ts';
import { insertOutcomes } from '../../../src/store/log/outcomes.ts';
import {
  BATCH,
  deleteAudit,
  deleteDeliveries,
  deleteEnded,
  deleteMcpSessions,
  type Ended,
} from '../../../src/store/log/retention.ts';
import { insertSeals } from '../../../src/store/log/seals.ts';
import { slotAfter, slotOf } from '../../../src/store/log/slots.ts';
import { insertMcpSession } from '../../../src/store/mcp-sessions.ts';
import { insertNotification } from '../../../src/store/notifications.ts';
import { insertSession } from '../../../src/store/sessions.ts';
import { approvalRecord, auditEntry, idAt, NOW, onEachEngine, sessionRecord } from '../stores.ts';

/** Of a slot, in milliseconds; NOW begins one. */
const SLOT = 16;
const OLD = idAt(NOW - 1);
/** At the time before which rows go. */
const BOUND = idAt(NOW);

await onEachEngine(store => {
  const within = <T>(work: (tx: Transaction) => Promise<T>) => store.db.transaction({}, work);
  const left = async (table: string, id = 'id') =>
    (await store.db.all<{ id: string }>(`SELECT ${id} AS id FROM ${table} ORDER BY ${id}`)).map(
      row => row.id,
    );
  const write = async (entries: AuditEntry[]) => {
    for (const table of ['audit_entries', 'audit_slots', 'seals']) await store.db.run(`DELETE FROM ${table}`);
    for (let at = 0; at < entries.length; at += 200) {
      await within(tx => insertAudit(tx, entries.slice(at, at + 200)));
    }
  };
  const remove = (from: number, to: number, places: number | null = null) =>
    within(tx => deleteAudit(tx, from, to, places));
  const entryAt = (ms: number, number = 0, more: Partial<AuditEntry> = {}) =>
    auditEntry({ id: idAt(NOW + ms, number), at: NOW + ms, ...more });
  const ids = (entries: AuditEntry[]) => entries.map(entry => entry.id);
  const slots = async () => (await store.db.all('SELECT DISTINCT slot FROM audit_slots')).length;

  test('entries go from one time on and before another, and their slots with them', async () => {
    const [before, first, last, after] = [-SLOT, 0, SLOT, 2 * SLOT].map(ms => entryAt(ms));
    await write([before, first, last, after] as AuditEntry[]);
    expect(await remove(NOW, NOW + 2 * SLOT)).toEqual({ count: 2, until: null });
    expect(await left('audit_entries')).toEqual(ids([before, after] as AuditEntry[]));
    expect(await slots()).toBe(2);
    const found = await searchAudit(store.db, { keyId: 'key-1' }, 10, 'z');
    expect(ids(found.entries)).toEqual(ids([after, before] as AuditEntry[]));
    expect(await remove(NOW, NOW + 2 * SLOT)).toEqual({ count: 0, until: null });
  });

  test('what is younger is neither removed nor touched, however much it is', async () => {
    const young = Array.from({ length: BATCH + 1 }, (_, n) => entryAt(SLOT * (n + 1), n));
    await write([entryAt(0), ...young]);
    const written = () => store.db.all('SELECT * FROM audit_slots WHERE slot > $1', [slotOf(BOUND)]);
    const before = await written();
    expect(await remove(NOW, NOW + SLOT)).toEqual({ count: 1, until: null });
    expect(await left('audit_entries')).toEqual(ids(young));
    expect(await written()).toHaveLength(before.length);
  });

  test('the slot in which the period ends stays whole', async () => {
    const rows = [entryAt(0), entryAt(SLOT), entryAt(SLOT + 5)];
    await write(rows);
    expect(await remove(NOW, NOW + SLOT + 3)).toEqual({ count: 1, until: null });
    expect(await left('audit_entries')).toEqual(ids(rows.slice(1)));
  });

  test('a batch ends with a slot, and says where; exactly one batch is all of it', async () => {
    const rows = Array.from({ length: BATCH + 1 }, (_, n) => entryAt(SLOT * Math.floor(n / 100), n));
    await write(rows.slice(0, BATCH));
    expect(await remove(NOW, NOW + 100 * SLOT)).toEqual({ count: BATCH, until: null });
    await write(rows);
    const until = slotOf(idAt(NOW + 5 * SLOT));
    expect(await remove(NOW, NOW + 100 * SLOT)).toEqual({ count: BATCH, until });
    expect(await left('audit_entries')).toEqual(ids(rows.slice(BATCH)));
  });

  test('a slot that is larger than a batch goes whole', async () => {
    const rows = Array.from({ length: BATCH + 2 }, (_, n) => entryAt(0, n));
    await write([...rows, entryAt(SLOT)]);
    const until = slotAfter(slotOf(idAt(NOW)));
    expect(await remove(NOW, NOW + 100 * SLOT)).toEqual({ count: BATCH + 2, until });
    expect(await left('audit_entries')).toEqual([idAt(NOW + SLOT)]);
  });

  test('of a sealed log go those in the first places, and filters find the rest', async () => {
    const shadow = { policyId: 'p', policyVersion: 1, decision: 'deny', ruleIndex: null } as const;
    const [goneTrace, traceId] = ['a'.repeat(32), 'b'.repeat(32)];
    const rows = [0, 1, 2, 3].map(n =>
      entryAt(
        n,
        n,
        n === 0 ? { toolName: 'gone', shadow, traceId: goneTrace } : { toolName: 'stays', shadow, traceId },
      ),
    );
    await write(rows);
    const seals = [0, 2, 1].map((row, seq) => ({ seq, entryId: rows[row]?.id ?? '', leafHash: 'x' }));
    await within(async tx => insertSeals(tx, seals));
    expect(await remove(NOW, NOW + SLOT, 2)).toEqual({ count: 2, until: null });
    // The second is in the third place, the fourth in none.
    const stayed = [rows[1], rows[3]] as AuditEntry[];
    expect(await left('audit_entries')).toEqual(ids(stayed));
    const found = async (tool: string) => ids((await searchAudit(store.db, { tool }, 10, 'z')).entries);
    expect(await found('stays')).toEqual(ids(stayed.toReversed()));
    expect(await found('gone')).toEqual([]);
    for (const by of ['deny', 'differs'] as const)
      expect(ids((await searchAudit(store.db, { shadow: by }, 10, 'z')).entries)).toEqual(
        ids(stayed.toReversed()),
      );
    expect(ids((await searchAudit(store.db, { traceId }, 10, 'z')).entries)).toEqual(
      ids(stayed.toReversed()),
    );
    const tags = new Set((await store.db.all('SELECT tag FROM audit_slots')).map(row => row['tag']));
    expect(tags.size).toBe(5);
  });

  /** Which of the rows are left; each is made as its name says. */
  async function ended(table: Ended, insert: (tx: Transaction) => Promise<unknown>, id = 'id') {
    await store.db.run(`DELETE FROM ${table}`);
    await within(insert);
    const count = (await left(table, id)).length;
    const removed = await deleteEnded(store.db, table, NOW);
    const rows = await left(table, id);
    expect(removed).toBe(count - rows.length);
    return rows;
  }

  test('outcomes and events go by their age alone', async () => {
    const outcome = { outcome: 'ok', durationMs: 1, at: NOW, result: null } as const;
    const outcomes = await ended(
      'outcomes',
      async tx =>
        insertOutcomes(
          tx,
          [OLD, BOUND].map(toolCallId => ({ toolCallId, ...outcome })),
        ),
      'tool_call_id',
    );
    expect(outcomes).toEqual([BOUND]);
    const events = await ended('events', async tx => {
      for (const id of [OLD, BOUND]) {
        await tx.run("INSERT INTO events VALUES ($1, 'approval.created', 'r', '{}', 0)", [id]);
      }
    });
    expect(events).toEqual([BOUND]);
  });

  test('an approval goes once it is answered, lapsed, and its grant has ended', async () => {
    const old = (number: number) => idAt(NOW - 100, number);
    const add = async (tx: Transaction, id: string, expiresAt: number, grant: number | null | 'open') => {
      insertApproval(tx, approvalRecord({ id, createdAt: NOW - 100, expiresAt }), `token ${id}`);
      if (grant === 'open') return;
      const resolved = {
        status: 'approved',
        at: NOW - 50,
        by: 'x',
        grantExpiresAt: grant,
        note: null,
      } as const;
      expect(await resolveApproval(tx, id, resolved)).toBe(true);
    };
    const rows = await ended('approvals', async tx => {
      await add(tx, old(1), NOW - 1, null);
      await add(tx, old(2), NOW, null);
      await add(tx, old(3), NOW - 1, NOW - 1);
      await add(tx, old(4), NOW - 1, NOW);
      await add(tx, old(5), NOW - 1, 'open');
      await add(tx, BOUND, NOW - 1, null);
    });
    expect(rows).toEqual([old(2), old(4), old(5), BOUND]);
  });

  test('grants and sessions go once they have ended', async () => {
    const spans = [
      [OLD, NOW - 1],
      [idAt(NOW - 2), NOW],
      [BOUND, NOW - 1],
    ] as const;
    const grant = {
      referenceId: 'r',
      keyId: 'k',
      serverName: 's',
      toolName: 't',
      definitionDigest: null,
      ruleDigest: null,
    };
    const grants = await ended('grants', async tx => {
      for (const [id, expiresAt] of spans) insertGrant(tx, { id, ...grant, createdAt: 0, expiresAt });
    });
    expect(grants).toEqual([idAt(NOW - 2), BOUND]);
    const sessions = await ended('sessions', async tx => {
      for (const [id, expiresAt] of spans) await insertSession(tx, sessionRecord({ id, expiresAt }), id);
    });
    expect(sessions).toEqual([idAt(NOW - 2), BOUND]);
  });

  test('a notification that waits stays, however old', async () => {
    const rows = await ended('notifications', async tx => {
      for (const id of [OLD, idAt(NOW - 2), BOUND]) {
        const about = { approvalId: 'a', keyId: 'k', channel: 'email', tokenEncrypted: 'x' } as const;
        insertNotification(tx, { id, ...about, createdAt: NOW });
      }
      await tx.run("UPDATE notifications SET status = 'sent' WHERE id <> $1", [OLD]);
    });
    expect(rows).toEqual([OLD, BOUND]);
  });

  test('deliveries that have ended are removed with their attempts', async () => {
    const all = [idAt(NOW - 2), OLD, BOUND];
    await within(async tx => {
      for (const id of all) {
        insertDelivery(tx, { id, eventId: 'e', webhookId: 'w', createdAt: NOW });
        const attempt = { deliveryId: id, at: NOW, status: 200, durationMs: 1, error: null, response: null };
        const status = id === OLD ? 'pending' : 'delivered';
        recordAttempt(tx, { id, ...attempt }, { status, nextAttemptAt: null });
      }
    });
    const old = () => within(tx => deleteDeliveries(tx, NOW));
    expect([await old(), await old()]).toEqual([1, 0]);
    expect(await left('deliveries')).toEqual([OLD, BOUND]);
    expect(await left('attempts')).toEqual([OLD, BOUND]);
  });

  test('connections go by their last use', async () => {
    await within(async tx => {
      for (const [id, usedAt] of [
        ['a', NOW - 1],
        ['b', NOW],
      ] as const) {
        const about = { keyId: 'k', sessionId: null, protocolVersion: '2025-11-25', logLevel: null };
        insertMcpSession(tx, { id, ...about }, usedAt);
      }
    });
    expect(await deleteMcpSessions(store.db, NOW)).toBe(1);
    expect(await left('connections')).toEqual(['b']);
  });
});
