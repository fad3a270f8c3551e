// Stock MCP clients that know nothing of us, against the reference servers, through the service: list, call, be
// denied, wait, be approved by the link, call again and run once.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Gate, openGate } from '../approvals/gate.ts';
import { until } from '../support/faults.ts';
import { auditOf, connect, outcomesOf, RecordingUpstream, streamed } from '../support/mcp.ts';
import { BUN } from '../support/service.ts';
import { CLIENTS, EVERYTHING, FILESYSTEM, type SdkClient, startEverything } from './sdk.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolgate-files-')));
const config = join(folder, 'toolgate.yaml');
const everything: Awaited<ReturnType<typeof startEverything>>[] = [];
const cancelled = new Set<string>();
const structured = {
  name: 'weigh',
  inputSchema: { type: 'object' },
  outputSchema: {
    type: 'object',
    properties: { grams: { $ref: '#/$defs/weight' } },
    required: ['grams'],
    additionalProperties: false,
    $defs: { weight: { type: 'number' } },
  },
};
const slow = { name: 'slow', inputSchema: { type: 'object' } };
const recorder = new RecordingUpstream({
  tools: [structured, slow],
  onCall: ({ id, params, signal }) => {
    if (params.name === 'weigh') {
      const structuredContent = { grams: 5 };
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    }
    if (params.arguments.hang === 'silently') return new Promise(() => {});
    return streamed(async send => {
      send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'begun' } });
      const progressToken = params._meta.progressToken;
      send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: 1, total: 2 },
      });
      if (params.arguments.hang) await new Promise(resolve => signal.addEventListener('abort', resolve));
      send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } });
    });
  },
});
let gate: Gate;
let key: string;
let keyId: string;

beforeAll(async () => {
  writeFileSync(join(folder, 'note.txt'), 'written by the test');
  const stdioServers = {
    everything: { command: BUN, args: [EVERYTHING, 'stdio'] },
    files: { command: BUN, args: [FILESYSTEM, folder] },
  };
  writeFileSync(config, JSON.stringify({ stdioServers }));
  const [opened, ...servers] = await Promise.all([
    openGate({ env: { TOOLGATE_CONFIG: config } }),
    startEverything('streamableHttp'),
    startEverything('sse'),
  ]);
  gate = opened;
  everything.push(...servers);
  const made = await gate.service.newKey([
    { tool: '*__get-env', action: 'deny', reason: 'The environment is private.' },
    { tool: '*__get-sum', action: 'require_approval' },
    { tool: 'rec__weigh', action: 'require_approval' },
    { tool: '*', action: 'allow' },
  ]);
  ({ key, keyId } = made);
  const [http, sse] = everything;
  await connect(gate.service, keyId, 'http', http!.url);
  await connect(gate.service, keyId, 'sse', { transport: 'sse', url: sse!.url });
  await connect(gate.service, keyId, 'stdio', { transport: 'stdio', server: 'everything' });
  await connect(gate.service, keyId, 'files', { transport: 'stdio', server: 'files' });
  await connect(gate.service, keyId, 'rec', recorder.url);
});

afterAll(async () => {
  await gate.close();
  await recorder.stop();
  for (const each of everything) await each.stop();
  rmSync(folder, { recursive: true, force: true });
});

for (const [name, open] of Object.entries(CLIENTS)) {
  describe(name, () => {
    let client: SdkClient;
    beforeAll(async () => {
      client = await open(gate.service.url, key);
    });
    afterAll(() => client.close());

    test('sees the union of all tools, in a stable order, under their full names', async () => {
      let names: string[] = [];
      // server-everything adds tools just after it was initialized.
      const serversOf = () => [...new Set(names.map(each => each.split('__')[0]))];
      // And one that does not start in time is missing until it has.
      await until('all are there, and the same list twice', async () => {
        const before = names.join();
        names = (await client.listTools()).map(tool => tool.name);
        return names.join() === before && serversOf().length === 5;
      });
      const servers = serversOf();
      expect(servers).toEqual(['files', 'http', 'rec', 'sse', 'stdio']);
      for (const server of ['http', 'sse', 'stdio']) expect(names).toContain(`${server}__echo`);
      expect(names).toContain('files__read_text_file');
    });

    for (const server of ['http', 'sse', 'stdio']) {
      test(`calls what is allowed on ${server} and is told why of what is denied`, async () => {
        const echo = await client.call(`${server}__echo`, { message: 'hello' });
        expect(echo.content[0].text).toContain('hello');
        const image = await client.call(`${server}__get-tiny-image`);
        expect(image.content.some((each: { type: string }) => each.type === 'image')).toBe(true);
        const weather = await client.call(`${server}__get-structured-content`, { location: 'Chicago' });
        expect(weather.structuredContent.temperature).toBe(36);
        const denied = await client.call(`${server}__get-env`);
        expect(denied.isError).toBe(true);
        expect(denied.content[0].text).toContain('The environment is private.');
        expect(denied.structuredContent).toBeUndefined();
      });

      test(`waits on ${server}, is approved by the link, and the call runs once`, async () => {
        const args = { a: 20, b: 22 };
        const held = await client.call(`${server}__get-sum`, args);
        expect(held.isError).toBeUndefined();
        expect(held.structuredContent.status).toBe('pending');
        expect(JSON.parse(held.content[0].text)).toEqual(held.structuredContent);
        const link = await gate.link(held.structuredContent.referenceId);
        await gate.approve(link.token);
        const freed = await client.call(`${server}__get-sum`, args);
        expect(freed.content[0].text).toContain('42');
        const again = await client.call(`${server}__get-sum`, args);
        expect(again.structuredContent.status).toBe('pending');
        expect(again.structuredContent.referenceId).not.toBe(held.structuredContent.referenceId);
      });
    }

    test('reads a file through server-filesystem, and is refused outside its folder', async () => {
      const found = await client.call('files__read_text_file', { path: join(folder, 'note.txt') });
      expect(found.content[0].text).toBe('written by the test');
      const outside = await client.call('files__read_text_file', { path: '/etc/hostname' });
      expect(outside.isError).toBe(true);
    });

    test('takes a pending result of a tool that has an output schema, and the real one', async () => {
      await client.listTools();
      const held = await client.call('rec__weigh', {});
      expect(held.structuredContent.status).toBe('pending');
      const link = await gate.link(held.structuredContent.referenceId);
      await gate.approve(link.token);
      expect((await client.call('rec__weigh', {})).structuredContent).toEqual({ grams: 5 });
    });

    test('gets -32602 for an unknown tool, and nothing is audited', async () => {
      const before = (await auditOf(gate.service, keyId)).length;
      const failure = await client.call('http__nothing').catch(error => error);
      expect(failure.code).toBe(-32602);
      expect(failure.message).toContain('Unknown tool: http__nothing');
      expect((await auditOf(gate.service, keyId)).length).toBe(before);
    });

    test('gets progress', async () => {
      const seen: number[] = [];
      const done = await client.call(
        'http__trigger-long-running-operation',
        { duration: 0.2, steps: 4 },
        { onprogress: ({ progress }: { progress: number }) => seen.push(progress) },
      );
      expect(done.content[0].text).toContain('completed');
      expect(seen.slice(0, 3)).toEqual([1, 2, 3]);
    });

    test('cancels, and the upstream hears of it; no response comes that the client would call unknown', async () => {
      const errors: Error[] = [];
      client.onError(error => errors.push(error));
      const stop = new AbortController();
      const before = recorder.calls.length;
      const progressed = Promise.withResolvers<void>();
      const call = client
        .call('rec__slow', { hang: true }, { signal: stop.signal, onprogress: () => progressed.resolve() })
        .catch(error => error);
      await progressed.promise;
      stop.abort('enough');
      expect(await call).toBeInstanceOf(Error);
      const silent = new AbortController();
      const unheard = client
        .call('rec__slow', { hang: 'silently' }, { signal: silent.signal })
        .catch(error => error);
      await until('the silent call arrived', () => recorder.calls.length === before + 2);
      silent.abort('enough');
      expect(await unheard).toBeInstanceOf(Error);
      const upstreamCall = recorder.calls[before]!;
      await until('the upstream was told', () =>
        recorder.of('notifications/cancelled').some(each => each.params.requestId === upstreamCall.id),
      );
      cancelled.add(`${name}, loud`).add(`${name}, silent`);
      await until('the outcome was recorded', async () => {
        const outcomes = await outcomesOf(gate.service, keyId);
        return outcomes.filter(each => each === 'cancelled').length === cancelled.size;
      });
      await client.listTools();
      expect(errors.map(each => each.message)).toEqual([]);
    });
  });
}

test('log messages reach clients of the older era; those of the newer only when they ask', async () => {
  for (const [name, open] of Object.entries(CLIENTS)) {
    const client = await open(gate.service.url, key);
    const logged: unknown[] = [];
    client.onLog(data => logged.push(data));
    const onprogress = () => {};
    await client.call('rec__slow', {}, { onprogress });
    expect(logged).toEqual(name.includes('newer') ? [] : ['begun']);
    await client.close();
  }
});
