// The counted log: minutes are written anew, hours and days are their sums, and each bucket begins and ends on time.

import { expect, test } from 'bun:test';
import { KEPT, type Span } from '../../../src/core/time/buckets.ts';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import * as rollups from '../../../src/store/log/rollups.ts';
import { NOW, onEachEngine } from '../stores.ts';

/** Of a bucket, the most names of one kind that are kept. */
const MOST_NAMES = 1000;

const count = (kind: rollups.Kind, name: string, number: number): rollups.Count => ({
  kind,
  name,
  decision: 'allow',
  count: number,
});
/** What one call is counted as. */
const call = (tool: string, number = 1) => [count('latency', '1', number), count('tool', tool, number)];

await onEachEngine(store => {
  const write = (...minutes: [start: number, counts: rollups.Count[]][]) =>
    store.db.transaction({}, tx => rollups.writeMinutes(tx, new Map(minutes)));
  const begin = async (...minutes: [start: number, counts: rollups.Count[]][]) => {
    await store.db.run('DELETE FROM rollups');
    await write(...minutes);
  };
  const sumUp = (from: number, to: number) =>
    store.db.transaction({}, tx => rollups.sumUp(tx, NOW + from, NOW + to));
  const tools = async (span: Span, from: number, to: number) => {
    const rows = await rollups.rollupCounts(store.db, span, NOW + from, NOW + to, 'tool');
    return Object.fromEntries(rows.map(row => [row.name, row.count]));
  };

  test('a minute that is written again replaces what was counted, and no other minute', async () => {
    await begin([NOW, call('a', 5)], [NOW + MINUTE, call('a', 7)]);
    await write([NOW, [...call('b', 2), count('key', 'key-1', 2)]]);
    expect(await tools(MINUTE, 0, MINUTE)).toEqual({ b: 2 });
    expect(await tools(MINUTE, MINUTE, 2 * MINUTE)).toEqual({ a: 7 });
    expect(await rollups.minuteTotals(store.db, NOW, NOW + 2 * MINUTE)).toEqual(
      new Map([
        [NOW, 2],
        [NOW + MINUTE, 7],
      ]),
    );
    expect(await rollups.rollupCounts(store.db, MINUTE, NOW, NOW + DAY, 'key')).toEqual([
      { name: 'key-1', decision: 'allow', count: 2 },
    ]);
    // Hours begin at the same time, and stay.
    await sumUp(0, HOUR);
    await write([NOW, call('c')]);
    expect(await tools(HOUR, 0, HOUR)).toEqual({ a: 7, b: 2 });
  });

  test('counts of a run of buckets include its first and not its end', async () => {
    await begin([NOW, call('a', 1)], [NOW + MINUTE, call('a', 2)], [NOW + 2 * MINUTE, call('b', 4)]);
    expect(await tools(MINUTE, 0, 3 * MINUTE)).toEqual({ a: 3, b: 4 });
    expect(await tools(MINUTE, MINUTE, 2 * MINUTE)).toEqual({ a: 2 });
    const series = await rollups.rollupSeries(store.db, MINUTE, NOW + MINUTE, NOW + 3 * MINUTE, 2 * MINUTE);
    expect(series.sort((a, b) => a.at - b.at)).toEqual([
      { at: NOW, decision: 'allow', count: 2 },
      { at: NOW + 2 * MINUTE, decision: 'allow', count: 4 },
    ]);
    expect([...(await rollups.minuteTotals(store.db, NOW, NOW + 2 * MINUTE)).keys()].sort()).toEqual([
      NOW,
      NOW + MINUTE,
    ]);
  });

  test('hours and days are the sums of what lies in them, made once they have ended', async () => {
    await begin(
      [NOW - MINUTE, call('before')],
      [NOW, call('a', 1)],
      [NOW + 59 * MINUTE, call('a', 2)],
      [NOW + HOUR, call('a', 4)],
      [NOW + 23 * HOUR, call('b', 8)],
      [NOW + DAY, call('after')],
    );
    await sumUp(0, HOUR - MINUTE);
    expect(await tools(HOUR, -DAY, 2 * DAY)).toEqual({});
    await sumUp(0, HOUR);
    expect(await tools(HOUR, -DAY, 2 * DAY)).toEqual({ a: 3 });
    // From within an hour on: that hour is made anew too, and counts nothing twice.
    await sumUp(30 * MINUTE, DAY - MINUTE);
    expect(await tools(HOUR, 0, HOUR)).toEqual({ a: 3 });
    expect(await tools(HOUR, HOUR, 2 * HOUR)).toEqual({ a: 4 });
    expect(await tools(DAY, -DAY, 2 * DAY)).toEqual({});
    await sumUp(30 * MINUTE, DAY);
    expect(await tools(DAY, -DAY, 2 * DAY)).toEqual({ a: 7, b: 8 });
    const hours = await rollups.rollupSeries(store.db, HOUR, NOW - DAY, NOW + 2 * DAY, HOUR);
    expect(hours.map(each => each.at).sort()).toEqual([NOW, NOW + HOUR, NOW + 23 * HOUR]);
  });

  test('of too many names in a minute the rarest are not kept', async () => {
    const names = Array.from({ length: MOST_NAMES + 1 }, (_, n) => count('tool', `tool ${n}`, n + 1));
    await begin([NOW, names]);
    const kept = await tools(MINUTE, 0, MINUTE);
    expect(Object.keys(kept)).toHaveLength(MOST_NAMES);
    expect([kept['tool 0'], kept['tool 1'], kept[`tool ${MOST_NAMES}`]]).toEqual([
      undefined,
      2,
      MOST_NAMES + 1,
    ]);
  });

  test('of too many names in an hour the rarest are not kept', async () => {
    const named = (name: string, number: number) =>
      Array.from({ length: 600 }, (_, n) => count('tool', `${name} ${n}`, number));
    // What is counted at all has a latency.
    await begin(
      [NOW, [count('latency', '1', 600), ...named('often', 2)]],
      [NOW + MINUTE, [count('latency', '1', 600), ...named('rarely', 1)]],
    );
    await sumUp(0, HOUR);
    const kept = Object.keys(await tools(HOUR, 0, HOUR));
    expect(kept).toHaveLength(MOST_NAMES);
    expect(kept.filter(name => name.startsWith('often'))).toHaveLength(600);
  });

  test('minutes and hours are forgotten after their time, days never', async () => {
    const [minutes, hours] = [KEPT[MINUTE] ?? 0, KEPT[HOUR] ?? 0];
    await begin([NOW, call('a')], [NOW - MINUTE, [...call('b'), count('key', 'key-1', 1)]]);
    await sumUp(-DAY, DAY);
    await rollups.pruneRollups(store.db, NOW + minutes);
    expect(await tools(MINUTE, -DAY, DAY)).toEqual({ a: 1 });
    expect(await tools(HOUR, -DAY, DAY)).toEqual({ a: 1, b: 1 });
    expect(await rollups.rollupCounts(store.db, MINUTE, NOW - DAY, NOW + DAY, 'key')).toEqual([]);
    await rollups.pruneRollups(store.db, NOW + hours);
    expect(await tools(MINUTE, -DAY, DAY)).toEqual({});
    expect(await tools(HOUR, -DAY, DAY)).toEqual({ a: 1 });
    expect(await tools(DAY, -DAY, DAY)).toEqual({ a: 1, b: 1 });
  });
});
