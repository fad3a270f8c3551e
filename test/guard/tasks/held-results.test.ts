// Answers of calls, as one process holds them and as others get them: bounded, overwritten when they are let go, and given
// to replicas alone, for as long as the store knows the call.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { parseJson } from '../../../src/core/wire/json.ts';
import { Exchange } from '../../../src/guard/exchange/exchange.ts';
import { DETAILS, RESULT } from '../../../src/guard/exchange/kinds.ts';
import { answerTo, newQuestion, readQuestion } from '../../../src/guard/exchange/messages.ts';
import { newId } from '../../../src/guard/ids.ts';
import { Vault } from '../../../src/guard/secrets.ts';
import { fetchAnswer } from '../../../src/guard/tasks/fetch-answer.ts';
import { type FinalAnswer, HeldResults, MOST_RESULT_BYTES } from '../../../src/guard/tasks/held-results.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';
import { Channel, FOREIGN } from '../exchange/channel.ts';

const MIB = 1024 * 1024;
const ENTRY = 400;
const END = NOW + 600_000;
const VAULT = new Vault(new Uint8Array(32).fill(7));
const SECRET = 'the customer is Ada';
const SAID = answer(SECRET);
const KEY = newId();

function answer(text: string): FinalAnswer {
  return { result: { content: [{ type: 'text', text }], resultType: 'complete' } };
}

const sizeOf = (held: FinalAnswer): number => JSON.stringify(held).length;
/** An answer of exactly so many bytes. */
const ofBytes = (bytes: number): FinalAnswer => answer('x'.repeat(bytes - sizeOf(answer(''))));

let store: TestStore;
beforeAll(async () => {
  store = await openStore('sqlite');
});
afterAll(() => store.close());

describe('one process', () => {
  const encode = spyOn(TextEncoder.prototype, 'encode');
  let now = NOW;
  afterEach(() => {
    now = NOW;
    encode.mockClear();
  });
  afterAll(() => encode.mockRestore());

  const holder = (limit = 64 * MIB) =>
    new HeldResults({ db: store.db, vault: VAULT, now: () => now, mayGive: async () => true }, limit);
  /** Every buffer that an answer was put into, as it is now. */
  const zeros = () => encode.mock.results.map(each => (each.value as Uint8Array).every(byte => byte === 0));

  test('an answer is given as often as it is asked for, word for word, until its end', async () => {
    const results = holder();
    const exact = { result: parseJson('{"n":12345678901234567890.0001,"__proto__":"\\ud800","a":[]}') };
    const failed: FinalAnswer = { error: { code: -32000, message: 'no', data: { why: null } } };
    const ids = [newId(), newId()] as const;
    expect(results.hold(ids[0], KEY, exact as FinalAnswer, END)).toBe(true);
    expect(results.hold(ids[1], KEY, failed, END)).toBe(true);
    for (let again = 0; again < 3; again++) {
      expect(JSON.stringify(await results.find(ids[0], END))).toBe(JSON.stringify(exact));
      expect(await results.find(ids[1], END)).toEqual(failed);
    }
    now = END;
    expect(await results.find(ids[1], END)).toBeNull();
    expect(await results.find(newId(), END)).toBeNull();
  });

  test('it is read only once whoever asks has room and time for so many bytes', async () => {
    const results = holder();
    const [id, large] = [newId(), ofBytes(100_000)];
    results.hold(id, KEY, large, END);
    const asked: number[] = [];
    const admit = async (bytes: number) => void asked.push(bytes);
    expect(await results.find(id, END, admit)).toEqual(large);
    expect(asked).toEqual([100_000]);
    const gone = () => Promise.reject(new Error('gone'));
    expect(await results.find(id, END, gone).catch(error => error.message)).toBe('gone');
    expect(await results.find(newId(), END, gone)).toBeNull();
  });

  test('they are overwritten at their end, when another takes their place, and when the service stops', async () => {
    const results = holder();
    const [first, second, third] = [newId(), newId(), newId()];
    results.hold(first, KEY, answer('first'), NOW + 1000);
    results.hold(second, KEY, answer('second'), END);
    results.hold(third, KEY, answer('third'), END);
    now = NOW + 1000;
    results.tend();
    expect(zeros()).toEqual([true, false, false]);
    results.hold(second, KEY, answer('again'), END);
    expect(zeros()).toEqual([true, true, false, false]);
    expect(await results.find(second, END)).toEqual(answer('again'));
    results.close();
    expect(zeros()).toEqual([true, true, true, true]);
    expect(results.figures).toMatchObject({ held: 0, bytes: 0, evicted: 0 });
  });

  test('one of 5 MiB is held, and a larger one is lost, also if a smaller one was held before', async () => {
    const results = holder();
    const id = newId();
    expect(results.hold(id, KEY, ofBytes(MOST_RESULT_BYTES), END)).toBe(true);
    expect(await results.find(id, END)).toEqual(ofBytes(MOST_RESULT_BYTES));
    expect(results.hold(id, KEY, ofBytes(MOST_RESULT_BYTES + 1), END)).toBe(false);
    expect(await results.find(id, END)).toBeNull();
    expect(zeros()).toEqual([true, true]);
    expect(results.figures).toMatchObject({ held: 0, bytes: 0 });
  });

  test('the oldest go first when there is no room', async () => {
    const results = holder(3 * (1000 + ENTRY));
    const ids = Array.from({ length: 5 }, newId);
    for (const id of ids) results.hold(id, KEY, ofBytes(1000), END);
    const found = await Promise.all(ids.map(id => results.find(id, END)));
    expect(found.map(each => each !== null)).toEqual([false, false, true, true, true]);
    expect(zeros()).toEqual([true, true, false, false, false]);
    expect(results.figures).toMatchObject({ held: 3, bytes: 3 * (1000 + ENTRY), evicted: 2 });
    const none = holder(0);
    none.hold(newId(), KEY, SAID, END);
    expect(none.figures).toMatchObject({ held: 0, bytes: 0 });
  });

  test('a key that takes most of the room makes room, and pushes out nothing of others', async () => {
    const results = holder(4 * (1000 + ENTRY));
    const greedy = newId();
    const others = newId();
    results.hold(others, KEY, ofBytes(1000), END);
    const ids = Array.from({ length: 8 }, newId);
    for (const id of ids) results.hold(id, greedy, ofBytes(1000), END);
    expect(await results.find(others, END)).not.toBeNull();
    const found = await Promise.all(ids.map(id => results.find(id, END)));
    expect(found.filter(each => each !== null)).toHaveLength(3);
    // More of another key finds room, although it comes last.
    const late = newId();
    results.hold(late, KEY, ofBytes(1000), END);
    for (const id of [others, late]) expect(await results.find(id, END)).not.toBeNull();
  });
});

describe('several processes', () => {
  let channel: Channel;
  /** The calls that the store knows. */
  let known: Set<string>;
  let holding: HeldResults;
  let asking: HeldResults;
  let id: string;
  beforeEach(() => {
    channel = new Channel(store.db);
    known = new Set();
    holding = replica();
    asking = replica();
    id = held(SAID);
  });

  /** One that waits longer where an answer will come, however busy the machine is. */
  function replica(waitsMs: readonly number[] = [60_000]): HeldResults {
    const mayGive = async (toolCallId: string) => known.has(toolCallId);
    return new HeldResults(
      { db: channel.joined(), vault: VAULT, now: () => channel.now, mayGive },
      64 * MIB,
      {
        ...RESULT,
        waitsMs,
      },
    );
  }

  function held(what: FinalAnswer): string {
    const toolCallId = newId();
    known.add(toolCallId);
    holding.hold(toolCallId, KEY, what, END);
    return toolCallId;
  }

  const of = (name: string): string[] => channel.messages.filter(each => each.startsWith(`${name} `));

  test('each finds it, also after the holder has gone, and nothing on the channel says what it is', async () => {
    expect(await asking.find(id, END)).toEqual(SAID);
    holding.close();
    channel.now += 300_000;
    asking.tend();
    expect(await asking.find(id, END)).toEqual(SAID);
    expect(of('result-question')).toHaveLength(1);
    expect(await replica().find(id, END)).toEqual(SAID);
    channel.now = END;
    asking.tend();
    expect(asking.figures).toMatchObject({ held: 0, bytes: 0 });
    for (const text of [SECRET, Buffer.from(SECRET).toString('base64url').slice(0, -2)])
      expect(channel.messages.join('\n')).not.toContain(text);
  });

  test('one of 5 MiB passes in parts that fit into notifications, whose order does not matter', async () => {
    const large = ofBytes(MOST_RESULT_BYTES);
    const late: string[] = [];
    channel.transport = word => {
      if (!word.startsWith('result-answer ')) return [word];
      late.push(word);
      return late.length % 50 === 0 || late.length === 1199 ? late.slice(-50).reverse() : [];
    };
    const largeId = held(large);
    expect(await asking.find(largeId, END)).toEqual(large);
    expect(late).toHaveLength(1199);
    for (const each of channel.messages) expect(each.length).toBeLessThan(8000);
  });

  test('nothing is given of a call that the store does not know, nor to whoever is no replica', async () => {
    known.delete(id);
    const { question } = newQuestion(VAULT, RESULT, id, NOW);
    channel.send(`result-question ${question.text}`);
    const other = held(SAID);
    channel.send(`result-question ${newQuestion(FOREIGN, RESULT, other, NOW).question.text}`);
    // A question about details is none about results, also if it comes under that name.
    const foreign = newQuestion(VAULT, DETAILS, other, NOW).question;
    for (const name of ['details', 'result']) channel.send(`${name}-question ${foreign.text}`);
    const last = newQuestion(VAULT, RESULT, other, NOW).question;
    channel.send(`result-question ${last.text}`);
    await until('an answer', () => of('result-answer').length > 0);
    expect(of('result-answer').map(each => each.split(' ')[1])).toEqual([last.id]);
    expect(of('details-answer')).toEqual([]);
  });

  test('an answer of another kind is none', async () => {
    channel.transport = word => {
      if (!word.startsWith('result-question ')) return [word];
      const question = readQuestion(VAULT, RESULT, word.slice('result-question '.length), NOW);
      if (question === null) throw new Error('a replica asked wrongly');
      const lie = Buffer.from(JSON.stringify(answer('a lie')));
      return [...Array.from(answerTo(VAULT, DETAILS, question, lie), each => `result-answer ${each}`), word];
    };
    expect(await asking.find(id, END)).toEqual(SAID);
  });

  test('what was lost is asked for twice, and then it is believed for a while', async () => {
    asking = replica(RESULT.waitsMs.map(ms => ms / 50));
    holding.close();
    expect(await asking.find(id, END)).toBeNull();
    expect(await asking.find(id, END)).toBeNull();
    expect(of('result-question')).toHaveLength(2);
    holding.hold(id, KEY, SAID, END);
    channel.now += 3000;
    asking = replica();
    expect(await asking.find(id, END)).toEqual(SAID);
  });

  test('soon after the end, an answer that is not found is not said to be lost', async () => {
    holding.close();
    const results = replica([1]);
    const deps = { ...depsAt(store.db, () => channel.now), db: channel.joined(), results };
    const fetched = (endedAt: number) =>
      fetchAnswer(deps, { toolCallId: id, keyId: KEY, endedAt }).catch(error => error.code);
    expect(await fetched(NOW - 9999)).toBe('overloaded');
    expect(await fetched(NOW - 10_000)).toBeNull();
    expect(await fetched(NOW - deps.settings.resultsFor)).toBeNull();
    const alone = { ...deps, db: store.db };
    expect(await fetchAnswer(alone, { toolCallId: id, keyId: KEY, endedAt: NOW })).toBeNull();
  });

  test('what one key looks for in vain keeps nobody else from finding', async () => {
    channel.transport = word => (word.includes(id) || !word.startsWith('result-question ') ? [word] : []);
    const lost = Array.from({ length: 100 }, () => asking.find(newId(), END, undefined, KEY));
    const told = Promise.allSettled(lost);
    expect(await asking.find(id, END, undefined, newId())).toEqual(SAID);
    expect(of('result-question')).toHaveLength(RESULT.mostAsked / 4 + 1);
    void told;
  });

  test('whoever has too much to do says so, and nobody says that the answer is lost', async () => {
    const bytes = Buffer.alloc(20_000, 1);
    const exchange = (mostKept: number, here: Uint8Array | null) =>
      new Exchange(
        { ...RESULT, mostKept, waitsMs: [20, 1000] },
        {
          db: channel.joined(),
          vault: VAULT,
          now: () => NOW,
          held: () => here,
          mayGive: async () => true,
          answered: () => {},
        },
      );
    holding.close();
    // Room for the bytes themselves, and for the characters that they become in messages.
    const [roomy, narrow] = [exchange(50_000, null), exchange(25_000, null)];
    const overloaded = { reason: { code: 'overloaded' } };
    exchange(10_000, bytes);
    expect(await Promise.allSettled([roomy.ask(id)])).toMatchObject([overloaded]);
    expect([of('result-busy').length, of('result-answer').length]).toEqual([2, 0]);
    exchange(25_000, bytes);
    expect(await Promise.allSettled([roomy.ask(id), narrow.ask(id)])).toMatchObject([
      { value: new Uint8Array(bytes) },
      overloaded,
    ]);
  });
});

test.skipIf(!(await engines()).includes('postgres'))(
  'over PostgreSQL, 5 MiB reach another replica',
  async () => {
    const shared = await openStore('postgres');
    const second = await shared.again();
    try {
      const [holding, asking] = [shared.db, second].map(
        db => new HeldResults({ db, vault: VAULT, now: () => NOW, mayGive: async () => true }, 64 * MIB),
      ) as [HeldResults, HeldResults];
      const [small, large] = [newId(), newId()];
      holding.hold(small, KEY, SAID, END);
      holding.hold(large, KEY, ofBytes(MOST_RESULT_BYTES), END);
      await until('the replicas hear each other', async () => (await asking.find(small, END)) !== null);
      expect(await asking.find(small, END)).toEqual(SAID);
      expect(await asking.find(large, END)).toEqual(ofBytes(MOST_RESULT_BYTES));
    } finally {
      await second.close();
      await shared.close();
    }
  },
);
