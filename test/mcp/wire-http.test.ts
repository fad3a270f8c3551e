// Streamable HTTP on the wire: which answer counts, what is said to have been unseen, which headers go along, and what
// an upstream is told when a call is cancelled or the connection closed.

import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';
import { createServer } from 'node:net';
import { Listening } from '../../src/mcp/listening.ts';
import { MAX_MESSAGE_BYTES } from '../../src/mcp/wire.ts';
import { HttpWire } from '../../src/mcp/wire-http.ts';
import { until } from '../support/faults.ts';
import { raw, streamed } from '../support/mcp.ts';
import { refusal } from '../support/refusal.ts';
import { newRation } from './channel.ts';

// biome-ignore lint/suspicious/noExplicitAny: a message is whatever was sent
type Any = any;

interface Heard {
  method: string;
  headers: Headers;
  body: Any;
}

const heard: Heard[] = [];
let answer: (message: Any, request: Request) => Response | Promise<Response>;
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const text = await request.text();
    const body = text === '' ? null : JSON.parse(text);
    heard.push({ method: request.method, headers: request.headers, body });
    return answer(body, request);
  },
});
afterAll(() => server.stop(true));
const usual = (message: Any) =>
  message?.id === undefined
    ? new Response(null, { status: 202 })
    : Response.json({ jsonrpc: '2.0', id: message.id, result: {} });
beforeEach(() => {
  heard.length = 0;
  answer = usual;
});

const target = (url = server.url.href) => ({
  url,
  headers: { 'X-Own': 'ours' },
  rules: { allowPrivate: true },
});
const hooks = (signal = new AbortController().signal, onNotification: (each: Any) => void = () => {}) => ({
  signal,
  ration: newRation(),
  onNotification,
});
const ask = (wire: HttpWire, given = hooks()) => wire.request('tools/list', {}, given);
const initialized = async (session = 's') => {
  const wire = new HttpWire(target());
  answer = ({ id }) =>
    Response.json({ jsonrpc: '2.0', id, result: {} }, { headers: { 'Mcp-Session-Id': session } });
  await wire.request('initialize', {}, hooks());
  answer = usual;
  return wire;
};

describe('an answer as JSON', () => {
  const OURS = { jsonrpc: '2.0', id: 1, result: { tools: [] } };
  const told: [name: string, status: number, body: Any, expected: object][] = [
    ['of our id', 200, OURS, { result: { tools: [] } }],
    ['of our id with another status', 500, OURS, { result: { tools: [] } }],
    [
      'of our id that speaks of a session',
      200,
      { ...OURS, result: { session: 1 } },
      { result: { session: 1 } },
    ],
    [
      'an error without an id',
      400,
      { jsonrpc: '2.0', id: null, error: { code: -1, message: 'no' } },
      { error: {} },
    ],
  ];
  for (const [name, status, body, expected] of told) {
    test(`${name} counts`, async () => {
      answer = () => Response.json(body, { status });
      expect(await ask(new HttpWire(target()))).toMatchObject(expected);
    });
  }

  const NO_ANSWER = 'the upstream sent no answer to the request';
  const refused: [name: string, status: number, body: Any, message: string][] = [
    ['of another id', 200, { ...OURS, id: 2 }, NO_ANSWER],
    ['of our id as a text', 200, { ...OURS, id: '1' }, NO_ANSWER],
    ['an error of another id', 200, { jsonrpc: '2.0', id: 2, error: { code: -1, message: 'no' } }, NO_ANSWER],
    ['a request', 200, { jsonrpc: '2.0', id: 1, method: 'roots/list' }, NO_ANSWER],
    ['no message', 200, { hello: 1 }, NO_ANSWER],
    ['no message, with a status', 502, { hello: 1 }, 'the upstream answered with HTTP status 502'],
    ['no session known', 404, { hello: 1 }, 'the upstream answered with HTTP status 404'],
  ];
  for (const [name, status, body, message] of refused) {
    test(`${name} does not`, async () => {
      answer = () => Response.json(body, { status });
      expect(await refusal(ask(new HttpWire(target())))).toMatchObject({ message, unsent: false });
    });
  }

  test('of 16 MiB is taken, and not one byte more', async () => {
    const padded = (length: number) => {
      const text = JSON.stringify(OURS);
      return new Response(text + ' '.repeat(length - text.length), {
        headers: { 'Content-Type': 'application/json' },
      });
    };
    answer = () => padded(MAX_MESSAGE_BYTES);
    expect((await ask(new HttpWire(target()))).result).toEqual({ tools: [] });
    answer = () => padded(MAX_MESSAGE_BYTES + 1);
    expect(await refusal(ask(new HttpWire(target())))).toMatchObject({
      message: 'the upstream sent an answer that is too large',
    });
  });
});

describe('an answer as a stream', () => {
  test('comes after what is said before it; what the upstream asks is declined', async () => {
    const wire = new HttpWire(target());
    const told: string[] = [];
    answer = ({ id, error }) =>
      error === undefined
        ? streamed(async send => {
            send({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
            send({ jsonrpc: '2.0', id: 'theirs', method: 'roots/list' });
            send({ jsonrpc: '2.0', id: 99, result: { foreign: true } });
            send({ jsonrpc: '2.0', id, result: { own: true } });
          })
        : new Response(null, { status: 202 });
    const given = hooks(undefined, ({ method }) => told.push(method));
    expect((await ask(wire, given)).result).toEqual({ own: true });
    expect(told).toEqual(['notifications/message']);
    expect(heard.slice(1).map(each => each.body)).toEqual([
      { jsonrpc: '2.0', id: 'theirs', error: { code: -32601, message: expect.any(String) } },
    ]);
  });

  test('that ends without one is a failure, also where nothing was said', async () => {
    const message = 'the upstream closed its stream without an answer';
    for (const said of ['', ': nothing\n\n']) {
      answer = () => raw('text/event-stream', write => write(said));
      expect(await refusal(ask(new HttpWire(target())))).toMatchObject({ message, unsent: false });
    }
  });
});

describe('was surely not seen', () => {
  const UNSEEN: [status: number, text: string, unsent: boolean][] = [
    [404, 'Not found', true],
    [400, 'Bad Request', false],
    [500, 'the session store is down', false],
    [403, 'session', false],
  ];
  for (const [status, text, unsent] of UNSEEN) {
    test(`${status} "${text}" in a session: ${unsent}`, async () => {
      const wire = await initialized();
      answer = () => new Response(text, { status });
      expect(await refusal(ask(wire))).toMatchObject({
        message: `the upstream answered with HTTP status ${status}`,
        unsent,
      });
    });
  }

  test('400 that speaks of a session: false; the wire is given up, and ends no call under way', async () => {
    const wire = await initialized();
    const slow = Promise.withResolvers<void>();
    answer = async ({ id }) => {
      await slow.promise;
      return Response.json({ jsonrpc: '2.0', id, result: { n: 1 } });
    };
    const underWay = ask(wire);
    await until('it arrived', () => heard.length === 2);
    const reasons: string[] = [];
    wire.onClosed = reason => reasons.push(reason);
    answer = () => new Response('Bad Request: no valid Session', { status: 400 });
    const refused = await refusal(ask(wire));
    expect(refused).toMatchObject({ message: expect.stringContaining('HTTP status 400'), unsent: false });
    expect(reasons).toEqual([(refused as Error).message]);
    slow.resolve();
    expect((await underWay).result).toEqual({ n: 1 });
    expect(heard.map(each => each.method)).not.toContain('DELETE');
  });

  test('by nobody who listens: true; by one that hangs up: false', async () => {
    const hangsUp = createServer(socket => socket.once('data', () => socket.destroy()));
    const { promise, resolve } = Promise.withResolvers<void>();
    hangsUp.listen(0, '127.0.0.1', resolve);
    await promise;
    const url = `http://127.0.0.1:${(hangsUp.address() as { port: number }).port}/`;
    const message = 'the upstream cannot be reached';
    expect(await refusal(ask(new HttpWire(target(url))))).toMatchObject({ message, unsent: false });
    await new Promise(done => hangsUp.close(done));
    expect(await refusal(ask(new HttpWire(target(url))))).toMatchObject({ message, unsent: true });
  });
});

test('headers say the session and the version, once they are known, and the type where there is a body', async () => {
  const wire = await initialized();
  wire.protocolVersion = '2025-06-18';
  await ask(wire);
  await wire.notify('notifications/initialized', {});
  wire.close();
  await until('it was closed', () => heard.length === 4);
  const told = heard.map(({ method, headers }) => [
    method,
    ...['x-own', 'mcp-session-id', 'mcp-protocol-version', 'content-type'].map(name => headers.get(name)),
  ]);
  expect(told).toEqual([
    ['POST', 'ours', null, null, 'application/json'],
    ['POST', 'ours', 's', '2025-06-18', 'application/json'],
    ['POST', 'ours', 's', '2025-06-18', 'application/json'],
    ['DELETE', 'ours', 's', '2025-06-18', null],
  ]);
  expect(heard.map(each => each.body?.id)).toEqual([1, 2, undefined, undefined]);
});

test('a session may be called null', async () => {
  const wire = await initialized('null');
  await ask(wire);
  expect(heard.at(-1)?.headers.get('mcp-session-id')).toBe('null');
});

test('what has no session is closed without a word', async () => {
  const wire = new HttpWire(target());
  await ask(wire);
  wire.close();
  await ask(wire);
  expect(heard.map(each => each.method)).toEqual(['POST', 'POST']);
});

describe('a cancelled call', () => {
  /** What the upstream was told after a call was cancelled, and another made. */
  async function toldOf(version: string | null): Promise<Any[]> {
    const wire = new HttpWire(target());
    wire.protocolVersion = version;
    const cancel = new AbortController();
    answer = () => new Promise<Response>(() => {});
    const asked = refusal(ask(wire, hooks(cancel.signal)));
    await until('it arrived', () => heard.length === 1);
    cancel.abort();
    await asked;
    answer = usual;
    if (version === '2025-06-18') await until('it was told', () => heard.length === 2);
    await ask(wire);
    return heard.slice(1).map(each => each.body);
  }

  test('of the older era is told to the upstream, one of the newer era or before any is not', async () => {
    expect(await toldOf('2025-06-18')).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: 1 } },
      { method: 'tools/list' },
    ]);
    for (const version of ['2026-07-28', null]) {
      heard.length = 0;
      expect(await toldOf(version)).toMatchObject([{ method: 'tools/list' }]);
    }
  });

  test('one that failed by itself is not', async () => {
    const wire = new HttpWire(target());
    wire.protocolVersion = '2025-06-18';
    answer = () => new Response('no', { status: 500 });
    await refusal(ask(wire));
    await refusal(ask(wire));
    expect(heard.map(each => each.body.method)).toEqual(['tools/list', 'tools/list']);
  });
});

describe('the stream for what is said unasked', () => {
  /** Opens as it is told, and counts. */
  function listening(response: (signal: AbortSignal) => Response) {
    const state = { opened: 0, told: [] as string[] };
    const stream = new Listening(
      async signal => {
        state.opened++;
        return response(signal);
      },
      ({ method }) => state.told.push(method),
    );
    return Object.assign(state, { stream, ended: stream.run() });
  }
  /** Is open until it is stopped, as a connection is. */
  const open = (signal: AbortSignal) => {
    const start = (stream: ReadableStreamDefaultController) =>
      signal.addEventListener('abort', () => stream.error(signal.reason));
    return new Response(new ReadableStream({ start }));
  };

  test('is done without where the upstream offers none', async () => {
    for (const status of [404, 405, 499]) {
      const { ended, stream } = listening(() => new Response(null, { status }));
      await ended;
      stream.stop();
    }
  });

  test('hears notifications, and is opened again after it ended or failed', async () => {
    let tries = 0;
    const says = (message: Any) => streamed(send => send({ jsonrpc: '2.0', ...message }));
    const heard = listening(() => {
      tries++;
      if (tries === 1) return new Response(null, { status: 500 });
      return says({ method: 'notifications/tools/list_changed', params: {} });
    });
    await until('it was heard', () => heard.told.length === 1);
    expect(heard.opened).toBe(2);
    heard.stream.stop();
    await heard.ended;
  });

  test('ends as soon as it is stopped, also in the pause before the next try', async () => {
    const paused = listening(() => new Response(null, { status: 503 }));
    await until('it was tried', () => paused.opened === 1);
    paused.stream.stop();
    await paused.ended;
    expect(paused.opened).toBe(1);
  });

  describe('with time in the test’s hands', () => {
    afterEach(() => {
      jest.useRealTimers();
    });

    test('is tried again after growing pauses, and after a short one again once it has lasted', async () => {
      jest.useFakeTimers();
      // The clock begins at its zero, at which no time is long ago.
      jest.advanceTimersByTime(1_000_000);
      let end: (() => void) | null = null;
      let lasts = false;
      const lasting = () =>
        new Response(
          new ReadableStream({
            start: each => {
              end = () => each.close();
            },
          }),
        );
      const heard = listening(() => (lasts ? lasting() : new Response(null, { status: 503 })));
      const passes = async (ms: number) => {
        jest.advanceTimersByTime(ms);
        for (let turn = 0; turn < 100; turn++) await null;
      };
      await passes(0);
      for (const [tried, pause] of [1000, 5000, 15_000, 60_000, 60_000].entries()) {
        await passes(pause - 1);
        expect([pause, heard.opened]).toEqual([pause, tried + 1]);
        lasts = tried === 4;
        await passes(1);
        expect([pause, heard.opened]).toEqual([pause, tried + 2]);
      }
      await passes(60_001);
      lasts = false;
      (end as (() => void) | null)?.();
      await passes(0);
      expect(heard.opened).toBe(6);
      await passes(1000);
      expect(heard.opened).toBe(7);
      heard.stream.stop();
      await heard.ended;
    });
  });

  test('is kept for 256 upstreams of a process, and no more', async () => {
    const many = Array.from({ length: 257 }, () => listening(open));
    const opened = () => many.reduce((sum, each) => sum + each.opened, 0);
    // Streams that another test has just let go may still be counted.
    await until('they are open', () => opened() >= 256);
    expect(opened()).toBe(256);
    for (const { stream } of many) stream.stop();
    await Promise.all(many.map(each => each.ended));
    const next = listening(open);
    await until('there is a place again', () => next.opened === 1);
    next.stream.stop();
    await next.ended;
  });
});
