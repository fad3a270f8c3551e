// Counts by context: minutes are written anew, hours and days are their sums, and contexts beyond the bound are added up
// by key, policy and shadow, so that totals stay exact.

import { beforeEach, expect, test } from 'bun:test';
import { KEPT, type Span } from '../../../src/core/time/buckets.ts';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import * as rollups from '../../../src/store/log/context-rollups.ts';
import { auditEntry, idAt, NOW, onEachEngine } from '../stores.ts';

/** Of a minute, the most contexts that are counted apart. */
const MOST_IN_MINUTE = 2000;

await onEachEngine(store => {
  /** The numbers of contexts of two keys: the first has `many` tools, the second has one. */
  async function contexts(many: number): Promise<number[]> {
    const entries = Array.from({ length: many + 1 }, (_, n) =>
      auditEntry({
        id: idAt(NOW, n),
        keyId: n === many ? 'key-2' : 'key-1',
        toolName: `tool-${n}`,
        policyId: 'policy-1',
      }),
    );
    await store.db.transaction({}, tx => insertAudit(tx, entries));
    const rows = await store.db.all<{ context: number }>('SELECT context FROM audit_entries ORDER BY id');
    return rows.map(row => row.context);
  }
  const count = (context: number, number: number): rollups.ContextCount => ({
    context,
    decision: 'allow',
    count: number,
  });
  type Minute = [start: number, counts: rollups.ContextCount[]];
  async function writeAndSum(minutes: Minute[], from: number, to: number) {
    const buckets = await rollups.contextBuckets(store.db, new Map(minutes), NOW + from, NOW + to);
    await store.db.transaction({}, tx => rollups.writeContextBuckets(tx, buckets));
  }
  const write = (...minutes: Minute[]) => writeAndSum(minutes, 0, 0);
  const sumUp = (from: number, to: number) => writeAndSum([], from, to);
  async function read(span: Span, from: number, to: number): Promise<Record<number, number>> {
    const sums: Record<number, number> = {};
    for await (const rows of rollups.contextCounts(store.db, span, NOW + from, NOW + to)) {
      for (const row of rows) sums[row.context] = (sums[row.context] ?? 0) + row.count;
    }
    return sums;
  }

  beforeEach(async () => {
    await store.db.run('DELETE FROM context_rollups');
    await store.db.run('DELETE FROM audit_entries');
  });

  test('a minute that is written again replaces what was counted, and no other minute', async () => {
    const [a = 0, b = 0] = await contexts(2);
    await write([NOW, [count(a, 5)]], [NOW + MINUTE, [count(a, 7)]]);
    await sumUp(0, HOUR);
    await write([NOW, [count(b, 2)]]);
    expect(await read(MINUTE, 0, MINUTE)).toEqual({ [b]: 2 });
    expect(await read(MINUTE, MINUTE, 2 * MINUTE)).toEqual({ [a]: 7 });
    expect(await read(HOUR, 0, HOUR)).toEqual({ [a]: 12 });
  });

  test('minutes that are written at the same time are summed up in place of what was stored of them', async () => {
    const [a = 0, b = 0] = await contexts(2);
    await write([NOW, [count(a, 5)]], [NOW + MINUTE, [count(a, 7)]]);
    await sumUp(0, DAY);
    await writeAndSum([[NOW, [count(b, 2), count(a, 1)]]], 0, DAY);
    for (const span of [HOUR, DAY] as const) expect(await read(span, 0, DAY)).toEqual({ [a]: 8, [b]: 2 });
    // An hour that has not ended is not summed up.
    await writeAndSum([[NOW + DAY, [count(b, 100)]]], 0, DAY + MINUTE);
    expect(await read(HOUR, DAY, 2 * DAY)).toEqual({});
  });

  test('hours and days are the sums of what lies in them, made once they have ended', async () => {
    const [a = 0, b = 0] = await contexts(2);
    await write(
      [NOW - MINUTE, [count(b, 100)]],
      [NOW, [count(a, 1)]],
      [NOW + 59 * MINUTE, [count(a, 2)]],
      [NOW + HOUR, [count(a, 4)]],
      [NOW + 23 * HOUR, [count(b, 8)]],
      [NOW + DAY, [count(b, 100)]],
    );
    await sumUp(0, HOUR - MINUTE);
    expect(await read(HOUR, -DAY, 2 * DAY)).toEqual({});
    await sumUp(0, HOUR);
    expect(await read(HOUR, -DAY, 2 * DAY)).toEqual({ [a]: 3 });
    // From within an hour on: that hour is made anew too, and counts nothing twice.
    await sumUp(30 * MINUTE, DAY - MINUTE);
    expect(await read(HOUR, 0, DAY)).toEqual({ [a]: 7 });
    expect(await read(DAY, -DAY, 2 * DAY)).toEqual({});
    await sumUp(30 * MINUTE, DAY);
    expect(await read(DAY, -DAY, 2 * DAY)).toEqual({ [a]: 7, [b]: 8 });
  });

  test('contexts beyond the bound are added up for each key, and stay so in hours', async () => {
    const all = await contexts(MOST_IN_MINUTE + 2);
    const other = all.at(-1) as number;
    // The first three are the rarest of their key; the other key's only context is rare too.
    const counts = all.map((context, n) => count(context, context === other ? 1 : n < 3 ? 2 : 9));
    await write([NOW, counts], [NOW + MINUTE, [count(all[1] as number, 5)]]);
    const kept = await read(MINUTE, 0, MINUTE);
    const rare = -(all[1] as number);
    expect(Object.keys(kept)).toHaveLength(MOST_IN_MINUTE + 2);
    expect([kept[all[0] as number], kept[rare], kept[all[3] as number], kept[-other]]).toEqual([2, 4, 9, 1]);
    await sumUp(0, HOUR);
    const hour = await read(HOUR, 0, HOUR);
    expect([hour[all[0] as number], hour[all[1] as number], hour[rare], hour[-other]]).toEqual([2, 5, 4, 1]);
  });

  test('contexts beyond the bound are told apart by what a shadow said', async () => {
    const shadow = (n: number) =>
      n < 2
        ? null
        : ({
            policyId: 'policy-2',
            policyVersion: 1,
            decision: n < 4 ? 'deny' : 'allow',
            ruleIndex: n,
          } as const);
    const entries = Array.from({ length: MOST_IN_MINUTE + 6 }, (_, n) =>
      auditEntry({
        id: idAt(NOW, n),
        keyId: 'key-1',
        toolName: `t-${n}`,
        policyId: 'policy-1',
        shadow: shadow(n),
      }),
    );
    await store.db.transaction({}, tx => insertAudit(tx, entries));
    const rows = await store.db.all<{ context: number }>('SELECT context FROM audit_entries ORDER BY id');
    const all = rows.map(row => row.context);
    await write([NOW, all.map((context, n) => count(context, n < 6 ? 1 : 9))]);
    const kept = await read(MINUTE, 0, MINUTE);
    const others = Object.entries(kept).filter(([context]) => Number(context) < 0);
    const pairs = [all.slice(0, 2), all.slice(2, 4), all.slice(4, 6)];
    expect(Object.fromEntries(others)).toEqual(
      Object.fromEntries(pairs.map(pair => [-Math.min(...pair), 2])),
    );
  });

  test('what is read comes in pages, and each row once', async () => {
    const all = await contexts(MOST_IN_MINUTE - 1);
    await write([NOW, all.map(context => count(context, 1))], [NOW + MINUTE, all.map(c => count(c, 2))]);
    const sizes: number[] = [];
    for await (const page of rollups.contextCounts(store.db, MINUTE, NOW, NOW + HOUR))
      sizes.push(page.length);
    expect(sizes).toEqual([2048, 2 * MOST_IN_MINUTE - 2048]);
    expect(Object.values(await read(MINUTE, 0, HOUR))).toEqual(all.map(() => 3));
  });

  test('the oldest bucket, and short buckets that are no longer kept', async () => {
    const [a = 0] = await contexts(1);
    expect(await rollups.oldestContextBucket(store.db)).toBeNull();
    await write([NOW + MINUTE, [count(a, 1)]], [NOW + 2 * MINUTE, [count(a, 1)]]);
    expect(await rollups.oldestContextBucket(store.db)).toBe(NOW + MINUTE);
    await sumUp(0, DAY);
    expect(await rollups.oldestContextBucket(store.db)).toBe(NOW);
    await rollups.pruneContextRollups(store.db, NOW + 2 * MINUTE + (KEPT[MINUTE] as number));
    expect(await read(MINUTE, 0, HOUR)).toEqual({ [a]: 1 });
    expect(await read(HOUR, 0, HOUR)).toEqual({ [a]: 2 });
    await rollups.pruneContextRollups(store.db, NOW + 1 + (KEPT[HOUR] as number));
    expect(await read(HOUR, 0, HOUR)).toEqual({});
    expect(await read(DAY, 0, DAY)).toEqual({ [a]: 2 });
  });
});
