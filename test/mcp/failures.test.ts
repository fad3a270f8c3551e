// Upstreams that are unreachable: they do not make others fail, their tools stay known and calls are still checked, and
// when they are back a call reaches them once, whatever they have forgotten.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir, until } from '../support/faults.ts';
import {
  auditOf,
  connect,
  LegacyClient,
  outcomesOf,
  RecordingUpstream,
  startWithStdio,
  stdioScript,
  text,
} from '../support/mcp.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { startEverything } from './sdk.ts';

const ALLOW = [{ tool: '*', action: 'allow' as const }];
const journal = join(newDataDir(), 'journal');
const all: Engine[] = await enginesWhenChanged('src/store/**');

for (const engine of all) {
  describe(engine, () => {
    let service: TestService;
    let end: () => Promise<void>;
    beforeAll(async () => {
      ({ service, end } = await startWithStdio({ script: stdioScript('good', journal) }, { engine }));
    });
    afterAll(() => end());

    test('one dead upstream fails neither the list nor calls of the others', async () => {
      const good = new RecordingUpstream();
      const { key, keyId } = await service.newKey(ALLOW);
      await connect(service, keyId, 'dead', 'http://127.0.0.1:9/mcp');
      const odd = new RecordingUpstream({ era: 'modern' });
      await connect(service, keyId, 'odd', { transport: 'sse', url: odd.url });
      await connect(service, keyId, 'good', good.url);
      const client = await LegacyClient.open(service, key);
      expect(client.initialized.status).toBe(200);
      expect(text(await client.call('good__echo', { a: 1 }))).toBe('{"a":1}');
      const { body } = await service.admin('GET', `/keys/${keyId}/connected-tools`);
      const dead = body.connectedTools.find((each: { name: string }) => each.name === 'dead');
      expect(dead.health).toMatchObject({ state: 'down', error: 'the upstream cannot be reached' });
      await good.stop();
      await odd.stop();
    });

    test('a call of a known tool whose upstream is down is checked and recorded, and then an error the model can read', async () => {
      const upstream = new RecordingUpstream();
      const { key, keyId } = await service.newKey([{ tool: 'echo', action: 'allow' }]);
      const id = await connect(service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(service, key);
      await client.tools();
      const { port } = upstream;
      await upstream.stop();
      const said = await client.call('up__echo');
      expect(said.result.isError).toBe(true);
      expect(text(said)).toContain('The call was allowed, but the upstream cannot be reached');
      expect(await client.tools()).toEqual([]);
      expect((await auditOf(service, keyId)).map(each => each.decision)).toEqual(['allow']);
      await until(
        'the outcome was recorded',
        async () => (await outcomesOf(service, keyId))[0] === 'upstream_failure',
      );
      const back = new RecordingUpstream({ port });
      await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`);
      expect(text(await client.call('up__echo', { b: 2 }))).toBe('{"b":2}');
      expect(back.calls.length).toBe(1);
      await back.stop();
    });

    test('what another process learnt is known after a restart, also while the upstream is away', async () => {
      const upstream = new RecordingUpstream();
      const { key, keyId } = await service.newKey([{ tool: '*', action: 'deny' }]);
      await connect(service, keyId, 'up', upstream.url);
      await (await LegacyClient.open(service, key)).tools();
      await upstream.stop();
      if (engine !== 'postgres') return;
      const other = await startService({ engine, databaseUrl: service.databaseUrl });
      const client = await LegacyClient.open(other, key);
      expect((await client.call('up__echo')).result.isError).toBe(true);
      expect((await auditOf(other, keyId)).map(each => each.decision)).toEqual(['deny']);
      await other.close();
    });

    test('an upstream that forgot our session is initialized again, and gets the call once', async () => {
      const upstream = new RecordingUpstream();
      const { key, keyId } = await service.newKey(ALLOW);
      await connect(service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(service, key);
      await client.call('up__echo', { n: 1 });
      for (const forget of [() => upstream.sessions.clear(), () => upstream.restart()]) {
        await forget();
        const initialized = upstream.of('initialize').length;
        const before = upstream.calls.length;
        expect(text(await client.call('up__echo', { n: 2 }))).toBe('{"n":2}');
        expect(upstream.of('initialize').length).toBe(initialized + 1);
        expect(upstream.calls.length).toBe(before + 1);
      }
      await upstream.stop();
    });

    test('a 404 that says nothing of a session is not followed by a second try', async () => {
      const upstream = new RecordingUpstream({
        stateless: true,
        onCall: () => new Response('gone', { status: 404 }),
      });
      const { key, keyId } = await service.newKey(ALLOW);
      await connect(service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(service, key);
      expect((await client.call('up__echo')).result.isError).toBe(true);
      expect(upstream.calls.length).toBe(1);
      await upstream.stop();
    });

    test('a 400 that speaks of a session is not followed by a second try; the next call opens a session', async () => {
      const answers = [Response.json({ error: 'no seat in this session' }, { status: 400 })];
      const upstream = new RecordingUpstream({ onCall: () => answers.pop() ?? { content: [] } });
      const { key, keyId } = await service.newKey(ALLOW);
      await connect(service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(service, key);
      expect(text(await client.call('up__echo'))).toContain('HTTP status 400');
      expect(upstream.calls.length).toBe(1);
      const initialized = upstream.of('initialize').length;
      expect((await client.call('up__echo')).result.isError).toBeUndefined();
      expect(upstream.calls.length).toBe(2);
      expect(upstream.of('initialize').length).toBe(initialized + 1);
      await upstream.stop();
    });

    test('a connection cut in the middle of a call is not followed by a second try', async () => {
      const upstream = new RecordingUpstream({
        onCall: async () => {
          await upstream.stop();
          return {};
        },
      });
      const { key, keyId } = await service.newKey(ALLOW);
      await connect(service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(service, key);
      await client.tools();
      expect((await client.call('up__echo')).result.isError).toBe(true);
      expect(upstream.calls.length).toBe(1);
    });

    test('a stdio server that ended is started again', async () => {
      const { key, keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'script' });
      const client = await LegacyClient.open(service, key);
      const failed = await client.call('cmd__echo', { how: 'exit' });
      expect(text(failed)).toContain('exit code 3');
      const before = starts();
      await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`);
      expect(text(await client.call('cmd__echo', { c: 3 }))).toBe('{"c":3}');
      expect(starts()).toBe(before + 1);
    });
  });
}

test('an operator waits for a command that takes long to start; a caller gets an error', async () => {
  const file = join(newDataDir(), 'slow');
  const { service, end } = await startWithStdio({ slow: stdioScript('slow start', file) });
  const { key, keyId } = await service.newKey(ALLOW);
  const id = await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'slow' });
  const tried = service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`);
  const client = await LegacyClient.open(service, key);
  // Longer than a server on the network is given, and than the web server leaves an answer silent.
  expect(await client.tools()).toEqual([]);
  await Bun.sleep(6000);
  writeFileSync(`${file}.go`, '');
  expect((await tried).body).toEqual({ ok: true, error: null, tools: ['cmd__echo', 'cmd__other'] });
  expect(text(await client.call('cmd__echo', { n: 1 }))).toBe('{"n":1}');
  expect(readFileSync(file, 'utf8').split('pid ').length).toBe(2);
  expect(service.output).toContain('the command is still starting');
  await end();
});

const starts = () => readFileSync(journal, 'utf8').split('pid ').length;

test('server-everything restarted on its port serves the call after the one that it refuses', async () => {
  const service = await startService();
  let everything = await startEverything('streamableHttp');
  const { key, keyId } = await service.newKey(ALLOW);
  await connect(service, keyId, 'up', everything.url);
  const client = await LegacyClient.open(service, key);
  expect(text(await client.call('up__echo', { message: 'one' }))).toContain('one');
  await everything.stop();
  everything = await startEverything('streamableHttp', everything.port);
  // It refuses an unknown session with 400, which others answer to calls that ran.
  expect(text(await client.call('up__echo', { message: 'two' }))).toContain('HTTP status 400');
  expect(text(await client.call('up__echo', { message: 'three' }))).toContain('three');
  await everything.stop();
  await service.close();
});
