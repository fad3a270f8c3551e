// The older HTTP transport on the wire: what it takes to be opened, what breaks it, and that nothing is held open at the
// upstream after that.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { SseWire } from '../../src/mcp/wire-sse.ts';
import { until } from '../support/faults.ts';
import { raw } from '../support/mcp.ts';
import { refusal } from '../support/refusal.ts';
import { newRation } from './channel.ts';

type Write = (text: string) => void;

/** Requests that came to the upstream, and those of them that we have given up. */
const came = { GET: 0, POST: 0 };
let keys: (string | null)[] = [];
const gone = { GET: 0, POST: 0 };
let stream: (write: Write) => Promise<void> | void;
let opening: () => Response;
let taken: () => Response;
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: request => {
    const method = request.method as keyof typeof came;
    came[method]++;
    keys.push(request.headers.get('idempotency-key'));
    request.signal.addEventListener('abort', () => gone[method]++);
    return method === 'GET' ? opening() : taken();
  },
});
afterAll(() => server.stop(true));

const NAMED = 'event: endpoint\ndata: /messages\n\n';
const never = () => new Promise<void>(() => {});
const endless = (status: number) =>
  new Response(
    raw('text/plain', write => {
      write('and so on');
      return never();
    }).body,
    { status },
  );
beforeEach(() => {
  for (const each of [came, gone]) Object.assign(each, { GET: 0, POST: 0 });
  keys = [];
  opening = () => raw('text/event-stream', stream);
  taken = () => new Response(null, { status: 202 });
  stream = write => {
    write(NAMED);
    return never();
  };
});

const opened = (signal = new AbortController().signal, url = server.url.href) =>
  SseWire.open({ url, headers: {}, rules: { allowPrivate: true } }, signal, newRation);
/** One whose upstream says on its stream what the test says. */
async function speaking(): Promise<{ wire: SseWire; say: Write }> {
  let say: Write = () => {};
  stream = write => {
    say = write;
    write(NAMED);
    return never();
  };
  return { wire: await opened(), say };
}
const ask = (wire: SseWire) =>
  wire.request(
    'tools/call',
    {},
    {
      signal: new AbortController().signal,
      ration: newRation(),
      onNotification: () => {},
    },
  );

test('a call carries its key if the server takes one, and nothing else does', async () => {
  const { signal } = new AbortController();
  for (const namesCalls of [false, true]) {
    const target = { url: server.url.href, headers: {}, rules: { allowPrivate: true }, namesCalls };
    const wire = await SseWire.open(target, signal, newRation);
    const hooks = { signal, ration: newRation(), onNotification: () => {} };
    const answers = [
      wire.request('tools/list', {}, hooks),
      wire.request('tools/call', {}, { ...hooks, callKey: () => 'the-key' }),
    ];
    await until('both arrived', () => came.POST === 2);
    wire.close();
    await Promise.allSettled(answers);
    expect(keys).toEqual([null, null, namesCalls ? 'the-key' : null]);
    [keys, came.POST] = [[], 0];
  }
});

test('one that is closed holds no stream', async () => {
  const wire = await opened();
  const answer = ask(wire);
  await until('the call arrived', () => came.POST === 1);
  wire.close();
  expect(await refusal(answer)).toMatchObject({ message: 'the connection was closed' });
  await until('it is gone', () => gone.GET === 1);
});

describe('one that is not opened', () => {
  test('in time says so, and holds no stream', async () => {
    const arrived = Promise.withResolvers<void>();
    stream = () => {
      arrived.resolve();
      return never();
    };
    const late = new AbortController();
    const refused = refusal(opened(late.signal));
    await arrived.promise;
    late.abort();
    expect(await refused).toMatchObject({ message: 'the upstream did not answer in time', unsent: true });
    await until('it is gone', () => gone.GET === 1);
  });

  test('because of its status says which, and holds nothing', async () => {
    opening = () => endless(404);
    expect(await refusal(opened())).toMatchObject({
      message: 'the upstream answered with HTTP status 404',
      unsent: true,
    });
    await until('it is gone', () => gone.GET === 1);
  });

  test('because nobody listens says that', async () => {
    const away = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
    const url = away.url.href;
    await away.stop(true);
    expect(await refusal(opened(undefined, url))).toMatchObject({
      message: 'the upstream cannot be reached',
      unsent: true,
    });
  });
});

describe('callers that wait get an error', () => {
  test('that the stream has ended', async () => {
    const ending = Promise.withResolvers<void>();
    stream = write => {
      write(NAMED);
      return ending.promise;
    };
    const wire = await opened();
    const reasons: string[] = [];
    wire.onClosed = reason => reasons.push(reason);
    const answer = ask(wire);
    ending.resolve();
    const message = 'the upstream closed its stream';
    expect(await refusal(answer)).toMatchObject({ message });
    expect(reasons).toEqual([message]);
  });

  test('that something in it was too large', async () => {
    const { wire, say } = await speaking();
    const answer = ask(wire);
    say(`data: ${'x'.repeat(17 * 1024 * 1024)}`);
    expect(await refusal(answer)).toMatchObject({ message: expect.stringContaining('too large') });
  });
});

describe('a message that is refused', () => {
  const answered = { n: 1 };
  const first = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: answered })}\n\n`;

  for (const status of [400, 401, 413, 500])
    test(`with ${status} fails alone, and the wire stays`, async () => {
      const { wire, say } = await speaking();
      const underWay = ask(wire);
      await until('the call arrived', () => came.POST === 1);
      taken = () => new Response('no', { status });
      const message = `the upstream answered with HTTP status ${status}`;
      expect(await refusal(ask(wire))).toMatchObject({ message, unsent: false });
      taken = () => new Response(null, { status: 202 });
      say(`event: message\n${first}`);
      expect((await underWay).result).toEqual(answered);
      const later = ask(wire);
      say(`event: message\ndata: {"jsonrpc":"2.0","id":3,"result":{"n":3}}\n\n`);
      expect((await later).result).toEqual({ n: 3 });
      expect(came.GET).toBe(1);
      wire.close();
    });

  test('with 404 fails alone; the wire takes no other, and ends after the calls under way', async () => {
    const { wire, say } = await speaking();
    const reasons: string[] = [];
    wire.onClosed = reason => reasons.push(reason);
    const underWay = ask(wire);
    await until('the call arrived', () => came.POST === 1);
    taken = () => new Response(null, { status: 404 });
    const message = 'the upstream answered with HTTP status 404';
    expect(await refusal(ask(wire))).toMatchObject({ message, unsent: false });
    expect(reasons).toEqual([message]);
    expect(await refusal(ask(wire))).toMatchObject({ unsent: true });
    say(`event: message\n${first}`);
    expect((await underWay).result).toEqual(answered);
    await until('its stream is gone', () => gone.GET === 1);
    expect(reasons).toHaveLength(1);
  });
});

test('what an upstream says to a message is not read, and events of other names are none', async () => {
  const { wire, say } = await speaking();
  taken = () => endless(202);
  const answer = ask(wire);
  await until('it was let go', () => gone.POST === 1);
  const result = (n: number) => `data: {"jsonrpc":"2.0","id":1,"result":{"n":${n}}}\n\n`;
  say(`event: other\n${result(1)}${result(2)}`);
  expect((await answer).result).toEqual({ n: 2 });
  wire.close();
});
