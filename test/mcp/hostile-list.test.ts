// A server that lists too much: nothing of it is taken, the operator reads why, the store does not grow by it, and
// other keys are answered meanwhile.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql, until } from '../support/faults.ts';
import {
  type Answering,
  connect,
  error,
  type Heard,
  LegacyClient,
  RecordingUpstream,
  startWithStdio,
  text,
} from '../support/mcp.ts';
import { BUN, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const ALLOW = [{ tool: '*', action: 'allow' as const }];
const MIB = 1024 * 1024;
const named = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });
const many = (count: number, start = 0) =>
  Array.from({ length: count }, (_, n) => named(`tool-${start + n}`));

/** Six pages, each with one tool of so many bytes. */
function pages(filling: (bytes: number) => string): Answering {
  const filled = filling(15 * MIB);
  return ({ id, params }) => {
    const page = Number(params.cursor ?? 0);
    const tool = `{"name":"big-${page}","inputSchema":{"type":"object","enum":${filled}}}`;
    const next = page < 5 ? `,"nextCursor":"${page + 1}"` : '';
    const body = `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${tool}]${next}}}`;
    return new Response(body, { headers: { 'Content-Type': 'application/json' } });
  };
}

const HOSTILE: [string, Answering, string][] = [
  ['six pages of long texts', pages(bytes => `["${'x'.repeat(bytes)}"]`), 'more than 4 MiB'],
  [
    'six pages of small values',
    pages(bytes => `[${'0,'.repeat(bytes / 2)}0]`),
    'a message with more than 250000 values',
  ],
  [
    'six pages of numbers that are kept as written',
    pages(bytes => `[${'1e400,'.repeat(bytes / 6)}0]`),
    'a message with more than 250000 values',
  ],
  [
    'six pages of empty lists',
    pages(bytes => `[1e400,${'[],'.repeat(bytes / 3)}0]`),
    'a message with more than 250000 values',
  ],
  ['too many tools', () => ({ tools: many(2001) }), 'more than 2000 items'],
  [
    'pages without end',
    ({ params }) => {
      const page = Number(params.cursor ?? 0);
      return { tools: many(1, page), nextCursor: String(page + 1) };
    },
    'more than 100 pages',
  ],
  [
    'one definition that is too large',
    () => ({ tools: [named('fine'), named('large', { description: 'x'.repeat(MIB / 4) })] }),
    'the definition of "large" has more than 262144 characters',
  ],
];

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    const pinned = async (id: string) =>
      (
        await sql<{ n: number }>(
          service.databaseUrl,
          `SELECT count(*) AS n FROM tool_definitions WHERE connected_tool_id = '${id}'`,
        )
      ).map(({ n }) => Number(n))[0];

    for (const [what, listing, why] of HOSTILE) {
      test(`${what}: refused, with the reason; others are answered`, async () => {
        const hostile = new RecordingUpstream();
        const good = new RecordingUpstream();
        const { key, keyId } = await service.newKey(ALLOW);
        const id = await connect(service, keyId, 'bad', hostile.url);
        await connect(service, keyId, 'good', good.url);
        const client = await LegacyClient.open(service, key);
        await client.tools();
        hostile.options.others = { 'tools/list': listing };
        const other = await service.newKey(ALLOW);
        let listed: string[] | null = null;
        const listing_ = client.tools().then(tools => {
          listed = tools.map(each => each.name);
        });
        do {
          const answered = await service.json('POST', '/v1/check', other.key, {
            serverName: 's',
            toolName: 't',
          });
          expect(answered.body.decision).toBe('allow');
        } while (listed === null);
        await listing_;
        expect(listed as string[] | null).toEqual(['good__echo']);
        const tested = await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`);
        expect([tested.body.ok, tested.body.tools]).toEqual([false, []]);
        expect(tested.body.error).toContain(why);
        await until('it is logged', () => service.output.includes(JSON.stringify(why).slice(1, -1)));
        expect(await pinned(id)).toBe(1);
        // What was known before is called as before.
        expect(text(await client.call('bad__echo', { n: 1 }))).toBe('{"n":1}');
        await hostile.stop();
        await good.stop();
      });
    }

    test('a server that shows other tools every time does not fill the store', async () => {
      const upstream = new RecordingUpstream();
      const { keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'bad', upstream.url);
      const tried = async (tools: object[]) => {
        upstream.options.tools = tools;
        return (await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`)).body;
      };
      expect((await tried(many(2000))).ok).toBe(true);
      expect((await tried(many(2000, 2000))).ok).toBe(true);
      const refused = await tried(many(2000, 4000));
      expect(refused.error).toContain('has shown more than 5000 tools in all');
      expect(await pinned(id)).toBe(4000);
      expect((await tried(many(1000, 4000))).ok).toBe(true);
      expect((await tried([named('one-more')])).ok).toBe(false);
      // Those that are known are compared as before.
      expect((await tried(many(2000))).ok).toBe(true);
      await upstream.stop();
    });

    test('what a server says in place of its tools is shown and logged in a few words', async () => {
      const upstream = new RecordingUpstream();
      const { keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'bad', upstream.url);
      const refuses = (heard: Heard) => error(heard, -32000, `Sorry! ${'x'.repeat(MIB)}`);
      const logged = service.output.length;
      for (const [method, what] of [
        ['tools/list', 'tools/list'],
        ['initialize', 'to initialize'],
      ] as const) {
        upstream.options.others = { [method]: refuses };
        if (method === 'initialize') upstream.sessions.clear();
        const tested = await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`);
        expect(tested.body.error).toContain(`refused ${what}: Sorry! xxx`);
        const listed = await service.admin('GET', `/keys/${keyId}/connected-tools`);
        expect(listed.body.connectedTools[0].health.error).toBe(tested.body.error);
        expect(listed.text.length).toBeLessThan(5000);
      }
      await until('it is logged', () => service.output.slice(logged).includes('refused tools/list: Sorry!'));
      expect(service.output.length - logged).toBeLessThan(50_000);
      await upstream.stop();
    });

    test('nor one whose definitions are large', async () => {
      const upstream = new RecordingUpstream();
      const { keyId } = await service.newKey(ALLOW);
      const id = await connect(service, keyId, 'bad', upstream.url);
      let refused = '';
      for (let round = 0; round < 6 && refused === ''; round++) {
        upstream.options.tools = Array.from({ length: 15 }, (_, n) =>
          named(`tool-${round}-${n}`, { description: 'x'.repeat(MIB / 4 - 1000) }),
        );
        const { body } = await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`);
        refused = body.error ?? '';
      }
      expect(refused).toContain('has shown more than 16777216 characters of definitions in all');
      expect(await pinned(id)).toBe(60);
      await upstream.stop();
    });
  });
}

const ZEROS = `[${'0,'.repeat(300_000)}0]`;
/** Answers a call with more values than are taken, and all else as it should. */
const COMMAND = `
  for await (const line of console) {
    const { id, method } = JSON.parse(line);
    const say = result => console.log('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + '}');
    if (method === 'initialize') say('{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}');
    if (method === 'tools/list') say('{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}');
    if (method === 'tools/call') say('{"content":[],"zeros":[' + '0,'.repeat(300_000) + '0]}');
  }`;

test('an answer with more values than are taken fails its call, on a wire of either kind', async () => {
  const { service, end } = await startWithStdio({ zeros: { command: BUN, args: ['-e', COMMAND] } });
  const web = new RecordingUpstream({
    onCall: ({ id }) => new Response(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"zeros":${ZEROS}}}`),
  });
  const { key, keyId } = await service.newKey(ALLOW);
  await connect(service, keyId, 'web', web.url);
  await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'zeros' });
  const client = await LegacyClient.open(service, key);
  for (const name of ['web__echo', 'cmd__echo']) {
    const why = 'the upstream sent a message with more than 250000 values';
    expect(text(await client.call(name))).toBe(`The call was allowed, but ${why}.`);
  }
  expect((await client.tools()).map(each => each.name)).toEqual(['cmd__echo', 'web__echo']);
  await end();
  await web.stop();
});
