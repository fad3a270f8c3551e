// Sessions of the older era: negotiated, bound to their credential, served by any replica and after a restart;
// their streams, and what ends them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { newDataDir, until } from '../support/faults.ts';
import { connect, LegacyClient, postMcp, RecordingUpstream, text } from '../support/mcp.ts';
import { engines, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const upstream = new RecordingUpstream();
const ALLOW = [{ tool: '*', action: 'allow' as const }];
afterAll(() => upstream.stop());

async function keyOn(service: TestService) {
  const made = await service.newKey(ALLOW);
  await connect(service, made.keyId, 'up', upstream.url);
  return made;
}

/** What a stream said so far; `ended` once it is over. */
function follow(response: Response): { said: string; ended: boolean } {
  const seen = { said: '', ended: false };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) seen.said += decoder.decode(chunk, { stream: true });
  };
  read()
    .catch(() => {})
    .finally(() => {
      seen.ended = true;
    });
  return seen;
}

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    test('each known version is echoed, any other answered with the latest of the older era', async () => {
      const { key } = await keyOn(service);
      for (const [asked, got] of [
        ['2025-03-26', '2025-03-26'],
        ['2025-06-18', '2025-06-18'],
        ['2025-11-25', '2025-11-25'],
        ['2024-11-05', '2025-11-25'],
        ['2026-07-28', '2025-11-25'],
        ['nonsense', '2025-11-25'],
      ] as const) {
        const { initialized, sessionId } = await LegacyClient.open(service, key, asked);
        expect(initialized.result.protocolVersion).toBe(got);
        expect(initialized.result.capabilities).toEqual({ tools: { listChanged: true }, logging: {} });
        expect(sessionId).not.toBe('');
      }
    });

    test('later requests may carry any known version or none, never an unknown one', async () => {
      const { key } = await keyOn(service);
      const client = await LegacyClient.open(service, key, '2025-06-18');
      for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
        const said = await client.request('ping', {}, { headers: { 'MCP-Protocol-Version': version } });
        expect(said.result).toEqual({});
      }
      const odd = await client.request('ping', {}, { headers: { 'MCP-Protocol-Version': '2019-01-01' } });
      expect(odd.status).toBe(400);
      expect((await client.request('ping', {}, { id: 'a string' })).message.id).toBe('a string');
    });

    test('unknown, ended and foreign sessions are 404, a missing one 400', async () => {
      const { key } = await keyOn(service);
      const other = await keyOn(service);
      const client = await LegacyClient.open(service, key);
      const before = upstream.calls.length;
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'up__echo' } };
      const asked = (token: string, session: string | null) =>
        postMcp(service, token, body, { headers: session === null ? {} : { 'Mcp-Session-Id': session } });
      expect((await asked(key, null)).status).toBe(400);
      expect((await asked(key, crypto.randomUUID())).status).toBe(404);
      expect((await asked(other.key, client.sessionId)).status).toBe(404);
      const minted = await service.json('POST', '/v1/sessions', key, {});
      expect((await asked(minted.body.token, client.sessionId)).status).toBe(404);
      expect((await asked(key, client.sessionId)).status).toBe(200);
      const end = () =>
        service.request('DELETE', '/mcp', {
          headers: { Authorization: `Bearer ${key}`, 'Mcp-Session-Id': client.sessionId },
        });
      expect((await end()).status).toBe(204);
      expect((await asked(key, client.sessionId)).status).toBe(404);
      expect((await end()).status).toBe(404);
      expect(upstream.calls.length).toBe(before + 1);
      const stale = await postMcp(
        service,
        key,
        { ...body, method: 'initialize', params: {} },
        {
          headers: { 'Mcp-Session-Id': client.sessionId },
        },
      );
      expect(stale.status).toBe(200);
    });

    test('another key cannot end a session or cancel its calls', async () => {
      const { key } = await keyOn(service);
      const other = await keyOn(service);
      const client = await LegacyClient.open(service, key);
      const headers = { Authorization: `Bearer ${other.key}`, 'Mcp-Session-Id': client.sessionId };
      expect((await service.request('DELETE', '/mcp', { headers })).status).toBe(404);
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
      const foreign = await postMcp(service, other.key, cancel, {
        headers: { 'Mcp-Session-Id': client.sessionId },
      });
      expect(foreign.status).toBe(404);
      expect((await client.request('ping')).status).toBe(200);
    });

    test('notifications and answers of the client are taken with 202', async () => {
      const { key } = await keyOn(service);
      const client = await LegacyClient.open(service, key);
      const taken = await client.notify('notifications/initialized');
      expect([taken.status, taken.text]).toEqual([202, '']);
      expect((await client.post({ jsonrpc: '2.0', id: 5, result: {} })).status).toBe(202);
      expect((await client.notify('notifications/cancelled', { requestId: 77 })).status).toBe(202);
    });

    test('a level is set, a wrong one and an unknown method are refused', async () => {
      const { key } = await keyOn(service);
      const client = await LegacyClient.open(service, key);
      expect((await client.request('logging/setLevel', { level: 'warning' })).result).toEqual({});
      expect((await client.request('logging/setLevel', { level: 'loud' })).error.code).toBe(-32602);
      for (const method of [
        'tasks/list',
        'sampling/createMessage',
        'constructor',
        '__proto__',
        'tools/Call',
      ]) {
        expect((await client.request(method)).error.code).toBe(-32601);
      }
      expect(upstream.heard.some(each => each.method === 'tasks/list')).toBe(false);
    });

    test('without a session or the right Accept there is no stream: 405, which allows POST', async () => {
      const { key } = await keyOn(service);
      const client = await LegacyClient.open(service, key);
      const get = (headers: Record<string, string>) =>
        service.request('GET', '/mcp', { headers: { Authorization: `Bearer ${key}`, ...headers } });
      const none = await get({ Accept: 'text/event-stream' });
      expect([none.status, none.headers.get('allow')]).toEqual([405, 'POST']);
      expect((await get({ Accept: 'application/json', 'Mcp-Session-Id': client.sessionId })).status).toBe(
        405,
      );
      const unknown = await get({ Accept: 'text/event-stream', 'Mcp-Session-Id': crypto.randomUUID() });
      expect(unknown.status).toBe(404);
    });

    test('a stream tells that tools changed; a second one replaces it; the end of the session ends it', async () => {
      const own = new RecordingUpstream();
      const { key, keyId } = await service.newKey(ALLOW);
      await connect(service, keyId, 'own', own.url);
      const client = await LegacyClient.open(service, key);
      await client.tools();
      await until('the service listens to the upstream', () => own.listening === 1);
      const response = await client.listen();
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      expect(response.headers.get('x-accel-buffering')).toBe('no');
      const first = follow(response);
      await until('the stream is open', () => first.said.includes(': open'));
      own.say('notifications/tools/list_changed');
      await until('the client was told', () =>
        first.said.includes('"method":"notifications/tools/list_changed"'),
      );
      const second = follow(await client.listen());
      await until('the older stream ended', () => first.ended);
      own.say('notifications/tools/list_changed');
      await until('the newer one goes on', () => second.said.includes('list_changed'));
      await service.request('DELETE', '/mcp', {
        headers: { Authorization: `Bearer ${key}`, 'Mcp-Session-Id': client.sessionId },
      });
      await until('the stream ended with its session', () => second.ended);
      await own.stop();
    });

    test('a revoked key forwards nothing more; its stream ends, and only its', async () => {
      const other = await LegacyClient.open(service, (await keyOn(service)).key);
      const { key, keyId } = await keyOn(service);
      const client = await LegacyClient.open(service, key);
      expect(text(await client.call('up__echo', { n: 1 }))).toBe('{"n":1}');
      const stream = follow(await client.listen());
      const others = follow(await other.listen());
      await until('the streams are open', () => stream.said.includes(': open'));
      expect((await service.admin('DELETE', `/keys/${keyId}`)).status).toBe(204);
      const before = upstream.calls.length;
      for (const sent of [
        client.call('up__echo'),
        client.request('tools/list'),
        client.request('ping'),
        client.notify('notifications/cancelled', { requestId: 1 }),
      ]) {
        expect((await sent).status).toBe(401);
      }
      await until('the stream ended', () => stream.ended);
      await until('the other one is kept alive', () => others.said.includes(': keep-alive'));
      expect(others.ended).toBe(false);
      expect(upstream.calls.length).toBe(before);
    });

    test('a restart loses no session', async () => {
      const dataDir = newDataDir();
      const options = { engine, dataDir };
      let restarted = await startService(options);
      const { key } = await keyOn(restarted);
      const client = await LegacyClient.open(restarted, key);
      await client.tools();
      await restarted.kill('SIGKILL');
      restarted = await startService({ ...options, databaseUrl: restarted.databaseUrl });
      expect(text(await client.at(restarted).call('up__echo', { after: 'restart' }))).toContain('restart');
      await restarted.close();
      rmSync(dataDir, { recursive: true, force: true });
    });
  });
}

test.skipIf(!(await engines()).includes('postgres'))('two replicas serve one session', async () => {
  const first = await startService({ engine: 'postgres' });
  const second = await startService({ engine: 'postgres', databaseUrl: first.databaseUrl });
  try {
    const { key } = await keyOn(first);
    const client = await LegacyClient.open(first, key);
    expect((await client.tools()).map(tool => tool.name)).toEqual(['up__echo']);
    const elsewhere = client.at(second);
    expect(text(await elsewhere.call('up__echo', { on: 'second' }))).toContain('second');
    const headers = { Authorization: `Bearer ${key}`, 'Mcp-Session-Id': client.sessionId };
    expect((await second.request('DELETE', '/mcp', { headers })).status).toBe(204);
    await until('the end is known here too', async () => (await client.request('ping')).status === 404);
  } finally {
    await first.close();
    await second.close();
  }
});
