// The server file, read again while the service runs: what it declares is added, changed and removed without a restart
// and without a failed call, what needs a restart is named, and a wrong file changes nothing.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/faults.ts';
import { type Answered, connect, LegacyClient, startWithStdio, stdioScript, text } from '../support/mcp.ts';
import type { TestService } from '../support/service.ts';

let service: TestService;
let end: () => Promise<void>;
let key: string;
let keyId: string;
let client: LegacyClient;

const heardBy = (version: string) => join(service.dataDir, version);
const said = (version: string) =>
  existsSync(heardBy(version)) ? readFileSync(heardBy(version), 'utf8') : '';
/** A command that notes what it hears under the name of its version. */
const script = (version: string) => stdioScript('good', heardBy(version));
const declare = (content: unknown) =>
  writeFileSync(
    join(service.dataDir, 'toolgate.yaml'),
    typeof content === 'string' ? content : JSON.stringify(content),
  );
const reload = () => service.admin('POST', '/server-file/reload');

function pidIn(version: string): number {
  return Number(/^pid (\d+)$/m.exec(said(version))?.[1]);
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

beforeAll(async () => {
  ({ service, end } = await startWithStdio({}, { env: { TOOLGATE_TOOL_DRIFT: 'deny' } }));
  declare({ stdioServers: { moving: script('v1') } });
  expect((await reload()).body).toMatchObject({ added: ['moving'] });
  ({ key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]));
  await connect(service, keyId, 'moving', { transport: 'stdio', server: 'moving' });
  client = await LegacyClient.open(service, key);
});
afterAll(() => end());

test('under load, no call fails, those under way end, and new ones go to the new command', async () => {
  expect(text(await client.call('moving__echo', { n: 'first' }))).toBe('{"n":"first"}');
  const waiting = client.call('moving__echo', { how: 'waits' });
  await until('a call waits', () => said('v1').includes('waits'));

  const answers: Answered[] = [];
  let going = true;
  const load = Promise.all(
    Array.from({ length: 2 }, async () => {
      while (going) answers.push(await client.call('moving__echo', { n: answers.length }));
    }),
  );
  await until('some calls', () => answers.length > 50);
  for (const version of ['v2', 'v3', 'v4', 'v5', 'v6', 'v7']) {
    declare({ stdioServers: { moving: script(version) } });
    service.process.kill('SIGHUP');
    await until(`calls reach ${version}`, () => said(version).includes('call '));
    const before = answers.length;
    await until('further calls', () => answers.length > before + 20);
  }
  going = false;
  await load;
  expect(answers.filter(each => !text(each).startsWith('{"n":'))).toEqual([]);

  await until('unused commands end', () => ![pidIn('v2'), pidIn('v3')].some(lives));
  expect(lives(pidIn('v1'))).toBe(true);
  writeFileSync(`${heardBy('v1')}.go`, '');
  expect(text(await waiting)).toBe('{"how":"waits"}');
  await until('the first command ends', () => !lives(pidIn('v1')));
});

test('what is answered holds: added, changed and removed commands, and settings that need a restart', async () => {
  declare({
    approvalTimeout: '2h',
    stdioServers: {
      moving: script('v8'),
      other: { command: 'sleep', args: ['s3cret'], env: { TOKEN: 's3cret' } },
    },
    channels: { team: { type: 'http', url: 'https://hooks.example.com/s3cret' } },
  });
  const changed = await reload();
  const path = join(service.dataDir, 'toolgate.yaml');
  expect([changed.status, changed.body]).toEqual([
    200,
    { path, added: ['other'], changed: ['moving'], removed: [], ignored: ['approvalTimeout', 'channels'] },
  ]);
  expect(text(await client.call('moving__echo', { n: 'fifth' }))).toBe('{"n":"fifth"}');
  expect(said('v8')).toContain('fifth');

  const shown = await service.admin('GET', '/server-file');
  expect(shown.body).toMatchObject({
    path,
    stdioServers: [
      { name: 'moving', args: 3, env: [], sandbox: null, usedBy: [{ name: 'moving', keyId }] },
      { name: 'other', command: 'sleep', args: 1, env: ['TOKEN'], usedBy: [] },
    ],
  });
  const { body } = await service.admin('GET', '/changes?limit=5');
  const record = body.changes.find((each: { action: string }) => each.action === 'server-file.reload');
  expect(record).toMatchObject({
    actor: 'admin',
    target: path,
    detail: { added: ['other'], changed: ['moving'] },
  });
  expect(shown.text + JSON.stringify(body) + service.output).not.toContain('s3cret');

  declare({ stdioServers: {} });
  expect((await reload()).body).toMatchObject({ removed: ['moving', 'other'], ignored: [] });
  const { body: listed } = await service.admin('GET', `/keys/${keyId}/connected-tools`);
  const health = { state: 'down', error: expect.stringContaining('no stdio server "moving" is declared') };
  expect(listed.connectedTools).toMatchObject([{ health }]);
  expect(text(await client.call('moving__echo'))).toContain('no stdio server "moving" is declared');
  const again = { name: 'again', transport: 'stdio', server: 'moving' };
  expect((await service.admin('POST', `/keys/${keyId}/connected-tools`, again)).status).toBe(400);

  declare({ stdioServers: { moving: script('v9') } });
  expect((await reload()).body).toMatchObject({ added: ['moving'] });
  expect(text(await client.call('moving__echo', { n: 'sixth' }))).toBe('{"n":"sixth"}');
});

test('a file with a mistake changes nothing and says what is wrong', async () => {
  const mistakes: [content: string, says: string][] = [
    ['stdioServers: [\n', 'cannot be read'],
    ['stdioServers: { other: { args: [] } }\n', 'stdioServers.other needs "command"'],
    ['stdioServers: {}\napprovalTimeout: never\n', 'approvalTimeout is "never"'],
  ];
  for (const [content, says] of mistakes) {
    declare(content);
    expect(await reload()).toMatchObject({ status: 409, body: { detail: expect.stringContaining(says) } });
  }
  service.process.kill('SIGHUP');
  await until('the log says so', () => service.output.includes('could not be read again'));
  expect((await service.admin('GET', '/settings')).body.stdioServers).toEqual(['moving']);
  expect(text(await client.call('moving__echo', { n: 'still' }))).toBe('{"n":"still"}');
  expect(said('v9')).toContain('still');
});
