// What policies say about results, behind /mcp: what clients get, what is recorded of it, when a run is marked, and what such
// a result makes known. test/faults/p32-results.test.ts looks for what leaves by mistake.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import type { ResultEntry } from '../../src/core/policy/result-fields.ts';
import { sql, until } from '../support/faults.ts';
import { connect, type Heard, LegacyClient, modern, RecordingUpstream, streamed } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a server answers anything
type Any = any;

const RULES: Rule[] = [
  { tool: 'up__send', action: 'allow', when: '!("untrusted" in marks) || known(args.to)' },
  { tool: 'up__send', action: 'deny' },
  { tool: 'up__contacts', action: 'allow', known: 'results' },
  { tool: '*', action: 'allow' },
];
const RESULTS: ResultEntry[] = [
  { tool: 'up__hidden', hide: 'email' },
  { tool: 'up__page', marks: 'untrusted' },
  { tool: 'up__contacts', hide: { pattern: 'SECRET-[0-9]+', as: 'secret' }, marks: 'untrusted' },
  { tool: 'up__args', when: 'args.open != true', withhold: true, reason: 'Only what is open.' },
  { tool: 'up__long', atMost: '8B' },
  { tool: 'up__*', when: 'result.text.contains("nobody")', withhold: true, reason: 'For nobody.' },
  { tool: 'up__*', when: 'result.text.contains("page of a stranger")', marks: 'untrusted' },
];
const NAMES = ['hidden', 'page', 'contacts', 'args', 'long', 'send', 'plain'];

const text = (said: string): Any => ({ content: [{ type: 'text', text: said }] });
const withheld = (reason: string): Any => ({ ...text(reason), isError: true });

let answer: (heard: Heard) => unknown = () => text('');
const upstream = new RecordingUpstream({
  tools: NAMES.map(name => ({ name, inputSchema: { type: 'object' } })),
  capabilities: { tools: {}, logging: {}, resources: {} },
  onCall: heard => answer(heard),
  others: {
    'resources/read': heard => answer(heard),
    'resources/list': heard => answer(heard),
  },
});

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.close();
  await upstream.stop();
});

async function open() {
  const { key, keyId } = await service.newKey(RULES, { forward: ['resources'] }, { results: RESULTS });
  await connect(service, keyId, 'up', upstream.url);
  const client = await LegacyClient.open(service, key);
  const call = async (name: string, said: Any, args: object = {}): Promise<Any> => {
    answer = typeof said === 'function' ? said : () => said;
    return client.call(`up__${name}`, args);
  };
  const recorded = async (tool: string) => {
    const found = async () => {
      const { body } = await service.admin('GET', `/audit?keyId=${keyId}&tool=up__${tool}`);
      const entry = await service.admin('GET', `/audit/${body.entries[0].id}`);
      return entry.body.forwarded;
    };
    await until('the outcome is recorded', async () => (await found()) !== null);
    return found();
  };
  const isMarked = async () => (await call('send', text('sent'))).result.isError === true;
  return { key, client, call, recorded, isMarked };
}

test('each entry does what it says, and the entry of the call has the numbers', async () => {
  const { call, recorded } = await open();
  expect((await call('hidden', text('ann@example.org'))).result).toEqual(text('[hidden: email]'));
  expect(await recorded('hidden')).toMatchObject({
    outcome: 'ok',
    result: { hidden: { email: 1 }, withheld: false, cut: false },
  });
  expect((await call('args', text('x'))).result).toEqual(withheld('Only what is open.'));
  expect((await call('args', text('x'), { open: true })).result).toEqual(text('x'));
  expect((await call('plain', text('for nobody'))).result).toEqual(withheld('For nobody.'));
  expect(await recorded('plain')).toMatchObject({ outcome: 'ok', result: { withheld: true } });
  expect((await call('long', text('a text that is long'))).result.content[0].text).toStartWith(
    'a text t[cut:',
  );
  expect(await recorded('long')).toMatchObject({ result: { hidden: {}, withheld: false, cut: true } });
});

test('a policy that says nothing about a tool leaves its result as it is, and records nothing of it', async () => {
  const { key, keyId } = await service.newKey(RULES, {}, { results: [{ tool: 'other__*', hide: 'email' }] });
  await connect(service, keyId, 'up', upstream.url);
  answer = () => ({ ...text('ann@example.org'), odd: [1.5, 12345678901234567890n.toString()] });
  const { result } = await modern(service, key, 'tools/call', { name: 'up__plain' });
  expect(result).toMatchObject({ ...text('ann@example.org'), odd: [1.5, '12345678901234567890'] });
  const { body } = await service.admin('GET', `/audit?keyId=${keyId}`);
  const shown = async () => (await service.admin('GET', `/audit/${body.entries[0].id}`)).body.forwarded;
  await until('the outcome is recorded', async () => (await shown()) !== null);
  expect((await shown()).result).toBeNull();
});

test('a result marks the run before it is passed on, also one that is an error', async () => {
  for (const said of [text('a page'), withheld('failed')]) {
    const { call, isMarked } = await open();
    expect(await isMarked()).toBe(false);
    await call('page', said);
    expect(await isMarked()).toBe(true);
  }
});

test('a log message that brings a mark is passed on once the run has it', async () => {
  const { key } = await open();
  const said: string[] = [];
  answer = heard =>
    streamed(async send => {
      const params = { level: 'error', data: { text: 'a page of a stranger' } };
      send({ jsonrpc: '2.0', method: 'notifications/message', params });
      await until('the message is passed on', () => said.length > 0);
      send({ jsonrpc: '2.0', id: heard.id, result: text('done') });
    });
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'up__plain',
      'Toolgate-Run': 'mine',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'up__plain',
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
          'io.modelcontextprotocol/logLevel': 'debug',
        },
      },
    }),
  });
  for await (const chunk of response.body ?? []) {
    said.push(new TextDecoder().decode(chunk));
    if (said.length > 1) continue;
    answer = () => text('sent');
    const params = { name: 'up__send' };
    const sent = await modern(service, key, 'tools/call', params, { headers: { 'Toolgate-Run': 'mine' } });
    expect(sent.result.isError).toBe(true);
  }
  expect(said.join('')).toContain('a page of a stranger');
  expect(said.join('')).toContain('done');
});

test('where the run cannot be marked, the result is withheld', async () => {
  const { call, recorded } = await open();
  const rename = (from: string, to: string) =>
    sql(service.databaseUrl, `ALTER TABLE ${from} RENAME TO ${to}`);
  const got = await call('page', async () => {
    await rename('run_marks', 'elsewhere');
    return text('a page');
  });
  await rename('elsewhere', 'run_marks');
  expect(got.result.isError).toBe(true);
  expect(got.text).not.toContain('a page');
  expect(await recorded('page')).toMatchObject({ outcome: 'ok', result: { withheld: true } });
});

test('what a trusted tool makes known is what is passed on of its result', async () => {
  const { call, isMarked } = await open();
  await call('contacts', text('ann@example.org, SECRET-1234'));
  expect(await isMarked()).toBe(true);
  const to = async (to: string) => (await call('send', text('sent'), { to })).result.isError !== true;
  expect(await to('ann@example.org')).toBe(true);
  expect(await to('SECRET-1234')).toBe(false);
});

test('a resource can mark the run of the client, or be withheld; a list gives no marks', async () => {
  const { client, isMarked } = await open();
  answer = () => ({ resources: [{ uri: 'a:b', name: 'page of a stranger', text: 'page of a stranger' }] });
  expect((await client.request('resources/list')).result.resources).toHaveLength(1);
  expect(await isMarked()).toBe(false);
  answer = () => ({ contents: [{ uri: 'a:b', text: 'for nobody' }] });
  const read = () => client.request('resources/read', { uri: 'up+a:b' });
  expect((await read()).error.message).toBe('For nobody.');
  answer = () => ({ contents: [{ uri: 'a:b', text: 'page of a stranger' }] });
  expect((await read()).result.contents[0].text).toBe('page of a stranger');
  expect(await isMarked()).toBe(true);
});
