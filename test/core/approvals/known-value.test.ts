// Which values that approvers are shown count as named: those for which known() holds in a condition.

import { expect, test } from 'bun:test';
import { knownValue } from '../../../src/core/approvals/known-value.ts';
import { Failure, type Knows } from '../../../src/core/condition/condition.ts';
import { formFor, namedIn } from '../../../src/core/flows/words.ts';
import { type Json, parseJson } from '../../../src/core/wire/json.ts';

const named = new Set(namedIn('Pay 98.70 and 5000000000000000000001 to Ann Lee, ann@x.org.'));
const knows: Knows = (kind, written) => named.has(formFor(kind, written) ?? '-');
const room = () => ({ left: 100 });
const known = (value: Json | undefined) => knownValue(value, knows, room());

test('texts and numbers are known if somebody named them', () => {
  for (const value of [
    'ann@x.org',
    'Ann Lee',
    ' ANN  lee! ',
    98.7,
    parseJson('98.70'),
    parseJson('5000000000000000000001'),
  ])
    expect([value, known(value)]).toEqual([value, true]);
  for (const value of ['eve@x.org', 'Lee Ann', 98, parseJson('5000000000000000000002'), '...'])
    expect([value, known(value)]).toEqual([value, false]);
});

test('a text that is too long is not known, and nothing is said of what known() does not take', () => {
  for (const value of [
    'x'.repeat(513),
    '😀'.repeat(513),
    'x'.repeat(2_000_000),
    'one two three four five six seven eight nine ten',
  ])
    expect(known(value)).toBe(false);
  for (const value of [undefined, null, true, {}, { a: 'Ann Lee' }, '', 'A', '😀', [['Ann Lee']]])
    expect([value, known(value)]).toEqual([value, undefined]);
});

test('of a list each has to be known, and one that is not outweighs those that nothing is said of', () => {
  expect(known([])).toBe(true);
  expect(known(['ann@x.org', 98.7])).toBe(true);
  expect(known(['ann@x.org', 'eve@x.org'])).toBe(false);
  expect(known(['ann@x.org', true])).toBeUndefined();
  expect(known([true, 'eve@x.org'])).toBe(false);
});

test('of a list all values are asked for before any of them was read', () => {
  const asked: string[] = [];
  const unread = new Failure('not read');
  const ask: Knows = (_, written) => {
    asked.push(written);
    return unread;
  };
  expect(knownValue(['ann@x.org', 'eve@x.org'], ask, room())).toBeUndefined();
  expect(asked).toEqual(['ann@x.org', 'eve@x.org']);
});

test('where there is no more room to look values up, they count as not known', () => {
  const two = { left: 2 };
  const values: Json[] = [true, 'ann@x.org', null, 98.7, 'ann@x.org', false, ''];
  const found = values.map(value => knownValue(value, knows, two) ?? null);
  expect(found).toEqual([null, true, null, true, false, null, null]);
});
