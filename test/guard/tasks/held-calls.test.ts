// Calls of tasks in the memory of one process: within its bound, overwritten when they are let go, and fair to every key.

import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { type JsonObject, parseJson } from '../../../src/core/wire/json.ts';
import { HeldCalls } from '../../../src/guard/tasks/held-calls.ts';
import { findTask, putTask } from '../../../src/store/tasks.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';

const ENTRY = 1000;
const LATER = NOW + 60_000;
const sent = (text: string): JsonObject => ({ name: 'up__pay', arguments: { text } });
const sizeOf = (call: JsonObject): number => JSON.stringify(call).length + ENTRY;

describe('held calls', () => {
  const encode = spyOn(TextEncoder.prototype, 'encode');
  let store: TestStore;
  let now = NOW;
  beforeAll(async () => {
    store = await openStore('sqlite');
  });
  afterEach(() => {
    now = NOW;
    encode.mockClear();
  });
  afterAll(async () => {
    encode.mockRestore();
    await store.close();
  });

  const holder = (limit: number) =>
    new HeldCalls<string>({ db: store.db, processId: 'this', now: () => now }, limit, error => {
      throw error;
    });
  const zeros = () => encode.mock.results.map(each => (each.value as Uint8Array).every(byte => byte === 0));

  /** A task that waits, as the commit of its call left it. */
  async function waiting(processId = 'this'): Promise<string> {
    const id = crypto.randomUUID();
    await store.db.transaction({}, async tx =>
      putTask(tx, {
        id,
        keyId: 'key',
        sessionId: null,
        personId: null,
        state: 'waiting',
        processId,
        toolCallId: null,
        serverTaskEncrypted: null,
        createdAt: NOW,
        changedAt: NOW,
        knownUntil: LATER,
      }),
    );
    return id;
  }

  const stateOf = async (id: string) => (await findTask(store.db, id))?.state;

  test('a call comes back word for word, and is overwritten when it is let go', () => {
    const calls = holder(1 << 20);
    const exact = parseJson('{"n":12345678901234567890.0001,"__proto__":"x"}') as JsonObject;
    calls.hold('a', 'key', { sent: exact, about: 'who' }, LATER);
    expect(JSON.stringify(calls.find('a'))).toBe(JSON.stringify({ sent: exact, about: 'who' }));
    calls.hold('a', 'key', { sent: sent('again'), about: 'who' }, LATER);
    expect(zeros()).toEqual([true, false]);
    expect(calls.about('a')).toBe('who');
    calls.letGo('a');
    expect(calls.about('a')).toBeNull();
    expect([calls.find('a'), zeros(), calls.figures]).toEqual([
      null,
      [true, true],
      { held: 0, bytes: 0, evicted: 0 },
    ]);
  });

  test('what nobody can ask for any more is overwritten, and so is all of it at the end', () => {
    const calls = holder(1 << 20);
    calls.hold('a', 'key', { sent: sent('a'), about: 'who' }, NOW + 1);
    calls.hold('b', 'key', { sent: sent('b'), about: 'who' }, LATER);
    now = NOW + 1;
    calls.tend();
    expect([calls.has('a'), calls.has('b'), zeros()]).toEqual([false, true, [true, false]]);
    calls.close();
    expect(zeros()).toEqual([true, true]);
  });

  test('a call that finds no room is gone, and so is the oldest of the key that takes most', async () => {
    const small = sent('x');
    const calls = holder(3 * sizeOf(small));
    const mine = await waiting();
    const [first, second, third] = [await waiting(), await waiting(), await waiting()] as const;
    expect(calls.hold(mine, 'mine', { sent: small, about: 'who' }, LATER)).toBe(true);
    for (const id of [first, second, third])
      expect(calls.hold(id, 'greedy', { sent: small, about: 'who' }, LATER)).toBe(true);
    expect([mine, first, second, third].map(id => calls.has(id))).toEqual([true, false, true, true]);
    await until('its row says so', async () => (await stateOf(first)) === 'gone');
    const large = await waiting();
    const tooLarge = { sent: sent('x'.repeat(4 * ENTRY)), about: 'who' };
    expect(calls.hold(large, 'mine', tooLarge, LATER)).toBe(false);
    await until('its row says so', async () => (await stateOf(large)) === 'gone');
    expect([await stateOf(mine), await stateOf(second)]).toEqual(['waiting', 'waiting']);
    expect(calls.figures).toEqual({ held: 3, bytes: 3 * sizeOf(small), evicted: 2 });
  });

  test('with no memory nothing is held; what another process holds stays with it', async () => {
    const calls = holder(0);
    const [mine, theirs] = [await waiting(), await waiting('that')] as const;
    for (const id of [mine, theirs])
      expect(calls.hold(id, 'key', { sent: sent('x'), about: 'who' }, LATER)).toBe(false);
    await until('its row says so', async () => (await stateOf(mine)) === 'gone');
    expect([await stateOf(theirs), zeros()]).toEqual(['waiting', [true, true]]);
  });
});
