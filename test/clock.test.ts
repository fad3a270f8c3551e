// The clock that never jumps back, on clocks that the test sets.

import { expect, test } from 'bun:test';
import { steadyClock } from '../src/clock.ts';

const HOUR = 3_600_000;

function clocks() {
  const machine = { time: 1_000_000_000, passed: 0 };
  const jumps: number[] = [];
  const now = steadyClock(back => jumps.push(back), {
    wall: () => machine.time,
    monotonic: () => machine.passed,
  });
  const pass = (ms: number) => {
    machine.time += ms;
    machine.passed += ms;
  };
  const set = (ms: number) => {
    machine.time += ms;
  };
  return { machine, jumps, now, pass, set };
}

test('it is the machine’s clock while that goes on', () => {
  const { machine, jumps, now, pass } = clocks();
  for (const ms of [0, 1, 999, HOUR, 100 * HOUR]) {
    pass(ms);
    expect(now()).toBe(machine.time);
  }
  expect(jumps).toEqual([]);
});

test('a jump back is told of, and time goes on from where it was', () => {
  const { jumps, now, pass, set } = clocks();
  const before = now();
  set(-24 * HOUR);
  expect(now()).toBe(before);
  pass(HOUR);
  expect(now()).toBe(before + HOUR);
  expect(jumps).toEqual([24 * HOUR]);
});

test('a jump back that nobody saw happen counts the time that passed', () => {
  const { now, pass, set } = clocks();
  const before = now();
  pass(HOUR);
  set(-24 * HOUR);
  pass(HOUR);
  expect(now()).toBe(before + 2 * HOUR);
});

test('once the machine’s clock is set right, both agree again', () => {
  const { machine, now, pass, set } = clocks();
  set(-24 * HOUR);
  now();
  pass(HOUR);
  set(24 * HOUR);
  expect(now()).toBe(machine.time);
});

test('a jump forward is taken, and its way back is not', () => {
  const { machine, now, set } = clocks();
  set(24 * HOUR);
  expect(now()).toBe(machine.time);
  const ahead = now();
  set(-24 * HOUR);
  expect(now()).toBe(ahead);
});

test('drift is not ratcheted up', () => {
  const { machine, jumps, now } = clocks();
  for (let hour = 0; hour < 1000; hour++) {
    machine.passed += HOUR;
    machine.time += HOUR - 200;
    expect(now()).toBe(machine.time);
  }
  expect(jumps).toEqual([]);
});
