// The TypeScript client and everything that may stand where the service should: whatever happens, it throws
// an error of its own family, in time, and never returns an allow that nobody gave.

import { afterEach, describe, expect, test } from 'bun:test';
import {
  BadAnswer,
  CallAborted,
  CallTimedOut,
  Forbidden,
  InvalidConfiguration,
  InvalidRequest,
  NetworkFailure,
  NotFound,
  Overloaded,
  ServiceFailure,
  Toolgate,
  type ToolgateOptions,
  Unauthenticated,
} from '../../clients/typescript/src/index.ts';
import { freePort } from '../support/port.ts';
import {
  ALLOW,
  allow,
  answer,
  bomb,
  cutInside,
  endless,
  failure,
  type Manner,
  NOT_VERDICTS,
  problem,
  type Rude,
  rude,
  trickle,
} from './rude.ts';

const servers: Rude[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function against(manner: Manner, options: ToolgateOptions = {}) {
  const server = await rude(manner);
  servers.push(server);
  return { gate: new Toolgate({ key: 'k', baseUrl: server.url, ...options }), server };
}

test('the rude server can also be polite', async () => {
  const { gate } = await against(allow);
  expect(await gate.guard('s', 't')).toEqual(ALLOW as never);
});

describe('a refusal is an error of its own kind', () => {
  test.each([
    [400, 'invalid_input', InvalidRequest],
    [401, 'unauthenticated', Unauthenticated],
    [403, 'forbidden', Forbidden],
    [404, 'not_found', NotFound],
    [413, 'too_large', InvalidRequest],
    [415, 'unsupported_media_type', InvalidRequest],
    [429, 'rate_limited', Overloaded],
    [500, 'audit_failed', ServiceFailure],
    [503, 'overloaded', Overloaded],
  ] as const)('%d %s', async (status, code, kind) => {
    const { gate, server } = await against(problem(status, code));
    const error = await failure(gate.guard('s', 't', { secret: 'argument' }));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({
      code,
      status,
      message: `It is ${code}.`,
      problem: { code, requestId: 'r' },
    });
    expect(server.requests).toHaveLength(1);
  });

  test.each([401, 500, 502, 503, 504, 400])('%d with a page of somebody else', async status => {
    const page = answer(status, '<html>allow</html>', { 'Content-Type': 'text/html' });
    const { gate, server } = await against(page);
    const error = await failure(gate.guard('s', 't'));
    expect(error).toMatchObject({ status, problem: null });
    expect(error.message).not.toContain('html');
    expect(server.requests).toHaveLength(1);
  });

  test.each([201, 202, 204, 206, 207, 226, 301, 302, 303, 307, 308, 402, 409, 410, 418, 501, 505])(
    'an allow with status %d',
    async status => {
      const { gate, server } = await against(answer(status, JSON.stringify(ALLOW)));
      expect(await failure(gate.guard('s', 't'))).toBeInstanceOf(BadAnswer);
      expect(server.requests).toHaveLength(1);
    },
  );
});

test('a redirect is not followed, and the key goes nowhere else', async () => {
  const elsewhere = await rude(allow);
  servers.push(elsewhere);
  for (const status of [301, 302, 303, 307, 308]) {
    const { gate } = await against(answer(status, '', { Location: `${elsewhere.url}/v1/check` }));
    expect(await failure(gate.guard('s', 't'))).toBeInstanceOf(BadAnswer);
  }
  expect(elsewhere.requests).toEqual([]);
});

describe('an answer that is not a verdict', () => {
  test.each(NOT_VERDICTS)('%s', async (_, body) => {
    const { gate, server } = await against(answer(200, body));
    expect(await failure(gate.check('s', 't'))).toBeInstanceOf(BadAnswer);
    expect(server.requests).toHaveLength(1);
  });

  test.each(['text/html', 'text/plain', 'application/jsonp', 'application/problem+json'])(
    'an allow called %s',
    async type => {
      const { gate } = await against(answer(200, JSON.stringify(ALLOW), { 'Content-Type': type }));
      expect(await failure(gate.check('s', 't'))).toBeInstanceOf(BadAnswer);
    },
  );

  test('bytes that are not UTF-8', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n';
    const { gate } = await against(socket => socket.write(Buffer.from(`${head}"\xff`, 'latin1')));
    expect(await failure(gate.check('s', 't'))).toBeInstanceOf(BadAnswer);
  });

  test('one without an end, and one that unpacks to far more than it is', async () => {
    for (const manner of [endless, bomb]) {
      const { gate } = await against(manner, { timeoutMs: 60_000 });
      expect(await failure(gate.check('s', 't'))).toBeInstanceOf(BadAnswer);
    }
  });
});

describe('no answer', () => {
  test.each<[string, Manner]>([
    ['closed after the request', socket => socket.end()],
    ['reset after the request', socket => socket.resetAndDestroy()],
    ['closed inside the status line', socket => socket.end('HTTP/1.1 20')],
    ['closed inside the headers', socket => socket.end('HTTP/1.1 200 OK\r\nContent-Type: appl')],
    ['closed inside the body', cutInside],
  ])('%s: sent once, since it may have been recorded', async (_, manner) => {
    const { gate, server } = await against(manner);
    const error = await failure(gate.guard('s', 't'));
    expect(error).toMatchObject({ code: 'network_failure', sent: true });
    expect(server.requests).toHaveLength(1);
  });

  test.each<[string, Manner]>([
    ['silence', () => {}],
    ['headers and silence', socket => socket.write('HTTP/1.1 200 OK\r\n')],
    ['a trickle', trickle],
  ])('%s ends with the time-out, which bounds the whole call', async (_, manner) => {
    let requests: string[] = [];
    // On a machine that stands still the time may be over before anything was sent: then again, with more of it.
    for (let timeoutMs = 300; requests.length === 0; timeoutMs *= 2) {
      const { gate, server } = await against(manner, { timeoutMs });
      expect(await failure(gate.guard('s', 't'))).toBeInstanceOf(CallTimedOut);
      ({ requests } = server);
    }
    expect(requests).toHaveLength(1);
  });

  test('garbage throws', async () => {
    const { gate } = await against(socket => socket.end('allow\r\n\r\n'), { timeoutMs: 1000 });
    await failure(gate.guard('s', 't'));
  });
});

describe('aborting', () => {
  test('before: nothing is sent', async () => {
    const { gate, server } = await against(allow);
    const error = await failure(gate.guard('s', 't', {}, { signal: AbortSignal.abort('enough') }));
    expect(error).toMatchObject({ name: 'CallAborted', cause: 'enough' });
    expect(server.requests).toEqual([]);
  });

  test('during: at once', async () => {
    const controller = new AbortController();
    const { gate } = await against(() => controller.abort());
    const error = await failure(gate.guard('s', 't', {}, { signal: controller.signal }));
    expect(error).toBeInstanceOf(CallAborted);
  });
});

describe('trying again', () => {
  const busy = problem(503, 'overloaded', { 'Retry-After': '0' });
  const busyFirst: Manner = (socket, text, earlier) => (earlier === 0 ? busy : allow)(socket, text, earlier);
  const cutFirst: Manner = (socket, text, earlier) =>
    earlier === 0 ? socket.destroy() : allow(socket, text, earlier);

  test('after a refused connection, once somebody listens', async () => {
    const port = await freePort();
    const gate = new Toolgate({ key: 'k', baseUrl: `http://127.0.0.1:${port}`, retries: 10 });
    const verdict = gate.guard('s', 't');
    servers.push(await rude(allow, port));
    expect((await verdict).decision).toBe('allow');
  });

  test('a connection that stays refused is a failure that says nothing was sent', async () => {
    const gate = new Toolgate({ key: 'k', baseUrl: `http://127.0.0.1:${await freePort()}` });
    expect(await failure(gate.guard('s', 't'))).toMatchObject({ code: 'network_failure', sent: false });
  });

  test('after a 503 that promises no entry', async () => {
    const { gate, server } = await against(busyFirst);
    expect((await gate.guard('s', 't')).decision).toBe('allow');
    expect(server.requests).toHaveLength(2);
  });

  test('as often as asked and no more', async () => {
    const { gate, server } = await against(busy);
    expect(await failure(gate.guard('s', 't'))).toBeInstanceOf(Overloaded);
    expect(server.requests).toHaveLength(3);
    await failure(gate.guard('s', 't', {}, { retries: 0 }));
    expect(server.requests).toHaveLength(4);
  });

  test('not when the wait asked for is longer than the time left', async () => {
    const { gate, server } = await against(problem(503, 'overloaded', { 'Retry-After': '60' }));
    expect(await failure(gate.guard('s', 't'))).toMatchObject({ name: 'Overloaded', retryAfter: 60 });
    expect(server.requests).toHaveLength(1);
  });

  test('not after a 503 of somebody else', async () => {
    const headers = { 'Content-Type': 'text/html', 'Retry-After': '0' };
    const { gate, server } = await against(answer(503, 'busy', headers));
    expect(await failure(gate.guard('s', 't'))).toBeInstanceOf(Overloaded);
    expect(server.requests).toHaveLength(1);
  });

  test('after a cut connection only when asked to', async () => {
    const one = await against(cutFirst);
    expect(await failure(one.gate.guard('s', 't'))).toBeInstanceOf(NetworkFailure);
    expect(one.server.requests).toHaveLength(1);
    const two = await against(cutFirst);
    expect((await two.gate.guard('s', 't', {}, { retryUnknown: true })).decision).toBe('allow');
    expect(two.server.requests).toHaveLength(2);
  });

  test('after a cut connection with the same idempotency key', async () => {
    const { gate, server } = await against(cutFirst);
    expect((await gate.guard('s', 't', {}, { idempotencyKey: 'call-1' })).decision).toBe('allow');
    expect(server.requests).toHaveLength(2);
    for (const request of server.requests) expect(request.toLowerCase()).toContain('idempotency-key: call-1');
    for (const idempotencyKey of ['', 'two words', 'x'.repeat(129)])
      expect(await failure(gate.check('s', 't', {}, { idempotencyKey }))).toBeInstanceOf(
        InvalidConfiguration,
      );
    expect(server.requests).toHaveLength(2);
  });

  test('listing and revoking sessions, which harm nobody twice', async () => {
    const { gate, server } = await against((socket, text, earlier) =>
      earlier === 0 ? socket.destroy() : answer(200, '{"sessions":[]}')(socket, text, earlier),
    );
    expect(await gate.listSessions()).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });
});

describe('what a client refuses by itself', () => {
  test.each<[string, ToolgateOptions]>([
    ['an empty key', { key: '' }],
    ['a key no header can carry', { key: 'a\r\nb' }],
    ['an invalid address', { key: 'k', baseUrl: 'toolgate' }],
    ['another scheme', { key: 'k', baseUrl: 'ftp://127.0.0.1' }],
    ['credentials in the address', { key: 'k', baseUrl: 'http://a:b@127.0.0.1' }],
    ['no time', { key: 'k', timeoutMs: 0 }],
    ['a time that is no number', { key: 'k', timeoutMs: Number.NaN }],
    ['endless time', { key: 'k', timeoutMs: Number.POSITIVE_INFINITY }],
    ['retries without end', { key: 'k', retries: 1000 }],
  ])('%s', (_, options) => {
    expect(() => new Toolgate(options)).toThrow(InvalidConfiguration);
  });

  test('no key anywhere', () => {
    const kept = process.env['TOOLGATE_API_KEY'];
    delete process.env['TOOLGATE_API_KEY'];
    try {
      expect(() => new Toolgate()).toThrow(InvalidConfiguration);
    } finally {
      if (kept !== undefined) process.env['TOOLGATE_API_KEY'] = kept;
    }
  });

  test.each<[string, unknown]>([
    ['null', null],
    ['a list', []],
    ['a string', 'x'],
    ['a BigInt inside', { n: 1n }],
  ])('arguments: %s', async (_, args) => {
    const { gate, server } = await against(allow);
    expect(await failure(gate.guard('s', 't', args as object))).toBeInstanceOf(InvalidRequest);
    expect(server.requests).toEqual([]);
  });

  test('the key shows in no picture of the client', () => {
    expect(Bun.inspect(new Toolgate({ key: 'tg_key_secret' }), { depth: 9 })).not.toContain('tg_key_secret');
  });
});
