// Searches of the audit log by parts of names and by patterns, on both engines, compared with brute force: odd
// characters, several names that share a tag, too many names to follow, and every page.

import { beforeAll, expect, test } from 'bun:test';
import { isExactly, nameMatcher } from '../../../src/core/log/name-search.ts';
import type { Queries } from '../../../src/store/engine/db.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { type AuditFilter, searchAudit } from '../../../src/store/log/audit-search.ts';
import { findNames, findSearchedTools } from '../../../src/store/log/tool-names.ts';
import { random, SEED, sql } from '../../support/faults.ts';
import { auditEntry, idAt, NOW, onEachEngine } from '../stores.ts';

const chance = random(SEED);
const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T;
const SERVERS = ['github', 'GitHub', 'git.hub', 'mail', 'ünïcode', 'a%b', 'c\\d', "o'hara", '*'];
const TOOLS = [
  'merge',
  'merge_pull_request',
  'MERGE',
  're-merge',
  'send_100%',
  'send_1000',
  'a__b',
  '_x',
  'ß',
  'İ',
  '"quoted"',
  'with space',
  '*merge*',
  ...Array.from({ length: 40 }, (_, n) => `tool_${n}`),
];
const TEXTS = [
  'merge',
  'MeRgE',
  'github',
  'github__*',
  '*merge*',
  '*__merge',
  'git%',
  '100%',
  '_',
  '%',
  '\\',
  "'",
];
TEXTS.push(
  'tool_1',
  'TOOL',
  'tool_*',
  'github__merge',
  'hub__m',
  '*',
  '**',
  'ünï',
  'ÜNÏ',
  'nowhere',
  'i̇',
  'a__b',
);
TEXTS.push('mail__a__b', 'github__', '"', ' ', '*"*', 'x'.repeat(300), '*'.repeat(300));

const ENTRIES: AuditEntry[] = Array.from({ length: 600 }, (_, n) => {
  // A few slots have many entries, most have one.
  const at = NOW + (n < 300 ? Math.floor(n / 100) : n * 16);
  return auditEntry({
    id: idAt(at, n),
    at,
    keyId: `key-${n % 3}`,
    decision: n % 10 === 0 ? 'deny' : 'allow',
    serverName: pick(SERVERS),
    toolName: n % 2 === 0 ? 'tool_1' : (TOOLS[(n >> 1) % TOOLS.length] as string),
  });
});

await onEachEngine(store => {
  beforeAll(async () => {
    for (let at = 0; at < ENTRIES.length; at += 100)
      await store.db.transaction({}, async tx => insertAudit(tx, ENTRIES.slice(at, at + 100)));
  });

  async function found(text: string, more: AuditFilter, limit: number): Promise<string[]> {
    const tools = (await findSearchedTools(store.db, text)) ?? undefined;
    const filter = { ...more, ...(tools === undefined ? { tool: text } : { tools }) };
    const ids: string[] = [];
    for (let before: string | null = 'z'; before !== null; ) {
      const { entries, next } = await searchAudit(store.db, filter, limit, before);
      expect(entries.length).toBeLessThanOrEqual(limit);
      ids.push(...entries.map(entry => entry.id));
      before = next;
    }
    return ids;
  }

  function wanted(
    text: string,
    entries: readonly AuditEntry[],
    also: (entry: AuditEntry) => boolean,
  ): string[] {
    const exact = entries.some(entry => isExactly(text, entry));
    const matches = exact ? (entry: AuditEntry) => isExactly(text, entry) : nameMatcher(text);
    return entries
      .filter(entry => matches(entry) && also(entry))
      .map(entry => entry.id)
      .toReversed();
  }

  for (const text of TEXTS) {
    test(`finds what brute force finds: ${text.slice(0, 20)}`, async () => {
      for (const limit of [70, 1000]) {
        expect(await found(text, {}, limit)).toEqual(wanted(text, ENTRIES, () => true));
        const more = { keyId: 'key-1', decision: 'deny', from: NOW + 1, to: NOW + 8000 } as const;
        const also = (e: AuditEntry) =>
          e.keyId === 'key-1' && e.decision === 'deny' && e.at > NOW && e.at < NOW + 8000;
        expect(await found(text, more, limit)).toEqual(wanted(text, ENTRIES, also));
      }
    });
  }

  test('a part that is a name finds that tool; with stars it finds all', async () => {
    const names = (await findNames(store.db, 'merge')).names.map(each => each.toolName);
    expect(new Set(names)).toEqual(new Set(['merge', 'merge_pull_request', 'MERGE', 're-merge', '*merge*']));
    expect(await findSearchedTools(store.db, 'merge')).toBeNull();
    expect((await findSearchedTools(store.db, 'Merge'))?.names?.length).toBe(names.length);
    expect((await findSearchedTools(store.db, '*merge*'))?.names?.length).toBe(names.length);
  });

  test('names are found in the order of the index, each once', async () => {
    const { names, all } = await findNames(store.db, '*');
    const known = new Set(ENTRIES.map(each => `${each.serverName}__${each.toolName}`));
    expect(all).toBe(true);
    expect(names.map(each => `${each.serverName}__${each.toolName}`).sort()).toEqual([...known].sort());
  });

  /** Among many contexts, names are looked up in their index only. */
  async function expectIndexed(text: string): Promise<void> {
    const plans: string[] = [];
    const planned: Queries = {
      ...store.db,
      all: async (sql, params) => {
        const explain = store.engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
        plans.push(JSON.stringify(await store.db.all(`${explain} ${sql}`, params)));
        return store.db.all(sql, params);
      },
    };
    await findSearchedTools(planned, text);
    expect(plans.length).toBeGreaterThan(0);
    for (const plan of plans) {
      expect(plan).toContain('audit_contexts_tool');
      expect(plan).not.toMatch(/Seq Scan|SCAN audit_contexts/);
    }
  }

  test('more names than can be followed, or looked through, are found too', async () => {
    const many = Array.from({ length: 600 }, (_, n) =>
      auditEntry({
        id: idAt(NOW + 100_000 + n, n),
        at: NOW + 100_000 + n,
        serverName: 'many',
        toolName: `t${n}`,
      }),
    );
    for (let at = 0; at < many.length; at += 100)
      await store.db.transaction({}, async tx => insertAudit(tx, many.slice(at, at + 100)));
    const entries = [...ENTRIES, ...many];
    expect((await findSearchedTools(store.db, 'many__*'))?.names).toBeNull();
    expect(await found('many__*', {}, 50)).toEqual(wanted('many__*', entries, () => true));
    expect(await found('many', { keyId: 'key-1' }, 50)).toHaveLength(600);
    expect((await findSearchedTools(store.db, 'many__t1*'))?.names).toHaveLength(111);
    expect(await found('many__t1*', {}, 50)).toHaveLength(111);

    // A flood of names: `rare` sorts after all of them, and is still found.
    const rare = auditEntry({ id: idAt(NOW - 1), at: NOW - 1, serverName: 'zz', toolName: 'zz_rare' });
    await store.db.transaction({}, async tx => insertAudit(tx, [rare]));
    await sql(
      store.url,
      `INSERT INTO audit_contexts (digest, key_id, server_name, tool_name, reason, policy_id, policy_version)
       WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 12000)
       SELECT 'flood ' || n, 'key-9', 'flood', 'f' || n, 'r', 'p', 1 FROM series`,
    );
    await sql(store.url, 'ANALYZE');
    expect((await findSearchedTools(store.db, '*_rare'))?.names).toBeNull();
    expect(await found('*_rare', {}, 50)).toEqual([rare.id]);
    expect(await found('zz_rare', {}, 50)).toEqual([rare.id]);

    // More entries in one slot than are read at once, where entries are tested one by one.
    const slot = idAt(NOW - 1).slice(0, 12);
    await sql(
      store.url,
      `INSERT INTO audit_entries (id, at, context, surface, decision, latency_ms)
       WITH RECURSIVE series (n) AS (SELECT 10000 UNION ALL SELECT n + 1 FROM series WHERE n < 34999)
       SELECT '${slot}0-7000-8000-0000000' || n, at, context, 'check', 'allow', 1
       FROM series CROSS JOIN (SELECT at, context FROM audit_entries WHERE id = '${rare.id}') AS one`,
    );
    const crowd = await found('*_rare', { keyId: rare.keyId }, 10_000);
    expect(crowd).toHaveLength(25_001);
    expect(crowd).toEqual([...new Set(crowd)].sort().toReversed());
    // At the end: on SQLite, a statement that explains keeps its handle at the state of the store that it saw.
    for (const text of ['*_rare', 'f17']) await expectIndexed(text);
  });
});
