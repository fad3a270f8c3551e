// Resources, prompts and completion: refused by default, forwarded under the Connected Tool's name to keys whose
// setting says so, each access recorded first.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  auditOf,
  connect,
  error,
  type Heard,
  LegacyClient,
  META,
  modern,
  postMcp,
  RecordingUpstream,
} from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';

const METHODS = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
];
const offering = (era: 'legacy' | 'modern') => {
  const done = era === 'modern' ? { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' } : {};
  return new RecordingUpstream({
    era,
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {}, completion: {} },
    others: {
      'resources/list': () => ({ ...done, resources: [{ uri: 'file:///a', name: 'a' }] }),
      'resources/templates/list': () => ({
        ...done,
        resourceTemplates: [{ uriTemplate: 'file:///{x}', name: 't' }],
      }),
      'resources/read': ({ params }) => ({ ...done, contents: [{ uri: params.uri, text: 'read' }] }),
      'prompts/list': () => ({ ...done, prompts: [{ name: 'hello' }] }),
      'prompts/get': ({ params }) => ({ ...done, messages: [], description: params.name }),
      'completion/complete': ({ params }) => ({
        resultType: 'complete',
        completion: { values: [params.ref.name ?? params.ref.uri] },
      }),
    },
  });
};
const upstreams = { legacy: offering('legacy'), modern: offering('modern') };
let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.close();
  await upstreams.legacy.stop();
  await upstreams.modern.stop();
});

async function keyThat(forward: string[], upstream: RecordingUpstream) {
  const made = await service.newKey([{ tool: '*', action: 'deny' }], { forward });
  await connect(service, made.keyId, 'up', upstream.url);
  return made;
}

const ASKED: Record<string, Record<string, unknown>> = {
  'resources/read': { uri: 'up+file:///a' },
  'prompts/get': { name: 'up__hello' },
  'completion/complete': {
    ref: { type: 'ref/prompt', name: 'up__hello' },
    argument: { name: 'x', value: '' },
  },
};

test('by default they are unknown methods, declared nowhere and never forwarded', async () => {
  const { key, keyId } = await keyThat([], upstreams.legacy);
  const client = await LegacyClient.open(service, key);
  expect(client.initialized.result.capabilities).toEqual({ tools: { listChanged: true }, logging: {} });
  for (const method of METHODS) {
    expect((await client.request(method, ASKED[method])).error.code).toBe(-32601);
  }
  expect(await auditOf(service, keyId)).toEqual([]);
  expect(upstreams.legacy.heard.some(each => METHODS.includes(each.method))).toBe(false);
});

test('each setting opens its own methods only, and not to scoped sessions', async () => {
  const { key } = await keyThat(['prompts'], upstreams.legacy);
  const client = await LegacyClient.open(service, key);
  expect(client.initialized.result.capabilities.prompts).toEqual({});
  expect((await client.request('prompts/list')).result.prompts).toEqual([{ name: 'up__hello' }]);
  expect((await client.request('resources/list')).error.code).toBe(-32601);
  const scoped = await service.json('POST', '/v1/sessions', key, { scopeTools: ['up__echo'] });
  const session = await LegacyClient.open(service, scoped.body.token);
  expect((await session.request('prompts/list')).error.code).toBe(-32601);
});

for (const [era, upstream] of Object.entries(upstreams)) {
  describe(`an upstream of the ${era === 'modern' ? 'newer' : 'older'} era`, () => {
    for (const client of ['older', 'newer']) {
      test(`serves clients of the ${client} era, under names of its own, each access recorded`, async () => {
        const { key, keyId } = await keyThat(['resources', 'prompts', 'completion'], upstream);
        const opened = await LegacyClient.open(service, key);
        const ask = async (method: string, params: Record<string, unknown> = {}) => {
          const said =
            client === 'older'
              ? await opened.request(method, params)
              : await modern(service, key, method, {
                  ...params,
                  _meta: { traceparent: 't', 'toolgate/referenceId': 'x' },
                });
          if (client === 'newer') {
            expect(said.result.resultType).toBe('complete');
            if (method !== 'completion/complete') expect(said.result.cacheScope).toBe('private');
          }
          return said.result;
        };
        if (client === 'newer') {
          const { capabilities } = await ask('server/discover');
          expect(capabilities).toMatchObject({ resources: {}, prompts: {}, completions: {} });
        }
        expect((await ask('resources/list')).resources[0].uri).toBe('up+file:///a');
        expect((await ask('resources/templates/list')).resourceTemplates[0].uriTemplate).toBe(
          'up+file:///{x}',
        );
        expect((await ask('resources/read', ASKED['resources/read'])).contents[0].text).toBe('read');
        expect((await ask('prompts/list')).prompts).toEqual([{ name: 'up__hello' }]);
        expect((await ask('prompts/get', ASKED['prompts/get'])).description).toBe('hello');
        const completed = await ask('completion/complete', ASKED['completion/complete']);
        expect(completed.completion.values).toEqual(['hello']);
        const got = upstream.of('prompts/get').at(-1)!;
        expect(got.params.name).toBe('hello');
        expect(got.params._meta?.['toolgate/referenceId']).toBeUndefined();
        if (era === 'modern') expect(got.headers['mcp-name']).toBe('hello');
        else expect(JSON.stringify(got.params)).not.toContain(META);
        const recorded = await auditOf(service, keyId);
        expect(recorded.map(each => [each.serverName, each.toolName, each.decision])).toEqual(
          METHODS.map(method => ['up', method, 'allow']),
        );
      });
    }
  });
}

test('what belongs to no Connected Tool of the key is unknown, and not recorded', async () => {
  const { key, keyId } = await keyThat(['resources', 'prompts', 'completion'], upstreams.legacy);
  const client = await LegacyClient.open(service, key);
  for (const [method, params] of [
    ['resources/read', { uri: 'file:///a' }],
    ['resources/read', { uri: 'other+file:///a' }],
    ['prompts/get', { name: 'hello' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'hello' } }],
    ['completion/complete', {}],
  ] as const) {
    expect((await client.request(method, params)).error.code).toBe(-32602);
  }
  expect(await auditOf(service, keyId)).toEqual([]);
});

test('what a client sent comes back only if it is short', async () => {
  const { key } = await keyThat(['resources'], upstreams.legacy);
  const client = await LegacyClient.open(service, key);
  const long = 'x'.repeat(100_000);
  const messages = [
    { id: long, method: 'ping' },
    { id: 1, method: long },
    { id: 1, method: 'tools/call', params: { name: long } },
    { id: 1, method: 'resources/read', params: { uri: long } },
    { id: 1, method: 'resources/read', params: { uri: [long] } },
  ].map(each => ({ jsonrpc: '2.0', ...each }));
  for (const sent of [...messages, messages]) {
    const { text } = await postMcp(service, key, sent, { headers: { 'Mcp-Session-Id': client.sessionId } });
    expect(text.length).toBeLessThan(5000);
  }
});

test('an upstream without prompts is not asked for them', async () => {
  const plain = new RecordingUpstream();
  const { key, keyId } = await keyThat(['prompts'], plain);
  const client = await LegacyClient.open(service, key);
  expect((await client.request('prompts/list')).result.prompts).toEqual([]);
  expect(plain.of('prompts/list')).toEqual([]);
  expect(await auditOf(service, keyId)).toEqual([]);
  await plain.stop();
});

test('what completes a resource names it as the client knows it, and the upstream as it does', async () => {
  const { key } = await keyThat(['completion'], upstreams.legacy);
  const client = await LegacyClient.open(service, key);
  const ask = (ref: object) =>
    client.request('completion/complete', { ref, argument: { name: 'x', value: '' } });
  const uri = 'up+file:///{x}';
  expect((await ask({ type: 'ref/resource', uri })).result.completion.values).toEqual(['file:///{x}']);
  for (const ref of [{ type: 'ref/resource', name: 'up__hello' }, { type: 'ref/prompt', uri }, {}])
    expect((await ask(ref)).error.code).toBe(-32602);
});

test('an error of the upstream passes, about the address that the client knows; one that fails is said to', async () => {
  const failing = offering('legacy');
  const { key, keyId } = await keyThat(['resources', 'prompts'], failing);
  const client = await LegacyClient.open(service, key);
  const refuse = (data?: object) => (heard: Heard) => error(heard, -32002, 'not there', data);
  failing.options.others['resources/read'] = refuse({ uri: 'file:///a', more: 1 });
  failing.options.others['prompts/get'] = refuse({ more: 2 });
  const read = () => client.request('resources/read', ASKED['resources/read']);
  const get = () => client.request('prompts/get', ASKED['prompts/get']);
  expect((await read()).error).toEqual({
    code: -32002,
    message: 'not there',
    data: { uri: 'up+file:///a', more: 1 },
  });
  expect((await get()).error).toEqual({ code: -32002, message: 'not there', data: { more: 2 } });
  failing.options.others['resources/read'] = refuse();
  failing.options.others['prompts/get'] = refuse();
  expect((await read()).error.data).toEqual({ uri: 'up+file:///a' });
  expect((await get()).error).toEqual({ code: -32002, message: 'not there' });
  failing.options.others['prompts/get'] = () => new Response('busy', { status: 503 });
  expect((await get()).error).toEqual({
    code: -32603,
    message: 'The request failed: the upstream answered with HTTP status 503.',
  });
  // What has no contents, or contents that are no objects, stays as it is.
  failing.options.others['resources/read'] = () => ({ contents: ['odd', { uri: 'file:///b' }] });
  expect((await read()).result).toEqual({ contents: ['odd', { uri: 'up+file:///b' }] });
  failing.options.others['resources/read'] = () => ({ odd: true });
  expect((await read()).result).toEqual({ odd: true });
  // One that cannot be listed is left out of the list, and the others are in it.
  failing.options.others['resources/list'] = () => new Response('busy', { status: 503 });
  await connect(service, keyId, 'other', upstreams.legacy.url);
  const another = await LegacyClient.open(service, key);
  expect((await another.request('resources/list')).result.resources).toEqual([
    { uri: 'other+file:///a', name: 'a' },
  ]);
  await failing.stop();
});
