// `toolgate check` tells its verdict by the exit code, and nothing that is not a verdict can look like an
// allow: not a dead port, not a 401, not a 500, not garbage, not an answer that breaks off.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net, { type AddressInfo } from 'node:net';
import { Callers, caseTitle, liveCaseFiles } from '../support/cases.ts';
import { startService, type TestService } from '../support/service.ts';
import { quoted, Shell } from './shell.ts';

let service: TestService;
let shell: Shell;
beforeAll(async () => {
  service = await startService();
  shell = new Shell({ TOOLGATE_BASE_URL: service.url });
});
afterAll(async () => {
  shell.close();
  await service.close();
});

const EXIT = { allow: 0, deny: 1, pending: 2 } as const;

describe('the shared cases', () => {
  const files = liveCaseFiles().filter(({ file }) =>
    /^(order|reasons|scope|hostile-arguments)\.yaml$/.test(file),
  );
  test.each(files.map(file => [file.file, file] as const))('%s', async (_, file) => {
    const callers = new Callers(service, file);
    for (const call of file.calls) {
      const words = [call.server, call.tool].map(quoted).join(' ');
      const args = call.args === undefined ? '' : `--args ${quoted(JSON.stringify(call.args))}`;
      const { stdout, code } = await shell.run(`toolgate check --json ${words} ${args}`, {
        TOOLGATE_API_KEY: (await callers.for(call)).token,
      });
      const { decision, reason } = JSON.parse(stdout);
      const what = caseTitle(call);
      expect([what, decision, code]).toEqual([what, call.want.decision, EXIT[call.want.decision]]);
      if (call.want.reason !== undefined) expect(reason).toBe(call.want.reason);
    }
  });
});

test('made again with the same idempotency key, a check has the same verdict', async () => {
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const check = (args: string) =>
    shell.run(`toolgate check --json db read --args '${args}' --idempotency-key read-1`, {
      TOOLGATE_API_KEY: key,
    });
  const [one, two, other] = [await check('{}'), await check('{}'), await check('{"n":1}')];
  expect([two.code, two.stdout]).toEqual([0, one.stdout]);
  expect([other.code, other.stdout]).toEqual([3, '']);
});

describe('what is not a verdict is exit code 3, with nothing on stdout', () => {
  const json = { 'Content-Type': 'application/json' };
  const verdict = {
    decision: 'allow',
    reason: 'r',
    policyId: crypto.randomUUID(),
    toolCallId: crypto.randomUUID(),
    latencyMs: 0,
  };
  const answers: [string, () => Response][] = [
    ['garbage', () => new Response('allow')],
    ['an empty answer', () => new Response('')],
    ['JSON that is no verdict', () => Response.json({ ok: true })],
    ['a decision nobody knows', () => Response.json({ ...verdict, decision: 'ALLOW' })],
    ['an allow with a bad status', () => Response.json(verdict, { status: 500 })],
    [
      'an allow behind a redirect',
      () => new Response('', { status: 302, headers: { Location: '/v1/other' } }),
    ],
    ['401', () => new Response('{}', { status: 401, headers: json })],
    ['503', () => new Response('{}', { status: 503, headers: json })],
  ];
  test.each(answers)('%s', async (_, answer) => {
    const fake = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer });
    const ran = await shell.run(`toolgate check s t --key k --timeout 5s --base-url ${fake.url}`);
    await fake.stop(true);
    expect(ran.stderr).toStartWith('toolgate: No verdict: ');
    expect([ran.stdout, ran.code]).toEqual(['', 3]);
  });

  const cuts: [string, string | null][] = [
    ['a connection that is cut at once', ''],
    ['an answer that breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"decision":"allow",'],
    ['no answer in time', null],
  ];
  test.each(cuts)('%s', async (_, written) => {
    const sockets = new Set<net.Socket>();
    const server = net.createServer(socket => {
      sockets.add(socket.on('error', () => {}));
      socket.once('data', () => written !== null && socket.end(written));
    });
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ran = await shell.run(`toolgate check s t --key k --timeout 1s --base-url ${url}`);
    for (const socket of sockets) socket.destroy();
    server.close();
    expect([ran.stdout, ran.code]).toEqual(['', 3]);
  });

  test('a port where nobody listens', async () => {
    const ran = await shell.run('toolgate check s t --key k --base-url http://127.0.0.1:9');
    expect([ran.stdout, ran.code]).toEqual(['', 3]);
  });
});

test('an approval is spent by the very same arguments only, down to the last digit of a long number', async () => {
  const { key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
  const env = { TOOLGATE_API_KEY: key };
  const asked = await shell.run(`toolgate check s t --json --args '{"n":12345678901234567890}'`, env);
  expect(asked.code).toBe(2);
  const { referenceId } = JSON.parse(asked.stdout);
  await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
  const spend = (n: string) =>
    shell.run(`toolgate check s t --args '{"n":${n}}' --reference-id ${referenceId}`, env);
  expect((await spend('12345678901234567891')).code).not.toBe(0);
  expect((await spend('12345678901234567890')).code).toBe(0);
  expect((await spend('12345678901234567890')).code).not.toBe(0);
});

test('arguments are in no message, however wrong they are', async () => {
  for (const args of ['{"canary-5f2a', '["canary-5f2a"]', '{"canary-5f2a":1,"canary-5f2a":2}']) {
    const { stdout, stderr, code } = await shell.run(`toolgate check s t --key k --args ${quoted(args)}`);
    expect([stdout, code]).toEqual(['', 64]);
    expect(stderr).not.toContain('canary');
  }
});

test('wrong arguments are told as such, also where no key is set', async () => {
  const { stderr, code } = await shell.run("toolgate check s t --args '{bad'", { TOOLGATE_API_KEY: '' });
  expect([code, stderr]).toEqual([64, expect.stringContaining('--args: ')]);
});

test('a reader that goes away does not change the exit code', async () => {
  const { key } = await service.newKey([{ tool: '*', action: 'deny' }]);
  const { stdout } = await shell.run('(toolgate check s t; echo "exit $?" >&3) 3>&1 | true', {
    TOOLGATE_API_KEY: key,
  });
  const again = await shell.run('{ toolgate check s t; echo "exit $?" >&2; } | true', {
    TOOLGATE_API_KEY: key,
  });
  expect(stdout + again.stderr).toContain('exit 1');
});
