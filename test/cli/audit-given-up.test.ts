// Retention and somebody who may write anything into the store, but has not the key that signs: whatever they do to make
// a removed entry look like a retired one, `toolgate audit verify` says that it is gone. And what the operator's
// own retention removes is no finding, though a change of the period is told.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import type { Verification } from '../../src/cli/verify.ts';
import {
  type Checkpoint,
  checkpointText,
  parseCheckpoint,
  signedNote,
  verifierKeyText,
} from '../../src/core/log/checkpoint.ts';
import { shownEntry } from '../../src/core/log/entry.ts';
import { DAY, HOUR } from '../../src/core/time/duration.ts';
import { retire } from '../../src/guard/log/retention.ts';
import { rollUp } from '../../src/guard/log/rollups.ts';
import { logKey } from '../../src/guard/log/sealed-log.ts';
import type { Db } from '../../src/store/engine/db.ts';
import { newestCheckpoint } from '../../src/store/log/checkpoints.ts';
import { listSealed, readSealing } from '../../src/store/log/seals.ts';
import { Clock, entries, MINUTE, sealerOn, type TestSealer, write } from '../guard/log/sealing.ts';
import { auditEntry, type Copies, idAt, NOW, openStore, type TestStore } from '../store/stores.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { captured } from './captured.ts';

const RETENTION = 10 * DAY;
const ROUND = 30;
const ROUNDS = 4;
const SIZE = ROUNDS * ROUND;
const LATER = 8;
/** Made on the last of the four days. */
const VICTIM = 100;
const TABLES = ['audit_entries', 'audit_slots', 'seals', 'seal_nodes', 'checkpoints', 'sealing', 'marks'];
/** What somebody was told who did not get their way. */
const refused = (work: Promise<unknown>) => work.then(String, (error: Error) => error.message);
const BACKDATED = "UPDATE seals SET entry_id = '00000000' || substr(entry_id, 9)";

for (const engine of await enginesWhenChanged(
  'src/store/**',
  'src/guard/log/**',
  'src/cli/verify.ts',
  'src/cli/sealed-source.ts',
)) {
  describe(engine, () => {
    let store: TestStore;
    let db: Db;
    let clock: Clock;
    let one: TestSealer;
    const folder = mkdtempSync(join(tmpdir(), 'toolgate-given-up-'));
    /** The stores of a service after four days and after twelve. Every test gets a copy of one of them. */
    const kept: { copies: Copies; now: number; notes: string[] }[] = [];

    beforeAll(async () => {
      store = await openStore(engine);
      ({ db } = store);
      clock = new Clock();
      one = await sealerOn(db, clock, { retention: RETENTION });
      writeFileSync(join(folder, 'audit.pub'), verifierKeyText(await logKey(one.deps)));
      for (const days of [ROUNDS, LATER]) {
        for (let round = 0; round < days; round++) await day();
        kept.push({ copies: await store.copies(), now: clock.now, notes: [...one.notes] });
        await open(kept.length - 1);
      }
      await store.close();
    });
    beforeEach(() => open(0));
    afterEach(() => store.close());
    afterAll(() => {
      for (const { copies } of kept) copies.remove();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Opens a copy. The service goes on from it, as after a restart. */
    async function open(which: number): Promise<void> {
      const from = kept[which] as (typeof kept)[number];
      store = await from.copies.copy();
      ({ db } = store);
      clock = new Clock();
      clock.now = from.now;
      one = await sealerOn(db, clock, { retention: RETENTION });
      one.notes.push(...from.notes);
    }

    /** Eight days later. */
    async function later(): Promise<void> {
      await store.close();
      await open(1);
    }

    /** A day with entries at its beginning, sealed and signed a quarter of an hour later. */
    async function day(): Promise<void> {
      clock.now = NOW + Math.floor((clock.now - NOW + DAY - 1) / DAY) * DAY;
      await write(db, entries(ROUND, clock.now));
      clock.now += 15 * MINUTE;
      await service();
      clock.now += HOUR;
      await service();
    }

    /** What the service does in the background. */
    async function service(sealer = one, retention: number | null = RETENTION): Promise<void> {
      await sealer.settle();
      while (await rollUp(sealer.deps));
      const step = retire({ retention, sealedBy: await logKey(sealer.deps), removed: () => {} });
      while (await step(sealer.deps));
    }

    const sql = async (...statements: string[]) => {
      for (const statement of statements) await db.run(statement);
    };
    const count = async (table: string) =>
      Number((await db.all<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))[0]?.n);
    const remove = (...seqs: number[]) =>
      sql(
        `DELETE FROM audit_entries WHERE id IN (SELECT entry_id FROM seals WHERE seq IN (${seqs.join(', ')}))`,
      );
    const given = () => parseCheckpoint(one.notes.at(-1) ?? '') as Checkpoint;

    async function verify(...more: string[]): Promise<Verification & { code: number }> {
      const io = captured(folder, { TOOLGATE_DATABASE_URL: store.url, TOOLGATE_DATA_DIR: folder });
      await run(['audit', 'verify', '--public-key', 'audit.pub', '--json', ...more], io);
      return { ...JSON.parse(io.out || `{"error": ${JSON.stringify(io.err)}}`), code: io.code ?? 0 };
    }

    const keep = (name: string, notes: readonly string[]) => {
      writeFileSync(join(folder, name), notes.map(note => `\n${note}\n`).join(''));
      return name;
    };

    async function exported(): Promise<string> {
      const rows = await listSealed(db, 0, 10_000);
      const lines = rows.map(({ seq, leafHash, entry }) =>
        JSON.stringify({ seq, leafHash, entry: entry && shownEntry(entry) }),
      );
      writeFileSync(join(folder, 'sealed.jsonl'), `${lines.join('\n')}\n`);
      return 'sealed.jsonl';
    }

    /** By the store alone, with every checkpoint kept, with the newest alone, and as an export with that one. */
    async function verdicts(...more: string[]): Promise<[kind: string, seq: number | null][][]> {
      const all = keep('all.txt', one.notes);
      const newest = keep('newest.txt', one.notes.slice(-1));
      const log = await exported();
      const found: [string, number | null][][] = [];
      for (const options of [
        [],
        ['--checkpoints', all],
        ['--checkpoints', newest],
        ['--log', log, '--checkpoints', newest],
      ]) {
        const { code, ok, findings } = await verify(...options, ...more);
        expect([code, ok]).toEqual(findings.length === 0 ? [0, true] : [1, false]);
        found.push(findings.map(({ kind, seq }) => [kind, seq]));
      }
      return found;
    }

    const everywhere = <T>(finding: T): T[] => [finding, finding, finding, finding];
    const gone = (...seqs: number[]) => everywhere(seqs.map(seq => ['removed', seq]) as [string, number][]);

    test('what retention removes is no finding, by any checkpoint; one entry more is', async () => {
      expect(await verdicts()).toEqual(gone());
      await later();
      expect(given()).toMatchObject({ pruned: 2 * ROUND, retention: RETENTION });
      expect(await count('audit_entries')).toBe(SIZE + 6 * ROUND);
      expect(await verdicts()).toEqual(gone());
      expect(await verdicts('--retention', '10d')).toEqual(gone());
      expect((await verify()).notices).toEqual([]);
      await remove(2 * ROUND);
      expect(await verdicts()).toEqual(gone(2 * ROUND));
    });

    test('an older copy of the database put back, and the service going on from it', async () => {
      for (const table of TABLES) await sql(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);
      await day();
      await day();
      const kept = [...one.notes];
      for (const table of TABLES)
        await sql(`DELETE FROM ${table}`, `INSERT INTO ${table} SELECT * FROM kept_${table}`);
      const again = await sealerOn(db, clock, { retention: RETENTION });
      await write(db, entries(ROUND, clock.now));
      clock.now += 15 * MINUTE;
      await service(again);
      for (let round = 0; round < 12; round++) {
        await write(db, entries(ROUND, clock.now));
        clock.now += DAY;
        await service(again);
      }
      expect(await verify('--checkpoints', keep('kept.txt', kept))).toMatchObject({ code: 1, ok: false });
      expect(await verify('--checkpoints', keep('kept.txt', kept.slice(-1)))).toMatchObject({ code: 1 });
    });

    test('a period that the operator shortens counts, and is told; so it is when it was set back', async () => {
      const shorter = await sealerOn(db, clock, { retention: 2 * DAY });
      clock.now += 2 * MINUTE;
      await service(shorter, 2 * DAY);
      expect(await count('audit_entries')).toBe(2 * ROUND);
      one.notes.push(...shorter.notes);
      expect(await verdicts()).toEqual(gone());
      const at = new Date(clock.now).toISOString();
      const told = `The retention was shortened from 10d to 2d, says the checkpoint of ${at}.`;
      expect((await verify()).notices).toEqual([told]);
      clock.now += 2 * MINUTE;
      await service();
      expect((await verify()).notices.slice(0, 2)).toEqual([
        told,
        expect.stringContaining('lengthened from 2d to 10d'),
      ]);
      // Whoever has the newest checkpoint only is told as well, and may ask for more than that.
      const newest = ['--log', await exported(), '--checkpoints', keep('newest.txt', one.notes.slice(-1))];
      expect(await verify(...newest)).toMatchObject({
        code: 0,
        notices: [
          `The first 60 entries were given up on ${at} after 2d, which is shorter than the retention of the newest checkpoint (10d).`,
        ],
      });
      const strict = await verify(...newest, '--retention', '10d');
      expect([strict.code, strict.findings.length, strict.prunedBefore]).toEqual([1, 2 * ROUND, 0]);
      expect(strict.findings[0]?.message).toContain('after only 2d');
    });

    test('entries given up by a clock that was ahead were removed too early', async () => {
      const right = clock.now;
      clock.now += 10 * DAY;
      await service();
      expect(await count('audit_entries')).toBe(0);
      clock.now = right + 2 * MINUTE;
      await write(db, entries(1, clock.now - MINUTE));
      await one.settle();
      await one.settle();
      const found = await verify();
      expect(found.findings.filter(({ kind }) => kind === 'removed').length).toBe(SIZE);
      expect(found.findings.find(({ kind }) => kind === 'removed')?.message).toContain('the clock was ahead');
      expect(found.notices).toContainEqual(expect.stringContaining('The clock of the checkpoints went back'));
    });

    // The others write into the store by hand, and what they find out is read as above: one engine shows it.
    if (engine !== 'sqlite') return;

    test('ids backdated until a checkpoint is signed, and put back', async () => {
      await write(db, entries(1, clock.now));
      clock.now += 2 * MINUTE;
      while (await one.log.sealNew(await readSealing(db)));
      await sql('CREATE TABLE kept_seals AS SELECT * FROM seals', BACKDATED);
      const signed = await one.log.checkpoint(await readSealing(db));
      one.notes.push(signed?.note ?? '');
      expect(given()).toMatchObject({ size: SIZE + 1, pruned: 0 });
      await sql('DELETE FROM seals', 'INSERT INTO seals SELECT * FROM kept_seals');
      await remove(VICTIM);
      expect(await verdicts()).toEqual(gone(VICTIM));
    });

    test('ids backdated for good: retention removes nothing, and they are not what was sealed', async () => {
      await sql(BACKDATED);
      clock.now += 2 * MINUTE;
      await service();
      expect(await count('audit_entries')).toBe(SIZE);
      expect((await verify()).findings.length).toBeGreaterThanOrEqual(SIZE);
    });

    test('entries backdated themselves: retention removes nothing', async () => {
      await sql(
        "UPDATE audit_entries SET at = 0, id = '00000000' || substr(id, 9)",
        BACKDATED,
        'UPDATE marks SET at = 0',
      );
      clock.now += 2 * MINUTE;
      await one.settle();
      const step = retire({ retention: RETENTION, sealedBy: await logKey(one.deps), removed: () => {} });
      while (await step(one.deps));
      expect(await count('audit_entries')).toBe(SIZE);
    });

    test.each([
      ['the time of checkpoints in the store', 'UPDATE checkpoints SET at = 0'],
      ['their size', 'UPDATE checkpoints SET size = 0'],
      [
        'the number of places given up',
        "UPDATE checkpoints SET note = replace(note, 'pruned 0', 'pruned 110')",
      ],
      ['the time in the notes', "UPDATE checkpoints SET note = replace(note, 'time 2030', 'time 2029')"],
      [
        'the retention in the notes',
        "UPDATE checkpoints SET note = replace(note, 'retention 10d', 'retention 1h')",
      ],
    ])('%s edited: nothing is signed or removed, and put back, the missing entry shows', async (_, edit) => {
      await sql('CREATE TABLE kept_checkpoints AS SELECT * FROM checkpoints', edit);
      await write(db, entries(1, clock.now));
      clock.now += 2 * MINUTE;
      expect(await refused(service())).toContain('is not what this service signed');
      const step = retire({ retention: RETENTION, sealedBy: await logKey(one.deps), removed: () => {} });
      expect(await refused(step(one.deps))).toContain('Run toolgate audit verify');
      expect([await count('checkpoints'), await count('audit_entries')]).toEqual([ROUNDS, SIZE + 1]);
      await sql('DELETE FROM checkpoints', 'INSERT INTO checkpoints SELECT * FROM kept_checkpoints');
      clock.now += 2 * MINUTE;
      await service();
      expect(given().size).toBe(SIZE + 1);
      await remove(VICTIM);
      expect(await verdicts()).toEqual(gone(VICTIM));
    });

    test('an older checkpoint’s time lowered in the store gives up nothing', async () => {
      await sql(`UPDATE checkpoints SET at = at - ${9 * DAY} WHERE number < ${ROUNDS}`);
      await write(db, entries(1, clock.now));
      clock.now += 2 * MINUTE;
      expect(await refused(one.settle())).toContain('is not what this service signed');
    });

    test('marks edited: retention removes nothing before its time', async () => {
      await sql(`UPDATE marks SET at = ${clock.now + 100 * DAY} WHERE name <> 'audit deleted'`);
      await sql("UPDATE marks SET at = 0 WHERE name = 'audit deleted'");
      clock.now += 2 * MINUTE;
      await service();
      expect(await count('audit_entries')).toBe(SIZE);
      await remove(VICTIM);
      expect(await verdicts()).toEqual(gone(VICTIM));
    });

    test('checkpoints deleted from the store, all but one or all', async () => {
      await later();
      await remove(VICTIM);
      await sql(`DELETE FROM checkpoints WHERE size <> ${SIZE + LATER * ROUND}`);
      expect(await verdicts()).toMatchObject([
        [['removed', VICTIM]],
        [
          ['checkpoint', null],
          ['removed', VICTIM],
        ],
        [['removed', VICTIM]],
        [['removed', VICTIM]],
      ]);
      await sql('DELETE FROM checkpoints');
      const [, all, newest, log] = [
        null,
        await verify('--checkpoints', 'all.txt'),
        await verify('--checkpoints', 'newest.txt'),
        await verify('--log', 'sealed.jsonl', '--checkpoints', 'newest.txt'),
      ];
      for (const each of [all, newest, log])
        expect(each.findings).toContainEqual(expect.objectContaining({ seq: VICTIM }));
      expect((await verify()).code).toBe(3);
    });

    test('removed in the middle, at the edge, the newest, or the end cut off', async () => {
      await later();
      const size = SIZE + LATER * ROUND;
      await remove(2 * ROUND, VICTIM, size - 1);
      expect(await verdicts()).toEqual(gone(2 * ROUND, VICTIM, size - 1));
      await sql(`DELETE FROM seals WHERE seq >= ${size - 5}`);
      expect(await verdicts()).toEqual(
        everywhere([
          ['removed', 2 * ROUND],
          ['removed', VICTIM],
          ['truncated', size - 5],
        ]),
      );
    });

    test('two entries that changed places, one of them where entries are given up', async () => {
      await later();
      await sql(
        `CREATE TABLE kept_seals AS SELECT * FROM seals`,
        'DROP INDEX seals_entry',
        ...['entry_id', 'leaf_hash'].map(
          column => `UPDATE seals SET ${column} = (SELECT k.${column} FROM kept_seals k
            WHERE k.seq = CASE seals.seq WHEN 3 THEN ${VICTIM} ELSE 3 END) WHERE seq IN (3, ${VICTIM})`,
        ),
        // In its new place, it would be one that retention may remove.
        `DELETE FROM audit_entries WHERE id = (SELECT entry_id FROM seals WHERE seq = 3)`,
      );
      for (const found of await verdicts()) {
        expect(found).toContainEqual(['removed', VICTIM]);
        expect(found.map(([kind]) => kind)).toContain('rewritten');
      }
    });

    test('the seal of an entry swapped for one that is given up', async () => {
      await later();
      await remove(VICTIM);
      await sql(
        `UPDATE seals SET entry_id = 'x', leaf_hash = (SELECT k.leaf_hash FROM seals k WHERE k.seq = 3) WHERE seq = ${VICTIM}`,
      );
      for (const found of await verdicts()) expect(found).toContainEqual(['removed', VICTIM]);
    });

    test('a log made long for a moment, so that a checkpoint covers what comes later', async () => {
      for (const table of TABLES) await sql(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);
      const forked = await sealerOn(db, clock, { retention: RETENTION });
      await write(db, entries(500, clock.now));
      clock.now += 15 * MINUTE;
      await forked.settle();
      const long = await newestCheckpoint(db);
      expect(long?.size).toBe(SIZE + 500);
      for (const table of TABLES)
        await sql(`DELETE FROM ${table}`, `INSERT INTO ${table} SELECT * FROM kept_${table}`);
      one = await sealerOn(db, clock, { retention: RETENTION });
      for (let round = 0; round < 17; round++) await day();
      // Really signed, really ten days ago, and in the way of whoever looks for such a one.
      await db.run('UPDATE checkpoints SET at = $1, size = $2, note = $3 WHERE number BETWEEN 5 AND 12', [
        long?.at ?? 0,
        long?.size ?? 0,
        long?.note ?? '',
      ]);
      await write(db, entries(ROUND, clock.now));
      clock.now += 2 * MINUTE;
      expect(await refused(one.settle())).toContain(`contradicts its checkpoint of ${SIZE + 500} entries`);
      await remove(SIZE + 16 * ROUND);
      for (const found of await verdicts()) expect(found).toContainEqual(['removed', SIZE + 16 * ROUND]);
    });

    test('an old entry put in while the seals say that nothing is sealed yet', async () => {
      await write(db, entries(1, clock.now));
      clock.now += MINUTE;
      while (await one.log.sealNew(await readSealing(db)));
      await sql("UPDATE sealing SET newest_id = ''");
      expect(await one.log.checkpoint(await readSealing(db))).not.toBeNull();
      await write(db, [auditEntry({ id: idAt(NOW + DAY + 77, 9999), at: NOW + DAY + 77 })]);
      clock.now += 2 * MINUTE;
      await one.settle();
      expect((await verify()).findings).toMatchObject([{ kind: 'inserted', seq: SIZE + 1 }]);
    });

    test('a checkpoint that gives up too much is a finding, whoever signed it', async () => {
      const key = await logKey(one.deps);
      const [first, , , last] = one.notes.map(note => parseCheckpoint(note) as Checkpoint) as [
        Checkpoint,
        Checkpoint,
        Checkpoint,
        Checkpoint,
      ];
      const wrong: Partial<Checkpoint>[] = [
        {
          pruned: ROUND,
          givenUp: { at: last.at, retention: RETENTION, root: first.root, signedAt: first.at },
        },
        {
          pruned: ROUND,
          givenUp: { at: last.at + DAY, retention: HOUR, root: first.root, signedAt: first.at },
        },
        { pruned: SIZE + 1, givenUp: { at: last.at, retention: HOUR, root: first.root, signedAt: first.at } },
        // Of another log, or of another size: it does not fit the tree.
        { pruned: ROUND, givenUp: { at: last.at, retention: HOUR, root: last.root, signedAt: first.at } },
        {
          pruned: ROUND + 1,
          givenUp: { at: last.at, retention: HOUR, root: first.root, signedAt: first.at },
        },
      ];
      await remove(...Array(ROUND + 1).keys());
      for (const each of wrong) {
        const text = checkpointText({ ...last, ...each });
        const note = signedNote(text, key, one.deps.vault.signCheckpoint(text));
        const options = ['--checkpoints', keep('wrong.txt', [note])];
        const { code, findings } = await verify('--log', await exported(), ...options);
        expect(code).toBe(1);
        expect(findings[0]?.kind).toBeOneOf(['checkpoint', 'rewritten']);
      }
    });
  });
}
