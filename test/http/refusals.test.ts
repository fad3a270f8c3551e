// Requests that are refused before they are checked: malformed and wrong input, unknown paths, wrong methods, sizes and
// types. Each answer is a problem body, and none leaves an audit entry.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { type Reply, startService, type TestService } from '../support/service.ts';
import { expectNoVerdict, expectProblem } from './problem.ts';

let service: TestService;
let key: string;
beforeAll(async () => {
  service = await startService();
  ({ key } = await service.newKey([{ tool: '*', action: 'allow' }]));
});
afterAll(() => service.close());

function send(body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}): Promise<Reply> {
  return service.request('POST', '/v1/check', {
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body,
  });
}

const VALID = '{"serverName":"s","toolName":"t"}';
const nested = (depth: number) =>
  `{"serverName":"s","toolName":"t","args":${'{"a":'.repeat(depth - 2)}{}${'}'.repeat(depth - 2)}}`;

describe('malformed JSON is 400 invalid_json', () => {
  const texts: Record<string, string | Uint8Array<ArrayBuffer>> = {
    'an empty body': '',
    'a cut body': VALID.slice(0, -1),
    'text behind it': `${VALID} x`,
    'a trailing comma': '{"serverName":"s","toolName":"t",}',
    'a duplicate key': '{"serverName":"s","toolName":"t","toolName":"u"}',
    'a duplicate key, once escaped': '{"serverName":"s","toolName":"t","tool\\u004eame":"u"}',
    'a duplicate key deep in the arguments': '{"serverName":"s","toolName":"t","args":{"a":[{"b":1,"b":1}]}}',
    'a BOM': `\ufeff${VALID}`,
    'invalid UTF-8': new Uint8Array([
      ...Buffer.from('{"serverName":"s","toolName":"'),
      0xff,
      ...Buffer.from('"}'),
    ]),
    '65 levels': nested(65),
    NaN: '{"serverName":"s","toolName":"t","args":{"n":NaN}}',
  };
  for (const [what, text] of Object.entries(texts)) {
    test(what, async () => {
      const reply = await send(text);
      expectProblem(reply, 400, 'invalid_json');
      expectNoVerdict(reply);
    });
  }

  test('64 levels are not', async () => {
    expect((await send(nested(64))).status).toBe(200);
  });
});

describe('wrong input is 400 invalid_input, with the place', () => {
  const bodies: Record<string, [body: unknown, ...paths: string[]]> = {
    'a list': [[], ''],
    'a string': ['"x"', ''],
    null: ['null', ''],
    'nothing in it': [{}, '/serverName', '/toolName'],
    'no tool': [{ serverName: 's' }, '/toolName'],
    'a number as a name': [{ serverName: 5, toolName: 't' }, '/serverName'],
    'null as a name': [{ serverName: 's', toolName: null }, '/toolName'],
    'an empty name': [{ serverName: '', toolName: 't' }, '/serverName'],
    '129 characters': [{ serverName: 's', toolName: 'x'.repeat(129) }, '/toolName'],
    'a control character': [{ serverName: 's', toolName: 'a\nb' }, '/toolName'],
    'a lone surrogate': ['{"serverName":"s","toolName":"\\ud800"}', '/toolName'],
    '__ in the server': [{ serverName: 'a__b', toolName: 't' }, '/serverName'],
    '_ at the end of the server': [{ serverName: 'a_', toolName: 't' }, '/serverName'],
    '_ at the start of the server': [{ serverName: '_a', toolName: 't' }, '/serverName'],
    'null arguments': [{ serverName: 's', toolName: 't', args: null }, '/args'],
    'a list of arguments': [{ serverName: 's', toolName: 't', args: [] }, '/args'],
    'a string of arguments': [{ serverName: 's', toolName: 't', args: '{}' }, '/args'],
    'a number of arguments': ['{"serverName":"s","toolName":"t","args":12345678901234567890}', '/args'],
    'an unknown field': [{ serverName: 's', toolName: 't', arguments: {} }, '/arguments'],
    'two unknown fields, escaped as a pointer': [
      { serverName: 's', toolName: 't', 'a/b': 1, 'c~d': 2 },
      '/a~1b',
      '/c~0d',
    ],
    'the unknown field __proto__': ['{"serverName":"s","toolName":"t","__proto__":{}}', '/__proto__'],
    'a field in other capitals': [{ servername: 's', toolName: 't' }, '/serverName', '/servername'],
    'a reference that is no UUID': [{ serverName: 's', toolName: 't', referenceId: 'x' }, '/referenceId'],
    'several faults': [{ serverName: '', toolName: 7, args: [] }, '/serverName', '/toolName', '/args'],
  };
  for (const [what, [body, ...paths]] of Object.entries(bodies)) {
    test(what, async () => {
      const reply = await send(typeof body === 'string' ? body : JSON.stringify(body));
      expectProblem(reply, 400, 'invalid_input', paths);
      expectNoVerdict(reply);
    });
  }

  test('query parameters are checked as strictly', async () => {
    const wrong = [
      'limit=0',
      'limit=1001',
      'limit=5x',
      'limit=',
      'limit=1&limit=2',
      'cursor=x',
      'oder=asc',
      'from=today',
    ];
    for (const query of [...wrong, 'decision=maybe', 'surface=web', 'keyId=1', 'tool=']) {
      const reply = await service.admin('GET', `/audit?${query}`);
      expectProblem(reply, 400, 'invalid_input');
    }
  });

  test('faults never repeat what was sent', async () => {
    const secret = 'canary-4711';
    const bodies = [
      { serverName: 's', toolName: 't', args: secret },
      { serverName: `${secret}__`, toolName: 't' },
      { serverName: 's', toolName: 't', referenceId: secret },
    ];
    for (const body of [...bodies.map(each => JSON.stringify(each)), `{"a":"${secret}"`]) {
      expect((await send(body)).text).not.toContain(secret);
    }
    expect(service.output).not.toContain(secret);
  });
});

describe('404', () => {
  test('unknown paths', async () => {
    for (const path of [
      '/',
      '/v1',
      '/v1/',
      '/v1/checks',
      '/v1/check/',
      '/v2/check',
      '/admin',
      '/admin/v1/nothing',
    ]) {
      const reply = await service.json('GET', path, key);
      expectProblem(reply, 404, 'not_found');
    }
  });

  test('unknown ids', async () => {
    const id = Bun.randomUUIDv7();
    expectProblem(await service.json('DELETE', `/v1/sessions/${id}`, key), 404, 'not_found');
    expectProblem(await service.json('DELETE', '/v1/sessions/not-an-id', key), 404, 'not_found');
    for (const [method, path, body] of [
      ['GET', `/policies/${id}`],
      ['PUT', `/policies/${id}`, { rules: [] }],
      ['GET', `/policies/${id}/versions`],
      ['DELETE', `/policies/${id}`],
      ['PATCH', `/keys/${id}`, {}],
      ['DELETE', `/keys/${id}`],
    ] as const) {
      expectProblem(await service.admin(method, path, body), 404, 'not_found');
    }
  });
});

test('405 names the methods that the path takes', async () => {
  const check = await service.json('GET', '/v1/check', key);
  expectProblem(check, 405, 'method_not_allowed');
  expect(check.headers.get('allow')).toBe('POST');
  const sessions = await service.json('PUT', '/v1/sessions', key);
  expectProblem(sessions, 405, 'method_not_allowed');
  expect(sessions.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD', 'POST']);
  const one = await service.json('POST', `/v1/sessions/${Bun.randomUUIDv7()}`, key);
  expect([one.status, one.headers.get('allow')]).toEqual([405, 'DELETE']);
  expect((await service.request('OPTIONS', '/v1/check')).status).toBe(405);
  expect((await service.request('HEAD', '/healthz')).status).toBe(200);
});

describe('413', () => {
  const padded = (size: number) => {
    const frame = '{"serverName":"s","toolName":"t","args":{"a":""}}';
    return frame.replace('""', `"${'x'.repeat(size - frame.length)}"`);
  };
  const MIB = 1024 * 1024;

  test('a check over 1 MiB by its declared length, while 1 MiB passes', async () => {
    expect((await send(padded(MIB))).status).toBe(200);
    const reply = await send(padded(MIB + 1));
    expectProblem(reply, 413, 'too_large');
    expectNoVerdict(reply);
  });

  test('a chunked check is refused once it crosses the limit, and passes below', async () => {
    const chunks = (size: number) => {
      const text = padded(size);
      let at = 0;
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          if (at >= text.length) return controller.close();
          controller.enqueue(Buffer.from(text.slice(at, at + 65_536)));
          at += 65_536;
        },
      });
    };
    expect((await send(chunks(MIB))).status).toBe(200);
    expectProblem(await send(chunks(MIB + 1)), 413, 'too_large');
  });

  test('a declared length is refused without waiting for the body', async () => {
    const head = `POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const answer = await rawAnswer(`${head}Content-Length: ${2 * MIB}\r\n\r\n{"ser`);
    expect(answer).toStartWith('HTTP/1.1 413');
  });

  const listOf = (values: number) => `{"a":[${'0,'.repeat(values - 3)}0]}`;
  /** What each way to a check makes of the arguments. */
  const WAYS: Record<string, (args: string) => string> = {
    '/v1/check': args => `{"serverName":"s","toolName":"t","args":${args}}`,
    '/v1/hooks/claude-code': args =>
      `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":${args}}`,
    '/v1/hooks/litellm/beta/litellm_basic_guardrail_api': args =>
      JSON.stringify({ input_type: 'response', tool_calls: [{ function: { name: 't', arguments: args } }] }),
    '/access/v1/evaluation': args => `{"context":${args}}`,
    '/ext-authz/github': args =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${args}}}`,
    '/mcp': args =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${args}}}`,
  };
  for (const [path, body] of Object.entries(WAYS)) {
    test(`more than 20,000 values: ${path}`, async () => {
      const sent = (values: number) => {
        const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
        return service.request('POST', path, { headers, body: body(listOf(values)) });
      };
      const why = 'The JSON has more than 20000 values. A string is one value, however long it is';
      expect(JSON.stringify((await sent(20_001)).body)).toContain(why);
      expect(JSON.stringify((await sent(19_990)).body)).not.toContain(why);
    });
  }

  test('a check with more than 20,000 values is refused as one that is too large, whatever its header', async () => {
    const text = WAYS['/v1/check']?.(listOf(20_001)) ?? '';
    for (const type of ['application/json', 'application/json; charset=utf-8']) {
      const reply = await send(text, { 'Content-Type': type });
      expectProblem(reply, 413, 'too_large');
      expectNoVerdict(reply);
    }
  });

  test('other bodies over 64 KiB, those of sessions over 1 MiB, policies over 8 MiB', async () => {
    const name = 'x'.repeat(64 * 1024);
    expectProblem(await service.admin('POST', '/keys', { name }), 413, 'too_large');
    const label = 'x'.repeat(MIB);
    expectProblem(await service.json('POST', '/v1/sessions', key, { label }), 413, 'too_large');
    const rules = Array.from({ length: 10_000 }, (_, n) => ({
      tool: `${'x'.repeat(200)}${n}`,
      action: 'deny',
    }));
    expect((await service.admin('POST', '/policies', { name: 'large', rules })).status).toBe(201);
    const text = `{"name":"huge","rules":[]${' '.repeat(8 * MIB)}}`;
    expectProblem(await service.admin('POST', '/policies', text), 413, 'too_large');
  });
});

describe('415', () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'text/json',
  ]) {
    test(type, async () => {
      expectProblem(await send(VALID, { 'Content-Type': type }), 415, 'unsupported_media_type');
    });
  }

  test('no type at all', async () => {
    const headers = { Authorization: `Bearer ${key}` };
    const body = Buffer.from(VALID);
    expectProblem(
      await service.request('POST', '/v1/check', { headers, body }),
      415,
      'unsupported_media_type',
    );
  });

  test('JSON in UTF-8 passes however it is written', async () => {
    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
    ]) {
      expect((await send(VALID, { 'Content-Type': type })).status).toBe(200);
    }
  });
});

test('what is refused leaves no audit entry', async () => {
  const { key: fresh, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
  await service.json('POST', '/v1/check', fresh, '{');
  await service.json('POST', '/v1/check', fresh, { serverName: 's' });
  await service.json('GET', '/v1/check', fresh);
  expect((await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries).toEqual([]);
  await service.check(fresh, 's', 't');
  expect((await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries).toHaveLength(1);
});

/** What the server writes back to these bytes, up to the end of the head. */
function rawAnswer(request: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let text = '';
    socket.on('data', data => {
      text += data.toString();
      if (text.includes('\r\n\r\n')) {
        socket.destroy();
        resolve(text);
      }
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}
