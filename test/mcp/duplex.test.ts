// Requests and answers over a channel that carries messages both ways: who gets which, what is bounded, and what is
// told to those who wait when it breaks.

import { describe, expect, test } from 'bun:test';
import { MAX_VALUES } from '../../src/core/wire/json.ts';
import { Rations } from '../../src/guard/rations/rations.ts';
import { AnswersUnread, MessageTooLarge } from '../../src/mcp/wire.ts';
import { refusal } from '../support/refusal.ts';
import { Channel, newRation } from './channel.ts';

const MAX_UNTAKEN = 16 * 1024 * 1024;
const asked = (channel: Channel, method = 'tools/call', params = {}) => {
  const cancel = new AbortController();
  const told: string[] = [];
  const hooks = {
    signal: cancel.signal,
    ration: newRation(),
    onNotification: ({ method }: { method: string }) => told.push(method),
  };
  const answer = channel.request(method, params, hooks);
  answer.catch(() => {});
  return { answer, cancel, told, hooks };
};
const settled = () => new Promise(resolve => setImmediate(resolve));

test('each answer goes to the request of its id, in whichever order, once', async () => {
  const channel = new Channel();
  const [one, two] = [asked(channel), asked(channel)];
  expect(channel.sent.map(each => each.id)).toEqual([1, 2]);
  for (const id of [3, '1', null]) channel.say({ id, result: { n: 'foreign' } });
  channel.say('not a message');
  channel.say('[]');
  channel.say({ id: 2, result: { n: 2 } });
  channel.say({ id: 1, result: { n: 1 } });
  channel.say({ id: 1, result: { n: 'again' } });
  expect((await one.answer).result).toEqual({ n: 1 });
  expect((await two.answer).result).toEqual({ n: 2 });
});

test('progress is told to all who wait, a log message only to one who waits alone', async () => {
  const channel = new Channel();
  const unasked: string[] = [];
  channel.onNotification = ({ method }) => unasked.push(method);
  const say = (method: string) => channel.say({ method, params: {} });
  say('notifications/tools/list_changed');
  const one = asked(channel);
  say('notifications/message');
  const two = asked(channel);
  say('notifications/message');
  say('notifications/progress');
  expect(one.told).toEqual(['notifications/message', 'notifications/progress']);
  expect(two.told).toEqual(['notifications/progress']);
  expect(unasked).toHaveLength(4);
  channel.say({ id: 1, result: {} });
  await one.answer;
  say('notifications/message');
  expect(two.told).toHaveLength(2);
  expect(one.told).toHaveLength(2);
});

describe('what is cancelled', () => {
  test('is told to the upstream, and its late answer is nobody’s', async () => {
    const channel = new Channel();
    const { answer, cancel, told } = asked(channel);
    cancel.abort();
    expect(await refusal(answer)).toMatchObject({ message: 'the call was cancelled' });
    expect(channel.of('notifications/cancelled')).toMatchObject([{ params: { requestId: 1 } }]);
    const alone = asked(channel);
    channel.say({ method: 'notifications/message', params: {} });
    channel.say({ id: 1, result: {} });
    channel.say({ method: 'notifications/message', params: {} });
    expect([told, alone.told]).toEqual([[], Array(2).fill('notifications/message')]);
  });

  test('after its answer, or before it was sent, says nothing', async () => {
    const channel = new Channel();
    const { answer, cancel } = asked(channel);
    channel.say({ id: 1, result: {} });
    await answer;
    cancel.abort();
    const early = channel.request('tools/call', {}, { ...asked(new Channel()).hooks, signal: cancel.signal });
    expect(await refusal(early)).toMatchObject({ message: 'the call was cancelled' });
    expect(channel.sent).toHaveLength(1);
  });
});

describe('an upstream that takes nothing', () => {
  test('is sent 16 MiB and the request that goes beyond, and no other until it takes them', async () => {
    const channel = new Channel();
    const taken = Promise.withResolvers<void>();
    let bytes = 0;
    channel.onWrite = text => {
      bytes += Buffer.byteLength(text);
      return taken.promise;
    };
    // Of two bytes each in UTF-8: bytes count, not characters.
    const text = 'é'.repeat(3 * 1024 * 1024);
    asked(channel, 'tools/call', { text });
    asked(channel, 'tools/call', { text });
    asked(channel, 'tools/call', { text: '' });
    const frame = JSON.stringify({
      jsonrpc: '2.0',
      id: 4,
      method: 'tools/call',
      params: { text: '' },
    }).length;
    asked(channel, 'tools/call', { text: 'x'.repeat(MAX_UNTAKEN - bytes - frame) });
    expect(bytes).toBe(MAX_UNTAKEN);
    asked(channel);
    expect(channel.sent).toHaveLength(5);
    const refused = await refusal(asked(channel).answer);
    expect(refused).toMatchObject({ message: 'the upstream does not take what it was sent before' });
    expect(channel.sent).toHaveLength(5);
    taken.resolve();
    await settled();
    asked(channel);
    expect(channel.sent).toHaveLength(6);
  });

  test('is sent a thousand messages, and no other until it takes one, be it to say that one is cancelled', async () => {
    const channel = new Channel();
    const taken: (() => void)[] = [];
    channel.onWrite = () => new Promise(resolve => taken.push(resolve));
    const all = Array.from({ length: 1000 }, () => asked(channel));
    expect(await refusal(asked(channel).answer)).toMatchObject({
      message: 'the upstream does not take what it was sent before',
    });
    all[0]?.cancel.abort();
    expect(await refusal(all[0]!.answer)).toMatchObject({ message: 'the call was cancelled' });
    expect(channel.sent).toHaveLength(1000);
    taken[0]?.();
    await settled();
    all[1]?.cancel.abort();
    expect(channel.sent).toHaveLength(1001);
    expect(channel.of('notifications/cancelled')).toHaveLength(1);
    expect(await refusal(asked(channel).answer)).toMatchObject({ unsent: false });
  });

  test('gets eight answers to its own requests at a time', async () => {
    const channel = new Channel();
    const taken = Promise.withResolvers<void>();
    channel.onWrite = () => taken.promise;
    for (let each = 0; each < 20; each++) channel.say({ id: `theirs ${each}`, method: 'roots/list' });
    expect(channel.sent.map(each => [each.id, each.error.code])).toEqual(
      Array.from({ length: 8 }, (_, each) => [`theirs ${each}`, -32601]),
    );
    taken.resolve();
    await settled();
    channel.say({ id: 'later', method: 'roots/list' });
    expect(channel.sent.at(-1).id).toBe('later');
  });

  test('is given up when a message cannot be sent', async () => {
    const channel = new Channel();
    channel.onWrite = () => Promise.reject(new Error('EPIPE'));
    const { answer } = asked(channel);
    expect(await refusal(answer)).toMatchObject({ message: 'the upstream takes no messages' });
  });
});

test('a channel that breaks tells everybody who waits, once, and is not used again', async () => {
  const channel = new Channel();
  const reasons: string[] = [];
  channel.onClosed = reason => reasons.push(reason);
  const waiting = [asked(channel), asked(channel)];
  channel.breaks('it is gone');
  channel.breaks('it is gone again');
  for (const { answer } of waiting) expect(await refusal(answer)).toMatchObject({ message: 'it is gone' });
  expect(reasons).toEqual(['it is gone']);
  expect(await refusal(asked(channel).answer)).toMatchObject({
    unsent: true,
    message: 'the upstream is gone',
  });
  const sent = channel.sent.length;
  channel.say({ id: 'theirs', method: 'roots/list' });
  for (const { cancel } of waiting) cancel.abort();
  expect(channel.sent).toHaveLength(sent);
});

test('a channel that is closed is ended, and callers that wait get an error', async () => {
  const channel = new Channel();
  const { answer } = asked(channel);
  channel.close();
  expect(await refusal(answer)).toMatchObject({ message: 'the connection was closed' });
  expect(channel.ended).toBe(1);
});

test('a message with too many values breaks the channel; one that is invalid is passed over', async () => {
  const channel = new Channel();
  const { answer } = asked(channel);
  channel.say('{"jsonrpc":"2.0","id":1}');
  expect(channel.ended).toBe(0);
  channel.say(`[${'0,'.repeat(MAX_VALUES)}0]`);
  expect(await refusal(answer)).toMatchObject({ message: expect.stringContaining('values') });
  expect(channel.ended).toBe(1);
});

describe('a large answer on a channel', () => {
  const MIB = 1024 * 1024;
  const large = (id: number, mib: number) => ({ id, result: { text: 'x'.repeat(mib * MIB) } });
  /** A channel of a key, and rations of the same key. */
  const opened = () => {
    const rations = new Rations();
    const newOne = () => rations.answer('key');
    const channel = new Channel({}, newOne);
    const call = () => {
      const [ration, cancel] = [newOne(), new AbortController()];
      const hooks = { signal: cancel.signal, ration, onNotification: () => {} };
      const answer = channel.request('tools/call', {}, hooks);
      answer.catch(() => {});
      return { answer, ration, cancel };
    };
    return { rations, channel, call };
  };

  test('counts for its call until that is answered, and the next one waits for room', async () => {
    const { rations, channel, call } = opened();
    const [first, second, third] = [call(), call(), call()];
    await channel.say(large(1, 10));
    await first.answer;
    expect([first.ration.isLarge, rations.held.answers > 10 * MIB]).toEqual([true, true]);
    const taken = channel.say(large(2, 10));
    expect(rations.held.answers).toBeLessThan(11 * MIB);
    first.ration.free();
    await taken;
    await second.answer;
    second.ration.free();
    expect(rations.held.answers).toBe(0);
    expect(channel.say(large(3, 0))).toBeNull();
    await third.answer;
    expect(third.ration.isLarge).toBe(false);
  });

  test('that waits for room: a call that ends meanwhile is told why, and it is then passed over', async () => {
    const { rations, channel, call } = opened();
    const [first, second] = [call(), call()];
    await channel.say(large(1, 10));
    await first.answer;
    const taken = channel.say(large(2, 10));
    second.cancel.abort();
    expect(await refusal(second.answer)).toBeInstanceOf(AnswersUnread);
    first.ration.free();
    await taken;
    expect(rations.held.answers).toBe(0);
  });

  test('that nobody waits for, or that is none, is given back', async () => {
    const { rations, channel } = opened();
    await channel.say(large(7, 1));
    await channel.say({ method: 'notifications/message', params: { data: 'x'.repeat(MIB) } });
    await channel.say('x'.repeat(MIB));
    expect(rations.held.answers).toBe(0);
  });

  test('that waits when the channel is closed is given back', async () => {
    const { rations, channel, call } = opened();
    const [first, second] = [call(), call()];
    await channel.say(large(1, 10));
    await first.answer;
    const taken = channel.say(large(2, 10));
    channel.close();
    await taken;
    expect(await refusal(second.answer)).toMatchObject({ message: 'the connection was closed' });
    first.ration.free();
    expect(rations.held.answers).toBe(0);
  });
});

describe('a channel that keys share', () => {
  const MIB = 1024 * 1024;
  const large = (id: number, mib: number) => ({ id, result: { text: 'x'.repeat(mib * MIB) } });
  const opened = () => {
    const rations = new Rations();
    let isShared = true;
    const channel = new Channel(
      {},
      () => rations.answerOfServer('server'),
      () => isShared,
    );
    const call = (key: string, params = {}) => {
      const [ration, cancel, told] = [rations.answer(key), new AbortController(), [] as string[]];
      const onNotification = ({ method }: { method: string }) => told.push(method);
      const answer = channel.request('tools/call', params, { signal: cancel.signal, ration, onNotification });
      answer.catch(() => {});
      return { answer, ration, cancel, told };
    };
    const unshare = () => {
      isShared = false;
    };
    return { rations, channel, call, unshare };
  };

  test('tells a call its progress only: a log message might be about a call of another key', () => {
    const { channel, call, unshare } = opened();
    const say = (method: string) => channel.say({ method, params: {} });
    const given = call('a');
    given.cancel.abort();
    const { told } = call('b');
    say('notifications/message');
    say('notifications/progress');
    expect(told).toEqual(['notifications/progress']);
    unshare();
    say('notifications/message');
    expect(told).toHaveLength(2);
  });

  test('is read on while a key has no room for its answers, of which one waits', async () => {
    const { rations, channel, call } = opened();
    const [first, second, third, other] = [call('a'), call('a'), call('a'), call('b')];
    await channel.say(large(1, 10));
    await first.answer;
    await channel.say(large(2, 10));
    await channel.say(large(3, 10));
    expect(await refusal(third.answer)).toBeInstanceOf(AnswersUnread);
    await channel.say(large(4, 10));
    expect((await other.answer).result).toMatchObject({ text: 'x'.repeat(10 * MIB) });
    expect(second.ration.bytes).toBeGreaterThan(10 * MIB);
    first.ration.free();
    await second.answer;
    // There is room again, so nothing of this key waits.
    second.ration.free();
    const fourth = call('a');
    await channel.say(large(5, 10));
    await fourth.answer;
    for (const each of [other, fourth]) each.ration.free();
    expect(rations.held.answers).toBe(0);
  });

  test('a call that is given up while its answer waits is told why, and gives everything back', async () => {
    const { rations, channel, call } = opened();
    const [first, second] = [call('a'), call('a')];
    await channel.say(large(1, 10));
    await first.answer;
    await channel.say(large(2, 10));
    second.cancel.abort();
    expect(await refusal(second.answer)).toBeInstanceOf(AnswersUnread);
    first.ration.free();
    second.ration.free();
    await settled();
    expect(rations.held.answers).toBe(0);
    const third = call('a');
    await channel.say(large(3, 10));
    expect((await third.answer).error).toBeNull();
  });

  test('is not broken by an answer that is too large: its call fails, others go on', async () => {
    const { channel, call } = opened();
    const values = `[${'0,'.repeat(MAX_VALUES)}0]`;
    const calls = [1, 2, 3].map(() => call('a'));
    const [first, last, odd] = calls;
    const other = call('b');
    await channel.say(`{"jsonrpc":"2.0","id":1,"result":${values}}`);
    await channel.say(`{"result":${values},"jsonrpc":"2.0","id":2}`);
    // An id within the result is not that of the answer.
    await channel.say(`{"error":null,"id":3,"result":{"of":${values},"id":4}}`);
    for (const each of [first, last]) expect(await refusal(each!.answer)).toBeInstanceOf(MessageTooLarge);
    channel.say({ id: 4, result: { n: 4 } });
    expect((await other.answer).result).toEqual({ n: 4 });
    channel.say({ id: 3, result: { n: 3 } });
    expect((await odd!.answer).result).toEqual({ n: 3 });
    expect(channel.ended).toBe(0);
  });

  test('takes messages of a key while another key has all that it may have untaken', async () => {
    const { channel, call } = opened();
    const taken = Promise.withResolvers<void>();
    channel.onWrite = () => taken.promise;
    const text = 'x'.repeat(9 * MIB);
    for (let n = 0; n < 2; n++) call('a', { text });
    expect(await refusal(call('a').answer)).toMatchObject({
      message: 'the upstream does not take what it was sent before',
    });
    const other = call('b');
    expect(channel.sent).toHaveLength(3);
    taken.resolve();
    channel.say({ id: 3, result: {} });
    await other.answer;
  });
});
