// Connected Tools as operators see them: registered, tested, shown with their health, removed. Commands come from
// the server file alone; credentials are sealed, go to their upstream and nowhere else.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir, sql, until } from '../support/faults.ts';
import {
  connect,
  ECHO,
  LegacyClient,
  modern,
  RecordingUpstream,
  startWithStdio,
  stdioScript,
  text,
} from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const folder = newDataDir();
const journal = join(folder, 'journal');
const upstream = new RecordingUpstream();
const ALLOW = [{ tool: '*', action: 'allow' as const }];
const path = (keyId: string, more = '') => `/keys/${keyId}/connected-tools${more}`;
/** The first event of a stream. */
async function told(stream: Response): Promise<string> {
  let said = '';
  for await (const chunk of stream.body ?? []) {
    said += new TextDecoder().decode(chunk);
    if (said.includes('data:')) break;
  }
  return said;
}
const lives = (pid: string) => existsSync(`/proc/${pid}`);
afterAll(() => upstream.stop());

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    let end: () => Promise<void>;
    beforeAll(async () => {
      const script = stdioScript('environment', `${journal}-${engine}`);
      ({ service, end } = await startWithStdio(
        { script: { ...script, env: { DECLARED: 'yes' } }, missing: { command: '/does/not/exist' } },
        { engine, env: { SECRET_OF_OURS: 'do not pass on' } },
      ));
    });
    afterAll(() => end());

    test('each transport is registered, listed in the order of names, tested and removed', async () => {
      const { key, keyId } = await service.newKey(ALLOW);
      const made = await service.admin('POST', path(keyId), {
        name: 'web',
        transport: 'http',
        url: upstream.url,
        headers: { 'X-Api-Key': 'hidden' },
      });
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({
        name: 'web',
        transport: 'http',
        url: upstream.url,
        hasHeaders: true,
      });
      expect(made.text).not.toContain('hidden');
      await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'script' });
      await connect(service, keyId, 'events', { transport: 'sse', url: 'http://127.0.0.1:9/sse' });
      const listed = await service.admin('GET', path(keyId));
      expect(listed.body.connectedTools.map((each: { name: string }) => each.name)).toEqual([
        'cmd',
        'events',
        'web',
      ]);
      expect(
        listed.body.connectedTools.every(
          (each: { health: { state: string } }) => each.health.state === 'idle',
        ),
      ).toBe(true);
      const tested = await service.admin('POST', path(keyId, `/${made.body.id}/test`));
      expect(tested.body).toEqual({ ok: true, error: null, tools: ['web__echo'] });
      const now = (await service.admin('GET', path(keyId))).body.connectedTools[2];
      expect(now.health.state).toBe('ready');
      expect(now.tools).toEqual([{ name: 'echo', drifted: false }]);
      expect((await service.admin('DELETE', path(keyId, `/${made.body.id}`))).status).toBe(204);
      expect((await service.admin('DELETE', path(keyId, `/${made.body.id}`))).status).toBe(404);
      expect((await modern(service, key, 'tools/call', { name: 'web__echo' })).error.code).toBe(-32602);
    });

    test('what is wrong is refused with its path', async () => {
      const { keyId } = await service.newKey(ALLOW);
      const web = { name: 'web', transport: 'http', url: upstream.url };
      for (const [body, at] of [
        [{ ...web, name: 'Web' }, '/name'],
        [{ ...web, name: 'a__b' }, '/name'],
        [{ ...web, name: '-a' }, '/name'],
        [{ ...web, name: 'x'.repeat(33) }, '/name'],
        [{ ...web, transport: 'tcp' }, '/transport'],
        [{ ...web, url: 'ftp://example.com' }, '/url'],
        [{ ...web, url: 'http://user:pass@example.com' }, '/url'],
        [{ ...web, command: 'sh' }, '/command'],
        [{ ...web, headers: { 'Mcp-Session-Id': 'x' } }, '/headers'],
        [{ ...web, headers: { Host: 'x' } }, '/headers'],
        [{ ...web, headers: { 'X-Break': 'a\r\nX-More: b' } }, '/headers/X-Break'],
        [{ name: 'cmd', transport: 'stdio', server: 'undeclared' }, '/server'],
        [{ name: 'cmd', transport: 'stdio', server: '__proto__' }, '/server'],
        [{ name: 'cmd', transport: 'stdio', server: 'constructor' }, '/server'],
        [{ name: 'cmd', transport: 'stdio', server: 'script', args: ['-c'] }, '/args'],
        [{ name: 'cmd', transport: 'stdio', command: '/bin/sh' }, '/command'],
      ] as const) {
        const refused = await service.admin('POST', path(keyId), body);
        expect([JSON.stringify(body), refused.status]).toEqual([JSON.stringify(body), 400]);
        expect(refused.body.errors.map((each: { path: string }) => each.path)).toContain(at);
      }
      expect((await service.admin('POST', path(keyId), web)).status).toBe(201);
      expect((await service.admin('POST', path(keyId), web)).status).toBe(409);
      expect((await service.admin('POST', path(crypto.randomUUID()), web)).status).toBe(404);
      expect((await service.admin('GET', path(crypto.randomUUID()))).status).toBe(404);
    });

    test('another key’s Connected Tool cannot be tested, shown or removed under this one', async () => {
      const mine = await service.newKey(ALLOW);
      const theirs = await service.newKey(ALLOW);
      const id = await connect(service, theirs.keyId, 'web', upstream.url);
      expect((await service.admin('POST', path(mine.keyId, `/${id}/test`))).status).toBe(404);
      expect((await service.admin('GET', path(mine.keyId, `/${id}/definitions`))).status).toBe(404);
      expect((await service.admin('DELETE', path(mine.keyId, `/${id}`))).status).toBe(404);
      expect((await service.admin('POST', path(theirs.keyId, `/${id}/test`))).body.ok).toBe(true);
    });

    test('headers are encrypted at rest and sent upstream; the caller’s credentials are not', async () => {
      const { key, keyId } = await service.newKey(ALLOW);
      const headers = { Authorization: 'Bearer upstream-secret', 'X-Tenant': 'seven' };
      const own = new RecordingUpstream();
      await connect(service, keyId, 'web', { transport: 'http', url: own.url, headers });
      const client = await LegacyClient.open(service, key);
      const sent = { Cookie: 'a=b', 'X-Custom': 'c', 'Proxy-Authorization': `Bearer ${key}` };
      expect(text(await client.call('web__echo', { a: 1 }, undefined, { headers: sent }))).toBe('{"a":1}');
      for (const each of own.heard) {
        expect(each.headers['authorization']).toBe('Bearer upstream-secret');
        expect(each.headers['x-tenant']).toBe('seven');
        expect(JSON.stringify(each)).not.toContain(key);
        expect(JSON.stringify(each)).not.toContain(client.sessionId);
        expect([each.headers['cookie'], each.headers['x-custom']]).toEqual([undefined, undefined]);
      }
      const rows = JSON.stringify(await sql(service.databaseUrl, 'SELECT * FROM connected_tools'));
      expect(rows).not.toContain('upstream-secret');
      expect(rows).not.toContain('seven');
      const audit = JSON.stringify((await service.admin('GET', '/changes')).body);
      expect(audit).not.toContain('upstream-secret');
      await own.stop();
    });

    test('a Connected Tool is changed in place: its accepted definitions stay, and it is opened anew at once', async () => {
      const { key, keyId } = await service.newKey(ALLOW);
      const [one, other] = [new RecordingUpstream(), new RecordingUpstream()];
      const headers = { Authorization: 'Bearer token-one' };
      const id = await connect(service, keyId, 'web', { transport: 'http', url: one.url, headers });
      const client = await LegacyClient.open(service, key);
      const echo = async (name: string) => text(await client.call(name, { a: 1 }));
      expect(await echo('web__echo')).toBe('{"a":1}');
      const edit = (body: unknown, of = id) => service.admin('PATCH', path(keyId, `/${of}`), body);
      const stream = await client.listen();
      expect((await edit({ headers: { Authorization: 'Bearer token-two' } })).body).toMatchObject({
        id,
        name: 'web',
        hasHeaders: true,
        updatedAt: expect.any(String),
        tools: [{ name: 'echo', drifted: false }],
      });
      expect(await echo('web__echo')).toBe('{"a":1}');
      expect(one.calls.map(each => each.headers['authorization'])).toEqual([
        'Bearer token-one',
        'Bearer token-two',
      ]);
      expect(one.of('initialize').length).toBe(2);
      // Another server that shows the same goes on; what it shows otherwise is compared with what was accepted.
      other.options.tools = [{ ...ECHO, description: 'Another one.' }];
      const moved = await edit({ name: 'net', url: other.url, headers: null });
      expect(moved.body).toMatchObject({ name: 'net', url: other.url, hasHeaders: false, auth: 'none' });
      expect((await client.call('web__echo')).error.code).toBe(-32602);
      expect(await echo('net__echo')).toBe('{"a":1}');
      await client.tools();
      expect((await service.admin('GET', path(keyId))).body.connectedTools[0].tools).toEqual([
        { name: 'echo', drifted: true },
      ]);
      expect(other.heard.every(each => each.headers['authorization'] === undefined)).toBe(true);
      expect(await told(stream)).toContain('notifications/tools/list_changed');
      const [change] = (await service.admin('GET', '/changes')).body.changes;
      expect(change).toMatchObject({
        action: 'connected-tool.update',
        target: id,
        detail: { keyId, name: 'net', changed: ['name', 'target', 'headers'] },
      });
      // It can be made one that people sign in to, and the client's secret is kept and never shown.
      const oauth = { as: 'key', clientId: 'app', clientSecret: 'hush-hush' };
      const signed = await edit({ auth: 'oauth', oauth });
      expect(signed.body).toMatchObject({
        auth: 'oauth',
        oauth: { as: 'key', clientId: 'app', hasClientSecret: true },
        signIn: { state: 'needed' },
      });
      const scoped = await edit({ oauth: { as: 'key', clientId: 'app', scopes: ['read'] } });
      expect(scoped.body.oauth).toEqual({
        as: 'key',
        clientId: 'app',
        scopes: ['read'],
        hasClientSecret: true,
      });
      const another = await edit({ oauth: { as: 'person', clientId: 'app-two' } });
      expect(another.body).toMatchObject({ oauth: { as: 'person', hasClientSecret: false }, signIn: null });
      expect(
        signed.text + scoped.text + JSON.stringify((await service.admin('GET', '/changes')).body),
      ).not.toContain('hush-hush');
      expect((await edit({ auth: 'none' })).body).toMatchObject({ auth: 'none', oauth: null });
      await Promise.all([one.stop(), other.stop()]);
    });

    test('a change that is wrong is refused with its path, and changes nothing', async () => {
      const { keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'web', {
        transport: 'http',
        url: upstream.url,
        headers: { authorization: 'x' },
      });
      await connect(service, keyId, 'taken', upstream.url);
      const cmd = await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'script' });
      const before = (await service.admin('GET', path(keyId))).text;
      for (const [tool, body, at] of [
        [id, {}, ''],
        [id, { name: 'Web' }, '/name'],
        [id, { url: 'ftp://example.com' }, '/url'],
        [id, { url: 'http://169.254.169.254/' }, '/url'],
        [id, { server: 'script' }, '/server'],
        [id, { transport: 'sse' }, '/transport'],
        [id, { headers: { Host: 'x' } }, '/headers'],
        [id, { oauth: { as: 'key' } }, '/oauth'],
        [id, { auth: 'oauth' }, '/oauth'],
        [id, { auth: 'none', oauth: { as: 'key' } }, '/oauth'],
        [id, { auth: 'oauth', oauth: { as: 'key' } }, '/headers'],
        [id, { auth: 'oauth', oauth: { as: 'key', clientSecret: 'x' } }, '/oauth/clientSecret'],
        [cmd, { server: 'undeclared' }, '/server'],
        [cmd, { url: upstream.url }, '/url'],
        [cmd, { auth: 'oauth', oauth: { as: 'key' } }, '/auth'],
      ] as const) {
        const refused = await service.admin('PATCH', path(keyId, `/${tool}`), body);
        expect([JSON.stringify(body), refused.status]).toEqual([JSON.stringify(body), 400]);
        expect(refused.body.errors.map((each: { path: string }) => each.path)).toContain(at);
      }
      expect((await service.admin('PATCH', path(keyId, `/${id}`), { name: 'taken' })).status).toBe(409);
      const elsewhere = await service.newKey(ALLOW);
      const stray = await service.admin('PATCH', path(elsewhere.keyId, `/${id}`), { name: 'mine' });
      expect(stray.status).toBe(404);
      expect((await service.admin('GET', path(keyId))).text).toBe(before);
    });

    test('a stdio server gets an empty environment but for the allow-list and its declaration', async () => {
      const { key, keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'script' });
      expect(text(await modern(service, key, 'tools/call', { name: 'cmd__echo', arguments: { b: 2 } }))).toBe(
        '{"b":2}',
      );
      const lines = readFileSync(`${journal}-${engine}`, 'utf8').split('\n');
      const env = JSON.parse(lines.findLast(line => line.startsWith('env '))!.slice(4));
      expect(env.DECLARED).toBe('yes');
      const allowed = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER', 'LOGNAME', 'SHELL'];
      const odd = Object.keys(env).filter(
        name => ![...allowed, 'DECLARED', 'PWD', '_', 'SHLVL'].includes(name),
      );
      expect(odd).toEqual([]);
      const pid = lines.findLast(line => line.startsWith('pid '))!.slice(4);
      expect(lives(pid)).toBe(true);
      await service.admin('DELETE', path(keyId, `/${id}`));
      await until('the process is gone', () => !lives(pid));
    });

    test('a Connected Tool removed while its connection is being opened leaves nothing open', async () => {
      const { key, keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'script' });
      const before = readFileSync(`${journal}-${engine}`, 'utf8').length;
      await LegacyClient.open(service, key);
      await service.admin('DELETE', path(keyId, `/${id}`));
      const started = () => /pid (\d+)/.exec(readFileSync(`${journal}-${engine}`, 'utf8').slice(before))?.[1];
      await until('it started', () => started() !== undefined);
      await until('it ended', () => !lives(started()!));
    });

    test('a server whose list fails is not called in order, by the test or in its health', async () => {
      const own = new RecordingUpstream({
        others: { 'tools/list': () => new Response('no', { status: 503 }) },
      });
      const { keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'web', own.url);
      const why = 'the upstream answered with HTTP status 503';
      const { body } = await service.admin('POST', path(keyId, `/${id}/test`));
      expect(body).toEqual({ ok: false, error: why, tools: [] });
      const shown = (await service.admin('GET', path(keyId))).body.connectedTools[0];
      expect(shown.health).toMatchObject({ state: 'ready', error: why });
      await until('it is logged', () => service.output.includes('a Connected Tool cannot be listed'));
      own.options.others = {};
      const better = await service.admin('POST', path(keyId, `/${id}/test`));
      expect(better.body).toEqual({ ok: true, error: null, tools: ['web__echo'] });
      expect((await service.admin('GET', path(keyId))).body.connectedTools[0].health.error).toBeNull();
      await own.stop();
    });

    test('a command that cannot be started is down, with the reason', async () => {
      const { keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'missing' });
      const { body } = await service.admin('POST', path(keyId, `/${id}/test`));
      expect([body.ok, body.tools]).toEqual([false, []]);
      expect(body.error).toContain('exit code 127');
    });
  });
}

test('private targets are refused while others can reach the service, link-local ones always', async () => {
  const local = await startService();
  const open = await startService({
    env: { TOOLGATE_HOST: '0.0.0.0', TOOLGATE_PUBLIC_URL: '' },
  });
  const allowed = await startService({
    env: { TOOLGATE_HOST: '0.0.0.0', TOOLGATE_ALLOW_PRIVATE_NETWORKS: 'true' },
  });
  const statusOf = async (service: TestService, url: string) => {
    const { keyId } = await service.newKey(ALLOW);
    return (await service.admin('POST', path(keyId), { name: 'x', transport: 'http', url })).status;
  };
  expect(await statusOf(local, upstream.url)).toBe(201);
  expect(await statusOf(open, upstream.url)).toBe(400);
  expect(await statusOf(open, 'http://10.0.0.1/mcp')).toBe(400);
  expect(await statusOf(allowed, upstream.url)).toBe(201);
  for (const service of [local, open, allowed]) {
    expect(await statusOf(service, 'http://169.254.169.254/latest')).toBe(400);
    await service.close();
  }
});
