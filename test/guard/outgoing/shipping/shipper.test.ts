// The loop that ships the sealed log, on both engines and with a real receiver: everything once and in order, a cursor
// that moves only after the answer and never back, and entries that are gone.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { shownEntry } from '../../../../src/core/log/entry.ts';
import { DAY, MINUTE } from '../../../../src/core/time/duration.ts';
import { retire } from '../../../../src/guard/log/retention.ts';
import { rollUp } from '../../../../src/guard/log/rollups.ts';
import { logKey } from '../../../../src/guard/log/sealed-log.ts';
import { httpTarget } from '../../../../src/guard/outgoing/shipping/http.ts';
import { shippingReports } from '../../../../src/guard/outgoing/shipping/lag.ts';
import { Shipper } from '../../../../src/guard/outgoing/shipping/shipper.ts';
import type { Target } from '../../../../src/guard/outgoing/shipping/target.ts';
import { takeLease } from '../../../../src/store/leases.ts';
import { findShipping } from '../../../../src/store/log/shipping.ts';
import { NOW, openStore, type TestStore } from '../../../store/stores.ts';
import { until } from '../../../support/faults.ts';
import { Receiver } from '../../../support/receiver.ts';
import { engines } from '../../../support/service.ts';
import { enginesWhenChanged } from '../../../support/when-changed.ts';
import { Clock, entries, sealerOn, type TestSealer, write } from '../../log/sealing.ts';

const LATER = 10 * MINUTE;

/** Where all tests run. Those in which the engine has a part of its own come first, and run on both. */
const whole = await enginesWhenChanged('src/store/**', 'src/guard/outgoing/**');
for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let receiver: Receiver;
    let clock: Clock;
    let sealing: TestSealer;
    let givenUp: number;
    let attempts: (string | null)[];
    let missing: number[];
    const failed: unknown[] = [];

    beforeEach(async () => {
      store = await openStore(engine);
      receiver = await Receiver.start();
      clock = new Clock();
      sealing = await sealerOn(store.db, clock, { retention: DAY });
      givenUp = 0;
      attempts = [];
      missing = [];
    });
    afterEach(async () => {
      await receiver.close();
      await store.close();
      expect(failed.splice(0)).toEqual([]);
    });

    const target = (more: Partial<Target> = {}): Target => ({
      ...httpTarget(
        { type: 'http', url: receiver.url, headers: {}, shape: 'ndjson', compress: false, schema: 'native' },
        { allowPrivate: true },
      ),
      ...more,
    });

    const shipper = (more: Partial<Target> = {}, name = 'siem') =>
      new Shipper(
        sealing.deps,
        { name, target: target(more), givenUp: async () => givenUp },
        {
          lag: () => {},
          sent: ({ error }) => attempts.push(error),
          missing: places => missing.push(...places),
          failed: error => failed.push(error),
        },
      );

    async function sealed(count: number, from = NOW) {
      const rows = entries(count, from);
      await write(store.db, rows);
      clock.now = from + LATER;
      await sealing.settle();
      return rows;
    }

    const drain = async (each: Shipper) => {
      while (await each.tick());
    };
    const lines = () =>
      receiver.arrivals.flatMap(({ text }) => text.split('\n').slice(0, -1)).map(line => JSON.parse(line));
    const places = () => lines().map(({ seq }) => seq);
    const cursor = async () => (await findShipping(store.db, 'siem'))?.shipped ?? null;
    const upTo = (end: number, from = 0) => Array.from({ length: end - from }, (_, n) => from + n);

    test('every sealed entry arrives once and in order, as a line with its place', async () => {
      const rows = await sealed(600);
      await drain(shipper());
      expect(lines()).toEqual(rows.map((row, seq) => ({ seq, ...shownEntry(row) })));
      expect(receiver.arrivals.map(each => each.headers['content-type'])).toEqual(
        receiver.arrivals.map(() => 'application/x-ndjson'),
      );
      expect(await cursor()).toBe(600);
      await sealed(3, NOW + DAY);
      await drain(shipper());
      expect(places()).toEqual(upTo(603));
    });

    test('a lease counts, unless a clock that was wrong took it for days', async () => {
      await sealed(2);
      const lease = (ms: number) => takeLease(store.db, 'ship siem', 'another', clock.now, clock.now + ms);
      expect(await lease(5 * MINUTE)).toBe(true);
      await drain(shipper());
      expect(places()).toEqual([]);
      expect(await lease(3 * DAY)).toBe(true);
      await drain(shipper());
      expect(places()).toEqual([0, 1]);
    });

    test('one replica sends at a time, and one that is late moves the cursor neither back nor on', async () => {
      await sealed(4);
      const held = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const slow = shipper({
        send: async () => {
          begun.resolve();
          await held.promise;
        },
      });
      const sending = slow.tick();
      await begun.promise;
      const other = shipper();
      await drain(other);
      expect(places()).toEqual([]);
      // The lease has ended, and the other replica has sent more since.
      await sealed(4, NOW + DAY);
      // On a busy machine the one that is late renews its lease meanwhile, and that has to end again.
      await until('the other replica sends', async () => {
        clock.now += DAY;
        await drain(other);
        return places().length > 0;
      });
      expect(places()).toEqual(upTo(8));
      held.resolve();
      await sending;
      expect(await cursor()).toBe(8);
    });

    test('retention keeps what a target has not confirmed, but not for one that is no longer named', async () => {
      await sealed(2);
      await sealed(2, NOW + LATER);
      const kept = async () => {
        const [row] = await store.db.all<{ count: number }>('SELECT count(*) AS count FROM audit_entries');
        return row?.count;
      };
      const pass = async (shippedTo: string[]) => {
        while (await rollUp(sealing.deps));
        const sealedBy = await logKey(sealing.deps);
        const step = retire({ retention: DAY, sealedBy, shippedTo, removed: () => {} });
        while (await step(sealing.deps));
        return kept();
      };
      // Signs what retention gives up, days later.
      await sealed(4, NOW + 5 * DAY);
      await sealing.settle();
      expect(await pass(['siem'])).toBe(8);
      const some = shipper({ portion: () => ({ count: 1 }) });
      await some.tick();
      await some.tick();
      await some.stop();
      expect(await pass(['siem', 'archive'])).toBe(8);
      expect(await pass(['siem'])).toBe(6);
      await drain(shipper());
      expect(places()).toEqual(upTo(8));
      expect(missing).toEqual([]);
      expect(await pass([])).toBe(4);
    });

    if (!whole.includes(engine)) return;

    test('an answer that does not confirm leaves the cursor, and is told', async () => {
      await sealed(5);
      receiver.answer = () => 503;
      const first = shipper();
      await drain(first);
      expect(await cursor()).toBe(0);
      // It waits before the next attempt.
      await drain(first);
      expect(attempts).toEqual(['the receiver answered 503']);
      const [report] = await shippingReports(sealing.deps, ['siem']);
      expect(report).toMatchObject({
        entries: 5,
        since: NOW,
        state: { failures: 1, lastError: 'the receiver answered 503', lastErrorAt: clock.now },
      });
      receiver.answer = () => 204;
      await first.stop();
      await drain(shipper());
      const [now] = await shippingReports(sealing.deps, ['siem']);
      expect(now).toMatchObject({
        entries: 0,
        since: null,
        state: { failures: 0, lastError: 'the receiver answered 503', shippedAt: clock.now },
      });
      expect(places()).toEqual([...upTo(5), ...upTo(5)]);
    });

    test('a batch that is too large is halved at once, and a single entry is not given up', async () => {
      await sealed(10);
      receiver.answer = ({ text }) => (text.split('\n').length - 1 > 3 ? 413 : 200);
      await drain(shipper());
      expect(receiver.arrivals.map(({ text }) => text.split('\n').length - 1)).toEqual([10, 5, 3, 3, 3, 1]);
      expect(await cursor()).toBe(10);
      await sealed(2, NOW + DAY);
      receiver.answer = () => 413;
      await drain(shipper());
      expect(await cursor()).toBe(10);
    });

    test('an entry that the receiver refuses is found and named, and what comes before it arrives', async () => {
      const rows = await sealed(20);
      receiver.answer = ({ text }) => (text.includes('"seq":13,') ? 400 : 200);
      await drain(shipper());
      expect(await cursor()).toBe(13);
      expect((await findShipping(store.db, 'siem'))?.lastError).toBe(
        `the receiver answered 400 to a batch with only the entry ${rows[13]?.id} at place 13`,
      );
    });

    test('batches grow again after one that was refused, also while the log grows', async () => {
      await sealed(300);
      const has = (text: string) => text.includes('"seq":0,') && text.split('\n').length > 2;
      receiver.answer = ({ text }) => (has(text) ? 413 : 200);
      await drain(shipper());
      expect(await cursor()).toBe(300);
      expect(receiver.arrivals.length).toBeLessThan(100);
    });

    test('a batch that is refused makes the next ones small for as long as the first did', async () => {
      await sealed(26);
      const refused = (text: string) => /"seq":(0|12),/.test(text) && text.split('\n').length > 2;
      const accepted: number[] = [];
      receiver.answer = ({ text }) => {
        if (refused(text)) return 413;
        accepted.push(text.split('\n').length - 1);
        return 200;
      };
      await drain(shipper());
      const ones = Array<number>(10).fill(1);
      expect(accepted).toEqual([...ones, 2, ...ones, 2, 2]);
    });

    test('places that somebody removed from the sealed log are told', async () => {
      await sealed(6);
      await store.db.run('DELETE FROM seals WHERE seq IN (0, 3, 4)');
      await drain(shipper());
      expect(places()).toEqual([1, 2, 5]);
      expect(missing).toEqual([0, 3, 4]);
    });

    test('a replica that stops leaves its lease to the next', async () => {
      await sealed(2);
      const first = shipper();
      await drain(first);
      await first.stop();
      await write(store.db, entries(1, NOW + 2 * MINUTE));
      await sealing.settle();
      await drain(shipper());
      expect(places()).toEqual(upTo(3));
    });

    test('what retention removed before is skipped, and what nobody gave up is told', async () => {
      const rows = await sealed(8);
      const gone = (seqs: number[]) =>
        store.db.run(
          `DELETE FROM audit_entries WHERE id IN (${seqs.map(seq => `'${rows[seq]?.id}'`).join(', ')})`,
        );
      await gone([0, 1, 2, 5, 7]);
      givenUp = 3;
      await drain(shipper());
      expect(places()).toEqual([3, 4, 6]);
      expect(await cursor()).toBe(8);
      expect(missing).toEqual([5, 7]);
    });

    test('a log of which nothing is kept is skipped without a request', async () => {
      await sealed(300);
      await store.db.run('DELETE FROM audit_entries');
      givenUp = 300;
      await drain(shipper());
      expect(await cursor()).toBe(300);
      expect([receiver.arrivals.length, missing.length]).toEqual([0, 0]);
    });

    test('what follows in a log that was set back is shipped', async () => {
      await sealed(4);
      await drain(shipper());
      await store.db.run('UPDATE shipping SET shipped = 1000');
      await drain(shipper());
      expect(String(failed.splice(0))).toContain(
        '1000 places of the sealed log were shipped, but it has only 4',
      );
      await sealed(3, NOW + DAY);
      await drain(shipper());
      expect(places()).toEqual(upTo(7));
    });

    test('a target may wait for more, and gets what there is when the time has come', async () => {
      await sealed(2);
      const begun = clock.now;
      const waiting = shipper({
        portion: (next, now) =>
          now < begun + MINUTE ? { waitUntil: begun + MINUTE } : { count: next.length },
      });
      await drain(waiting);
      expect(places()).toEqual([]);
      clock.now = begun + MINUTE;
      await drain(waiting);
      expect(places()).toEqual([0, 1]);
    });

    test('a clock that is set back does not prolong the wait for more', async () => {
      await sealed(2);
      const begun = clock.now;
      const waiting = shipper({
        portion: (next, now) => (now === begun ? { waitUntil: begun + MINUTE } : { count: next.length }),
      });
      await drain(waiting);
      expect(places()).toEqual([]);
      clock.now = begun - DAY;
      await drain(waiting);
      expect(places()).toEqual([0, 1]);
    });

    test('a stop does not wait for a receiver that hangs, and no other target does', async () => {
      await sealed(2);
      const hangs = shipper({ send: () => new Promise(() => {}) });
      const fine = shipper({}, 'archive');
      hangs.start();
      fine.start();
      await until('the other target has everything', () => places().length === 2);
      await Promise.all([hangs.stop(), fine.stop()]);
      expect(await cursor()).toBe(0);
    });
  });
}
