// Tool servers that several keys share, as operators and agents see them, on both engines: made, changed and removed for all
// keys at once; Connected Tools that name one; a Connected Tool that becomes one while calls go on.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newPerson, type Person, send } from '../../operators/people.ts';
import { newDataDir, sql, until } from '../../support/faults.ts';
import {
  type Answered,
  connect,
  LegacyClient,
  RecordingUpstream,
  startWithStdio,
  stdioScript,
  text,
} from '../../support/mcp.ts';
import { engines, type Reply, startService, type TestService } from '../../support/service.ts';
import { expectProblem } from '../problem.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

const ALLOW = [{ tool: '*', action: 'allow' as const }];
const NOWHERE = '01890a5d-ac96-774b-bcce-b302099a8057';
/** Says which of the servers it is. */
const speaker = (name: string) =>
  new RecordingUpstream({ onCall: () => ({ content: [{ type: 'text', text: name }] }) });
const one = speaker('one');
const two = speaker('two');
afterAll(() => Promise.all([one.stop(), two.stop()]));

for (const engine of await engines()) {
  describe(engine, () => {
    let service: TestService;
    /** On PostgreSQL another replica. */
    let replica: TestService;
    let end: () => Promise<void>;
    let viewer: Person;
    let made = 0;
    const journal = join(newDataDir(), 'journal');
    const said = () => readFileSync(journal, 'utf8');
    beforeAll(async () => {
      const script = stdioScript('good', journal);
      ({ service, end } = await startWithStdio({ script, other: script }, { engine }));
      const { databaseUrl } = service;
      replica = engine === 'postgres' ? await startService({ databaseUrl }) : service;
      viewer = await newPerson(service, 'viewer');
    });
    afterAll(async () => {
      if (replica !== service) await replica.close();
      await end();
    });

    const newName = () => `server-${engine}-${++made}`.slice(0, 32);
    const servers = (method: string, more = '', body?: unknown) =>
      service.admin(method, `/tool-servers${more}`, body);
    const tools = (keyId: string, method: string, more = '', body?: unknown) =>
      service.admin(method, `/keys/${keyId}/connected-tools${more}`, body);

    async function newServer(more: Record<string, unknown> = {}): Promise<Any> {
      const given = { name: newName(), transport: 'http', url: one.url, ...more };
      const reply = await servers('POST', '', given);
      expect(`${reply.status} ${reply.text}`).toStartWith('201 ');
      return reply.body;
    }

    async function link(keyId: string, toolServerId: string, name?: string): Promise<Any> {
      const reply = await tools(keyId, 'POST', '', { toolServerId, name });
      expect(`${reply.status} ${reply.text}`).toStartWith('201 ');
      return reply.body;
    }

    const faultsOf = (reply: Reply): string[] =>
      reply.body.errors.map(({ path }: { path: string }) => path).sort();

    test('one is made, shown to viewers without what may be secret, and listed by name', async () => {
      const url = `${one.url}?token=s3cret`;
      const name = newName();
      const reply = await servers('POST', '', {
        name,
        transport: 'http',
        url,
        headers: { 'X-Api-Key': 's3cret' },
        trust: 'reviewed',
      });
      expect(reply.status).toBe(201);
      const { id } = reply.body;
      const shown = {
        id,
        name,
        transport: 'http',
        url,
        hasHeaders: true,
        namesCalls: false,
        auth: 'headers',
        oauth: null,
        redirectUri: null,
        authorizationServer: null,
        signIn: null,
        createdAt: expect.any(String),
        updatedAt: null,
        trust: 'reviewed',
        health: { state: 'idle', error: null, since: expect.any(String) },
        sandbox: null,
        tools: [],
        keys: 0,
      };
      expect(reply.body).toEqual(shown);
      expect((await servers('GET', `/${id}`)).body).toEqual({
        ...shown,
        health: expect.anything(),
        uses: [],
      });
      for (const path of [`/${id}`, '?limit=200']) {
        const seen = await send(service, 'GET', `/admin/v1/tool-servers${path}`, { cookie: viewer.cookie });
        expect(seen.status).toBe(200);
        expect(seen.text).toContain(`${new URL(one.url).origin}/…`);
        expect(seen.text).not.toContain('s3cret');
      }
      for (const [method, more] of [
        ['POST', ''],
        ['PATCH', `/${id}`],
        ['DELETE', `/${id}`],
        ['POST', `/${id}/test`],
        ['POST', `/${id}/connect`],
      ] as const) {
        const from = { cookie: viewer.cookie };
        expect((await send(service, method, `/admin/v1/tool-servers${more}`, from)).status).toBe(403);
      }

      const further = [newName(), newName()];
      for (const each of further) await newServer({ name: each });
      const listed: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const { body }: Reply = await servers('GET', `?limit=2${cursor && `&cursor=${cursor}`}`);
        listed.push(...body.toolServers.map((each: { name: string }) => each.name));
        cursor = body.nextCursor;
      }
      expect(listed).toEqual(listed.toSorted());
      expect(listed).toEqual(expect.arrayContaining([name, ...further]));

      expect(JSON.stringify(await sql(service.databaseUrl, 'SELECT * FROM tool_servers'))).not.toMatch(
        /X-Api-Key/,
      );
      expect((await service.admin('GET', '/changes')).text).not.toContain('s3cret');
    });

    test('what is wrong is refused with its path, and makes nothing', async () => {
      const { name } = await newServer();
      const web = { name: newName(), transport: 'http', url: one.url };
      const command = { name: newName(), transport: 'stdio', server: 'script' };
      for (const [given, path] of [
        [{ ...web, name: 'Big' }, '/name'],
        [{ ...web, transport: 'tcp' }, '/transport'],
        [{ ...web, transport: 'shared' }, '/transport'],
        [{ ...web, url: 'ftp://example.com' }, '/url'],
        [{ ...web, url: 'http://169.254.169.254/' }, '/url'],
        [{ ...web, trust: 'always' }, '/trust'],
        [{ ...web, command: 'sh' }, '/command'],
        [{ ...web, auth: 'oauth' }, '/oauth'],
        [{ ...command, server: 'undeclared' }, '/server'],
        [{ ...command, server: 'constructor' }, '/server'],
        [{ ...command, args: ['-c'] }, '/args'],
        [{ ...command, command: '/bin/sh' }, '/command'],
      ] as const) {
        const reply = await servers('POST', '', given);
        expect([JSON.stringify(given), reply.status]).toEqual([JSON.stringify(given), 400]);
        expect(faultsOf(reply)).toContain(path);
      }
      expectProblem(await servers('POST', '', { ...web, name }), 409, 'conflict');
      for (const [method, more, body] of [
        ['GET', ''],
        ['PATCH', '', { trust: 'first' }],
        ['DELETE', ''],
        ['POST', '/test'],
        ['POST', '/connect'],
        ['DELETE', '/connect'],
        ['GET', '/tools'],
        ['POST', '/accept', { tools: [{ name: 'echo', digest: '0'.repeat(64) }] }],
      ] as const)
        expectProblem(await servers(method, `/${NOWHERE}${more}`, body), 404, 'not_found');
      const listed = await servers('GET', '?limit=200');
      expect(listed.body.toolServers.map((each: Any) => each.name)).not.toContain(web.name);
    });

    test('keys share one server: its definitions are one, and each key has its own name for it', async () => {
      const server = await newServer();
      const keys = [await service.newKey(ALLOW), await service.newKey(ALLOW)] as const;
      const first = await link(keys[0].keyId, server.id);
      expect(first).toMatchObject({
        name: server.name,
        toolServerId: server.id,
        transport: 'http',
        url: one.url,
        trust: 'first',
      });
      await link(keys[1].keyId, server.id, 'mine');
      const again = await link(keys[1].keyId, server.id, 'twice');
      expect((await servers('GET', `/${server.id}`)).body.keys).toBe(2);
      await tools(keys[1].keyId, 'DELETE', `/${again.id}`);
      const clients = [
        await LegacyClient.open(service, keys[0].key),
        await LegacyClient.open(service, keys[1].key),
      ];
      const names = await Promise.all(
        clients.map(async each => (await each.tools()).map(({ name }: Any) => name)),
      );
      expect(names).toEqual([[`${server.name}__echo`], ['mine__echo']]);
      expect(text((await clients[1]?.call('mine__echo')) as Answered)).toBe('one');

      const shown = (await servers('GET', `/${server.id}`)).body;
      expect(shown).toMatchObject({ keys: 2, tools: [{ name: 'echo', drifted: false }] });
      expect(shown.uses).toEqual(
        expect.arrayContaining([
          { keyId: keys[0].keyId, keyName: 'test', connectedToolId: first.id, name: server.name },
          { keyId: keys[1].keyId, keyName: 'test', connectedToolId: expect.any(String), name: 'mine' },
        ]),
      );
      expect(shown.uses).toHaveLength(2);
      const rows = `SELECT connected_tool_id AS id FROM tool_definitions WHERE connected_tool_id IN
        ('${server.id}', '${first.id}')`;
      expect(await sql(service.databaseUrl, rows)).toEqual([{ id: server.id }]);
      expect((await tools(keys[0].keyId, 'GET', `/${first.id}/definitions`)).body.definitions).toHaveLength(
        1,
      );
    });

    test('a Connected Tool that names a server: what is wrong with it, its new name, and its end', async () => {
      const server = await newServer();
      const { key, keyId } = await service.newKey(ALLOW);
      for (const [given, path] of [
        [{ toolServerId: NOWHERE }, '/toolServerId'],
        [{ toolServerId: 'x' }, '/toolServerId'],
        [{ toolServerId: server.id, name: 'Big' }, '/name'],
        [{ toolServerId: server.id, url: one.url }, '/url'],
        [{ toolServerId: server.id, trust: 'first' }, '/trust'],
        [{ toolServerId: server.id, transport: 'http', name: 'a', url: one.url }, '/toolServerId'],
        [{}, '/toolServerId'],
      ] as const) {
        const reply = await tools(keyId, 'POST', '', given);
        expect([JSON.stringify(given), reply.status]).toEqual([JSON.stringify(given), 400]);
        expect(faultsOf(reply)).toContain(path);
      }
      const given = { toolServerId: server.id, name: 'shared' };
      expectProblem(await tools(NOWHERE, 'POST', '', given), 404, 'not_found');
      const { id } = await link(keyId, server.id, 'shared');
      expectProblem(await tools(keyId, 'POST', '', given), 409, 'conflict');
      await link(keyId, server.id, 'again');

      for (const change of [
        { url: two.url },
        { trust: 'reviewed' },
        { headers: null },
        { name: 'x', url: two.url },
      ]) {
        const reply = await tools(keyId, 'PATCH', `/${id}`, change);
        expectProblem(reply, 409, 'conflict');
        expect(reply.body.detail).toContain(`/admin/v1/tool-servers/${server.id}`);
      }
      const taken = await tools(keyId, 'PATCH', `/${id}`, { name: 'again' });
      expectProblem(taken, 409, 'conflict');
      const client = await LegacyClient.open(service, key);
      expect(text(await client.call('shared__echo'))).toBe('one');
      const renamed = await tools(keyId, 'PATCH', `/${id}`, { name: 'renamed' });
      expect([renamed.status, renamed.body.name]).toEqual([200, 'renamed']);
      expect((await client.call('shared__echo')).error?.code).toBe(-32602);
      expect(text(await client.call('renamed__echo'))).toBe('one');
      expect((await tools(keyId, 'DELETE', `/${id}`)).status).toBe(204);
      expect((await client.call('renamed__echo')).error?.code).toBe(-32602);
      expect(text(await client.call('again__echo'))).toBe('one');
      expect((await servers('GET', `/${server.id}`)).body.tools).toEqual([{ name: 'echo', drifted: false }]);
    });

    test('a change holds for every key from the moment it is answered', async () => {
      const server = await newServer({ name: newName() });
      const keys = await Promise.all([service.newKey(ALLOW), service.newKey(ALLOW)]);
      for (const { keyId } of keys) await link(keyId, server.id, 'it');
      const clients = await Promise.all(keys.map(({ key }) => LegacyClient.open(service, key)));
      for (const each of clients)
        for (const at of [service, replica]) expect(text(await each.at(at).call('it__echo'))).toBe('one');
      const before = one.calls.length;

      const moved = await servers('PATCH', `/${server.id}`, { url: two.url });
      expect([moved.status, moved.body.url, moved.body.keys]).toEqual([200, two.url, 2]);
      for (const each of clients)
        for (const at of [service, replica]) expect(text(await each.at(at).call('it__echo'))).toBe('two');
      expect(one.calls.length).toBe(before);

      // Nobody has accepted its definition, which was enough until now.
      expect((await servers('PATCH', `/${server.id}`, { trust: 'reviewed' })).body.trust).toBe('reviewed');
      for (const each of clients) expect(text(await each.call('it__echo'))).toContain('"status":"pending"');
      expect((await tools(keys[0]?.keyId ?? '', 'GET')).body.connectedTools[0].trust).toBe('reviewed');
      const [tool] = (await servers('GET', `/${server.id}/tools`)).body.tools;
      expect(tool.heldFor.toSorted()).toEqual(keys.map(({ keyId }) => keyId).sort());
      // What is accepted for one key's Connected Tool is accepted for all.
      const { connectedTools } = (await tools(keys[0]?.keyId ?? '', 'GET')).body;
      const accept = { tools: [{ name: 'echo', digest: tool.digest }] };
      const accepted = await tools(keys[0]?.keyId ?? '', 'POST', `/${connectedTools[0].id}/accept`, accept);
      expect(accepted.status).toBe(204);
      for (const each of clients) expect(text(await each.call('it__echo'))).toBe('two');
      expect((await servers('GET', `/${server.id}/tools`)).body.tools[0].heldFor).toEqual([]);

      for (const [given, status] of [
        [{ name: (await newServer()).name }, 409],
        [{ transport: 'sse' }, 400],
        [{ server: 'script' }, 400],
        [{ url: 'ftp://x' }, 400],
        [{ url: 'http://169.254.169.254/' }, 400],
        [{ oauth: { as: 'key' } }, 400],
        [{}, 400],
      ] as const) {
        const { status: got } = await servers('PATCH', `/${server.id}`, given);
        expect([given, got]).toEqual([given, status]);
      }
    });

    test('a command is one that the server file declares', async () => {
      const server = await newServer({ transport: 'stdio', server: 'script', url: undefined });
      expect(server).toMatchObject({ transport: 'stdio', server: 'script', health: { state: 'idle' } });
      expect((await servers('POST', `/${server.id}/test`)).body).toMatchObject({ ok: true, error: null });
      expect((await servers('GET', `/${server.id}`)).body.health.state).toBe('ready');
      const refused = await servers('PATCH', `/${server.id}`, { server: 'undeclared' });
      expectProblem(refused, 400, 'invalid_input', ['/server']);
      expect((await servers('PATCH', `/${server.id}`, { server: 'other' })).body.server).toBe('other');
      const { stdioServers } = (await service.admin('GET', '/server-file')).body;
      const use = { id: server.id, name: server.name, keyId: null };
      expect(stdioServers.find(({ name }: Any) => name === 'other').usedBy).toContainEqual(use);
    });

    test('it is removed when no key that is in use names it, with all that is known of it', async () => {
      const server = await newServer();
      const [using, revoked] = [await service.newKey(ALLOW), await service.newKey(ALLOW)];
      const { id } = await link(using.keyId, server.id);
      await link(revoked.keyId, server.id);
      expect((await servers('POST', `/${server.id}/test`)).body.ok).toBe(true);
      const refused = await servers('DELETE', `/${server.id}`);
      expectProblem(refused, 409, 'conflict');
      expect(refused.body.detail).toContain('"test", "test"');
      await service.admin('DELETE', `/keys/${revoked.keyId}`);
      expectProblem(await servers('DELETE', `/${server.id}`), 409, 'conflict');
      await tools(using.keyId, 'DELETE', `/${id}`);
      expect((await servers('GET', `/${server.id}`)).body).toMatchObject({ keys: 0, uses: [] });
      expect((await servers('DELETE', `/${server.id}`)).status).toBe(204);
      expectProblem(await servers('DELETE', `/${server.id}`), 404, 'not_found');
      for (const [table, column] of [
        ['tool_servers', 'id'],
        ['connected_tools', 'tool_server_id'],
        ['tool_definitions', 'connected_tool_id'],
      ])
        expect(
          await sql(service.databaseUrl, `SELECT 1 FROM ${table} WHERE ${column} = '${server.id}'`),
        ).toEqual([]);
    });

    test('a key is made with tool servers, or not at all', async () => {
      const [a, b] = [await newServer(), await newServer()];
      const names = [a.name, b.name, a.name];
      const { key, keyId, policyId } = await service.newKey(ALLOW, { toolServers: names });
      const { connectedTools } = (await tools(keyId, 'GET')).body;
      expect(connectedTools.map((each: Any) => [each.name, each.toolServerId])).toEqual(
        [a, b].map(each => [each.name, each.id]),
      );
      const client = await LegacyClient.open(service, key);
      expect(text(await client.call(`${b.name}__echo`))).toBe('one');
      const unknown = { name: 'never made', policyId, toolServers: [a.name, 'unknown'] };
      expectProblem(await service.admin('POST', '/keys', unknown), 400, 'invalid_input', ['/toolServers/1']);
      const kept = await sql(service.databaseUrl, `SELECT 1 FROM keys WHERE name = 'never made'`);
      expect(kept).toEqual([]);
    });

    test('a Connected Tool is shared: it keeps its id, its name and what was accepted', async () => {
      const { keyId } = await service.newKey(ALLOW);
      const trusted = { transport: 'http', url: one.url, trust: 'reviewed', headers: { 'X-Key': 's3cret' } };
      const id = await connect(service, keyId, 'own', trusted);
      await tools(keyId, 'POST', `/${id}/test`);
      const [tool] = (await tools(keyId, 'GET', `/${id}/tools`)).body.tools;
      const accept = { tools: [{ name: tool.name, digest: tool.digest }] };
      expect((await tools(keyId, 'POST', `/${id}/accept`, accept)).status).toBe(204);
      const { accepted } = (await tools(keyId, 'GET', `/${id}/tools`)).body.tools[0];

      const { name: taken } = await newServer();
      expectProblem(await tools(keyId, 'POST', `/${id}/share`, { name: taken }), 409, 'conflict');
      expectProblem(await tools(keyId, 'POST', `/${id}/share`, { name: 'Big' }), 400, 'invalid_input', [
        '/name',
      ]);
      expectProblem(await tools(keyId, 'POST', `/${NOWHERE}/share`), 404, 'not_found');
      const name = newName();
      const shared = await tools(keyId, 'POST', `/${id}/share`, { name });
      expect(`${shared.status} ${shared.text}`).toStartWith('201 ');
      expect(shared.body).toMatchObject({
        name,
        url: one.url,
        trust: 'reviewed',
        hasHeaders: true,
        namesCalls: false,
        keys: 1,
        tools: [{ name: 'echo', drifted: false }],
      });
      expectProblem(await tools(keyId, 'POST', `/${id}/share`), 409, 'conflict');
      const [now] = (await tools(keyId, 'GET')).body.connectedTools;
      expect(now).toMatchObject({ id, name: 'own', toolServerId: shared.body.id, hasHeaders: true });
      const seen = (await servers('GET', `/${shared.body.id}/tools`)).body.tools[0];
      expect(seen).toMatchObject({ accepted, heldFor: [] });

      const other = await service.newKey(ALLOW, { toolServers: [name] });
      const client = await LegacyClient.open(service, other.key);
      expect(text(await client.call(`${name}__echo`))).toBe('one');
      expect(one.calls.at(-1)?.headers['x-key']).toBe('s3cret');
    });

    test('while one is shared and moved, no call fails and none goes to another server', async () => {
      for (let round = 0; round < 3; round++) {
        const { key, keyId } = await service.newKey(ALLOW);
        const id = await connect(service, keyId, 'own', one.url);
        const client = await LegacyClient.open(service, key);
        const answers: Answered[] = [];
        let going = true;
        let begun = 0;
        const load = Promise.all(
          [client, client.at(replica), client, client.at(replica)].map(async each => {
            while (going) answers.push(await each.call('own__echo', { keyId, number: begun++ }));
          }),
        );
        const further = (count: number) => {
          const from = answers.length;
          return until(`${count} further calls`, () => answers.length >= from + count);
        };
        await further(10);
        const shared = await tools(keyId, 'POST', `/${id}/share`, { name: newName() });
        await further(20);
        const moved = await servers('PATCH', `/${shared.body.id}`, { url: two.url });
        const begunBefore = begun;
        await further(20);
        going = false;
        await load;
        expect([shared.status, moved.status]).toEqual([201, 200]);
        // What was decided before the change may still be on its way to the old place when the change is answered.
        const arrived = one.calls.map(each => each.params.arguments).filter(each => each?.keyId === keyId);
        expect(arrived.filter(each => each.number >= begunBefore)).toEqual([]);
        expect(answers.filter(each => !['one', 'two'].includes(text(each))).map(each => each.text)).toEqual(
          [],
        );
        expect(text(answers.at(-1) as Answered)).toBe('two');
      }
    });

    test('the process of a command ends when its server is removed', async () => {
      const server = await newServer({ transport: 'stdio', server: 'script', url: undefined });
      await servers('POST', `/${server.id}/test`);
      const pids = () => said().match(/^pid \d+$/gm) ?? [];
      const pid = Number(pids().at(-1)?.slice(4));
      expect(existsSync(`/proc/${pid}`)).toBe(true);
      expect((await servers('DELETE', `/${server.id}`)).status).toBe(204);
      await until('the process has ended', () => !existsSync(`/proc/${pid}`));
    });

    test('who changed what is recorded', async () => {
      const server = await newServer();
      const { keyId } = await service.newKey(ALLOW);
      const { id } = await link(keyId, server.id, 'it');
      await tools(keyId, 'PATCH', `/${id}`, { name: 'other' });
      await servers('PATCH', `/${server.id}`, { headers: { 'X-Key': 's3cret' } });
      await tools(keyId, 'DELETE', `/${id}`);
      await servers('DELETE', `/${server.id}`);
      const { body } = await service.admin('GET', '/changes?limit=20');
      const of = (target: string) =>
        body.changes
          .filter((each: Any) => each.target === target)
          .map((each: Any) => [each.action, each.detail]);
      const { name } = server;
      expect(of(server.id)).toEqual([
        ['tool-server.delete', { name }],
        ['tool-server.update', { name, changed: ['headers'] }],
        ['tool-server.create', { name }],
      ]);
      expect(of(id)).toEqual([
        ['connected-tool.delete', { keyId, name: 'other' }],
        ['connected-tool.update', { keyId, name: 'other', changed: ['name'] }],
        ['connected-tool.create', { keyId, name: 'it', toolServerId: server.id }],
      ]);
    });
  });
}
