// The official client of tasks, `@modelcontextprotocol/ext-tasks` on top of the SDK, with calls that a person answers. It
// calls once, asks and listens as its host lets it, and has the call's own result in the end.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { packagesOf } from '../../../scripts/extras.ts';
import { connect, RecordingUpstream } from '../../support/mcp.ts';
import { need } from '../../support/need.ts';
import { engines, startService, type TestService } from '../../support/service.ts';
import { ENDED, TasksClient } from '../../support/tasks.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

const PACKAGE = packagesOf('scripts', '@modelcontextprotocol/ext-tasks/dist/client/index.js');
const FRAMING = {
  protocolVersion: '2026-07-28',
  clientInfo: { name: 'test', version: '1' },
  clientCapabilities: {},
};

const has = need(existsSync(PACKAGE), 'the client of MCP tasks (npm ci --prefix scripts)');

for (const engine of has ? await engines() : []) {
  describe(engine, () => {
    const upstream = new RecordingUpstream();
    let services: TestService[];
    let key: string;

    beforeAll(async () => {
      const first = await startService({ engine });
      const others = engine === 'postgres' ? [await startService({ databaseUrl: first.databaseUrl })] : [];
      services = [first, ...others];
      const made = await first.newKey([{ tool: '*', action: 'require_approval' }]);
      await connect(first, made.keyId, 'up', upstream.url);
      key = made.key;
    });
    afterAll(async () => {
      await Promise.all([...services.map(each => each.close()), upstream.stop()]);
    });

    const answer = async (taskId: string, body: Any) => {
      const done = await services[0]?.admin('POST', `/approvals/${taskId}/resolve`, body);
      if (done?.status !== 200) throw new Error(done?.text);
    };

    test('an approved call gives its client the result without another call', async () => {
      await using host = await Host.open(services, key);
      const { execution, settled } = await host.call('up__echo', { n: 'approved' });
      expect(upstream.calls.length).toBe(0);
      await answer(execution.handle.taskId, { action: 'approve' });
      const { outcome } = await settled;
      expect(outcome).toMatchObject({ status: 'completed', result: { resultType: 'complete' } });
      expect(outcome.result.content).toEqual([{ type: 'text', text: '{"n":"approved"}' }]);
      expect(upstream.calls.map(each => each.params.arguments.n)).toEqual(['approved']);
      expect(host.sent.filter(method => method === 'tools/call')).toEqual(['tools/call']);
    });

    test('a denied one ends with the note of whoever denied it', async () => {
      await using host = await Host.open(services, key);
      const { execution, settled } = await host.call('up__echo', { n: 'denied' });
      await answer(execution.handle.taskId, { action: 'deny', note: 'Ask me on Monday.' });
      const { outcome } = await settled;
      expect(outcome).toMatchObject({ status: 'completed', result: { isError: true } });
      expect(outcome.result.content[0].text).toContain('Ask me on Monday.');
      expect(upstream.calls.some(each => each.params.arguments.n === 'denied')).toBe(false);
    });

    test('one that its client cancels is not asked about any more', async () => {
      await using host = await Host.open(services, key);
      const { execution, settled } = await host.call('up__echo', { n: 'cancelled' });
      await execution.cancel();
      expect((await settled).outcome.status).toBe('cancelled');
      const { taskId } = execution.handle;
      const late = await services[0]?.admin('POST', `/approvals/${taskId}/resolve`, { action: 'approve' });
      expect(late?.status).toBe(409);
      expect(upstream.calls.some(each => each.params.arguments.n === 'cancelled')).toBe(false);
    });
  });
}

/** What a program has around the official client: it sends its requests, and lets it hear what becomes of its tasks. */
class Host {
  /** The methods of the requests that were sent. */
  readonly sent: string[] = [];
  readonly #client: Any;
  readonly #session: Any;
  /** It listens at the last replica, and asks the first. */
  readonly #listens: TasksClient;

  private constructor(client: Any, services: readonly TestService[], key: string, module: Any) {
    this.#client = client;
    this.#listens = new TasksClient(services.at(-1) as TestService, key);
    const asks = new TasksClient(services[0] as TestService, key);
    this.#session = module.createTaskSessionFromClient(client, {
      endpointId: 'toolgate',
      v2RequestFraming: FRAMING,
      rawDispatch: async ({ method, params }: Any) => {
        this.sent.push(method);
        const name = method === 'tools/call' ? params.name : params.taskId;
        const { result, error } = await asks.request(method, params, { headers: { 'Mcp-Name': name } });
        return error === undefined ? { kind: 'result', result } : { kind: 'error', error };
      },
    });
  }

  static async open(services: readonly TestService[], key: string): Promise<Host> {
    const module: Any = await import(PACKAGE);
    const client: Any = new Client(FRAMING.clientInfo, { versionNegotiation: { mode: 'auto' } } as Any);
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${services[0]?.url}/mcp`), { requestInit }),
    );
    return new Host(client, services, key, module);
  }

  /** Calls a tool, and lets the client hear how its task ends, which is sooner than it would ask. */
  async call(name: string, args: Any): Promise<{ execution: Any; settled: Promise<Any> }> {
    const execution = await this.#session.callTool(name, args);
    expect(execution.kind).toBe('task');
    const stream = await this.#listens.listen([execution.handle.taskId]);
    const isEnd = ({ method, params }: Any) =>
      method === 'notifications/tasks' && ENDED.includes(params.status);
    await stream.until('the subscription is acknowledged', ({ agreed }) => agreed?.length === 1);
    const heard = stream
      .until('the end is told', ({ messages }) => messages.some(isEnd))
      .then(() => this.#client.fallbackNotificationHandler(stream.messages.find(isEnd)));
    const settled = Promise.all([execution.settle(), heard, stream.ended]).then(([settlement]) => settlement);
    return { execution, settled };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close();
    await this.#client.close();
  }
}
