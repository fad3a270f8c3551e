// What is remembered of a run that is only tried.

import { expect, test } from 'bun:test';
import { TriedRun } from '../../../src/core/flows/tried-run.ts';
import { MAX_KNOWN } from '../../../src/core/flows/words.ts';

const knows = (run: TriedRun, text: string) => run.knows('text', text);

test('marks only grow, and are told in one order', () => {
  const run = new TriedRun();
  expect(run.marks).toEqual([]);
  run.mark(['untrusted', 'private']);
  run.mark(['untrusted', 'abroad']);
  expect(run.marks).toEqual(['abroad', 'private', 'untrusted']);
});

test('it knows what texts and JSON name, and nothing else', () => {
  const run = new TriedRun();
  expect(knows(run, 'bob@example.com')).toBe(false);
  run.learn('Write to Bob@Example.com, please.');
  run.learn({ customer: { mail: 'ann@example.com', owes: 98.7 }, list: ['Eve Adams'] });
  for (const text of ['bob@example.com', 'ann@example.com', 'Write to', 'eve adams'])
    expect([text, knows(run, text)]).toEqual([text, true]);
  expect(run.knows('number', '98.70')).toBe(true);
  for (const text of ['customer', 'example.com', 'mallory@example.com'])
    expect([text, knows(run, text)]).toEqual([text, false]);
});

test('it knows as many values as a run of the service', () => {
  const run = new TriedRun();
  expect(run.dropped).toBe(0);
  run.learn(Array.from({ length: MAX_KNOWN + 1 }, (_, at) => `value${at}`));
  expect(knows(run, `value${MAX_KNOWN - 1}`)).toBe(true);
  expect(knows(run, `value${MAX_KNOWN}`)).toBe(false);
  expect(run.dropped).toBe(1);
});
