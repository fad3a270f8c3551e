// A call of a client that knows tasks, from the question to its end: approved it runs once, and its result can be fetched as
// often as wanted; denied, timed out and cancelled it says so; and nobody else learns that it exists.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createConnection } from 'node:net';
import { Canaries, searchFor } from '../../faults/canaries.ts';
import { sql, until } from '../../support/faults.ts';
import {
  auditOf,
  connect,
  envelope,
  error,
  type Heard,
  META,
  outcomesOf,
  RecordingUpstream,
} from '../../support/mcp.ts';
import { ADMIN_TOKEN, type Engine, engines, startService, type TestService } from '../../support/service.ts';
import { DECLARED, TasksClient } from '../../support/tasks.ts';

const TOOLS = ['echo', 'open'].map(name => ({ name, inputSchema: { type: 'object' } }));
const RULES = [
  { tool: 'up__echo', action: 'require_approval' as const },
  { tool: 'up__open', action: 'allow' as const },
];
const RESULTS = [{ tool: 'up__*', hide: { pattern: 'SECRET-[0-9]+', as: 'secret' } }];

const upstream = new RecordingUpstream({
  tools: TOOLS,
  onCall: heard => {
    const { n, fails, says, times = 1, waits } = heard.params.arguments;
    if (waits === true) return new Promise(() => {});
    return fails === true ? error(heard, -32000, 'no') : said(says?.repeat(times) ?? `did ${n}`);
  },
});
const said = (text: string) => ({ content: [{ type: 'text', text }] });
const callsWith = (n: string): Heard[] => upstream.calls.filter(each => each.params.arguments?.n === n);
afterAll(() => upstream.stop());

/** A tasks/get as it is sent over a plain connection. */
function aboutTask(taskId: string): { path: string; headers: string; body: string } {
  const params = { taskId, _meta: envelope({ [`${META}clientCapabilities`]: DECLARED }) };
  const headers = `Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tasks/get\r\nMcp-Name: ${taskId}\r\n`;
  return {
    path: '/mcp',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params }),
  };
}

const DENIED = (note: string) =>
  `Blocked by policy: A person denied this call. They wrote: "${note}" Do not retry this call.`;

describe.each(await engines())('%s', (engine: Engine) => {
  let service: TestService;
  let key: string;
  let keyId: string;
  let policy: { id: string; name: string };
  let client: TasksClient;
  beforeAll(async () => {
    service = await startService({ engine, env: { TOOLGATE_LOG_LEVEL: 'trace' } });
    const made = await service.newKey(RULES, {}, { results: RESULTS });
    ({ key, keyId } = made);
    policy = { id: made.policyId, name: made.policyName };
    await connect(service, keyId, 'up', upstream.url);
    client = new TasksClient(service, key);
  });
  afterAll(() => service.close());

  const answer = async (taskId: string, action: string, note?: string) => {
    const path = `/approvals/${taskId}/resolve`;
    const { status } = await service.admin('POST', path, { action, ...(note && { note }) });
    expect(status).toBe(200);
  };

  /** A call that waits, and its task. */
  async function asked(args: Record<string, unknown> = {}, by = client) {
    const n = crypto.randomUUID();
    const { result } = await by.call('up__echo', { n, ...args });
    expect(result).toMatchObject({ resultType: 'task', status: 'working', pollIntervalMs: 5000 });
    return { taskId: result.taskId as string, n: (args['n'] ?? n) as string, created: result };
  }

  test('an approved call runs once, and its result is given as often as it is asked for', async () => {
    const { taskId, n, created } = await asked();
    expect((await client.call('up__echo', { n })).result).toMatchObject({ resultType: 'task', taskId });
    expect(created.statusMessage).toBe('A person has to approve this call.');
    expect(created.ttlMs).toBe(3_600_000 + 600_000);
    expect(Object.keys(created)).not.toContain('result');
    expect((await client.get(taskId)).result).toMatchObject({ resultType: 'complete', status: 'working' });
    await answer(taskId, 'approve');
    const ended = await client.ends(taskId);
    expect(ended).toMatchObject({
      status: 'completed',
      result: { resultType: 'complete', ...said(`did ${n}`) },
    });
    expect((await client.get(taskId)).result).toEqual(ended);
    expect(callsWith(n)).toHaveLength(1);
    const entries = await auditOf(service, keyId);
    expect(entries.map(({ decision }) => decision)).toEqual(['pending', 'pending', 'allow']);
    expect(await outcomesOf(service, keyId)).toEqual(['ok']);
    // The approval is spent.
    const again = (await client.call('up__echo', { n })).result;
    expect([again.resultType, again.taskId === taskId]).toEqual(['task', false]);
  });

  test('an answer that opens a grant has the call made too', async () => {
    const made = await service.newKey(RULES);
    await connect(service, made.keyId, 'up', upstream.url);
    const other = new TasksClient(service, made.key);
    const { taskId, n } = await asked({}, other);
    const answered = { action: 'approve', duration: '1h' };
    expect((await service.admin('POST', `/approvals/${taskId}/resolve`, answered)).status).toBe(200);
    expect(await other.ends(taskId)).toMatchObject({ status: 'completed', result: said(`did ${n}`) });
    expect((await other.call('up__echo', { n })).result).toMatchObject(said(`did ${n}`));
    expect(callsWith(n)).toHaveLength(2);
  });

  test('what the policy hides is hidden in a result that waits, and an error of the server is one', async () => {
    const hidden = await asked({ says: 'it is SECRET-42' });
    const failing = await asked({ fails: true });
    for (const { taskId } of [hidden, failing]) await answer(taskId, 'approve');
    const { result } = await client.ends(hidden.taskId);
    expect(result.content[0].text).not.toContain('SECRET-42');
    expect(await client.ends(failing.taskId)).toMatchObject({
      status: 'failed',
      error: { code: -32000, message: 'no' },
    });
  });

  test('a result counts for its key until whoever asked for it has read it', async () => {
    const chars = 4_000_000;
    const { taskId } = await asked({ says: 'x'.repeat(100), times: chars / 100 });
    await answer(taskId, 'approve');
    await client.ends(taskId);
    const heldBytes = async () => {
      const { text } = await service.json('GET', '/metrics', ADMIN_TOKEN);
      return Number(/^toolgate_held_bytes\{by="answers"\} (\d+)/m.exec(text)?.[1]);
    };
    await until('it is read', async () => (await heldBytes()) === 0);
    const { hostname, port } = new URL(service.url);
    const { path, headers, body } = aboutTask(taskId);
    const sent = `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n${headers}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    // They read nothing: some are answered, and the others wait for their turn.
    const sockets = Array.from({ length: 8 }, () => createConnection(Number(port), hostname).pause());
    for (const socket of sockets) socket.on('error', () => {}).write(sent);
    await until('what they do not read counts', async () => (await heldBytes()) > 2 * chars);
    expect(await heldBytes()).toBeLessThanOrEqual(16 * 1024 * 1024);
    for (const socket of sockets) socket.destroy();
    await until('it is given back', async () => (await heldBytes()) === 0);
    expect((await client.get(taskId)).text.length).toBeGreaterThan(chars);
    await until('it is read', async () => (await heldBytes()) === 0);
  });

  test('a denied call, and one that nobody answered, end with an error result', async () => {
    const brief = await asked();
    await sql(
      service.databaseUrl,
      `UPDATE approvals SET expires_at = ${Date.now()} WHERE id = '${brief.taskId}'`,
    );
    const { taskId, n } = await asked();
    await answer(taskId, 'deny', 'Not today.');
    const denied = await client.ends(taskId);
    const again = (await client.call('up__echo', { n })).result;
    expect(denied).toMatchObject({ status: 'completed', result: again });
    expect(again).toMatchObject({ isError: true, ...said(DENIED('Not today.')) });
    expect(await client.ends(brief.taskId)).toMatchObject({
      status: 'completed',
      result: { isError: true, resultType: 'complete' },
    });
    expect([...callsWith(n), ...callsWith(brief.n)]).toEqual([]);
  });

  test('what the policy denies by the time of the approval ends with that error', async () => {
    const { taskId, n } = await asked();
    const path = `/policies/${policy.id}`;
    const change = (rules: object[]) =>
      service.admin('PUT', path, { name: policy.name, rules, results: RESULTS });
    expect((await change([{ tool: '*', action: 'deny', reason: 'Closed.' }])).status).toBe(200);
    await answer(taskId, 'approve');
    expect(await client.ends(taskId)).toMatchObject({
      status: 'completed',
      result: { isError: true, ...said('Blocked by policy: Closed. Do not retry this call.') },
    });
    expect((await change(RULES)).status).toBe(200);
    expect(callsWith(n)).toEqual([]);
    expect((await auditOf(service, keyId)).at(-1)?.decision).toBe('deny');
  });

  test('a call that is allowed at once is answered at once, and its end is recorded with it', async () => {
    const before = (await outcomesOf(service, keyId)).length;
    const { result } = await client.call('up__open', { n: 'direct' });
    expect(result).toMatchObject({ resultType: 'complete', ...said('did direct') });
    expect((await outcomesOf(service, keyId)).slice(before)).toEqual(['ok']);
    expect(await sql(service.databaseUrl, `SELECT 1 FROM executions WHERE key_id = '${keyId}'`)).toEqual([]);
  });

  test('a task is known to the credential that made the call, and to nobody else', async () => {
    const session = async () => (await service.json('POST', '/v1/sessions', key, {})).body.token as string;
    const mine = new TasksClient(service, await session());
    const { taskId } = await asked({}, mine);
    expect((await mine.get(taskId)).result.status).toBe('working');
    const other = await service.newKey(RULES);
    const strangers = [key, await session(), other.key].map(token => new TasksClient(service, token));
    const unknown = await mine.get(crypto.randomUUID());
    expect([unknown.status, unknown.error]).toEqual([
      200,
      { code: -32602, message: 'There is no such task.' },
    ]);
    for (const stranger of strangers) {
      for (const ask of [stranger.get(taskId), stranger.update(taskId, {}), stranger.cancel(taskId)]) {
        const { status, error } = await ask;
        expect([status, error]).toEqual([unknown.status, unknown.error]);
      }
    }
    for (const id of ['any', 'x'.repeat(10_000), taskId.toUpperCase()])
      expect((await mine.get(id)).error).toEqual(unknown.error);
  });

  test('a client that listens hears how its own tasks change until they have ended, and of no others', async () => {
    const { taskId } = await asked();
    const other = new TasksClient(service, (await service.newKey(RULES)).key);
    const foreign = await other.listen([taskId, crypto.randomUUID()]);
    await foreign.ended;
    expect([foreign.agreed, foreign.tasks]).toEqual([[], []]);
    const stream = await client.listen([taskId, crypto.randomUUID()]);
    await stream.until('it is told how it is', ({ tasks }) => tasks.length === 1);
    expect(stream.agreed).toEqual([taskId]);
    await answer(taskId, 'approve');
    await stream.ended;
    const { resultType: _, ...last } = (await client.get(taskId)).result;
    const { _meta: meta, ...told } = stream.tasks.at(-1);
    expect([told, meta]).toEqual([last, { 'io.modelcontextprotocol/subscriptionId': stream.id }]);
    expect(stream.messages.at(-1)).toMatchObject({ id: stream.id, result: { resultType: 'complete' } });
    const undeclared = await new TasksClient(service, key, {}).listen([taskId]);
    await undeclared.ended;
    expect(undeclared.messages[0].error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: DECLARED },
    });
    const listen = (notifications: object, headers = {}) =>
      client.request('subscriptions/listen', { notifications }, { headers });
    expect((await listen({ toolsListChanged: true })).error.code).toBe(-32601);
    expect((await listen({ taskIds: taskId })).error.code).toBe(-32602);
    expect((await listen({ taskIds: [taskId] }, { Accept: 'application/json' })).status).toBe(406);
  });

  test('clients that do not declare tasks, and those of a key without them, get `pending`', async () => {
    const plain = new TasksClient(service, key, {});
    const off = await service.newKey(RULES, { tasks: false });
    await connect(service, off.keyId, 'up', upstream.url);
    const without = new TasksClient(service, off.key);
    for (const each of [plain, without]) {
      const { result } = await each.call('up__echo', { n: 'pending' });
      expect(result).toMatchObject({ resultType: 'complete', structuredContent: { status: 'pending' } });
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const { status, error } = await each.request(
          method,
          { taskId: 'any' },
          { headers: { 'Mcp-Name': 'any' } },
        );
        expect([status, error.code, error.data]).toEqual([400, -32021, { requiredCapabilities: DECLARED }]);
      }
    }
    const { capabilities } = (await without.request('server/discover')).result;
    expect(capabilities.extensions).toBeUndefined();
  });

  test('a cancelled task that waits withdraws its question, and the same call asks anew', async () => {
    const { taskId, n } = await asked();
    const { result } = await client.cancel(taskId);
    expect(result).toEqual({ resultType: 'complete' });
    expect(await client.ends(taskId)).toMatchObject({ status: 'cancelled' });
    const late = await service.admin('POST', `/approvals/${taskId}/resolve`, { action: 'approve' });
    expect(late.status).toBe(409);
    expect((await service.admin('GET', `/approvals/${taskId}`)).body.status).toBe('withdrawn');
    expect((await client.cancel(taskId)).result).toEqual(result);
    expect((await asked({ n })).taskId).not.toBe(taskId);
    expect(callsWith(n)).toEqual([]);
  });

  test('a cancelled task that runs is cancelled at the tool server, once', async () => {
    const { taskId, n } = await asked({ waits: true });
    await answer(taskId, 'approve');
    await until('it has arrived', () => callsWith(n).length === 1);
    expect((await client.get(taskId)).result.status).toBe('working');
    await client.cancel(taskId);
    expect(await client.ends(taskId)).toMatchObject({ status: 'cancelled' });
    const cancelled = () => upstream.of('notifications/cancelled').length > 0;
    await until('the tool server knows', () => callsWith(n)[0]?.signal.aborted === true || cancelled());
    expect((await outcomesOf(service, keyId)).at(-1)).toBe('cancelled');
    expect((await client.cancel(taskId)).result).toEqual({ resultType: 'complete' });
  });

  test('a call of a session that was revoked meanwhile is not made', async () => {
    const { token, id } = (await service.json('POST', '/v1/sessions', key, {})).body;
    const { taskId, n } = await asked({}, new TasksClient(service, token));
    expect((await service.json('DELETE', `/v1/sessions/${id}`, key)).status).toBe(204);
    await answer(taskId, 'approve');
    const stateOf = async () =>
      (await sql<{ state: string }>(service.databaseUrl, `SELECT state FROM tasks WHERE id = '${taskId}'`))[0]
        ?.state;
    await until('its call is let go', async () => (await stateOf()) === 'gone');
    expect(callsWith(n)).toEqual([]);
  });

  test('a key can ask about tasks only so often in a minute', async () => {
    const other = new TasksClient(service, (await service.newKey(RULES)).key);
    const statuses: number[] = [];
    const ask = async () => statuses.push((await other.get('any')).status);
    // The minute may end in between, so there are more than fit in two.
    for (let round = 0; round < 13; round++) await Promise.all(Array.from({ length: 100 }, ask));
    const refused = await other.get('any');
    expect([statuses.filter(each => each === 200).length >= 600, statuses.includes(429)]).toEqual([
      true,
      true,
    ]);
    if (refused.status === 429) expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await client.get('any')).status).toBe(200);
  });

  test('arguments and results of tasks are written nowhere', async () => {
    const canaries = new Canaries();
    const marked = () => ({ text: canaries.at('an argument'), says: canaries.at('a result') });
    const { taskId: waits } = await asked(marked());
    const [runs, fails] = [await asked(marked()), await asked({ ...marked(), fails: true })];
    for (const { taskId } of [runs, fails]) {
      await answer(taskId, 'approve');
      await client.ends(taskId);
    }
    await client.get(waits);
    const tables = ['tasks', 'executions', 'approvals', 'audit', 'outcomes', 'deliveries', 'notifications'];
    const rows = await Promise.all(
      tables.map(table => sql<object>(service.databaseUrl, `SELECT * FROM ${table}`)),
    );
    const found = searchFor(canaries, [service.dataDir], [service.output, JSON.stringify(rows)]);
    expect(found).toEqual([]);
  });

  test('a header that names another task is refused, and methods that are gone are unknown', async () => {
    const { taskId } = await asked();
    for (const headers of [{ 'Mcp-Name': 'another' }, { 'Mcp-Method': 'tasks/cancel', 'Mcp-Name': taskId }]) {
      const { status, error } = await client.get(taskId, { headers });
      expect([status, error.code]).toEqual([400, -32020]);
    }
    for (const method of ['tasks/result', 'tasks/list'])
      expect((await client.request(method, { taskId })).error.code).toBe(-32601);
    expect((await client.update(taskId, { unknown: { action: 'cancel' } })).result).toEqual({
      resultType: 'complete',
    });
  });
});
