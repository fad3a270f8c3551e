// One key's slow calls, or many tool servers that hold a stream open, leave room for everybody else; a call beyond its
// bound is recorded and spends nothing; and a client that hangs up gives its places back.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { until } from '../support/faults.ts';
import {
  type Answering,
  auditOf,
  connect,
  error,
  LegacyClient,
  modern,
  outcomesOf,
  RecordingUpstream,
  text,
} from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const ALLOW = [{ tool: '*', action: 'allow' as const }];
const never: Answering = () => new Promise(() => {});
const SLOW = 300;
const STREAMS = 300;

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    const slow = new RecordingUpstream({ onCall: never });
    const quick = new RecordingUpstream();
    let service: TestService;
    const start = async (env: Record<string, string>) => {
      service = await startService({ engine, env });
    };
    afterAll(async () => {
      await service.close();
      await slow.stop();
      await quick.stop();
    });

    /** A key of its own with one Connected Tool. */
    const client = async (upstream: RecordingUpstream, rules = ALLOW) => {
      const { key, keyId } = await service.newKey(rules);
      const toolId = await connect(service, keyId, 'up', upstream.url);
      const opened = await LegacyClient.open(service, key, '2025-03-26');
      await opened.tools();
      return { key, keyId, toolId, opened };
    };

    /** Calls that are under way until they are hung up; in batches, since our own runtime has a pool as well. */
    const hang = async (opened: LegacyClient, count: number) => {
      const before = slow.calls.length;
      const stop = new AbortController();
      const one = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'up__echo' } };
      const ids = Array.from({ length: count }, (_, id) => id);
      const batches = Array.from({ length: Math.ceil(count / 100) }, (_, at) =>
        ids.slice(at * 100, at * 100 + 100),
      );
      const calls = batches.map(each =>
        opened
          .post(
            each.map(id => ({ ...one, id })),
            { signal: stop.signal },
          )
          .catch(() => null),
      );
      await until('they are under way', () => slow.calls.length === before + count);
      const hangUp = async () => {
        stop.abort();
        await Promise.all(calls);
      };
      return { hangUp };
    };
    const told = () => slow.of('notifications/cancelled').length;

    describe('without bounds of its own', () => {
      beforeAll(() =>
        start({ TOOLGATE_MAX_CALLS_PER_KEY: '10000', TOOLGATE_MAX_CALLS_PER_CONNECTED_TOOL: '10000' }),
      );
      afterAll(() => service.close());

      test('more slow calls of one key than the runtime’s own pool has do not stop another key', async () => {
        const [one, other] = [await client(slow), await client(quick)];
        const { hangUp } = await hang(one.opened, SLOW);
        expect(text(await other.opened.call('up__echo', { n: 1 }))).toBe('{"n":1}');
        // None of the slow ones has ended meanwhile.
        expect([told(), await outcomesOf(service, one.keyId)]).toEqual([0, []]);
        await hangUp();
        await until('the upstream was told of each', () => told() === SLOW);
        await until('they are recorded', async () => (await outcomesOf(service, one.keyId)).length === SLOW);
        expect(new Set(await outcomesOf(service, one.keyId))).toEqual(new Set(['cancelled']));
      });

      test('many servers that hold a stream open do not stop calls; beyond 256 they do without one', async () => {
        const servers = new RecordingUpstream();
        const others: string[] = [];
        for (let each = 0; each < STREAMS / 50; each++) {
          const { key, keyId } = await service.newKey(ALLOW);
          const names = Array.from({ length: 50 }, (_, index) => `s${index}`);
          await Promise.all(names.map(name => connect(service, keyId, name, servers.url)));
          others.push(key);
        }
        const clients = await Promise.all(others.map(key => LegacyClient.open(service, key)));
        await until('all are connected', () => servers.of('notifications/initialized').length >= STREAMS);
        await until('as many listen as may', () => servers.listening >= 250);
        const { opened } = await client(quick);
        expect(text(await opened.call('up__echo', { n: 2 }))).toBe('{"n":2}');
        expect(text(await clients.at(-1)!.call('s49__echo', { n: 3 }))).toBe('{"n":3}');
        expect(servers.listening).toBeLessThanOrEqual(256);
        await servers.stop();
      });
    });

    describe('with bounds', () => {
      beforeAll(() => start({ TOOLGATE_MAX_CALLS_PER_KEY: '5', TOOLGATE_MAX_CALLS_PER_CONNECTED_TOOL: '3' }));

      test('a call beyond the bound of its Connected Tool is refused and recorded; others are not', async () => {
        const one = await client(slow);
        await connect(service, one.keyId, 'quick', quick.url);
        await one.opened.tools();
        const { hangUp } = await hang(one.opened, 3);
        const refused = await one.opened.call('up__echo');
        expect(refused.result.isError).toBe(true);
        const why =
          '3 calls of this Connected Tool are under way, as many as TOOLGATE_MAX_CALLS_PER_CONNECTED_TOOL';
        expect(text(refused)).toStartWith('Not forwarded: Rule 0 of policy');
        expect(text(refused)).toContain(why);
        expect(text(refused)).not.toContain('Do not retry');
        const entries = await auditOf(service, one.keyId);
        expect(entries.map(each => each.decision)).toEqual(['allow', 'allow', 'allow', 'deny']);
        expect(entries.at(-1)?.reason).toContain(why);
        expect(text(await one.opened.call('quick__echo', { n: 1 }))).toBe('{"n":1}');
        await hangUp();
      });

      test('a call beyond the bound of its key is refused; another key’s is not', async () => {
        const [one, other] = [await client(slow), await client(quick)];
        await connect(service, one.keyId, 'more', slow.url);
        await one.opened.tools();
        const first = await hang(one.opened, 3);
        const before = slow.calls.length;
        const stop = new AbortController();
        const sending = { signal: stop.signal };
        const more = [1, 2].map(() =>
          one.opened.call('more__echo', {}, undefined, sending).catch(() => null),
        );
        await until('they are under way', () => slow.calls.length === before + 2);
        expect(text(await one.opened.call('more__echo'))).toContain('5 calls of this key are under way');
        expect(text(await other.opened.call('up__echo', { n: 1 }))).toBe('{"n":1}');
        stop.abort();
        await Promise.all(more);
        await first.hangUp();
      });

      test('a client that hangs up gives its places back, whatever revision it speaks', async () => {
        const one = await client(slow);
        const before = { told: told(), calls: slow.calls.length };
        let count = 0;
        const ways = [
          (signal: AbortSignal) => one.opened.call('up__echo', {}, undefined, { signal }),
          (signal: AbortSignal) => modern(service, one.key, 'tools/call', { name: 'up__echo' }, { signal }),
        ];
        for (const way of ways) {
          const stop = new AbortController();
          const hung = [1, 2, 3].map(() => way(stop.signal).catch(() => null));
          count += 3;
          await until('they are under way', () => slow.calls.length === before.calls + count);
          stop.abort();
          await Promise.all(hung);
          await until('the upstream was told of each', () => told() === before.told + count);
        }
        await until('they are recorded', async () => (await outcomesOf(service, one.keyId)).length === 6);
        expect(new Set(await outcomesOf(service, one.keyId))).toEqual(new Set(['cancelled']));
      });

      test('a batch whose client hangs up is cancelled whole', async () => {
        const { key, keyId } = await service.newKey(ALLOW);
        await connect(service, keyId, 'up', slow.url);
        const opened = await LegacyClient.open(service, key, '2025-03-26');
        await opened.tools();
        const [before, arrived] = [told(), slow.calls.length];
        const stop = new AbortController();
        const params = { name: 'up__echo' };
        const batch = [1, 2, 3].map(id => ({ jsonrpc: '2.0', id, method: 'tools/call', params }));
        const hung = opened.post(batch, { signal: stop.signal }).catch(() => null);
        await until('they are under way', () => slow.calls.length === arrived + 3);
        stop.abort();
        await hung;
        await until('the upstream was told of each', () => told() === before + 3);
        await until('they are recorded', async () => (await outcomesOf(service, keyId)).length === 3);
        expect(new Set(await outcomesOf(service, keyId))).toEqual(new Set(['cancelled']));
      });

      test('a refused call spends no approval', async () => {
        const one = await client(slow, [
          { tool: 'other', action: 'require_approval' },
          { tool: '*', action: 'allow' },
        ] as never);
        slow.options.tools = [{ name: 'echo' }, { name: 'other' }];
        await one.opened.tools();
        const held = await one.opened.call('up__other', { n: 1 });
        const { referenceId } = held.result.structuredContent;
        await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
        const { hangUp } = await hang(one.opened, 3);
        expect(text(await one.opened.call('up__other', { n: 1 }))).toContain('Not forwarded');
        await hangUp();
        slow.options.onCall = call => ({ content: [{ type: 'text', text: call.params.name }] });
        await until('its place is free', async () => (await outcomesOf(service, one.keyId)).length === 3);
        expect(text(await one.opened.call('up__other', { n: 1 }))).toBe('other');
        slow.options.onCall = never;
      });

      test('what is forwarded besides tools takes places too', async () => {
        const waiting: string[] = [];
        const upstream = new RecordingUpstream({
          capabilities: { tools: {}, resources: {} },
          others: {
            'resources/read': heard => {
              waiting.push(heard.params.uri);
              return new Promise(() => {});
            },
            ping: heard => error(heard, -32601, 'no'),
          },
        });
        const one = await client(upstream);
        await service.admin('PATCH', `/keys/${one.keyId}`, { forward: ['resources'] });
        const stop = new AbortController();
        const params = { uri: 'up+file:///a' };
        const hung = [1, 2, 3].map(() =>
          one.opened.request('resources/read', params, { signal: stop.signal }).catch(() => null),
        );
        await until('they are under way', () => waiting.length === 3);
        const refused = await one.opened.request('resources/read', params);
        expect(refused.error.message).toContain('3 calls of this Connected Tool are under way');
        expect((await auditOf(service, one.keyId)).map(each => each.decision).at(-1)).toBe('deny');
        stop.abort();
        await Promise.all(hung);
        await until('its places are free', async () => {
          const again = new AbortController();
          const asked = one.opened.request('resources/read', params, { signal: again.signal });
          const answered = await Promise.race([asked.catch(() => null), Bun.sleep(200).then(() => 'waits')]);
          again.abort();
          return answered === 'waits';
        });
        await upstream.stop();
      });
    });
  });
}
