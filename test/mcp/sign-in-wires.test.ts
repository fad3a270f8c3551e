// The transports to a server that wants a sign-in: every request carries the header, a refusal is asked about once, and a
// call that is cancelled waits for no renewal.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { type SignIn, SignInFirst, signInFirst } from '../../src/mcp/sign-in.ts';
import { HttpWire } from '../../src/mcp/wire-http.ts';
import { SseWire } from '../../src/mcp/wire-sse.ts';
import { until } from '../support/faults.ts';
import { raw } from '../support/mcp.ts';
import { refusal } from '../support/refusal.ts';
import { newRation } from './channel.ts';

const saidBy = async (work: Promise<unknown>): Promise<string> => ((await refusal(work)) as Error).message;

/** What came, as method and Authorization. */
let came: string[] = [];
/** The headers that the server takes. */
let takes: (header: string) => Response | null;
const refuses = (status: number, challenge = 'Bearer') =>
  new Response(null, { status, headers: { 'WWW-Authenticate': challenge } });
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: async request => {
    const header = request.headers.get('authorization') ?? 'none';
    came.push(`${request.method} ${header}`);
    const refused = takes(header);
    if (refused !== null) return refused;
    if (request.method === 'GET')
      return raw('text/event-stream', write => {
        write('event: endpoint\ndata: /messages\n\n');
        return new Promise<void>(() => {});
      });
    const { id } = request.method === 'POST' ? ((await request.json()) as { id?: number }) : {};
    if (id === undefined) return new Response(null, { status: 202 });
    return Response.json({ jsonrpc: '2.0', id, result: {} }, { headers: { 'Mcp-Session-Id': 's' } });
  },
});
afterAll(() => server.stop(true));

/** A sign-in whose headers are numbered: a refusal leads to the next one, to a sign-in, or to nothing. */
let help: 'again' | 'sign-in' | 'refused';
let current: number;
let asked: unknown[] = [];
const signIn: SignIn = {
  header: async () => `Bearer ${current}`,
  refused: async (header, challenge) => {
    asked.push([header, challenge.status]);
    current++;
    return help;
  },
};
beforeEach(() => {
  came = [];
  asked = [];
  current = 1;
  help = 'again';
  takes = () => null;
});

const target = (headers: Record<string, string> = {}, using = signIn) => ({
  url: server.url.href,
  headers,
  rules: { allowPrivate: true },
  signIn: using,
});
const hooks = (signal = new AbortController().signal) => ({
  signal,
  ration: newRation(),
  onNotification: () => {},
});

test('every request over HTTP carries the header, whatever else is set', async () => {
  const wire = new HttpWire(target({ Authorization: 'Bearer of the configuration' }));
  await wire.request('initialize', {}, hooks());
  await wire.notify('notifications/initialized', {});
  wire.listen();
  await until('it listens', () => came.length === 3);
  wire.close();
  await until('it ended the session', () => came.length === 4);
  expect(came).toEqual(['POST Bearer 1', 'POST Bearer 1', 'GET Bearer 1', 'DELETE Bearer 1']);
});

test('a refused request is sent once more with another header, and not a third time', async () => {
  takes = header => (header === 'Bearer 1' ? refuses(401) : null);
  const wire = new HttpWire(target());
  expect((await wire.request('tools/call', {}, hooks())).result).toEqual({});
  expect(came).toEqual(['POST Bearer 1', 'POST Bearer 2']);
  takes = () => refuses(401);
  expect(await saidBy(wire.request('tools/call', {}, hooks()))).toContain('HTTP status 401');
  expect(came.slice(2)).toEqual(['POST Bearer 2', 'POST Bearer 3']);
  expect(asked).toEqual([
    ['Bearer 1', 401],
    ['Bearer 2', 401],
    ['Bearer 3', 401],
  ]);
});

test('a session that the server does not let us end says nothing about the sign-in', async () => {
  const wire = new HttpWire(target());
  await wire.request('initialize', {}, hooks());
  takes = () => refuses(401);
  wire.close();
  await until('it tried to end the session', () => came.length === 2);
  takes = () => null;
  await new HttpWire(target()).request('initialize', {}, hooks());
  expect([came, asked]).toEqual([['POST Bearer 1', 'DELETE Bearer 1', 'POST Bearer 1'], []]);
});

test('a refusal that another header does not help against ends the request', async () => {
  const wire = new HttpWire(target());
  const more = 'Bearer error="insufficient_scope", scope="write"';
  for (const [status, challenge, answer, wanted] of [
    [401, 'Bearer', 'sign-in', SignInFirst],
    [403, more, 'sign-in', SignInFirst],
    [403, more, 'refused', /HTTP status 403/],
  ] as const) {
    help = answer;
    takes = () => refuses(status, challenge);
    const error = await refusal(wire.request('tools/call', {}, hooks()));
    if (wanted === SignInFirst) expect(error).toBeInstanceOf(SignInFirst);
    else expect((error as Error).message).toMatch(wanted as RegExp);
  }
  expect([came.length, asked.length]).toEqual([3, 3]);
  // Another 403 is no question of the sign-in.
  takes = () => refuses(403, 'Bearer error="access_denied"');
  expect(await saidBy(wire.request('tools/call', {}, hooks()))).toContain('HTTP status 403');
  expect(asked.length).toBe(3);
});

test('a call that is cancelled does not wait for the renewal of a sign-in', async () => {
  const cancel = new AbortController();
  const slow = { ...signIn, header: () => new Promise<string>(() => {}) };
  const waiting = saidBy(new HttpWire(target({}, slow)).request('tools/call', {}, hooks(cancel.signal)));
  cancel.abort(new Error('cancelled'));
  expect(await waiting).toBe('cancelled');
  expect(came).toEqual([]);
});

test('over SSE the stream and every message carry it, and a missing sign-in ends the wire after the calls under way', async () => {
  takes = header => (header === 'Bearer 1' ? refuses(401) : null);
  const wire = await SseWire.open(target(), new AbortController().signal, newRation);
  await wire.notify('notifications/initialized', {});
  await until('it was posted', () => came.length === 3);
  expect(came).toEqual(['GET Bearer 1', 'GET Bearer 2', 'POST Bearer 2']);
  const enough = new AbortController();
  const underWay = saidBy(wire.request('taken before', {}, hooks(enough.signal)));
  await until('it was posted', () => came.length === 4);
  help = 'sign-in';
  takes = () => refuses(401);
  const waiting = ['one', 'two'].map(method => refusal(wire.request(method, {}, hooks())));
  for (const each of waiting) expect(await each).toBeInstanceOf(SignInFirst);
  // Whoever is told to sign in calls again, so nobody may be told whose call runs.
  enough.abort();
  expect(await underWay).toBe('the call was cancelled');
  const unsigned = {
    ...signIn,
    header: async () => {
      throw signInFirst();
    },
  };
  const opening = SseWire.open(target({}, unsigned), new AbortController().signal, newRation);
  expect(await refusal(opening)).toBeInstanceOf(SignInFirst);
});
