// Sealing on both engines: every entry gets one place, whenever it appears and whoever seals; what is signed is
// what is sealed; and what contradicts a checkpoint is never signed.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type Checkpoint, checkpointText, signedNote } from '../../../src/core/log/checkpoint.ts';
import { proveInclusion } from '../../../src/guard/log/proofs.ts';
import { logKey } from '../../../src/guard/log/sealed-log.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import { readSealing } from '../../../src/store/log/seals.ts';
import { auditEntry, idAt, NOW, openStore, type TestStore } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
import { refusal } from '../../support/refusal.ts';
import { engines } from '../../support/service.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';
import { Clock, entries, MINUTE, sealedLog, sealerOn, type TestSealer, write } from './sealing.ts';

const HOUR = 60 * MINUTE;

/** Where all tests run. Those in which the engine has a part of its own come first, and run on both. */
const whole = await enginesWhenChanged('src/store/**', 'src/guard/log/**');
for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let db: Db;
    let clock: Clock;
    let one: TestSealer;
    beforeEach(async () => {
      store = await openStore(engine);
      ({ db } = store);
      clock = new Clock();
      one = await sealerOn(db, clock);
    });
    afterEach(() => store.close());

    const sealed = () => sealedLog(db, one.deps);

    test('seals entries that are old enough, in order, and signs them once', async () => {
      const rows = entries(700);
      await write(db, rows);
      await one.settle();
      expect((await sealed()).ids).toEqual([]);
      clock.now += 5 * MINUTE;
      await one.settle();
      const { ids, checkpoints } = await sealed();
      expect(ids).toEqual(rows.map(row => row.id));
      expect(checkpoints.map(each => each.size)).toEqual([700]);
      expect(checkpoints[0]).toMatchObject({ at: clock.now, through: NOW + 699, pruned: 0 });
      clock.now += HOUR;
      await one.settle();
      expect((await sealed()).checkpoints.length).toBe(1);
      expect(one.notes.length).toBe(1);
    });

    test('one seals, the others watch, and take over when it is gone', async () => {
      const two = await sealerOn(db, clock);
      await write(db, entries(20));
      clock.now += MINUTE;
      expect(await one.sealer.tick()).toBe(true);
      expect(await two.sealer.tick()).toBe(false);
      expect((await two.log.lag()).size).toBe(20);
      clock.now += 9_999;
      expect(await two.sealer.tick()).toBe(false);
      clock.now += 1;
      expect(await two.sealer.tick()).toBe(true);
      // A lease of more than a minute ahead is a wrong clock's, and holds nobody up.
      await db.run('UPDATE sealing SET leased_until = $1', [clock.now + MINUTE]);
      expect(await one.sealer.tick()).toBe(false);
      await db.run('UPDATE sealing SET leased_until = $1', [clock.now + MINUTE + 1]);
      expect(await one.sealer.tick()).toBe(true);
    });

    test('two that both believe it is their turn lose and double nothing', async () => {
      const sealers = [one, await sealerOn(db, clock), await sealerOn(db, clock)];
      const rows = entries(3000);
      await write(db, rows);
      clock.now += MINUTE;
      const work = async ({ log }: TestSealer) => {
        for (let step = 0; step < 40; step++) {
          // A lease is a courtesy: here nobody keeps it, as if each clock were past its end.
          const state = await readSealing(db);
          await log.sealNew(state);
          await log.checkpoint(await readSealing(db));
        }
      };
      await Promise.all(sealers.map(work));
      const { ids } = await sealed();
      expect(ids).toEqual(rows.map(row => row.id));
    });

    test('one that was overtaken signs nothing, and takes nobody for a forger', async () => {
      const two = await sealerOn(db, clock);
      await write(db, entries(10));
      clock.now += MINUTE;
      const state = await readSealing(db);
      await two.log.sealNew(state);
      expect(await two.log.checkpoint(await readSealing(db))).not.toBeNull();
      expect(await one.log.sealNew(state)).toBe(false);
      expect(await one.log.checkpoint(state)).toBeNull();
      expect(await two.log.checkpoint(state)).toBeNull();
      expect((await sealed()).checkpoints.length).toBe(1);
    });

    test('a log that was cut, or whose hashes were changed, is not signed', async () => {
      await write(db, entries(300));
      clock.now += 2 * MINUTE;
      await one.settle();
      for (const tampering of [
        "UPDATE seal_nodes SET hash = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='",
        'DELETE FROM seals WHERE seq = 299',
      ]) {
        await db.run(tampering);
        await write(db, entries(5, clock.now));
        clock.now += 2 * MINUTE;
        const other = await sealerOn(db, clock);
        const refused = await other.settle().catch((error: Error) => error.message);
        expect(refused).toContain('toolgate audit verify');
      }
      expect((await sealed().catch(() => null))?.checkpoints.length ?? 1).toBe(1);
    });

    if (!whole.includes(engine)) return;

    test('each checkpoint’s root is that of the log so far, over many sizes', async () => {
      let count = 0;
      for (const more of [1, 1, 2, 60, 64, 129, 255, 256, 257, 300]) {
        await write(db, entries(more, clock.now));
        count += more;
        clock.now += 2 * MINUTE;
        await one.settle();
      }
      const { ids, checkpoints } = await sealed();
      expect(ids.length).toBe(count);
      expect(checkpoints.at(-1)?.size).toBe(count);
      expect(checkpoints.length).toBe(10);
    });

    test('a sealer that starts anew goes on with the same tree', async () => {
      for (let round = 0; round < 4; round++) {
        await write(db, entries(211, clock.now));
        clock.now += 2 * MINUTE;
        await (await sealerOn(db, clock)).settle();
      }
      const { ids, checkpoints } = await sealed();
      expect([ids.length, checkpoints.at(-1)?.size]).toEqual([844, 844]);
    });

    test('an entry that appears late, behind sealed ones, is sealed last: soon, or in the slow pass', async () => {
      const rows = entries(50);
      const [second, third] = [rows[1], rows[2]] as [(typeof rows)[0], (typeof rows)[0]];
      await write(
        db,
        rows.filter(row => row !== second && row !== third),
      );
      clock.now += 10_000;
      await one.settle();
      await write(db, [second]);
      clock.now += 2 * MINUTE;
      await one.settle();
      expect((await sealed()).ids.at(-1)).toBe(second.id);
      // The pass over a minute ago is past it as well: only the walk over everything finds this one.
      await write(db, [third]);
      clock.now += MINUTE;
      await one.settle();
      expect((await sealed()).ids).not.toContain(third.id);
      clock.now += HOUR;
      await one.settle();
      const { ids } = await sealed();
      expect(ids.at(-1)).toBe(third.id);
      expect(new Set(ids)).toEqual(new Set(rows.map(row => row.id)));
    });

    test('entries of a clock that is far ahead are sealed, and met again without harm', async () => {
      const ahead = auditEntry({ id: idAt(NOW + 24 * HOUR), at: NOW + 24 * HOUR });
      await write(db, [...entries(10), ahead]);
      clock.now += 2 * MINUTE;
      await one.settle();
      expect((await sealed()).ids.at(-1)).toBe(ahead.id);
      clock.now += 25 * HOUR;
      await write(db, entries(10, clock.now));
      clock.now += MINUTE;
      await one.settle();
      const { ids } = await sealed();
      expect([ids.length, new Set(ids).size]).toEqual([21, 21]);
      expect(one.failures).toEqual([]);
    });

    test('a sealer whose clock was a day ahead, and was put right, goes on at once', async () => {
      clock.now += 24 * HOUR;
      await write(db, entries(10, clock.now - MINUTE));
      await one.settle();
      expect((await sealed()).ids.length).toBe(10);
      clock.now = NOW + HOUR;
      const rows = entries(20, NOW);
      await write(db, rows);
      await one.settle();
      await one.settle();
      expect((await sealed()).ids.slice(10)).toEqual(rows.map(row => row.id));
      await write(db, entries(5, clock.now));
      clock.now += MINUTE;
      await one.settle();
      expect((await sealed()).ids.length).toBe(35);
    });

    test('a clock that was ahead for a while, and sealed then, leaves nothing behind to be sealed late', async () => {
      await one.settle();
      clock.now = NOW + 20 * MINUTE;
      await write(db, entries(3, NOW + 18 * MINUTE));
      await one.settle();
      clock.now = NOW + MINUTE;
      const rows = entries(3, clock.now);
      await write(db, rows);
      clock.now += 10_000;
      await one.settle();
      expect((await sealed()).ids.slice(3)).toEqual(rows.map(row => row.id));
    });

    test('a clock that was ahead for a while, and sealed nothing then, does not put off the slow pass', async () => {
      clock.now = NOW + 24 * HOUR;
      await one.settle();
      clock.now = NOW;
      const rows = entries(3);
      const [late, ...others] = rows as [(typeof rows)[0], (typeof rows)[0]];
      await write(db, others);
      clock.now += 3 * MINUTE;
      await one.settle();
      await write(db, [late]);
      clock.now += HOUR;
      await one.settle();
      expect((await sealed()).ids).toEqual([...others, late].map(row => row.id));
    });

    test('the slow pass finds what is late in a long log, and begins again an hour later', async () => {
      const rows = entries(2100);
      const late = [rows[1], rows[1100], rows[2090]] as typeof rows;
      await write(
        db,
        rows.filter(row => !late.includes(row)),
      );
      clock.now += 2 * MINUTE;
      await one.settle();
      // The first walk over everything has ended by now, too.
      for (let tick = 0; tick < 4; tick++) await one.sealer.tick();
      const begun = clock.now;
      await write(db, late);
      clock.now = begun + HOUR - 1;
      await one.settle();
      expect((await sealed()).ids.length).toBe(2097);
      clock.now = begun + HOUR;
      for (let tick = 0; tick < 4; tick++) await one.sealer.tick();
      expect((await sealed().catch(() => null))?.ids.slice(2097)).toEqual(late.map(row => row.id));
    });

    test('a checkpoint is signed when the interval is over, to the millisecond', async () => {
      const grows = async (at: number) => {
        await write(db, entries(1, clock.now));
        clock.now = at;
        const before = one.notes.length;
        await one.sealer.tick();
        return one.notes.length > before;
      };
      const first = NOW + 10_000;
      expect(await grows(first)).toBe(true);
      expect(await grows(first + MINUTE - 1)).toBe(false);
      expect(await grows(first + MINUTE)).toBe(true);
    });

    test('a checkpoint is sent to its target once, and again after a failure, beside the sealing', async () => {
      const sent: number[] = [];
      const at: number[] = [];
      let fails = false;
      const sending = await sealerOn(db, clock, {
        send: async ({ number }) => {
          sent.push(number);
          at.push(performance.now());
          if (fails) throw new Error('unreachable');
        },
      });
      const next = async () => {
        await write(db, entries(1, clock.now));
        clock.now += MINUTE;
        await sending.sealer.tick();
        await sending.sealer.idle();
      };
      await next();
      await sending.sealer.tick();
      await sending.sealer.idle();
      expect(sent).toEqual([1]);
      fails = true;
      await next();
      fails = false;
      // Not again at once; a newer one takes its place.
      await next();
      await until('the wait is over', async () => {
        await sending.sealer.tick();
        await sending.sealer.idle();
        return sent.length > 2;
      });
      expect(sent).toEqual([1, 2, 3]);
      expect((at[2] as number) - (at[1] as number)).toBeGreaterThan(1900);
      expect(sending.failures).toEqual([]);
    });

    test('a sealer that runs works off a backlog, and a stop waits for what is being sent', async () => {
      const released = Promise.withResolvers<void>();
      let begun = 0;
      const running = await sealerOn(db, clock, {
        send: async () => {
          begun++;
          await released.promise;
        },
      });
      await write(db, entries(600));
      clock.now += MINUTE;
      running.sealer.start();
      await until('a checkpoint is being sent', () => begun > 0);
      let stopped = false;
      const stopping = running.sealer.stop().then(() => {
        stopped = true;
      });
      await readSealing(db);
      expect(stopped).toBe(false);
      released.resolve();
      await stopping;
      expect((await sealed()).ids.length).toBe(600);
      const rows = await db.all('SELECT number FROM checkpoints WHERE sent_at IS NULL');
      expect([begun, rows, running.failures]).toEqual([1, [], []]);
    });

    test('what is not as it was signed is not given out as a proof', async () => {
      const rows = entries(300);
      await write(db, rows);
      clock.now += 2 * MINUTE;
      await one.settle();
      const [first, second] = rows.map(row => row.id) as [string, string];
      const asked = (id: string) =>
        proveInclusion(one.deps, id).then(String, (error: Error) => error.message);
      expect(await proveInclusion(one.deps, first)).toMatchObject({ seq: 0, size: 300 });
      await db.run("UPDATE audit_entries SET decision = 'deny' WHERE id = $1", [first]);
      expect(await asked(first)).toContain('not what was signed');
      expect(await asked(second)).not.toContain('not what was signed');
      await db.run("UPDATE checkpoints SET note = replace(note, '\n300\n', '\n299\n')");
      expect(await asked(second)).toContain('not what was signed');
    });

    test('a log that lost its last entry is not gone on with, also where its hash is kept in a whole subtree', async () => {
      await write(db, entries(256));
      clock.now += 2 * MINUTE;
      await one.settle();
      await db.run('DELETE FROM seals WHERE seq = 255');
      await write(db, entries(5, clock.now));
      clock.now += 2 * MINUTE;
      const other = await sealerOn(db, clock);
      const refused = await other.settle().catch((error: Error) => error.message);
      expect(refused).toContain('has lost its end: it had 256 entries');
      expect((await readSealing(db)).size).toBe(256);
    });

    test('what is given up is what was signed of this log, and nothing is on another log’s word', async () => {
      const retention = 24 * HOUR;
      const pruning = await sealerOn(db, clock, { retention });
      for (const count of [10, 20]) {
        await write(db, entries(count, clock.now));
        clock.now += 2 * MINUTE;
        await pruning.settle();
      }
      const [first] = (await sealed()).checkpoints as [Checkpoint];
      const put = async (checkpoint: Checkpoint) => {
        const text = checkpointText(checkpoint);
        const note = signedNote(text, await logKey(one.deps), one.deps.vault.signCheckpoint(text));
        await db.run('UPDATE checkpoints SET note = $1 WHERE number = 1', [note]);
      };
      clock.now += retention - 2 * MINUTE;
      // Signed by our key and of the right size, as a store would have it that went on from a backup.
      await put({ ...first, root: Buffer.alloc(32, 1).toString('base64') });
      expect(await refusal(pruning.settle())).toMatchObject({
        message: expect.stringContaining('contradicts its checkpoint of 10 entries'),
      });
      await put(first);
      await pruning.settle();
      const { checkpoints } = await sealed();
      expect(checkpoints.map(({ size, pruned }) => [size, pruned])).toEqual([
        [10, 0],
        [30, 0],
        [30, 10],
      ]);
    });

    test('a log that was cut, and its length with it, is refused at once, not only once it has grown again', async () => {
      await write(db, entries(300));
      clock.now += 2 * MINUTE;
      await one.settle();
      await db.run('DELETE FROM seals WHERE seq = 299');
      await db.run('UPDATE sealing SET size = 299');
      const other = await sealerOn(db, clock);
      clock.now += 2 * MINUTE;
      expect(await refusal(other.settle())).toMatchObject({
        message: expect.stringContaining('contradicts its checkpoint of 300 entries'),
      });
    });
  });
}
