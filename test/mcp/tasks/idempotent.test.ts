// A tools/call with an idempotency key runs once: made again it gets the answer that the first one had, on either replica, also
// while that still runs or after its client was lost. And what a tool server that wants keys is sent.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { sql, until } from '../../support/faults.ts';
import {
  type Answered,
  auditOf,
  connect,
  error,
  type Heard,
  LegacyClient,
  outcomesOf,
  RecordingUpstream,
  text,
} from '../../support/mcp.ts';
import { engines, startService, type TestService } from '../../support/service.ts';
import { IDEMPOTENCY_META, TasksClient } from '../../support/tasks.ts';

const RULES = [
  { tool: 'up__gated', action: 'require_approval' as const },
  { tool: 'up__denied', action: 'deny' as const, reason: 'Never.' },
  { tool: '*', action: 'allow' as const },
];
const tools = ['echo', 'gated', 'denied'].map(name => ({ name, inputSchema: { type: 'object' } }));

/** What the calls wait for that are to hang. */
let gate = Promise.withResolvers<void>();
const upstream = new RecordingUpstream({
  tools,
  onCall: async heard => {
    const { n, fails, hangs } = heard.params.arguments;
    if (hangs) await gate.promise;
    return fails ? error(heard, -32000, 'no') : { content: [{ type: 'text', text: `did ${n}` }] };
  },
});
afterEach(() => {
  gate.resolve();
  gate = Promise.withResolvers();
});
afterAll(() => upstream.stop());

const heard = (n: string): Heard[] => upstream.calls.filter(each => each.params.arguments?.n === n);
const isCalled = (n: string) => until('the tool is called', () => heard(n).length > 0);

for (const engine of await engines()) {
  describe(engine, () => {
    let service: TestService;
    let other: TestService;
    let key: string;
    let keyId: string;
    let client: TasksClient;
    beforeAll(async () => {
      service = await startService({ engine });
      const { databaseUrl } = service;
      other = engine === 'postgres' ? await startService({ engine, databaseUrl }) : service;
      ({ key, keyId } = await service.newKey(RULES));
      await connect(service, keyId, 'up', { transport: 'http', url: upstream.url });
      client = new TasksClient(service, key, {});
    });
    afterAll(async () => {
      if (other !== service) await other.close();
      await service.close();
    });

    const fresh = () => ({ n: crypto.randomUUID(), idempotencyKey: crypto.randomUUID() });
    const shown = ({ result, error, status }: Answered) => ({ result, error, status });

    test('the same call gets the same answer, by header or _meta and in both eras, and runs once', async () => {
      const legacy = await LegacyClient.open(service, key);
      const [{ n, idempotencyKey }, before] = [fresh(), (await auditOf(service, keyId)).length];
      const first = await client.call('up__echo', { n }, { idempotencyKey });
      expect(text(first)).toBe(`did ${n}`);
      const meta = { [IDEMPOTENCY_META]: idempotencyKey };
      expect(shown(await client.call('up__echo', { n }, { idempotencyKey }))).toEqual(shown(first));
      expect(shown(await client.at(other).call('up__echo', { n }, { meta }))).toEqual(shown(first));
      expect(shown(await client.call('up__echo', { n }, { meta, idempotencyKey }))).toEqual(shown(first));
      const { resultType: _, ...older } = first.result;
      expect((await legacy.call('up__echo', { n }, meta)).result).toEqual(older);
      expect(heard(n).length).toBe(1);
      expect((await auditOf(service, keyId)).length).toBe(before + 1);
      expect(await outcomesOf(service, keyId)).toEqual(['ok']);
    });

    test('_meta is not forwarded, and neither is the header', async () => {
      const { n, idempotencyKey } = fresh();
      await client.call('up__echo', { n }, { meta: { [IDEMPOTENCY_META]: idempotencyKey, kept: 1 } });
      const [call] = heard(n);
      expect(call?.params._meta).toEqual({ kept: 1 });
      expect(call?.text).not.toContain(idempotencyKey);
      expect(call?.headers['idempotency-key']).toBeUndefined();
    });

    test('an error is given again, and so is a denial', async () => {
      const { n, idempotencyKey } = fresh();
      const failing = () => client.call('up__echo', { n, fails: true }, { idempotencyKey });
      const first = await failing();
      expect(first.error).toMatchObject({ code: -32000, message: 'no' });
      expect((await failing()).error).toEqual(first.error);
      expect(heard(n).length).toBe(1);
      const denied = () => client.call('up__denied', {}, { idempotencyKey: `${idempotencyKey}-2` });
      const [one, before] = [await denied(), (await auditOf(service, keyId)).length];
      expect(text(one)).toContain('Never.');
      expect((await denied()).result).toEqual(one.result);
      expect((await auditOf(service, keyId)).length).toBe(before);
    });

    test('with other arguments it is a conflict, and a wrong key is refused', async () => {
      const { n, idempotencyKey } = fresh();
      const before = (await auditOf(service, keyId)).length;
      await client.call('up__echo', { n }, { idempotencyKey });
      for (const [tool, args] of [
        ['up__echo', { n, more: 1 }],
        ['up__gated', { n }],
      ] as const) {
        const conflict = await client.call(tool, args, { idempotencyKey });
        expect(conflict.status).toBe(409);
        expect(conflict.error).toMatchObject({ code: -32602, data: { code: 'idempotency_conflict' } });
      }
      const meta = { [IDEMPOTENCY_META]: 'another' };
      for (const wrong of [
        { idempotencyKey, meta },
        { idempotencyKey: 'x'.repeat(129) },
        { meta: { [IDEMPOTENCY_META]: 7 } },
      ]) {
        const refused = await client.call('up__echo', { n }, wrong);
        expect([refused.status, refused.error.code]).toEqual([400, -32602]);
      }
      expect((await auditOf(service, keyId)).length).toBe(before + 1);
      expect(heard(n).length).toBe(1);
    });

    test('calls of a batch have keys of their own', async () => {
      const legacy = await LegacyClient.open(service, key, '2025-03-26');
      const { n, idempotencyKey } = fresh();
      const call = (id: number) => ({
        ...{ jsonrpc: '2.0', id, method: 'tools/call' },
        params: { name: 'up__echo', arguments: { n }, _meta: { [IDEMPOTENCY_META]: idempotencyKey } },
      });
      const { messages } = await legacy.post([call(1), call(2)]);
      expect(messages.flat().map(each => each.result.content[0].text)).toEqual([`did ${n}`, `did ${n}`]);
      expect(heard(n).length).toBe(1);
      const headers = { 'Idempotency-Key': idempotencyKey };
      expect((await legacy.post([call(1)], { headers })).status).toBe(400);
    });

    test('two at once, on two replicas, run once and get the same answer', async () => {
      const { n, idempotencyKey } = fresh();
      const call = (at: TestService) =>
        client.at(at).call('up__echo', { n, hangs: true }, { idempotencyKey });
      const both = [call(service), call(other)];
      await isCalled(n);
      gate.resolve();
      const [one, two] = (await Promise.all(both)) as [Answered, Answered];
      expect(text(one)).toBe(`did ${n}`);
      expect(two.result).toEqual(one.result);
      expect(heard(n).length).toBe(1);
    });

    test('a client that was cut off gets the answer of its call, which went on', async () => {
      const { n, idempotencyKey } = fresh();
      const cut = new AbortController();
      const call = (signal?: AbortSignal) =>
        client.call('up__echo', { n, hangs: true }, { idempotencyKey, ...(signal && { signal }) });
      const lost = call(cut.signal).catch(() => 'lost');
      await isCalled(n);
      cut.abort();
      expect(await lost).toBe('lost');
      const again = call();
      gate.resolve();
      expect(text(await again)).toBe(`did ${n}`);
      expect(heard(n).length).toBe(1);
    });

    test('a waiting call is the same question, and runs once after the answer', async () => {
      const { n, idempotencyKey } = fresh();
      const call = () => client.call('up__gated', { n }, { idempotencyKey });
      const asked = await call();
      const { referenceId, status } = asked.result.structuredContent;
      expect(status).toBe('pending');
      expect((await call()).result).toEqual(asked.result);
      await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
      const done = await call();
      expect(text(done)).toBe(`did ${n}`);
      expect((await call()).result).toEqual(done.result);
      expect(heard(n).length).toBe(1);
    });

    test('a waiting call of a key that has lost its tasks is no task any more, and is not made by itself', async () => {
      const { n, idempotencyKey } = fresh();
      const made = await service.newKey(RULES);
      await connect(service, made.keyId, 'up', { transport: 'http', url: upstream.url });
      const tasks = new TasksClient(service, made.key);
      const call = () => tasks.call('up__gated', { n }, { idempotencyKey });
      const { taskId } = (await call()).result;
      await service.admin('PATCH', `/keys/${made.keyId}`, { tasks: false });
      expect((await call()).result.structuredContent).toMatchObject({
        status: 'pending',
        referenceId: taskId,
      });
      await service.admin('POST', `/approvals/${taskId}/resolve`, { action: 'approve' });
      const state = () =>
        sql<{ state: string }>(service.databaseUrl, `SELECT state FROM tasks WHERE id = '${taskId}'`);
      await until('its call is let go', async () => (await state())[0]?.state === 'gone');
      expect(heard(n)).toEqual([]);
      expect(text(await call())).toBe(`did ${n}`);
    });

    test('a waiting call of a client that knows tasks is the same task', async () => {
      const { n, idempotencyKey } = fresh();
      const tasks = new TasksClient(service, key);
      const call = () => tasks.call('up__gated', { n }, { idempotencyKey });
      const { taskId } = (await call()).result;
      expect((await call()).result).toMatchObject({ resultType: 'task', taskId, status: 'working' });
      await service.admin('POST', `/approvals/${taskId}/resolve`, { action: 'approve' });
      const ended = await tasks.ends(taskId);
      expect(ended.status).toBe('completed');
      expect((await call()).result).toEqual(ended.result);
      expect(heard(n).length).toBe(1);
    });
  });
}

describe('a tool server that wants keys', () => {
  let service: TestService;
  let key: string;
  let keyId: string;
  beforeAll(async () => {
    service = await startService();
    ({ key, keyId } = await service.newKey(RULES));
  });
  afterAll(() => service.close());

  const made = (name: string, headers: Record<string, string>) =>
    service.admin('POST', `/keys/${keyId}/connected-tools`, {
      name,
      transport: 'http',
      url: upstream.url,
      headers,
    });

  test('gets one with each call, which says nothing of the client’s, and with nothing else', async () => {
    const { body } = await made('up', { 'idempotency-key': 'call', 'X-Other': 'yes' });
    expect(body).toMatchObject({ hasHeaders: true, namesCalls: true });
    const client = new TasksClient(service, key, {});
    const sent = async (idempotencyKey?: string) => {
      const n = crypto.randomUUID();
      await client.call('up__echo', { n }, idempotencyKey === undefined ? {} : { idempotencyKey });
      const [call] = heard(n);
      expect(call?.headers['x-other']).toBe('yes');
      return call?.headers['idempotency-key'] ?? '';
    };
    const keys = [await sent(), await sent(), await sent('my-key-1'), await sent('my-key-2')];
    for (const each of keys) expect(each).toMatch(/^[\w-]{43}$/);
    expect(new Set(keys).size).toBe(4);
    const others = upstream.heard.filter(
      ({ method, headers }) => method !== 'tools/call' && headers['idempotency-key'],
    );
    expect(others).toEqual([]);
  });

  test('is not given the same key for every call', async () => {
    const refused = await made('fixed', { 'Idempotency-Key': 'always' });
    expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining('"call"')]);
    expect((await made('plain', {})).body.namesCalls).toBe(false);
  });
});

describe('when the service ends', () => {
  test('a result that was held is gone, and a call that was cut off is unknown; neither runs again', async () => {
    let service = await startService();
    const { key, keyId } = await service.newKey(RULES);
    await connect(service, keyId, 'up', { transport: 'http', url: upstream.url });
    const call = (n: string, more: Record<string, unknown> = {}) =>
      new TasksClient(service, key, {}).call('up__echo', { n, ...more }, { idempotencyKey: n });
    const [done, cut] = [crypto.randomUUID(), crypto.randomUUID()];
    expect(text(await call(done))).toBe(`did ${done}`);
    const lost = call(cut, { hangs: true }).catch(() => 'lost');
    await isCalled(cut);
    await service.kill();
    expect(await lost).toBe('lost');
    const { dataDir, databaseUrl } = service;
    service = await startService({ dataDir, databaseUrl });
    expect((await call(done)).error).toEqual({
      code: -32603,
      message: 'It ran, but its result is no longer held',
    });
    expect((await call(cut, { hangs: true })).error).toEqual({
      code: -32603,
      message: 'It is not known whether this call ran',
    });
    expect([heard(done).length, heard(cut).length]).toEqual([1, 1]);
    await service.close();
  });
});
