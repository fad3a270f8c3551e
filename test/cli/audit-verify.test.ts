// toolgate audit verify against a log that was tampered with, on both engines and in an export: each way is found,
// and named for what it is; what cannot be told is not claimed.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import type { Verification } from '../../src/cli/verify.ts';
import { verifierKeyText } from '../../src/core/log/checkpoint.ts';
import { entryLeaf, shownEntry } from '../../src/core/log/entry.ts';
import { logKey } from '../../src/guard/log/sealed-log.ts';
import type { Db } from '../../src/store/engine/db.ts';
import { findAudit } from '../../src/store/log/audit.ts';
import type { AuditEntry } from '../../src/store/log/audit-entry.ts';
import { listSealed } from '../../src/store/log/seals.ts';
import { Clock, entries, MINUTE, sealerOn, type TestSealer, write } from '../guard/log/sealing.ts';
import { auditEntry, idAt, NOW, openStore, type TestStore } from '../store/stores.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { captured } from './captured.ts';

const ROUNDS = 4;
const ROUND = 150;
const SIZE = ROUNDS * ROUND;
/** In the middle of the second of four stretches between checkpoints. */
const SEQ = 170;
const STRETCH = 150;
/** The place in each round of an entry that was made in somebody's name. */
const PERSON = 5;
const SHADOW = { policyId: 'p', policyVersion: 2, decision: 'deny', ruleIndex: null } as const;
const TABLES = ['audit_entries', 'audit_contexts', 'seals', 'seal_nodes', 'checkpoints', 'sealing'];

for (const engine of await enginesWhenChanged(
  'src/store/**',
  'src/guard/log/**',
  'src/cli/verify.ts',
  'src/cli/sealed-source.ts',
)) {
  describe(engine, () => {
    let store: TestStore;
    let db: Db;
    let one: TestSealer;
    let ids: string[];
    const clock = new Clock();
    const folder = mkdtempSync(join(tmpdir(), 'toolgate-verify-'));
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return name;
    };

    beforeAll(async () => {
      store = await openStore(engine);
      ({ db } = store);
      one = await sealerOn(db, clock);
      for (let round = 0; round < ROUNDS; round++) {
        const named = (each: AuditEntry, n: number) =>
          n === PERSON ? { ...each, personId: 'person-1', shadow: SHADOW } : each;
        await write(db, entries(ROUND, clock.now).map(named));
        clock.now += 10 * MINUTE;
        await one.settle();
      }
      ids = (await listSealed(db, 0, SIZE)).map(row => row.entryId);
      for (const table of TABLES) await db.run(`CREATE TABLE ${table}_kept AS SELECT * FROM ${table}`);
      file('audit.pub', verifierKeyText(await logKey(one.deps)));
      file('kept.txt', one.notes.map(note => `\n${note}\n`).join(''));
    });
    afterAll(async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });
    beforeEach(async () => {
      for (const table of TABLES) {
        await db.run(`DELETE FROM ${table}`);
        await db.run(`INSERT INTO ${table} SELECT * FROM ${table}_kept`);
      }
    });

    const verify = async (...more: string[]): Promise<Verification & { code: number }> => {
      const io = captured(folder, { TOOLGATE_DATABASE_URL: store.url, TOOLGATE_DATA_DIR: folder });
      await run(['audit', 'verify', '--public-key', 'audit.pub', '--json', ...more], io);
      return { ...JSON.parse(io.out || '{}'), code: io.code ?? 0 };
    };
    /** The kinds and places that were found. */
    const found = async (...more: string[]) => {
      const { code, ok, findings } = await verify(...more);
      expect([code, ok]).toEqual(findings.length === 0 ? [0, true] : [1, false]);
      return findings.map(({ kind, seq }) => [kind, seq]);
    };
    const sql = async (...statements: string[]) => {
      for (const statement of statements) await db.run(statement);
    };
    const idOf = (seq: number) => ids[seq] as string;
    const entryOf = async (seq: number) => (await findAudit(db, idOf(seq))) as AuditEntry;
    const leafOf = (entry: AuditEntry) => Buffer.from(entryLeaf(shownEntry(entry))).toString('base64');

    test('an untouched log is as it was signed, by the store’s checkpoints and by kept ones', async () => {
      expect(await verify('--checkpoints', 'kept.txt')).toMatchObject({
        code: 0,
        ok: true,
        sealed: SIZE,
        covered: SIZE,
        unsealed: 0,
        prunedBefore: 0,
        checkpoints: ROUNDS,
        findings: [],
        notices: [],
      });
      expect(await found()).toEqual([]);
    });

    test.each([
      ['decision', "'deny'"],
      ['at', 'at + 1'],
      ['session_id', "''"],
      ['latency_ms', 'latency_ms + 1'],
    ])('edited: %s', async (column, value) => {
      await sql(`UPDATE audit_entries SET ${column} = ${value} WHERE id = '${idOf(SEQ)}'`);
      expect(await found()).toEqual([['edited', SEQ]]);
    });

    test.each(["UPDATE audit_contexts SET reason = 'x' WHERE", 'DELETE FROM audit_contexts WHERE'])(
      'edited: what it shares with others of its kind (%s)',
      async statement => {
        const [row] = await db.all<{ context: number }>('SELECT context FROM audit_entries WHERE id = $1', [
          idOf(SEQ),
        ]);
        await sql(`${statement} id = ${row?.context}`);
        const each = Array.from({ length: ROUNDS }, (_, round) => [
          'edited' as const,
          (SEQ % ROUND) + round * ROUND,
        ]);
        expect(await found()).toEqual(each);
      },
    );

    test.each(['NULL', "'person-2'"])('edited: in whose name it was made (%s)', async personId => {
      await sql(`UPDATE audit_contexts SET person_id = ${personId} WHERE person_id = 'person-1'`);
      const each = Array.from({ length: ROUNDS }, (_, round) => ['edited' as const, PERSON + round * ROUND]);
      expect(await found()).toEqual(each);
    });

    test.each([
      "shadow_decision = 'allow'",
      'shadow_rule_index = 1',
      'shadow_policy_version = 3',
      "shadow_policy_id = 'q'",
      'shadow_policy_id = NULL, shadow_policy_version = NULL, shadow_decision = NULL',
    ])('edited: what the shadow said (%s)', async change => {
      await sql(`UPDATE audit_contexts SET ${change} WHERE person_id = 'person-1'`);
      const each = Array.from({ length: ROUNDS }, (_, round) => ['edited' as const, PERSON + round * ROUND]);
      expect(await found()).toEqual(each);
    });

    test('edited: a part of a shadow where there was none', async () => {
      await sql("UPDATE audit_contexts SET shadow_decision = 'deny' WHERE person_id IS NULL");
      expect((await found()).length).toBe(SIZE - ROUNDS);
    });

    test('edited, and its seal with it: between which checkpoints is known', async () => {
      const edited = { ...(await entryOf(SEQ)), decision: 'deny' as const };
      await sql(
        `UPDATE audit_entries SET decision = 'deny' WHERE id = '${edited.id}'`,
        `UPDATE seals SET leaf_hash = '${leafOf(edited)}' WHERE seq = ${SEQ}`,
      );
      const { findings } = await verify();
      expect(findings.map(({ kind, seq }) => [kind, seq])).toEqual([['rewritten', STRETCH]]);
      expect(findings[0]?.message).toContain('to sequence number 299');
    });

    test('removed: the entry, or its seal as well, one or many', async () => {
      await sql(`DELETE FROM audit_entries WHERE id = '${idOf(SEQ)}'`);
      expect(await found()).toEqual([['removed', SEQ]]);
      await sql(`DELETE FROM seals WHERE seq >= ${SEQ} AND seq < ${SEQ + 3}`);
      expect(await found()).toEqual([
        ['removed', SEQ],
        ['removed', null],
        ['removed', null],
      ]);
      await sql('DELETE FROM audit_entries');
      expect((await found()).slice(0, 2)).toEqual([
        ['removed', 0],
        ['removed', 1],
      ]);
    });

    test('removed with its seal, and the rest moved up: the stretch is named, and the missing end', async () => {
      await sql(
        `DELETE FROM audit_entries WHERE id = '${idOf(SEQ)}'`,
        `DELETE FROM seals WHERE seq = ${SEQ}`,
        `UPDATE seals SET seq = -seq WHERE seq > ${SEQ}`,
        'UPDATE seals SET seq = -seq - 1 WHERE seq < 0',
      );
      expect(await found()).toEqual([
        ['rewritten', STRETCH],
        ['truncated', SIZE - 1],
      ]);
    });

    test('reordered: seals exchanged, with their hashes or without', async () => {
      const exchange = (columns: string[]) =>
        columns.map(
          column =>
            `UPDATE seals SET ${column} = (SELECT k.${column} FROM seals_kept k
               WHERE k.seq = CASE seals.seq WHEN ${SEQ} THEN ${SEQ + 5} ELSE ${SEQ} END)
             WHERE seq = ${SEQ} OR seq = ${SEQ + 5}`,
        );
      await sql('DROP INDEX seals_entry', ...exchange(['entry_id']));
      expect(await found()).toEqual([
        ['reordered', SEQ],
        ['reordered', SEQ + 5],
      ]);
      await sql(...exchange(['leaf_hash']));
      expect(await found()).toEqual([['reordered', SEQ]]);
      await sql(
        'DELETE FROM seals',
        'INSERT INTO seals SELECT * FROM seals_kept',
        'CREATE UNIQUE INDEX seals_entry ON seals (entry_id)',
      );
    });

    test('inserted: not sealed, sealed later, or with a seal in the middle', async () => {
      const foreign = auditEntry({ id: idAt(NOW + 77, 9999), at: NOW + 77 });
      await write(db, [foreign]);
      const unsealed = await verify();
      expect(unsealed.findings).toMatchObject([{ kind: 'inserted', seq: null, entryId: foreign.id }]);
      // The service, still running, finds and seals it: in the last place.
      clock.now += 120 * MINUTE;
      await one.settle();
      const sealed = await verify();
      expect(sealed.findings).toMatchObject([{ kind: 'inserted', seq: SIZE, entryId: foreign.id }]);
      await sql(
        `DELETE FROM seals WHERE seq = ${SIZE}`,
        'DELETE FROM checkpoints',
        'INSERT INTO checkpoints SELECT * FROM checkpoints_kept',
        `UPDATE seals SET seq = -seq WHERE seq >= ${SEQ}`,
        'UPDATE seals SET seq = 1 - seq WHERE seq < 0',
        `INSERT INTO seals (seq, entry_id, leaf_hash) VALUES (${SEQ}, '${foreign.id}', '${leafOf(foreign)}')`,
      );
      expect(await found()).toContainEqual(['inserted', SEQ]);
      clock.now -= 120 * MINUTE;
    });

    test('truncated: the log, and with it the store’s checkpoints, which kept ones give away', async () => {
      const cut = SIZE - 50;
      await sql(
        `DELETE FROM audit_entries WHERE id >= '${idOf(cut)}'`,
        `DELETE FROM seals WHERE seq >= ${cut}`,
      );
      expect(await found()).toEqual([['truncated', cut]]);
      await sql(`DELETE FROM checkpoints WHERE size > ${cut}`);
      expect(await found('--checkpoints', file('older.txt', one.notes[0] ?? ''))).toEqual([]);
      expect(await found('--checkpoints', 'kept.txt')).toEqual([
        ['checkpoint', null],
        ['truncated', cut],
      ]);
    });

    test('what retention removed, and said so under signature before, is no tampering; one entry more is', async () => {
      const retiring = await sealerOn(db, clock, { retention: 22 * MINUTE });
      clock.now += 2 * MINUTE;
      await retiring.settle();
      clock.now -= 2 * MINUTE;
      await sql(`DELETE FROM audit_entries WHERE id < '${idOf(2 * ROUND)}'`);
      const kept = await verify('--checkpoints', file('pruned.txt', `${one.notes[0]}\n${retiring.notes[0]}`));
      expect(kept).toMatchObject({ ok: true, sealed: SIZE, prunedBefore: 2 * ROUND });
      await sql(`DELETE FROM audit_entries WHERE id = '${idOf(2 * ROUND)}'`);
      expect(await found()).toEqual([['removed', 2 * ROUND]]);
      // The seals of removed entries are still held against the checkpoints.
      await sql(`UPDATE seals SET leaf_hash = '${leafOf(await entryOf(SIZE - 1))}' WHERE seq = ${SEQ}`);
      expect(await found()).toContainEqual(['rewritten', STRETCH]);
    });

    test('a file of checkpoints that was cut, or cut short, is told; it proves nothing by itself', async () => {
      const [first = '', second = ''] = one.notes;
      const cut = await verify('--checkpoints', file('cut.txt', `${first}\n${second.slice(0, 80)}`));
      expect([cut.ok, cut.notices.length]).toEqual([true, 2]);
      expect(cut.notices[0]).toContain('cut short');
      expect(cut.notices[1]).toContain('end at 150 entries');
    });

    test.each([
      ['an empty file', () => '', 'No checkpoint in odd.txt could be read (it is empty).'],
      ['empty lines', () => '\n\n\n', 'No checkpoint in odd.txt could be read (it is empty).'],
      ['garbage', () => 'x\ny\n', 'No checkpoint in odd.txt could be read (see lines 1 to 2).'],
      [
        'nothing but one cut short',
        () => (one.notes[0] ?? '').slice(0, 80),
        'No checkpoint in odd.txt could be read (see what was cut short there).',
      ],
      [
        'garbage among checkpoints',
        () => `${one.notes[0]}\nx\n\n${one.notes[1]}\ny\nz`,
        'odd.txt holds something that is no checkpoint (line 11, lines 23 to 24).',
      ],
    ])('%s for checkpoints is no agreement: exit 3', async (_, text, said) => {
      file('odd.txt', text());
      for (const more of [[], ['kept.txt']]) {
        const io = captured(folder, { TOOLGATE_DATABASE_URL: store.url, TOOLGATE_DATA_DIR: folder });
        await run(['audit', 'verify', '--public-key', 'audit.pub', '--checkpoints', ...more, 'odd.txt'], io);
        expect([io.code, io.out]).toEqual([3, '']);
        expect(io.err).toContain(`${said} Nothing was verified`);
      }
    });

    test('forged checkpoints: changed, or signed with another key', async () => {
      const [first = ''] = one.notes;
      const forged = file('forged.txt', first.replace('\n150\n', '\n151\n'));
      expect((await found('--checkpoints', forged))[0]).toEqual(['checkpoint', null]);
      const other = await (await openStore('sqlite')).db;
      file('other.pub', verifierKeyText(await logKey((await sealerOn(other, clock)).deps)));
      await other.close();
      const io = captured(folder, { TOOLGATE_DATABASE_URL: store.url });
      await run(['audit', 'verify', '--public-key', 'other.pub'], io);
      expect([io.code, io.out]).toEqual([1, expect.stringContaining('is not signed by')]);
    });

    test('a log rewritten and signed again by the holder of the key is found out by kept checkpoints', async () => {
      await sql(
        `UPDATE audit_entries SET decision = 'deny' WHERE id = '${idOf(SEQ)}'`,
        'DELETE FROM seals',
        'DELETE FROM seal_nodes',
        'DELETE FROM checkpoints',
        `UPDATE sealing SET revision = 0, holder = '', leased_until = 0, size = 0, newest_id = '', recent_id = '',
           full_id = '', full_after = 0`,
      );
      clock.now += MINUTE;
      await (await sealerOn(db, clock)).settle();
      // Nothing inside contradicts anything: that is what checkpoints are kept elsewhere for.
      expect(await found()).toEqual([]);
      const kinds = await found('--checkpoints', 'kept.txt');
      expect(kinds).toContainEqual(['checkpoint', null]);
      expect(kinds).toContainEqual(['rewritten', STRETCH]);
    });

    test('an export with its checkpoints is verified without the store, and tampering with it shows', async () => {
      const rows = await listSealed(db, 0, SIZE);
      const lines = rows.map(({ seq, leafHash, entry }) =>
        JSON.stringify({ seq, leafHash, entry: entry && shownEntry(entry) }),
      );
      const changed = async (change: (lines: string[]) => string[]) => {
        file('sealed.jsonl', `${change([...lines]).join('\n')}\n`);
        return found('--log', 'sealed.jsonl', '--checkpoints', 'kept.txt');
      };
      const at = (seq: number) => lines[seq] as string;
      expect(await changed(all => all)).toEqual([]);
      expect(await changed(all => all.with(SEQ, at(SEQ).replace('"allow"', '"deny"')))).toEqual([
        ['edited', SEQ],
      ]);
      expect(await changed(all => all.toSpliced(SEQ, 1))).toEqual([['removed', SEQ]]);
      expect(await changed(all => all.with(SEQ, at(SEQ + 1)).with(SEQ + 1, at(SEQ)))).toEqual([
        ['reordered', SEQ],
      ]);
      expect(await changed(all => all.toSpliced(SEQ, 0, at(SEQ)))).toEqual([['inserted', SEQ]]);
      expect(await changed(all => all.slice(0, 400))).toEqual([['truncated', 400]]);
      const entry = { ...(await entryOf(SEQ)), decision: 'deny' as const };
      const line = JSON.stringify({ seq: SEQ, leafHash: leafOf(entry), entry: shownEntry(entry) });
      expect(await changed(all => all.with(SEQ, line))).toEqual([['rewritten', STRETCH]]);
      expect(await changed(() => [])).toEqual([['truncated', 0]]);
      // Of a field that is there twice, most readers take the last, and some people the first.
      const twice = at(SEQ).replace('"decision":', '"decision":"deny","decision":');
      file('sealed.jsonl', `${lines.with(SEQ, twice).join('\n')}\n`);
      expect(await verify('--log', 'sealed.jsonl', '--checkpoints', 'kept.txt')).toMatchObject({ code: 3 });
    });

    test('says in words what it found, and what stops it from looking', async () => {
      await sql(`UPDATE audit_entries SET surface = 'x' WHERE id = '${idOf(SEQ)}'`);
      const told = async (...args: string[]) => {
        const io = captured(folder, { TOOLGATE_DATABASE_URL: store.url, TOOLGATE_DATA_DIR: 'nowhere' });
        await run(['audit', 'verify', ...args], io);
        return [io.code, io.out + io.err];
      };
      expect(await told('--public-key', readFileSync(join(folder, 'audit.pub'), 'utf8').trim())).toEqual([
        1,
        `600 of 600 sealed entries are covered by 4 checkpoints, the newest of ${new Date(NOW + 40 * MINUTE).toISOString()}.\n` +
          `edited at sequence number 170, entry ${idOf(SEQ)}: The entry is not the one that was sealed here.\n` +
          'TAMPERED: the audit log is not as it was signed.\n',
      ]);
      expect(await told()).toEqual([3, expect.stringContaining('give --public-key')]);
      expect(await told('--public-key', 'kept.txt')).toEqual([64, expect.stringContaining('neither')]);
      expect(await told('--public-key', 'audit.pub', '--log', 'nothing.jsonl')).toEqual([
        3,
        expect.stringContaining('no such file'),
      ]);
      expect(
        await told('--public-key', 'audit.pub', '--log', 'kept.txt', '--checkpoints', 'kept.txt'),
      ).toEqual([3, expect.stringContaining('kept.txt:2 is not a line')]);
      expect(await told('--public-key', 'audit.pub', '--database-url', 'sqlite:nothing.db')).toEqual([
        3,
        expect.stringContaining('There is no store'),
      ]);
      await sql('DELETE FROM checkpoints');
      expect(await told('--public-key', 'audit.pub')).toEqual([
        3,
        expect.stringContaining('give --checkpoints'),
      ]);
    });
  });
}
