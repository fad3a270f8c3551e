// The shared decision cases through POST /mcp, on both engines, with a tool server behind every server name: what a
// case allows reaches its server under the server's own name for it, and nothing else reaches any. A name that no
// Connected Tool can have is left to the other surfaces.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Callers, type Case, caseTitle, liveCaseFiles } from '../support/cases.ts';
import { connect, LegacyClient, modern, RecordingUpstream } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const CONNECTED = /^[a-z0-9][a-z0-9-]{0,31}$/;
const titled = (server: string, tool: string): string => JSON.stringify([server, tool]);

/** A tool server for every name in the cases, with the tools that they call. */
function upstreamsOf(calls: Case[]): Map<string, RecordingUpstream> {
  const tools = Map.groupBy(calls, call => call.server);
  return new Map(
    [...tools].map(([server, of]) => {
      const names = [...new Set(of.map(call => call.tool))];
      const listed = names.map(name => ({
        name,
        title: titled(server, name),
        inputSchema: { type: 'object' },
      }));
      return [server, new RecordingUpstream({ tools: listed })];
    }),
  );
}

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    for (const file of liveCaseFiles()) {
      test(file.file, async () => {
        const calls = file.calls.filter(call => CONNECTED.test(call.server));
        const upstreams = upstreamsOf(calls);
        const callers = new Callers(service, file, async keyId => {
          for (const [name, { url }] of upstreams) {
            const id = await connect(service, keyId, name, url);
            if (name === IMPOSTOR) await acceptAll(service, keyId, id);
          }
        });
        const clients = new Map<string, Promise<Client>>();
        for (const call of calls) {
          const { keyId, token } = await callers.for(call);
          if (!clients.has(token)) clients.set(token, clientFor(service, token));
          const { client, shown } = (await clients.get(token)) as Client;
          const name = shown.get(titled(call.server, call.tool)) as string;
          await client.call(name, call.args);
          await expectJudged(service, keyId, call);
          await modern(service, token, 'tools/call', { name, arguments: call.args ?? {} });
          await expectJudged(service, keyId, call);
        }
        for (const [server, upstream] of upstreams) {
          const allowed = calls.filter(call => call.server === server && call.want.decision === 'allow');
          const reached = upstream.calls.map(each => each.params.name);
          expect([server, reached]).toEqual([server, allowed.flatMap(({ tool }) => [tool, tool])]);
          await upstream.stop();
        }
      });
    }
  });
}

/** Its tools have the full names of other servers' tools, so they are held until somebody has looked at them. */
const IMPOSTOR = 'evil';

async function acceptAll(service: TestService, keyId: string, id: string): Promise<void> {
  const path = `/keys/${keyId}/connected-tools/${id}`;
  await service.admin('POST', `${path}/test`);
  const { tools } = (await service.admin('GET', `${path}/tools`)).body;
  const seen = tools.map(({ name, digest }: { name: string; digest: string }) => ({ name, digest }));
  expect((await service.admin('POST', `${path}/accept`, { tools: seen })).status).toBe(204);
}

interface Client {
  client: LegacyClient;
  /** The names under which tools are shown to it. */
  shown: Map<string | undefined, string>;
}

async function clientFor(service: TestService, token: string): Promise<Client> {
  const client = await LegacyClient.open(service, token);
  return { client, shown: new Map((await client.tools()).map(tool => [tool.title, tool.name])) };
}

async function expectJudged(service: TestService, keyId: string, call: Case): Promise<void> {
  const [entry] = (await service.admin('GET', `/audit?keyId=${keyId}&limit=1`)).body.entries;
  const { serverName: server, toolName: tool, decision } = entry;
  const what = caseTitle(call);
  expect([what, server, tool, decision]).toEqual([what, call.server, call.tool, call.want.decision]);
  if (call.want.ruleIndex !== undefined) expect([what, entry.ruleIndex]).toEqual([what, call.want.ruleIndex]);
  if (call.want.reason !== undefined) expect([what, entry.reason]).toEqual([what, call.want.reason]);
}
