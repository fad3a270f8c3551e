// What checkpoints give up, by what right, and what a reader is told of it: each bound at its edge.

import { describe, expect, test } from 'bun:test';
import type { Checkpoint, GivenUp } from '../../../src/core/log/checkpoint.ts';
import { claimsOf, covering, keepsRetention, remarksOn } from '../../../src/core/log/retention-claims.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** By so much clocks of replicas may differ. */
const CLOCKS_MS = HOUR / 12;
const START = Date.UTC(2030, 0, 1);
const iso = (at: number) => new Date(at).toISOString();

/** Made `days` after the start, with a thousand entries more on every day. */
function signedOn(days: number, more: Partial<Checkpoint> = {}): Checkpoint {
  const at = START + days * DAY;
  const usual = { origin: 'log', size: 1000 * days, root: `root ${days}`, at, through: at, pruned: 0 };
  return { ...usual, retention: 10 * DAY, givenUp: null, ...more };
}

/** Gave up, on day 20, the thousand entries that were signed on day 10. */
function givingUp(more: Partial<GivenUp> = {}, checkpoint: Partial<Checkpoint> = {}): Checkpoint {
  const givenUp = { at: START + 20 * DAY, retention: 10 * DAY, root: 'root 10', signedAt: START + 10 * DAY };
  return signedOn(20, { pruned: 1000, givenUp: { ...givenUp, ...more }, ...checkpoint });
}

test('the earlier checkpoint is of exactly the entries that were given up', () => {
  expect(covering(signedOn(20))).toBeNull();
  expect(covering(givingUp())).toEqual({
    origin: 'log',
    size: 1000,
    root: 'root 10',
    at: START + 10 * DAY,
    through: 0,
    pruned: 0,
    retention: 'forever',
    givenUp: null,
  });
});

test('no more is given up than is there, not before its time, and not in the future', () => {
  const late = START + 20 * DAY;
  expect(keepsRetention(givingUp())).toBe(true);
  expect(keepsRetention(givingUp({ signedAt: START + 10 * DAY + 1 }))).toBe(false);
  expect(keepsRetention(givingUp({ signedAt: START + 10 * DAY - 1 }))).toBe(true);
  expect(keepsRetention(givingUp({ at: late + 1 }))).toBe(false);
  expect(keepsRetention(givingUp({ at: late - 1, signedAt: START }))).toBe(true);
  expect(keepsRetention(givingUp({}, { size: 1000 }))).toBe(true);
  expect(keepsRetention(givingUp({}, { size: 999 }))).toBe(false);
  expect(keepsRetention(signedOn(20, { pruned: 1000 }))).toBe(true);
  expect(keepsRetention(signedOn(1, { pruned: 1001 }))).toBe(false);
});

describe('what checkpoints claim', () => {
  const which = `The checkpoint of ${iso(START + 20 * DAY)}`;

  test('nothing, where nothing was given up', () => {
    expect(claimsOf([signedOn(1), signedOn(2)], null)).toEqual([]);
    expect(claimsOf([], null)).toEqual([]);
  });

  test('what was given up in time, whether or not anybody asks for how long it was kept', () => {
    const claim = { before: 1000, refusal: null };
    expect(claimsOf([signedOn(1), givingUp(), signedOn(21)], null)).toEqual([claim]);
    expect(claimsOf([givingUp()], 10 * DAY)).toEqual([claim]);
    expect(claimsOf([givingUp()], 10 * DAY + 1)).toEqual([
      { before: 1000, refusal: `${which} gives it up after only 10d.` },
    ]);
  });

  test('before its time', () => {
    const early = givingUp({ signedAt: START + 11 * DAY });
    expect(claimsOf([early], null)).toEqual([
      { before: 1000, refusal: `${which} gives it up before its time.` },
    ]);
  });

  test('by a clock that was ahead of a later checkpoint', () => {
    const at = START + 20 * DAY;
    const told = (later: number) =>
      claimsOf([givingUp(), signedOn(21, { at: later })], null).map(each => each.refusal);
    expect(told(at - CLOCKS_MS)).toEqual([null]);
    expect(told(at - CLOCKS_MS - 1)).toEqual([
      `${which} gives it up, but the clock was ahead: a later checkpoint is of ${iso(at - CLOCKS_MS - 1)}.`,
    ]);
    // It is the earliest of all later ones that counts, and what is later is told by sizes.
    const [early, late] = [signedOn(21, { at: at - DAY }), signedOn(22)];
    expect(claimsOf([late, givingUp(), early], null)[0]?.refusal).toContain(iso(at - DAY));
    expect(claimsOf([signedOn(19, { at: at - DAY }), givingUp()], null)[0]?.refusal).toBeNull();
  });

  test('of one size, the one that gives up more is the later one', () => {
    const before = givingUp({}, { at: START + 30 * DAY });
    const after = givingUp({ at: START + 21 * DAY }, { at: START + 21 * DAY, pruned: 2000 });
    expect(claimsOf([after, before], null).map(each => each.before)).toEqual([2000, 1000]);
    expect(claimsOf([before, after], null).map(each => each.before)).toEqual([2000, 1000]);
    // Of those that give up as much, the time tells.
    const again = {
      ...before,
      at: START + 31 * DAY,
      givenUp: { ...after.givenUp!, signedAt: START + 90 * DAY },
    };
    const [newest] = claimsOf([again, before], null);
    expect(newest?.refusal).toContain(iso(START + 31 * DAY));
    expect(claimsOf([before, again], null)[0]).toEqual(newest!);
  });
});

describe('a reader is told', () => {
  test('nothing of a log without remarks', () => {
    expect(remarksOn([])).toEqual([]);
    expect(remarksOn([signedOn(1), signedOn(2), givingUp(), signedOn(21)])).toEqual([]);
  });

  test('that the retention was changed, in the order of signing', () => {
    const [ten, five] = [signedOn(1), signedOn(3, { retention: 5 * DAY })];
    const forever = signedOn(4, { retention: 'forever' });
    expect(remarksOn([forever, five, ten])).toEqual([
      `The retention was shortened from 10d to 5d, says the checkpoint of ${iso(five.at)}.`,
      `The retention was lengthened from 5d to for ever, says the checkpoint of ${iso(forever.at)}.`,
    ]);
    expect(remarksOn([signedOn(3, { retention: 'forever' }), signedOn(4)])).toEqual([
      `The retention was shortened from for ever to 10d, says the checkpoint of ${iso(START + 4 * DAY)}.`,
    ]);
  });

  test('five times, and then how often more', () => {
    const changes = (count: number) =>
      Array.from({ length: count + 1 }, (_, day) => signedOn(day, { retention: (1 + (day % 2)) * DAY }));
    expect(remarksOn(changes(5))).toHaveLength(5);
    const six = remarksOn(changes(6));
    expect(six).toHaveLength(6);
    expect(six.at(4)).toContain(iso(START + 5 * DAY));
    expect(six.at(-1)).toBe('The same happened 1 more times.');
    expect(remarksOn(changes(8)).at(-1)).toBe('The same happened 3 more times.');
  });

  test('that the clock went back, by more than clocks of replicas differ', () => {
    const first = signedOn(5);
    const second = (at: number, size = 6000) => remarksOn([first, signedOn(6, { at, size })]);
    expect(second(first.at - CLOCKS_MS)).toEqual([]);
    expect(second(first.at - CLOCKS_MS - 1)).toEqual([
      `The clock of the checkpoints went back: 5000 entries were signed on ${iso(first.at)}, ` +
        `6000 entries on ${iso(first.at - CLOCKS_MS - 1)}.`,
    ]);
    // Two of one size stand in no other order than their times'.
    expect(remarksOn([signedOn(5, { at: START, pruned: 1, givenUp: givingUp().givenUp }), first])).toEqual(
      [],
    );
  });

  test('that entries were kept for less time than the newest checkpoint promises', () => {
    const short = givingUp({ retention: DAY });
    expect(remarksOn([short])).toEqual([
      `The first 1000 entries were given up on ${iso(START + 20 * DAY)} after 1d, ` +
        'which is shorter than the retention of the newest checkpoint (10d).',
    ]);
    expect(remarksOn([givingUp({ retention: 10 * DAY })])).toEqual([]);
    expect(remarksOn([givingUp({ retention: 9 * DAY }, { retention: 'forever' })])[0]).toContain(
      '(for ever)',
    );
    // The newest one speaks for itself.
    expect(remarksOn([short, signedOn(21)])).toEqual([]);
  });
});
