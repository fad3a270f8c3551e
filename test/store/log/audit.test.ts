// The audit log on both engines: groups of every size, pages that neither skip nor repeat, each filter.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SHADOWS } from '../../../src/core/foresight/shadow.ts';
import { type Transaction, UniqueViolation } from '../../../src/store/engine/db.ts';
import { AuditWriter, findAudit, insertAudit, listAuditSince } from '../../../src/store/log/audit.ts';
import type { AuditEntry, Shadow } from '../../../src/store/log/audit-entry.ts';
import { type AuditFilter, searchAudit } from '../../../src/store/log/audit-search.ts';
import { countAudit, nextAuditId, type Tally, tallies } from '../../../src/store/log/audit-tally.ts';
import { refusal } from '../../support/refusal.ts';
import { engines } from '../../support/service.ts';
import { auditEntry, idAt, NOW, openStore, type TestStore } from '../stores.ts';

const DECISIONS = ['allow', 'deny', 'pending'] as const;

function shadow(n: number): Shadow {
  const decision = DECISIONS[n % 5] ?? 'allow';
  return { policyId: `shadow-${n % 2}`, policyVersion: 2, decision, ruleIndex: n % 8 === 1 ? null : 3 };
}

const traceId = (n: number) => String(n).repeat(32);

/** 500 entries, ten per millisecond, with every field taking several values. */
const ENTRIES: AuditEntry[] = Array.from({ length: 500 }, (_, n) => {
  const at = NOW + Math.floor(n / 10);
  return auditEntry({
    id: idAt(at, n),
    at,
    keyId: `key-${n % 3}`,
    sessionId: n % 4 === 0 ? `session-${n % 8}` : null,
    surface: n % 5 === 0 ? 'mcp' : 'check',
    serverName: n % 2 === 0 ? 'github' : 'gitlab',
    toolName: ['get_issue', 'a__b', 'delete'][n % 3] as string,
    decision: DECISIONS[n % 3] as AuditEntry['decision'],
    ruleIndex: n % 7 === 0 ? null : n % 7,
    referenceId: n % 9 === 0 ? `ref-${n}` : null,
    latencyMs: n % 11,
    shadow: n % 4 === 1 ? shadow(n) : null,
    traceId: n % 6 === 0 ? traceId(n % 5) : null,
  });
});

const differs = ({ decision, shadow }: AuditEntry) => shadow !== null && shadow.decision !== decision;

const FILTERS: [string, AuditFilter, (entry: AuditEntry) => boolean][] = [
  ['nothing', {}, () => true],
  ['a key', { keyId: 'key-1' }, entry => entry.keyId === 'key-1'],
  ['a session', { sessionId: 'session-4' }, entry => entry.sessionId === 'session-4'],
  ['a decision', { decision: 'deny' }, entry => entry.decision === 'deny'],
  ['the surface check', { surface: 'check' }, entry => entry.surface === 'check'],
  ['the surface mcp', { surface: 'mcp' }, entry => entry.surface === 'mcp'],
  ['a bare tool', { tool: 'delete' }, entry => entry.toolName === 'delete'],
  ['a full tool name', { tool: 'github__delete' }, e => e.toolName === 'delete' && e.serverName === 'github'],
  [
    'a full name with __ in the tool',
    { tool: 'gitlab__a__b' },
    e => e.toolName === 'a__b' && e.serverName === 'gitlab',
  ],
  ...SHADOWS.map((shadow): (typeof FILTERS)[number] => [
    `a shadow: ${shadow}`,
    { shadow },
    entry => (shadow === 'differs' ? differs(entry) : entry.shadow?.decision === shadow),
  ]),
  [
    'a shadow and a key',
    { shadow: 'differs', keyId: 'key-1' },
    entry => differs(entry) && entry.keyId === 'key-1',
  ],
  ['a trace', { traceId: traceId(3) }, entry => entry.traceId === traceId(3)],
  [
    'a trace and a decision',
    { traceId: traceId(3), decision: 'allow' },
    entry => entry.traceId === traceId(3) && entry.decision === 'allow',
  ],
  ['a trace that nobody made', { traceId: 'f'.repeat(32) }, () => false],
  ['a tool nobody called', { tool: 'nothing' }, () => false],
  ['a start, which is included', { from: NOW + 20 }, entry => entry.at >= NOW + 20],
  ['an end, which is not', { to: NOW + 20 }, entry => entry.at < NOW + 20],
  ['one millisecond', { from: NOW + 20, to: NOW + 21 }, entry => entry.at === NOW + 20],
  ['an empty range', { from: NOW + 20, to: NOW + 20 }, () => false],
  [
    'everything at once',
    {
      from: NOW + 5,
      to: NOW + 45,
      keyId: 'key-0',
      decision: 'allow',
      surface: 'mcp',
      tool: 'github__get_issue',
    },
    e =>
      e.at >= NOW + 5 &&
      e.at < NOW + 45 &&
      e.keyId === 'key-0' &&
      e.surface === 'mcp' &&
      e.serverName === 'github',
  ],
];

/** A transaction that shows its statements. */
function noting(tx: Transaction, note: (text: string) => void): Transaction {
  const noted = (text: string) => {
    note(text);
    return text;
  };
  return {
    all: (text, params) => tx.all(noted(text), params),
    run: (text, params) => tx.run(noted(text), params),
    defer: (text, params) => tx.defer(noted(text), params),
    insert: (into, values) => {
      if (values.length > 0) note(`INSERT INTO ${into.table} ${into.columns.join()}`);
      tx.insert(into, values);
    },
    lock: locks => tx.lock(locks),
    lockedAt: () => tx.lockedAt(),
    script: text => tx.script(text),
  };
}

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
      for (let at = 0, size = 1; at < ENTRIES.length; at += size, size += 3) {
        const group = ENTRIES.slice(at, at + size);
        await store.db.transaction({}, async tx => insertAudit(tx, group));
      }
    });
    afterAll(() => store.close());

    async function readAll(filter: AuditFilter, limit: number): Promise<AuditEntry[]> {
      const found: AuditEntry[] = [];
      for (let before: string | null = 'z'; before !== null; ) {
        const { entries, next } = await searchAudit(store.db, filter, limit, before);
        expect(entries.length).toBeLessThanOrEqual(limit);
        found.push(...entries);
        before = next;
      }
      return found;
    }

    for (const [what, filter, keeps] of FILTERS) {
      test(`pages filtered by ${what} are complete, newest first`, async () => {
        const want = ENTRIES.filter(keeps).toReversed();
        for (const limit of [7, 64, 1000]) expect(await readAll(filter, limit)).toEqual(want);
      });
    }

    test('groups of 1 to 300 entries are written whole', async () => {
      for (const size of [1, 2, 3, 63, 64, 65, 127, 200, 300]) {
        const keyId = `group-${size}`;
        const group = Array.from({ length: size }, () => auditEntry({ keyId }));
        await store.db.transaction({}, async tx => insertAudit(tx, group));
        expect((await readAll({ keyId }, 1000)).map(row => row.id).toReversed()).toEqual(
          group.map(row => row.id),
        );
      }
      await store.db.transaction({}, async tx => insertAudit(tx, []));
    });

    test('a group with an id that is there already is not written at all', async () => {
      const group = [
        auditEntry({ keyId: 'twice' }),
        auditEntry({ id: ENTRIES[0]?.id as string, keyId: 'twice' }),
      ];
      const write = store.db.transaction({}, async tx => insertAudit(tx, group));
      expect(await refusal(write)).toBeInstanceOf(UniqueViolation);
      expect(await readAll({ keyId: 'twice' }, 10)).toEqual([]);
    });

    test('a page that is exactly full says that it is the last', async () => {
      const filter = { keyId: 'key-1', to: NOW + 50 };
      const all = ENTRIES.filter(entry => entry.keyId === 'key-1').length;
      expect((await searchAudit(store.db, filter, all, 'z')).next).toBeNull();
      const page = await searchAudit(store.db, filter, all - 1, 'z');
      expect([page.entries.length, page.next]).toEqual([all - 1, page.entries.at(-1)?.id ?? null]);
    });

    test('entries after an id come newest first, and one by its id', async () => {
      const [first, second, third] = ENTRIES.slice(-3) as [AuditEntry, AuditEntry, AuditEntry];
      const since = (limit: number) => listAuditSince(store.db, first.id, limit);
      expect((await since(1000)).slice(-2)).toEqual([third, second]);
      expect(await since(1)).toHaveLength(1);
      expect(await findAudit(store.db, second.id)).toEqual(second);
      expect(await findAudit(store.db, 'unknown')).toBeNull();
    });

    /** One writer's transactions, and which tables each wrote to besides the entries. */
    async function writing(group: AuditEntry[], writer: AuditWriter, fails = false): Promise<string[]> {
      const wrote = new Set<string>();
      const noted = (text: string) => {
        const table = /INTO (audit_(?:contexts|slots))/.exec(text)?.[1];
        if (table !== undefined) wrote.add(table);
      };
      const write = store.db.transaction({}, async tx => {
        await writer.insert(noting(tx, noted), group);
        if (fails) throw new RangeError('rolled back');
      });
      await write.then(() => writer.committed()).catch(error => expect(error).toBeInstanceOf(RangeError));
      return [...wrote].sort();
    }

    test('what a rolled-back transaction wrote is written again; what was committed is not', async () => {
      const writer = new AuditWriter();
      const at = NOW - 3_600_000;
      const group = (n: number) => [
        auditEntry({ id: idAt(at, n), at, keyId: 'shared', toolName: 'shared' }),
        auditEntry({ id: idAt(at, n + 1), at, keyId: 'shared', toolName: 'shared' }),
      ];
      const both = ['audit_contexts', 'audit_slots'];
      expect(await writing(group(0), writer, true)).toEqual(both);
      expect(await writing(group(2), writer)).toEqual(both);
      expect(await writing(group(4), writer)).toEqual([]);
      // The next slot of a known context.
      const next = auditEntry({ id: idAt(at + 16), at: at + 16, keyId: 'shared', toolName: 'shared' });
      expect(await writing([next], writer)).toEqual(['audit_slots']);
      const wanted = [next, ...group(4).toReversed(), ...group(2).toReversed()];
      expect(await readAll({ keyId: 'shared' }, 10)).toEqual(wanted);
      expect(await readAll({ tool: 'shared' }, 2)).toEqual(wanted);
    });

    test('entries that differ only in their shadow have contexts of their own', async () => {
      const keyId = 'shadowed';
      const variants = [null, shadow(1), { ...shadow(1), policyVersion: 3 }, { ...shadow(1), ruleIndex: 0 }];
      const group = [...variants, ...variants].map(each => auditEntry({ keyId, shadow: each }));
      await store.db.transaction({}, async tx => insertAudit(tx, group));
      expect(await readAll({ keyId }, 10)).toEqual(group.toReversed());
      const contexts = await store.db.all('SELECT id FROM audit_contexts WHERE key_id = $1', [keyId]);
      expect(contexts).toHaveLength(variants.length);
    });

    test('the column of traces is written only for a group with a traced call', async () => {
      const statements: string[] = [];
      const keyId = 'traced';
      const insert = (entries: AuditEntry[]) =>
        store.db.transaction({}, tx =>
          insertAudit(
            noting(tx, text => statements.push(text)),
            entries,
          ),
        );
      const plain = [auditEntry({ keyId }), auditEntry({ keyId })];
      const mixed = [auditEntry({ keyId }), auditEntry({ keyId, traceId: traceId(7) })];
      await insert(plain);
      expect(statements.join()).not.toContain('trace_id');
      await insert(mixed);
      expect(statements.join()).toContain('trace_id');
      expect(await readAll({ keyId }, 10)).toEqual([...plain, ...mixed].toReversed());
    });

    async function tallied(from: number, to: number): Promise<Tally[]> {
      const rows: Tally[] = [];
      for await (const some of tallies(store.db, from, to)) rows.push(...some);
      return rows;
    }

    const total = (rows: Tally[]) => rows.reduce((sum, row) => sum + row.count, 0);

    test('tallies count each entry of their range once', async () => {
      const whole = await tallied(NOW, NOW + 50);
      expect(total(whole)).toBe(500);
      expect(total(whole.filter(row => row.decision === 'deny'))).toBe(
        ENTRIES.filter(entry => entry.decision === 'deny').length,
      );
      expect(total(await tallied(NOW, NOW + 13)) + total(await tallied(NOW + 13, NOW + 50))).toBe(500);
      expect(new Set(whole.map(row => `${row.serverName} ${row.toolName}`)).size).toBe(6);
      expect(await countAudit(store.db, NOW, NOW + 13)).toBe(130);
      expect(await nextAuditId(store.db, NOW + 13)).toBe(ENTRIES[130]?.id as string);
      expect(await nextAuditId(store.db, NOW + 50)).toBeNull();
    });
  });
}
