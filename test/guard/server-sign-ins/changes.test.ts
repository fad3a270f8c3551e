// What happens to sign-ins, and to the clients that admins entered, when a Connected Tool, its key or a person changes or
// goes, also while a sign-in is being completed, on both engines.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { endKey } from '../../../src/guard/approvals/end-key.ts';
import { newId } from '../../../src/guard/ids.ts';
import { changeKey } from '../../../src/guard/keys.ts';
import { keyLock, PEOPLE_LOCK, toolServerLock } from '../../../src/guard/locks.ts';
import { deleteOperator, resetOperator } from '../../../src/guard/people/operators.ts';
import { ServerSignIns } from '../../../src/guard/server-sign-ins/server-sign-ins.ts';
import { disconnectTool } from '../../../src/guard/tool-servers/connected-tools.ts';
import { editTool } from '../../../src/guard/tool-servers/edit-tool.ts';
import type { SourceChanges } from '../../../src/guard/tool-servers/source-fields.ts';
import type { OAuthSettings } from '../../../src/guard/tool-servers/source-secrets.ts';
import {
  deleteToolServer,
  editToolServer,
  makeToolServer,
} from '../../../src/guard/tool-servers/tool-servers.ts';
import { type ConnectedTool, findTool, removeConnectedTool } from '../../../src/store/connected-tools.ts';
import { removeOperator } from '../../../src/store/operators.ts';
import {
  countServerClients,
  findServerSignIn,
  removePersonSignIns,
} from '../../../src/store/server-sign-ins.ts';
import { removeToolServer, type ToolServer, type ToolSource } from '../../../src/store/tool-servers.ts';
import { NOW, onEachEngine } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { depsAt } from '../deps.ts';
import { ANYBODY, HERE, begin as leave, newOperator, newTool } from './signing-in.ts';
import { StubServer } from './stub-server.ts';

const stub = new StubServer();
beforeEach(() => stub.reset());
afterAll(() => stub.close());

await onEachEngine(store => {
  let now = NOW;
  const rules = { allowPrivate: true };
  const deps = () => depsAt(store.db, () => now);
  const open = () => {
    const signIns = new ServerSignIns(deps(), rules);
    signIns.servedAt(HERE);
    return signIns;
  };
  const begin = async (signIns: ServerSignIns, tool: ToolSource, personId: string | null = null) => {
    const { url, browser } = await leave(signIns, tool, personId);
    const query = new URL(url).searchParams;
    const answer = new URLSearchParams({ code: 'c', state: query.get('state') ?? '' });
    return { query, finish: () => signIns.finish({ toolId: tool.id, answer, browser }, ANYBODY) };
  };
  const signIn = async (signIns: ServerSignIns, tool: ConnectedTool, personId: string | null = null) =>
    (await begin(signIns, tool, personId)).finish();
  const edit = (tool: ConnectedTool, changes: SourceChanges) =>
    editTool(deps(), 'admin', rules, tool.keyId, tool.id, changes);
  const rowOf = (tool: ToolSource, personId = '') => findServerSignIn(store.db, tool.id, personId);
  /** Answers requests for tokens only after `meanwhile`. */
  const holdTokens = (meanwhile: () => Promise<unknown>) => {
    stub.instead['/token'] = async () => {
      await meanwhile();
      return Response.json({ access_token: 'late', token_type: 'Bearer' });
    };
  };

  const person = { as: 'person' } as const;
  test.each<[string, string, OAuthSettings, (tool: ConnectedTool, personId: string) => Promise<unknown>]>([
    ['another address', 'gone', person, tool => edit(tool, { target: `${stub.origin}/other` })],
    ['another client', 'gone', person, tool => edit(tool, { oauth: { ...person, clientId: 'x' } })],
    ['no client', 'gone', { ...person, clientId: 'x' }, tool => edit(tool, { oauth: person })],
    ['for the key', 'gone', person, tool => edit(tool, { oauth: { as: 'key' } })],
    ['no OAuth', 'not_found', person, tool => edit(tool, { oauth: null })],
    ['removed', 'not_found', person, tool => disconnectTool(deps(), 'admin', tool.keyId, tool.id)],
    ['key revoked', 'not_found', person, tool => endKey(deps(), 'admin', tool.keyId)],
    ['key closed', 'not_found', person, tool => changeKey(deps(), 'admin', tool.keyId, { openTo: [] })],
    ['person removed', 'not_found', person, (_, personId) => deleteOperator(deps(), 'admin', personId)],
  ])('%s while the code is exchanged: nothing is kept', async (_, code, oauth, change) => {
    const signIns = open();
    const tool = await newTool(deps(), stub.url, oauth);
    const personId = await newOperator(deps());
    const { finish } = await begin(signIns, tool, personId);
    holdTokens(() => change(tool, personId));
    expect(await refusal(finish())).toMatchObject({ code });
    expect(await rowOf(tool, personId)).toBeNull();
  });

  const newServer = () => {
    const input = { name: `up-${newId().slice(-8)}`, transport: 'http' as const, target: stub.url };
    return makeToolServer(deps(), 'admin', rules, { ...input, headers: null, oauth: { as: 'key' } });
  };
  const change = ({ id }: ToolServer, changes: SourceChanges) =>
    editToolServer(deps(), 'admin', rules, id, changes);

  test.each<[string, string, (server: ToolServer) => Promise<unknown>]>([
    ['another address', 'gone', server => change(server, { target: `${stub.origin}/other` })],
    ['another client', 'gone', server => change(server, { oauth: { as: 'key', clientId: 'x' } })],
    ['for people', 'gone', server => change(server, { oauth: { as: 'person' } })],
    ['no OAuth', 'not_found', server => change(server, { oauth: null })],
    ['removed', 'not_found', server => deleteToolServer(deps(), 'admin', server.id)],
  ])('%s of a shared server while the code is exchanged: nothing is kept', async (_, code, work) => {
    const server = await newServer();
    const { finish } = await begin(open(), server);
    holdTokens(() => work(server));
    expect(await refusal(finish())).toMatchObject({ code });
    expect(await rowOf(server)).toBeNull();
  });

  test('another name and another trust of a shared server change no sign-in; another address ends it', async () => {
    const server = await newServer();
    const { finish } = await begin(open(), server);
    holdTokens(() => change(server, { name: `up-${newId().slice(-8)}`, trust: 'reviewed' }));
    await finish();
    expect(await rowOf(server)).not.toBeNull();
    await change(server, { target: `${stub.origin}/other` });
    expect(await rowOf(server)).toBeNull();
  });

  test('a removal that has not committed yet is waited for', async () => {
    const signIns = open();
    for (const what of ['tool', 'person', 'server'] as const) {
      const own = await newTool(deps(), stub.url, person);
      const tool = what === 'server' ? await newServer() : own;
      const personId = what === 'server' ? '' : await newOperator(deps());
      const { finish } = await begin(signIns, tool, personId === '' ? null : personId);
      const locks = { tool: keyLock(own.keyId), person: PEOPLE_LOCK, server: toolServerLock(tool.id) };
      const lock = locks[what];
      const [removed, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let removal = Promise.resolve();
      holdTokens(() => {
        removal = store.db.transaction({ exclusive: [lock] }, async tx => {
          if (what === 'tool') await removeConnectedTool(tx, own);
          else if (what === 'server') await removeToolServer(tx, tool.id);
          else {
            await removePersonSignIns(tx, personId);
            await removeOperator(tx, personId);
          }
          removed.resolve();
          // It is done before this transaction only if it does not wait for it.
          await Promise.race([done.promise, Bun.sleep(300)]);
        });
        return removed.promise;
      });
      const refused = await refusal(finish()).finally(done.resolve);
      await removal;
      expect(refused).toMatchObject({ code: 'not_found' });
      expect(await rowOf(tool, personId)).toBeNull();
    }
  });

  test('the sign-ins of a key go with it', async () => {
    const signIns = open();
    const tool = await newTool(deps(), stub.url);
    await signIn(signIns, tool);
    expect(await rowOf(tool)).not.toBeNull();
    await endKey(deps(), 'admin', tool.keyId);
    expect(await rowOf(tool)).toBeNull();
    expect(await countServerClients(store.db, tool.id)).toBe(0);
  });

  test('the sign-ins of a person who is reset go: somebody else may have signed in for them', async () => {
    const signIns = open();
    const tool = await newTool(deps(), stub.url, person);
    const [reset, other] = [await newOperator(deps()), await newOperator(deps())];
    for (const each of [reset, other]) await signIn(signIns, tool, each);
    await resetOperator(deps(), 'admin', reset);
    expect(await rowOf(tool, reset)).toBeNull();
    expect(await rowOf(tool, other)).not.toBeNull();
  });

  test('an entered client goes to another authorization server only if it is entered again', async () => {
    const signIns = open();
    const oauth = { as: 'key', clientId: 'app', clientSecret: 'secret' } as const;
    const tool = await newTool(deps(), stub.url, oauth);
    const now = async () => (await findTool(store.db, tool.id)) as ConnectedTool;
    const begins = async () =>
      begin(signIns, await now()).then(
        () => 'begins',
        error => error.message,
      );
    await signIn(signIns, tool);
    stub.grant = { refresh_token: 'r', expires_in: 3600 };
    await signIn(signIns, tool);
    // Also not after the first one has refused it, and not at another address.
    stub.instead['/token'] = () => Response.json({ error: 'invalid_client' }, { status: 401 });
    await refusal(signIn(signIns, tool));
    stub.issuerPath = '/another';
    expect(await begins()).toContain('It now names another authorization server');
    stub.issuerPath = '';
    await edit(tool, { target: `${stub.origin}/mcp?moved` });
    stub.instead['/token'] = () => Response.json({ error: 'invalid_grant' }, { status: 400 });
    stub.resourceMetadata = { resource: stub.origin };
    expect(await begins()).toBe('begins');
    stub.issuerPath = '/another';
    expect(await begins()).toContain('It now names another authorization server');
    await edit(tool, { oauth: { as: 'key', clientId: 'app', scopes: ['read'] } });
    expect(await begins()).toContain('enter the client again');
    await edit(tool, { oauth });
    expect(await begins()).toBe('begins');
    stub.issuerPath = '/third';
    expect(await begins()).toContain('It now names another authorization server');
  });

  test('a registered client that the server has forgotten is registered anew', async () => {
    const signIns = open();
    const tool = await newTool(deps(), stub.url);
    stub.instead['/token'] = () => Response.json({ error: 'invalid_client' }, { status: 401 });
    await refusal(signIn(signIns, tool));
    expect((await begin(signIns, tool)).query.get('client_id')).toBe('client-2');
  });

  test('a refresh that was not sent, because the address is not allowed just now, is tried again', async () => {
    const signIns = open();
    stub.grant = { expires_in: 3600, refresh_token: 'r' };
    const tool = await newTool(deps(), stub.url);
    await signIn(signIns, tool);
    const first = await signIns.authorization(tool, null);
    now += 3600_000 - 30_000;
    rules.allowPrivate = false;
    expect(await signIns.authorization(tool, null)).toBe(first);
    rules.allowPrivate = true;
    expect(await signIns.authorization(tool, null)).not.toBe(first);
  });

  test('of the scopes that a server says it granted, only scopes are kept', async () => {
    const signIns = open();
    stub.grant = { scope: 'read \u0000 "x" write\u202e write' };
    const tool = await newTool(deps(), stub.url);
    await signIn(signIns, tool);
    expect((await rowOf(tool))?.scopes).toBe('read write');
  });
});
