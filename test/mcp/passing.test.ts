// Results pass as the upstream gave them, in meaning to the last digit; errors, progress and outcomes likewise.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql, until } from '../support/faults.ts';
import {
  type Answering,
  auditOf,
  connect,
  error,
  type Heard,
  LegacyClient,
  modern,
  outcomesOf,
  RecordingUpstream,
  raw,
  streamed,
  text,
} from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const ways: Record<string, Answering> = {};
const upstream = new RecordingUpstream({ onCall: call => ways[call.params.arguments.way]!(call) });
const json = (call: Heard, result: string) =>
  raw('application/json', write => write(`{"jsonrpc":"2.0","id":${call.id},"result":${result}}`));
afterAll(() => upstream.stop());

const durationsOf = (service: TestService, keyId: string) =>
  sql<{ ms: number }>(
    service.databaseUrl,
    `SELECT o.duration_ms AS ms FROM outcomes o JOIN audit a ON a.id = o.tool_call_id WHERE a.key_id = '${keyId}'`,
  );

/** Whether the upstream was told that nobody waits for these calls any more. */
function toldOf(way: string): boolean {
  const told = upstream.of('notifications/cancelled').map(each => each.params.requestId);
  const given = upstream.calls.filter(each => each.params.arguments.way === way);
  return given.every(each => told.includes(each.id));
}

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    let key: string;
    let keyId: string;
    let client: LegacyClient;
    beforeAll(async () => {
      service = await startService({ engine });
      ({ key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]));
      await connect(service, keyId, 'up', upstream.url);
      client = await LegacyClient.open(service, key);
      await client.tools();
    });
    afterAll(() => service.close());

    const call = (way: string, answering: Answering, meta?: unknown) => {
      ways[way] = answering;
      return client.call('up__echo', { way }, meta);
    };

    test('unknown content types, vendor fields, structures, images and long numbers stay as they are', async () => {
      const result =
        '{"content":[{"type":"hologram","rays":[1,2]},{"type":"text","text":"é\\ud83d\\ude00\\u0000"},' +
        '{"type":"image","data":"AAAA","mimeType":"image/png","annotations":{"audience":["user"]}}],' +
        '"structuredContent":{"big":12345678901234567890123,"small":0.1000000000000000055511151231257827,' +
        '"__proto__":{"x":1},"constructor":"c","toJSON":1,"text":"t"},"x-vendor":{"deep":[null,true]},' +
        '"_meta":{"vendor/trace":"abc"}}';
      const legacy = await call('rich', heard => json(heard, result));
      expect(legacy.text).toContain('12345678901234567890123');
      expect(legacy.text).toContain('0.1000000000000000055511151231257827');
      expect(JSON.stringify(legacy.result)).toBe(JSON.stringify(JSON.parse(result)));
      const params = { name: 'up__echo', arguments: { way: 'rich' } };
      const newer = await modern(service, key, 'tools/call', params);
      expect(newer.text).toContain('12345678901234567890123');
      const { resultType, ...rest } = newer.result;
      expect(resultType).toBe('complete');
      expect(JSON.stringify(rest)).toBe(JSON.stringify(JSON.parse(result)));
    });

    test('a result without content gets an empty one', async () => {
      const said = await call('bare', () => ({ structuredContent: { a: 1 } }));
      expect(said.result).toEqual({ content: [], structuredContent: { a: 1 } });
    });

    test('an error of the upstream is an error for the client; one of our own leg is not shown as such', async () => {
      const refused = await call('refused', heard => error(heard, -32602, 'Bad arguments', { at: 'a' }));
      expect(refused.error).toEqual({ code: -32602, message: 'Bad arguments', data: { at: 'a' } });
      const leg = await call('leg', heard => error(heard, -32021, 'Missing capability'));
      expect(leg.error.code).toBe(-32603);
    });

    test('progress comes under the client’s own token; another’s is not passed on', async () => {
      const said = await call(
        'progress',
        heard =>
          streamed(send => {
            const tell = (progressToken: unknown, progress: number) =>
              send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } });
            tell(heard.params._meta.progressToken, 1);
            tell('mine', 2);
            tell('another', 3);
            send({ jsonrpc: '2.0', method: 'notifications/unheard-of', params: {} });
            send({ jsonrpc: '2.0', id: heard.id, result: { content: [] } });
          }),
        { progressToken: 'mine' },
      );
      expect(said.messages.slice(0, -1).map(each => each.params)).toEqual([
        { progressToken: 'mine', progress: 1 },
      ]);
      expect(upstream.calls.at(-1)!.params._meta.progressToken).not.toBe('mine');
    });

    test('a client that takes JSON only gets the result alone', async () => {
      ways['chatty'] = heard =>
        streamed(send => {
          send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } });
          send({ jsonrpc: '2.0', id: heard.id, result: { content: [] } });
        });
      const sending = { headers: { Accept: 'application/json' } };
      const said = await client.call('up__echo', { way: 'chatty' }, undefined, sending);
      expect(said.headers.get('content-type')).toContain('application/json');
      expect(said.messages.length).toBe(1);
    });

    test('what came of each call is recorded beside its entry, never what it said', async () => {
      const own = await service.newKey([
        { tool: 'echo', action: 'allow' },
        { tool: '*', action: 'deny' },
      ]);
      await connect(service, own.keyId, 'up', upstream.url);
      const caller = await LegacyClient.open(service, own.key);
      await caller.tools();
      const ask = (way: string, answering: Answering) => {
        ways[way] = answering;
        return caller.call('up__echo', { way, canary: 'CANARY-ARGUMENT' }, undefined, { id: way });
      };
      const begun = performance.now();
      await ask('ok', () => ({ content: [{ type: 'text', text: 'CANARY-RESULT' }] }));
      await ask('tool error', () => ({ isError: true, content: [] }));
      await ask('protocol error', heard => error(heard, -32000, 'CANARY-ERROR'));
      const broken = await ask('failure', () => new Response('CANARY-ERROR', { status: 500 }));
      expect(text(broken)).toContain('HTTP status 500');
      const arrived = Promise.withResolvers<void>();
      const cancelled = ask('cancel', () => {
        arrived.resolve();
        return new Promise(() => {});
      });
      await arrived.promise;
      await caller.notify('notifications/cancelled', { requestId: 'cancel' });
      const unanswered = await cancelled;
      const took = Math.ceil(performance.now() - begun);
      expect([unanswered.status, unanswered.text]).toEqual([202, '']);
      const wanted = ['ok', 'tool_error', 'tool_error', 'upstream_failure', 'cancelled'];
      await until(
        'every outcome was recorded',
        async () => (await outcomesOf(service, own.keyId)).length === wanted.length,
      );
      expect(await outcomesOf(service, own.keyId)).toEqual(wanted);
      // None of them can have taken longer than all of them together.
      for (const { ms } of await durationsOf(service, own.keyId)) {
        expect(Number(ms)).toBeGreaterThanOrEqual(0);
        expect(Number(ms)).toBeLessThanOrEqual(took);
      }
      expect((await auditOf(service, own.keyId)).every(each => each.decision === 'allow')).toBe(true);
      expect((await auditOf(service, own.keyId)).every(each => each.surface === 'mcp')).toBe(true);
      expect(service.output).not.toContain('CANARY');
      await until('the upstream was told', () => toldOf('cancel'));
    });

    test('a call that reports progress for ever ends, and is recorded so', async () => {
      const own = await service.newKey([{ tool: '*', action: 'allow' }]);
      await connect(service, own.keyId, 'up', upstream.url);
      const env = { TOOLGATE_UPSTREAM_MAX: '1s' };
      await service.kill('SIGTERM');
      const { databaseUrl, dataDir } = service;
      service = await startService({ databaseUrl, dataDir, env });
      const caller = await LegacyClient.open(service, own.key);
      await caller.tools();
      let going = true;
      ways['progress for ever'] = heard =>
        streamed(async send => {
          const { progressToken } = heard.params._meta;
          const params = { progressToken, progress: 1 };
          for (; going; await Bun.sleep(20))
            send({ jsonrpc: '2.0', method: 'notifications/progress', params });
        });
      const said = await caller.call('up__echo', { way: 'progress for ever' }, { progressToken: 'mine' });
      going = false;
      expect(text(said)).toContain('did not finish within 1 s, whatever progress it reported');
      await until('it is recorded', async () => (await outcomesOf(service, own.keyId)).length > 0);
      expect(await outcomesOf(service, own.keyId)).toEqual(['timed_out']);
      await until('the upstream was told', () => toldOf('progress for ever'));
    });

    test('a call that is not answered in time ends, is recorded so, and the upstream is told', async () => {
      const own = await service.newKey([{ tool: '*', action: 'allow' }]);
      await connect(service, own.keyId, 'up', upstream.url);
      await (await LegacyClient.open(service, own.key)).tools();
      ways['timeout'] = () => new Promise(() => {});
      // Only this call is short of time: the tools are known from before.
      await service.kill('SIGTERM');
      const { databaseUrl, dataDir } = service;
      const env = { TOOLGATE_UPSTREAM_TIMEOUT: '1s' };
      const hasty = await startService({ databaseUrl, dataDir, env });
      const caller = await LegacyClient.open(hasty, own.key);
      const late = await caller.call('up__echo', { way: 'timeout' });
      expect(late.result.isError).toBe(true);
      expect(text(late)).toContain('did not answer within 1 s');
      await until('the outcome was recorded', async () => {
        const outcomes = await outcomesOf(hasty, own.keyId);
        return outcomes.length > 0;
      });
      expect(await outcomesOf(hasty, own.keyId)).toEqual(['timed_out']);
      await until('the upstream was told', () => toldOf('timeout'));
      await hasty.close();
    });
  });
}
