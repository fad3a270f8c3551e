// What one replica is told about something that lives in another's memory reaches it: a call is cancelled, an
// open stream ends, a changed or removed Connected Tool is forgotten.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { newDataDir, until } from '../support/faults.ts';
import { connect, LegacyClient, outcomesOf, RecordingUpstream } from '../support/mcp.ts';
import { engines, startService, type TestService } from '../support/service.ts';

const onPostgres = (await engines()).includes('postgres');

describe.if(onPostgres)('two replicas', () => {
  const dataDir = newDataDir();
  const upstream = new RecordingUpstream({
    onCall: () => new Promise(() => {}),
  });
  let one: TestService;
  let two: TestService;
  let key: { key: string; keyId: string };
  let toolId: string;
  beforeAll(async () => {
    one = await startService({ engine: 'postgres' });
    two = await startService({ databaseUrl: one.databaseUrl, dataDir });
    key = await one.newKey([{ tool: '*', action: 'allow' }]);
    toolId = await connect(one, key.keyId, 'up', upstream.url);
  });
  afterAll(async () => {
    await one.close();
    await two.close();
    upstream.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('a call on one is cancelled through the other, and no other call is', async () => {
    const client = await LegacyClient.open(one, key.key);
    await client.tools();
    const calls = ['first', 'second'].map(id => client.call('up__echo', {}, undefined, { id }));
    await until('both arrived', () => upstream.calls.length === 2);
    await client.at(two).notify('notifications/cancelled', { requestId: 'first' });
    // What was cancelled is not answered.
    const { status, text } = await calls[0]!;
    expect([status, text]).toEqual([202, '']);
    await until('it is recorded', async () => (await outcomesOf(one, key.keyId)).includes('cancelled'));
    expect(await outcomesOf(one, key.keyId)).toEqual(['cancelled']);
    await client.notify('notifications/cancelled', { requestId: 'second' });
    await calls[1];
  });

  test('a stream on one ends with its connection on the other', async () => {
    const client = await LegacyClient.open(one, key.key);
    const stream = await client.listen();
    expect(stream.status).toBe(200);
    const headers = { Authorization: `Bearer ${key.key}`, 'Mcp-Session-Id': client.sessionId };
    expect((await two.request('DELETE', '/mcp', { headers })).status).toBe(204);
    await stream.text();
    expect((await client.request('ping')).status).toBe(404);
  });

  test('a Connected Tool changed on one is closed on the other unasked, and opened anew', async () => {
    const client = await LegacyClient.open(two, key.key);
    expect(await client.tools()).toHaveLength(1);
    expect(upstream.sessions.size).toBeGreaterThan(0);
    const change = { headers: { 'X-Token': 'two' } };
    await one.admin('PATCH', `/keys/${key.keyId}/connected-tools/${toolId}`, change);
    await until('nothing is open', () => upstream.sessions.size === 0);
    expect(await client.tools()).toHaveLength(1);
    expect(upstream.of('tools/list').at(-1)?.headers['x-token']).toBe('two');
  });

  test('a Connected Tool removed on one is gone on the other', async () => {
    const client = await LegacyClient.open(two, key.key);
    expect(await client.tools()).toHaveLength(1);
    const gone = await one.admin('DELETE', `/keys/${key.keyId}/connected-tools/${toolId}`);
    expect(gone.status).toBe(204);
    await until('the other knows', async () => (await client.tools()).length === 0);
    expect((await client.call('up__echo', {})).error.code).toBe(-32602);
  });
});
