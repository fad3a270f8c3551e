// A stop while calls are under way: they are finished and answered, as JSON and as streams. Those that outlast the grace
// period are given up, and their clients are told that nobody knows whether they ran to their end.

import { describe, expect, test } from 'bun:test';
import { until } from '../support/faults.ts';
import {
  type Answered,
  connect,
  type Heard,
  LegacyClient,
  modern,
  outcomesOf,
  RecordingUpstream,
  streamed,
} from '../support/mcp.ts';
import { type Engine, engines, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const ALLOW = [{ tool: '*', action: 'allow' as const }];

interface UnderWay {
  service: TestService;
  keyId: string;
  upstream: RecordingUpstream;
  client: LegacyClient;
  /** The answers, by how they were asked for. */
  answers: Record<string, Promise<Answered>>;
  /** Lets the tool server answer. */
  go: () => void;
}

/** A service whose clients wait for the answers of a tool server, which has all their calls. */
async function underWay(engine: Engine, stopGrace: string, args: string[] = []): Promise<UnderWay> {
  const going = Promise.withResolvers<void>();
  const result = { content: [{ type: 'text', text: 'done' }] };
  const inEvents = (heard: Heard) =>
    streamed(async send => {
      const { progressToken } = heard.params._meta;
      send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
      await going.promise;
      send({ jsonrpc: '2.0', id: heard.id, result });
    });
  const upstream = new RecordingUpstream({
    onCall: async heard => {
      if (heard.params.arguments?.streams) return inEvents(heard);
      await going.promise;
      return result;
    },
  });
  const service = await startService({ engine, args, env: { TOOLGATE_STOP_GRACE: stopGrace } });
  const { key, keyId } = await service.newKey(ALLOW);
  await connect(service, keyId, 'up', upstream.url);
  const client = await LegacyClient.open(service, key);
  const older = await LegacyClient.open(service, key, '2025-03-26');
  const params = { name: 'up__echo' };
  const streams = { arguments: { streams: true }, _meta: { progressToken: 'mine' } };
  const message = { jsonrpc: '2.0', method: 'tools/call', params };
  const answers = {
    json: client.request('tools/call', params),
    stream: client.request('tools/call', { ...params, ...streams }),
    modern: modern(service, key, 'tools/call', params),
    modernStream: modern(service, key, 'tools/call', { ...params, ...streams }),
    batch: older.post([
      { ...message, id: 1 },
      { ...message, id: 2 },
    ]),
  };
  await until('all calls are under way', () => upstream.calls.length === 6);
  return { service, keyId, upstream, client, answers, go: going.resolve };
}

/** All messages of the answers, with their HTTP status. */
async function told(
  answers: UnderWay['answers'],
): Promise<[how: string, status: number, messages: unknown[]][]> {
  const all = Object.entries(answers).map(async ([how, answer]) => {
    const { status, messages } = await answer;
    const last = messages.flat().filter(each => each.id !== undefined);
    return [how, status, last.map(each => each.result?.content ?? each.error?.message)] as [
      string,
      number,
      unknown[],
    ];
  });
  return Promise.all(all);
}

const everywhere = (message: unknown): [string, number, unknown[]][] => [
  ['json', 200, [message]],
  ['stream', 200, [message]],
  ['modern', 200, [message]],
  ['modernStream', 200, [message]],
  ['batch', 200, [message, message]],
];

for (const engine of await engines()) {
  describe(engine, () => {
    test('calls under way are finished and answered, streams without an end are ended at once, others are refused', async () => {
      const { service, upstream, client, answers, go } = await underWay(engine, '5m');
      const listening = await client.listen();
      service.process.kill('SIGTERM');
      await listening.text();
      const refused = await client.request('tools/list');
      expect(refused.status).toBe(503);
      expect([refused.headers.get('connection'), refused.headers.get('retry-after')]).toEqual(['close', '1']);
      expect(service.process.exitCode).toBeNull();
      go();
      expect(await told(answers)).toEqual(everywhere([{ type: 'text', text: 'done' }]));
      expect(await service.process.exited).toBe(0);
      expect(upstream.of('notifications/cancelled')).toEqual([]);
      await service.close();
      await upstream.stop();
    }, 60_000);

    // The service waits one second for these answers, whatever else the machine does.
    whenChanged('src/mcp/**', 'src/main.ts', 'src/http/server.ts')(
      'calls that outlast the grace period are given up, and their clients are told',
      async () => {
        const { service, keyId, upstream, answers } = await underWay(engine, '1s');
        service.process.kill('SIGTERM');
        const message =
          'The call was allowed, but the service is stopping: it is unknown whether the call ran to its end.';
        expect(await told(answers)).toEqual(everywhere(message));
        expect(await service.process.exited).toBe(0);
        expect(await outcomesOf(service, keyId)).toEqual(Array(6).fill('cancelled'));
        await until('the upstream is told', () => upstream.of('notifications/cancelled').length === 6);
        await service.close();
        await upstream.stop();
      },
      60_000,
    );

    // One SQLite file serves one process.
    if (engine === 'sqlite') return;
    test('several workers finish their calls too', async () => {
      const { service, upstream, answers, go } = await underWay(engine, '5m', ['--workers', '2']);
      const haveSaid = (word: string) => service.output.split(`"${word}"`).length === 3;
      // The first one answers before the second one serves, which would end without a word then.
      await until('both serve', () => haveSaid('serving'));
      service.process.kill('SIGTERM');
      await until('they stop', () => haveSaid('stopping'));
      go();
      expect(await told(answers)).toEqual(everywhere([{ type: 'text', text: 'done' }]));
      expect(await service.process.exited).toBe(0);
      await service.close();
      await upstream.stop();
    }, 60_000);
  });
}
