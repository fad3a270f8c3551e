// Rows that are inserted many at a time: every value arrives as it was given, in any number of rows, and PostgreSQL has
// to prepare only a few statements for them.

import { beforeAll, expect, test } from 'bun:test';
import { into, type Lane, UniqueViolation, type Value } from '../../src/store/engine/db.ts';
import { random, SEED } from '../support/faults.ts';
import { refusal } from '../support/refusal.ts';
import { onEachEngine } from './stores.ts';

const ROWS = into('inserted', { id: 'bigint', number: 'bigint', word: 'text', other: 'text' });
const NEW_ROWS = into('inserted', { id: 'bigint', number: 'bigint' }, 'ON CONFLICT DO NOTHING');

const WORDS = [
  '',
  'plain',
  'NULL',
  'null',
  '{}',
  'a,b',
  '"',
  '\\',
  '\\"',
  "'",
  ' x ',
  'line\nbreak\ttab',
  'é 漢 😀',
  null,
];
const NUMBERS = [0, 1, -1, 4_000_000_000, Number.MAX_SAFE_INTEGER, null];

await onEachEngine(store => {
  let lane: Lane;
  const next = random(SEED);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)] as T;

  beforeAll(async () => {
    lane = store.db.lane();
    const columns = 'id bigint NOT NULL PRIMARY KEY,\n number bigint,\n word text,\n other text';
    await lane.transaction({}, tx => tx.script(`CREATE TABLE inserted (\n ${columns}\n);`));
  });

  const insert = (values: readonly Value[], rows = ROWS) =>
    lane.transaction({}, async tx => tx.insert(rows, values));

  async function stored(from: number): Promise<Value[]> {
    const rows = await lane.all('SELECT id, number, word, other FROM inserted WHERE id >= $1 ORDER BY id', [
      from,
    ]);
    return rows.flatMap(row => Object.values(row));
  }

  let ids = 0;

  test(`values arrive as they were given (seed ${SEED})`, async () => {
    for (const count of [0, 1, 2, 3, 63, 64, 65, 200]) {
      const from = ids;
      const values = Array.from({ length: count }, () => [
        ids++,
        pick(NUMBERS),
        pick(WORDS),
        'shared',
      ]).flat();
      await insert(values);
      expect(await stored(from)).toEqual(values);
    }
    for (const word of WORDS) {
      const values = [ids++, 1, word, word, ids++, 1, word, word];
      await insert(values);
      expect(await stored(ids - 2)).toEqual(values);
    }
  });

  test('a row that exists fails the whole transaction, or is left alone', async () => {
    const taken = ids++;
    await insert([taken, 1, 'first', null]);
    expect(await refusal(insert([ids, 2, null, null, taken, 2, null, null]))).toBeInstanceOf(UniqueViolation);
    expect(await stored(taken)).toEqual([taken, 1, 'first', null]);
    await insert([ids, 3, taken, 3], NEW_ROWS);
    expect(await stored(taken)).toEqual([taken, 1, 'first', null, ids++, 3, null, null]);
  });

  test('few statements are prepared, whichever values are missing, small or large', async () => {
    if (store.engine === 'sqlite') return;
    for (let group = 0; group < 60; group++) {
      const rows = Array.from({ length: 1 + Math.floor(next() * 20) }, () => [
        ids++,
        pick(NUMBERS),
        pick(WORDS),
        null,
      ]);
      await insert(rows.flat());
    }
    // Every form, whatever was drawn: one row, and of two rows each the number, the word, both or neither are the same.
    await insert([ids++, 1, 'word', null]);
    for (const number of [1, 2])
      for (const word of ['word', 'other']) await insert([ids++, 1, 'word', null, ids++, number, word, null]);
    const [row] = await lane.all<{ count: number }>(
      `SELECT count(*) AS count FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO inserted (id, number, word, %'`,
    );
    expect(row?.count).toBe(1 + 2 * 2);
  });
});
