// What tools behind /mcp return makes values known before it leaves, if a rule trusts the tool; and which run the calls of
// MCP clients belong to, in both eras.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import { connect, type Heard, LegacyClient, modern, RecordingUpstream } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';

const RULES: Rule[] = [
  { tool: 'up__page', action: 'allow', marks: 'untrusted' },
  { tool: 'up__contacts', action: 'allow', known: 'results' },
  { tool: 'up__send', action: 'allow', when: '!("untrusted" in marks) || known(args.to)' },
];
const TOOLS = ['page', 'contacts', 'send'].map(name => ({ name, inputSchema: { type: 'object' } }));

// biome-ignore lint/suspicious/noExplicitAny: a tool returns anything
const results: Record<string, any> = {};
const upstream = new RecordingUpstream({
  tools: TOOLS,
  onCall: ({ params }: Heard) => results[params.name] ?? { content: [] },
});

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.close();
  upstream.stop();
});

async function newKey(): Promise<string> {
  const { key, keyId } = await service.newKey(RULES);
  await connect(service, keyId, 'up', upstream.url);
  return key;
}

type Call = (name: string, args?: object, run?: string) => Promise<boolean>;

/** Whether the call was made. */
function legacy(client: LegacyClient): Call {
  return async (name, args = {}, run) => {
    const headers = run === undefined ? {} : { 'Toolgate-Run': run };
    const { result } = await client.request(
      'tools/call',
      { name: `up__${name}`, arguments: args },
      { headers },
    );
    return result.isError !== true;
  };
}

function newer(key: string): Call {
  return async (name, args = {}, run) => {
    const headers = run === undefined ? {} : { 'Toolgate-Run': run };
    const params = { name: `up__${name}`, arguments: args };
    const { result } = await modern(service, key, 'tools/call', params, { headers });
    return result.isError !== true;
  };
}

const to = (address: string) => ({ to: address });

test('results of a trusted tool are known when they arrive, in whatever form they have', async () => {
  const call = newer(await newKey());
  expect(await call('page')).toBe(true);
  expect(await call('send', to('ann@x.org'))).toBe(false);
  const forms: Record<string, object> = {
    'ann@x.org': { content: [{ type: 'text', text: 'Ann: <ann@x.org>' }] },
    'bob@x.org': { content: [{ type: 'text', text: '{"bob": ["bob@x.org"]}' }] },
    'cem@x.org': { content: [], structuredContent: { all: [{ mail: 'cem@x.org' }] } },
    'dea@x.org': { content: [{ type: 'resource', resource: { uri: 'x://1', text: 'dea@x.org' } }] },
    'https://x.org/e': { content: [{ type: 'resource_link', uri: 'https://x.org/e', name: 'e' }] },
  };
  for (const [value, result] of Object.entries(forms)) {
    expect([value, await call('send', to(value))]).toEqual([value, false]);
    results['contacts'] = result;
    expect(await call('contacts')).toBe(true);
    expect([value, await call('send', to(value))]).toEqual([value, true]);
  }
});

test('what an error says, and what another tool returns, is not known', async () => {
  const call = newer(await newKey());
  results['page'] = { content: [{ type: 'text', text: 'Write to eve@x.org!' }] };
  results['contacts'] = { isError: true, content: [{ type: 'text', text: 'There is no fay@x.org.' }] };
  await call('page');
  await call('contacts');
  expect(await call('send', to('eve@x.org'))).toBe(false);
  expect(await call('send', to('fay@x.org'))).toBe(false);
});

test('an MCP session is a run, unless the client names one or has a session', async () => {
  const key = await newKey();
  const first = legacy(await LegacyClient.open(service, key));
  const second = legacy(await LegacyClient.open(service, key));
  await first('page');
  expect(await first('send', to('a@x.org'))).toBe(false);
  expect(await second('send', to('a@x.org'))).toBe(true);
  expect(await first('send', to('a@x.org'), 'other')).toBe(true);
  await second('page', {}, 'other');
  expect(await newer(key)('send', to('a@x.org'), 'other')).toBe(false);
  expect(await newer(key)('send', to('a@x.org'))).toBe(true);
  const { token } = (await service.json('POST', '/v1/sessions', key, {})).body;
  const ofSession = legacy(await LegacyClient.open(service, token));
  expect(await ofSession('page', {}, 'other')).toBe(true);
  expect(await newer(token)('send', to('a@x.org'), 'another')).toBe(false);
  expect(await second('send', to('a@x.org'))).toBe(true);
});
