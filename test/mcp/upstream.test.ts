// One connection's life, without a network: opened once for all who wait, with pauses after failures, closed when idle,
// opened anew after it broke; and what ends a request, what is sent twice, and what is not sent at all.

import { describe, expect, test } from 'bun:test';
import { listAll } from '../../src/mcp/pages.ts';
import { cancelledBy } from '../../src/mcp/services.ts';
import { after } from '../../src/mcp/time-limit.ts';
import type { Upstream } from '../../src/mcp/upstream.ts';
import { HttpStatusError, UpstreamError } from '../../src/mcp/wire.ts';
import { refusal } from '../support/refusal.ts';
import { Channel, PLENTY, upstreamOn } from './channel.ts';

// biome-ignore lint/suspicious/noExplicitAny: a message is whatever was sent
type Any = any;

const asking = (more: object = {}) => ({ cancel: new AbortController(), timeoutMs: 60_000, ...more });
const call = (upstream: Upstream, more: object = {}, params: Any = { name: 'echo' }) =>
  upstream.request('tools/call', params, asking(more));
const message = async (promise: Promise<unknown>) => ((await refusal(promise)) as Error).message;
const ECHO = { 'tools/call': ({ params }: Any) => ({ result: { content: [], params } }) };
const never = () => new Promise<never>(() => {});
const settled = () => new Promise(resolve => setImmediate(resolve));

describe('a connection', () => {
  test('is opened once for all who wait, and says what it is and offers', async () => {
    let now = 1000;
    const { upstream, opened } = upstreamOn(() => new Channel(ECHO), { now: () => now });
    expect(upstream.health).toEqual({ state: 'idle', error: null, since: 1000 });
    expect([upstream.changes, upstream.offers('tools')]).toEqual([0, false]);
    now = 2000;
    const answers = await Promise.all([upstream.connect(), call(upstream), call(upstream)]);
    expect(answers[1].result).toEqual({ content: [], params: { name: 'echo' } });
    await upstream.connect();
    expect(opened).toHaveLength(1);
    expect(opened[0]?.listened).toBe(1);
    expect(opened[0]?.protocolVersion).toBe('2025-06-18');
    expect(opened[0]?.of('notifications/initialized')).toHaveLength(1);
    expect(upstream.health).toEqual({ state: 'ready', error: null, since: 2000 });
    expect([upstream.changes, upstream.offers('tools'), upstream.offers('prompts')]).toEqual([
      1,
      true,
      false,
    ]);
    upstream.close();
    expect([opened[0]?.ended, upstream.health.state]).toEqual([1, 'idle']);
    expect((await call(upstream)).error).toBeNull();
    expect(opened).toHaveLength(2);
  });

  test('that broke is said to be down, and is opened anew, which may have changed its tools', async () => {
    const { upstream, opened } = upstreamOn(() => new Channel(ECHO));
    await upstream.connect();
    opened[0]?.breaks('it is gone');
    expect(upstream.health).toMatchObject({ state: 'down', error: 'it is gone' });
    expect((await call(upstream)).error).toBeNull();
    expect([opened.length, upstream.changes, upstream.health.state]).toEqual([2, 2, 'ready']);
  });

  test('hears when tools changed, and nothing else', async () => {
    const { upstream, opened, changed } = upstreamOn(() => new Channel());
    await upstream.connect();
    opened[0]?.say({ method: 'notifications/resources/list_changed', params: {} });
    expect([upstream.changes, changed()]).toEqual([1, 0]);
    opened[0]?.say({ method: 'notifications/tools/list_changed', params: {} });
    expect([upstream.changes, changed()]).toEqual([2, 1]);
  });

  test('that is refused at its first words is ended, and the reason told', async () => {
    const error = { code: -32000, message: 'not today' };
    const { upstream, opened } = upstreamOn(() => new Channel({ initialize: () => ({ error }) }));
    expect(await message(upstream.connect())).toBe('the upstream refused to initialize: not today');
    expect([opened[0]?.ended, upstream.health.state]).toEqual([1, 'down']);
  });
});

describe('after a failure', () => {
  /** Fails until it is told not to; the clock stands still unless it is set. */
  function failing() {
    const at = { now: 1_000_000, works: false };
    const tries: number[] = [];
    const made = upstreamOn(
      () => {
        tries.push(at.now);
        if (!at.works) throw new UpstreamError(`try ${tries.length} failed`);
        return new Channel(ECHO);
      },
      { now: () => at.now },
    );
    return { ...made, at, tries };
  }

  test('there are growing pauses, in which it is not tried and the last failure is told', async () => {
    const { upstream, at, tries } = failing();
    for (const [round, pause] of [1000, 2000, 5000, 10_000, 30_000, 60_000, 60_000, 60_000].entries()) {
      const failure = `try ${round + 1} failed`;
      expect(await message(call(upstream))).toBe(failure);
      expect(upstream.health.error).toBe(`${failure}; restarts again in ${pause / 1000} s`);
      at.now += pause - 1;
      const pausing = `${failure}; restarts again in 1 s`;
      expect(await message(call(upstream))).toBe(pausing);
      expect(upstream.health).toMatchObject({ state: 'down', error: pausing });
      expect(tries).toHaveLength(round + 1);
      at.now += 1;
    }
    at.works = true;
    await upstream.connect();
    at.works = false;
    upstream.close();
    // It has worked since: the pauses begin anew.
    expect(await message(call(upstream))).toBe('try 10 failed');
    at.now += 1000;
    expect(await message(call(upstream))).toBe('try 11 failed');
  });

  test('a command that ends soon after each start has them too, but for the first; one that lasted has none', async () => {
    const { upstream, opened, at } = failing();
    at.works = true;
    for (const pause of [0, 1000, 2000, 5000, 10_000, 30_000, 60_000, 60_000]) {
      await upstream.connect();
      const starts = opened.length;
      at.now += 9999;
      opened.at(-1)?.breaks('it ended');
      if (pause > 0) {
        at.now += pause - 1;
        expect(await message(call(upstream))).toBe('it ended; restarts again in 1 s');
        at.now += 1;
      }
      expect(upstream.health).toMatchObject({ state: 'down', error: 'it ended' });
      expect(opened).toHaveLength(starts);
    }
    await upstream.connect();
    at.now += 10_000;
    opened.at(-1)?.breaks('it ended');
    expect((await call(upstream)).error).toBeNull();
  });

  test('a server on the network that hangs up is reached at once, and says nothing of a restart', async () => {
    const older = { ...ECHO, 'server/discover': () => ({ error: { code: -32601, message: 'unknown' } }) };
    const { upstream, opened } = upstreamOn(() => new Channel(older), { transport: 'http', now: () => 0 });
    for (let times = 0; times < 3; times++) {
      await upstream.connect();
      opened.at(-1)?.breaks('it hung up');
      expect(upstream.health).toMatchObject({ state: 'down', error: 'it hung up' });
    }
    expect((await call(upstream)).error).toBeNull();
  });

  test('an operator need not wait for the pause', async () => {
    const { upstream, at, tries } = failing();
    await refusal(upstream.connect());
    at.works = true;
    upstream.retryNow();
    await upstream.connect();
    expect(tries).toHaveLength(2);
  });

  test('what is no message for people is not told', async () => {
    const { upstream } = upstreamOn(() => {
      throw new Error('at line 3');
    });
    expect(await message(upstream.connect())).toBe('the upstream failed');
  });
});

describe('what is closed', () => {
  test('when idle, was not used since, has nothing under way and is not being opened', async () => {
    let now = 1000;
    const opening = Promise.withResolvers<Channel>();
    const { upstream, opened } = upstreamOn(() => opening.promise, { now: () => now });
    expect([upstream.closeIfIdle(1000), upstream.closeIfIdle(1001)]).toEqual([false, true]);
    const connecting = upstream.connect();
    expect(upstream.closeIfIdle(5000)).toBe(false);
    opening.resolve(new Channel());
    await connecting;
    now = 2000;
    const called = call(upstream);
    await settled();
    now = 3000;
    expect(upstream.closeIfIdle(9000)).toBe(false);
    opened[0]?.say({ id: opened[0].of('tools/call')[0].id, result: {} });
    await called;
    expect(upstream.closeIfIdle(3000)).toBe(false);
    expect([upstream.health.state, opened[0]?.ended]).toEqual(['ready', 0]);
    expect(upstream.closeIfIdle(3001)).toBe(true);
    expect([upstream.health.state, opened[0]?.ended]).toEqual(['idle', 1]);
  });

  test('when idle, keeps what is known of one that is down', async () => {
    const { upstream, opened } = upstreamOn(() => new Channel(), { now: () => 1000 });
    await upstream.connect();
    opened[0]?.breaks('it is gone');
    expect(upstream.closeIfIdle(2000)).toBe(true);
    expect(upstream.health).toMatchObject({ state: 'down', error: 'it is gone' });
  });

  test('while it is opened is no failure: the next call opens it at once', async () => {
    const { upstream, opened } = upstreamOn(
      () => new Channel(opened.length === 0 ? { initialize: () => undefined } : ECHO),
      { now: () => 1000 },
    );
    const connecting = upstream.connect();
    await settled();
    upstream.close();
    expect(await message(connecting)).toBe('the connection was closed');
    expect([opened[0]?.ended, upstream.health.state]).toEqual([1, 'idle']);
    expect((await call(upstream)).error).toBeNull();
  });
});

describe('a connection that is closed at the last words of its opening', () => {
  test('is not kept', async () => {
    const { upstream, opened } = upstreamOn(() => {
      const channel = new Channel();
      channel.onWrite = text => {
        if (text.includes('notifications/initialized')) upstream.close();
      };
      return channel;
    });
    expect(await message(upstream.connect())).toBe('the connection was closed');
    expect([opened[0]?.ended, upstream.health.state, upstream.changes]).toEqual([1, 'idle', 0]);
  });
});

describe('a request', () => {
  /** Refuses its first requests, saying whether it saw them. */
  class Forgetful extends Channel {
    asked = 0;
    readonly #error: Error;
    constructor(error: Error) {
      super(ECHO);
      this.#error = error;
    }
    override request(...[method, params, hooks]: Parameters<Channel['request']>) {
      if (method === 'initialize') return super.request(method, params, hooks);
      this.asked++;
      return Promise.reject(this.#error);
    }
  }
  const unsent = new UpstreamError('it forgot us', { unsent: true });

  test('that surely was not seen is sent once more, on a new connection', async () => {
    const first = new Forgetful(unsent);
    const states: string[] = [];
    const { upstream, opened } = upstreamOn(() => {
      states.push(upstream.health.state);
      return opened.length === 0 ? first : new Channel(ECHO);
    });
    expect((await call(upstream)).error).toBeNull();
    // What we let go ourselves has not broken down.
    expect(states).toEqual(['idle', 'ready']);
    expect([first.asked, first.ended, opened.length]).toEqual([1, 1, 2]);
    const again = upstreamOn(() => new Forgetful(unsent));
    expect(await message(call(again.upstream))).toBe('it forgot us');
    expect(again.opened).toHaveLength(2);
  });

  test('that may have been seen, or that nobody wants any more, is not', async () => {
    for (const [error, told] of [
      [new UpstreamError('it broke'), 'it broke'],
      [new Error('at line 3'), 'the upstream failed'],
    ] as const) {
      const { upstream, opened } = upstreamOn(() => new Forgetful(error));
      expect(await message(call(upstream))).toBe(told);
      expect(opened).toHaveLength(1);
    }
    const { upstream, opened } = upstreamOn(() => new Forgetful(unsent));
    await upstream.connect();
    const cancel = new AbortController();
    const asked = call(upstream, { cancel });
    cancel.abort();
    expect(await message(asked)).toBe('the call was cancelled');
    expect(opened).toHaveLength(1);
  });

  test('is sent only if the count of changes is the one it was checked with', async () => {
    const { upstream, opened } = upstreamOn(() => new Channel(ECHO));
    await upstream.connect();
    for (const changes of [1, null, undefined]) expect((await call(upstream, { changes })).error).toBeNull();
    opened[0]?.say({ method: 'notifications/tools/list_changed', params: {} });
    expect(await message(call(upstream, { changes: 1 }))).toContain('so it was not sent: call again');
    expect(opened[0]?.of('tools/call')).toHaveLength(3);
    expect((await call(upstream, { changes: 2 })).error).toBeNull();
  });

  test('is held back at the last moment, once the upstream is connected, also when it is sent once more', async () => {
    const first = new Forgetful(unsent);
    const { upstream, opened } = upstreamOn(() => (opened.length === 0 ? first : new Channel(ECHO)));
    const connected: string[] = [];
    const beforeSent = async () => {
      connected.push(upstream.health.state);
      if (connected.length === 2) throw new Error('not any more');
    };
    expect(await message(call(upstream, { beforeSent }))).toBe('not any more');
    expect(connected).toEqual(['ready', 'ready']);
    expect([first.asked, opened.length, opened[1]?.of('tools/call').length]).toEqual([1, 2, 0]);
    expect((await call(upstream, { beforeSent })).error).toBeNull();
  });

  test('that is cancelled while the connection is opened ends at once', async () => {
    const { upstream } = upstreamOn(never);
    const cancel = new AbortController();
    const asked = call(upstream, { cancel });
    const reached = upstream.reach(cancel.signal);
    cancel.abort();
    expect(await message(asked)).toBe('the call was cancelled');
    expect(await message(reached)).toBe('the call was cancelled');
  });

  test('to a command that is starting is told for how long it has been', async () => {
    let now = 1000;
    const limits = { ...PLENTY, patienceMs: 20 };
    const { upstream } = upstreamOn(never, { limits, now: () => now });
    const asked = call(upstream);
    now = 4400;
    expect(await message(asked)).toContain(
      'it has taken 3 s of the 60 s that TOOLGATE_UPSTREAM_START gives it',
    );
    expect(await message(upstream.reach(new AbortController().signal, 1))).toContain('it has taken 3 s');
  });

  test('hands on what is said of it', async () => {
    const { upstream, opened } = upstreamOn(() => new Channel());
    const heard: string[] = [];
    const asked = call(upstream, { onNotification: ({ method }: Any) => heard.push(method) });
    await settled();
    opened[0]?.say({ method: 'notifications/message', params: {} });
    opened[0]?.say({ id: opened[0].of('tools/call')[0].id, result: {} });
    await asked;
    expect(heard).toEqual(['notifications/message']);
  });
});

describe('of the newer era', () => {
  const discovered = (versions: unknown) => ({
    'server/discover': () => ({ result: { supportedVersions: versions, capabilities: { prompts: {} } } }),
  });

  test('every request carries its envelope, and no stream is opened', async () => {
    const { upstream, opened } = upstreamOn(() => new Channel({ ...ECHO, ...discovered(['2026-07-28']) }), {
      transport: 'http',
    });
    await call(upstream, { capabilities: { sampling: {} } }, { name: 'echo', _meta: { theirs: 1 } });
    const [{ params }] = opened[0]?.of('tools/call') ?? [];
    expect(params._meta).toMatchObject({
      theirs: 1,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
    });
    expect([opened[0]?.listened, opened[0]?.protocolVersion]).toEqual([0, '2026-07-28']);
    expect([upstream.offers('prompts'), upstream.offers('tools')]).toEqual([true, false]);
    expect(opened[0]?.of('initialize')).toEqual([]);
  });

  test('an upstream that does not know it is initialized', async () => {
    const error = { code: -32601, message: 'Method not found' };
    for (const first of [
      discovered(['2099-01-01']),
      discovered('2026-07-28'),
      { 'server/discover': () => ({ error }) },
    ]) {
      const { upstream, opened } = upstreamOn(() => new Channel({ ...ECHO, ...first }), {
        transport: 'http',
      });
      await call(upstream);
      expect(opened[0]?.sent.map(each => each.method)).toEqual([
        'server/discover',
        'initialize',
        'notifications/initialized',
        'tools/call',
      ]);
      expect(opened[0]?.of('tools/call')[0].params).toEqual({ name: 'echo' });
      expect(opened[0]?.listened).toBe(1);
    }
  });

  /** Fails at the question which era it speaks. */
  class Undiscovered extends Channel {
    readonly #error: Error;
    constructor(error: Error) {
      super(ECHO);
      this.#error = error;
    }
    override request(...[method, params, hooks]: Parameters<Channel['request']>) {
      if (method === 'server/discover') return Promise.reject(this.#error);
      return super.request(method, params, hooks);
    }
  }

  test('an upstream that answers with another HTTP status is initialized, one that does not answer is not', async () => {
    const on = (error: UpstreamError) => upstreamOn(() => new Undiscovered(error), { transport: 'http' });
    const older = on(new HttpStatusError(405));
    expect((await call(older.upstream)).error).toBeNull();
    const away = on(new UpstreamError('the upstream cannot be reached'));
    expect(await message(call(away.upstream))).toBe('the upstream cannot be reached');
    expect(away.opened[0]?.sent).toEqual([]);
  });

  test('one that gives no version is spoken to in our newest of the older ones', async () => {
    const { upstream, opened } = upstreamOn(() => new Channel({ initialize: () => ({ result: {} }) }));
    await upstream.connect();
    expect(opened[0]?.protocolVersion).toBe('2025-11-25');
    expect(opened[0]?.of('server/discover')).toEqual([]);
    expect(upstream.offers('tools')).toBe(false);
  });
});

describe('the limits of a request', () => {
  const PROGRESS = 'notifications/progress';
  /** Says something every 20 ms, of which none runs later than a limit that is longer. */
  function chatting(params: object, rounds: number) {
    const { upstream, opened } = upstreamOn(
      () =>
        new Channel({
          'tools/call': ({ id }) => {
            const say = (left: number) => {
              opened[0]?.say(left === 0 ? { id, result: {} } : { method: PROGRESS, params });
              if (left > 0) setTimeout(say, 20, left - 1);
            };
            say(rounds);
          },
        }),
    );
    return upstream;
  }
  const mine = { name: 'echo', _meta: { progressToken: 'mine' } };
  const limits = { timeoutMs: 150, maxMs: 60_000 };

  test('progress of its own is a sign of life', async () => {
    expect((await call(chatting({ progressToken: 'mine' }, 15), limits, mine)).error).toBeNull();
  });

  test('progress of another is none', async () => {
    const told = 'the upstream did not answer within 0.15 s';
    expect(await message(call(chatting({ progressToken: 'other' }, 200), limits, mine))).toBe(told);
    expect(await message(call(chatting({}, 200), limits))).toBe(told);
  });

  test('after progress it may not be silent for longer either, and not go on for ever', async () => {
    const answers = { 'tools/call': () => undefined };
    const { upstream, opened } = upstreamOn(() => new Channel(answers));
    const asked = call(upstream, { timeoutMs: 50, maxMs: 60_000 }, mine);
    await settled();
    opened[0]?.say({ method: PROGRESS, params: { progressToken: 'mine' } });
    expect(await message(asked)).toBe('the upstream did not answer within 0.05 s');
    const endless = chatting({ progressToken: 'mine' }, 1000);
    expect(await message(call(endless, { timeoutMs: 60_000, maxMs: 100 }, mine))).toBe(
      'the upstream did not finish within 0.1 s, whatever progress it reported',
    );
  });

  test('one that was answered has none left', async () => {
    const cancel = new AbortController();
    await call(upstreamOn(() => new Channel(ECHO)).upstream, { cancel, timeoutMs: 20, maxMs: 20 });
    await Bun.sleep(40);
    expect(cancel.signal.aborted).toBe(false);
  });

  test('a limit of many weeks does not end it at once', async () => {
    const ended: string[] = [];
    const timers = [2 ** 31 - 1, 2 ** 31, 2 ** 40].map(ms => after(ms, () => ended.push('weeks')));
    await new Promise(resolve => after(10, () => resolve(null)));
    for (const timer of timers) clearTimeout(timer);
    expect(ended).toEqual([]);
  });
});

test('who cancels is heard, before and after', () => {
  const signal = new AbortController();
  const later = cancelledBy(signal.signal);
  expect(later.signal.aborted).toBe(false);
  signal.abort();
  expect(later.signal.aborted).toBe(true);
  expect(cancelledBy(signal.signal).signal.aborted).toBe(true);
});

describe('a list in pages', () => {
  /** What the pages say; each but the last names the next. */
  const listing = (pages: Any[]) => {
    const { upstream, opened } = upstreamOn(
      () =>
        new Channel({
          'tools/list': ({ params: { cursor = '0' } }) => {
            const next = Number(cursor) + 1;
            return {
              result: { tools: pages[Number(cursor)], ...(next < pages.length && { nextCursor: `${next}` }) },
            };
          },
        }),
    );
    const listed = listAll(upstream, 'tools/list', 'tools', asking());
    return { list: listed.then(({ items }) => items), opened };
  };
  const some = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `n${n}` }));

  test('is read to its end, without what is no item', async () => {
    expect(await listing([[{ name: 'a' }, 7, null], undefined, [{ name: 'b' }]]).list).toEqual([
      { name: 'a' },
      { name: 'b' },
    ]);
  });

  test('of a hundred pages is taken, of more is not, and not asked for', async () => {
    expect(await listing(some(100).map(each => [each])).list).toHaveLength(100);
    const { list, opened } = listing(some(101).map(each => [each]));
    expect(await message(list)).toContain('more than 100 pages');
    expect(opened[0]?.of('tools/list')).toHaveLength(100);
  });

  test('of 2000 items is taken, of more is not', async () => {
    expect(await listing([some(1000), some(1000)]).list).toHaveLength(2000);
    expect(await message(listing([some(1000), some(1001)]).list)).toContain('more than 2000 items');
  });

  test('of 4 MiB in all is taken, of more is not', async () => {
    const half = 2 * 1024 * 1024;
    const of = (length: number, next: boolean) => {
      const frame = JSON.stringify({ tools: [{ name: '' }], ...(next && { nextCursor: '1' }) }).length;
      return [{ name: 'x'.repeat(length - frame) }];
    };
    expect(await listing([of(half, true), of(half, false)]).list).toHaveLength(2);
    expect(await message(listing([of(half, true), of(half + 1, false)]).list)).toContain('more than 4 MiB');
  });

  test('that is refused says why', async () => {
    const error = { code: -32000, message: 'not today' };
    const { upstream } = upstreamOn(() => new Channel({ 'tools/list': () => ({ error }) }));
    const list = listAll(upstream, 'tools/list', 'tools', asking());
    expect(await message(list)).toBe('the upstream refused tools/list: not today');
  });
});
