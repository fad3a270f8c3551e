// Signing in to the servers of Connected Tools: for a key by an admin, and for people by themselves. The address that
// `connect` answers with is a page of ours, which works in any browser in which that person is signed in here.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { keysOpenTo } from '../../guard/people/oauth-codes.ts';
import type { SignedIn } from '../../guard/people/sign-ins.ts';
import type { ServerSignInState } from '../../guard/server-sign-ins/server-sign-ins.ts';
import { noSuchTool } from '../../guard/tool-servers/connected-tools.ts';
import { findSource } from '../../guard/tool-servers/sources.ts';
import { noSuchToolServer } from '../../guard/tool-servers/tool-servers.ts';
import { type ConnectedTool, findConnectedTool, listPersonalTools } from '../../store/connected-tools.ts';
import type { OpenKey } from '../../store/people.ts';
import { listServerSignIns } from '../../store/server-sign-ins.ts';
import { findToolServer, type ToolSource } from '../../store/tool-servers.ts';
import { isoOrNull, isoTime, list, uuid } from '../serving/fields.ts';
import { actorOf, type Incoming, type Route, route, signedInOf } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { withoutSecrets } from '../serving/shown-address.ts';

export const signInState = z.object({
  state: z.enum(['signed_in', 'needed', 'ended']),
  as: z.string().nullable().meta({ description: 'The account at the server, as the server names it.' }),
  until: isoTime
    .nullable()
    .meta({ description: 'When the sign-in ends, if it is known that it cannot be renewed.' }),
  error: z.string().nullable().meta({ description: 'Why it has ended.' }),
});

export function showSignIn({ until, ...rest }: ServerSignInState): z.output<typeof signInState> {
  return { ...rest, until: isoOrNull(until) };
}

const connect = z.object({
  url: z.string().meta({
    description:
      'A page of ours, for a browser in which that person is signed in here. It says where the sign-in leads, and can be used ' +
      'for at least an hour.',
  }),
});

const server = z.object({
  id: uuid.meta({ description: 'The id of the Connected Tool, or of the tool server that keys share.' }),
  name: z.string(),
  url: z.string(),
  keyId: uuid.meta({ description: 'A key through which you use it; of several, the first by name.' }),
  keyName: z.string(),
  signIn: signInState,
});

const tag = 'connected tools';
const path = '/admin/v1/keys/:id/connected-tools/:toolId/connect';
const serverPath = '/admin/v1/tool-servers/:id/connect';
const serverTag = 'tool servers';
const mine = '/admin/v1/me/servers';

export const serverSignInRoutes: Route[] = [
  route({
    method: 'POST',
    path,
    access: 'admin',
    tag,
    summary: 'Begin to sign in to a Connected Tool’s server for the key',
    description:
      'Answers with the address of a page that an admin opens in a browser. A tool server that keys share has one sign-in for ' +
      'all of them.',
    answers: { 200: { description: 'Where to go.', schema: connect } },
    handle: async incoming => {
      const tool = await keyTool(incoming);
      return wayTo(incoming, tool, null);
    },
  }),
  route({
    method: 'DELETE',
    path,
    access: 'admin',
    tag,
    summary: 'Sign out of a Connected Tool’s server',
    description: 'Forgets the key’s tokens, and revokes them at the server if it allows that.',
    answers: { 204: { description: 'Signed out.' } },
    handle: async incoming => {
      const tool = await keyTool(incoming);
      await incoming.services.serverSignIns.disconnect(actorOf(incoming), tool, null);
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'POST',
    path: serverPath,
    access: 'admin',
    tag: serverTag,
    summary: 'Begin to sign in to a tool server for all keys that share it',
    description: 'Answers with the address of a page that an admin opens in a browser.',
    answers: { 200: { description: 'Where to go.', schema: connect } },
    handle: async incoming => wayTo(incoming, await sharedServer(incoming), null),
  }),
  route({
    method: 'DELETE',
    path: serverPath,
    access: 'admin',
    tag: serverTag,
    summary: 'Sign out of a tool server for all keys that share it',
    description: 'Forgets the tokens, and revokes them at the server if it allows that.',
    answers: { 204: { description: 'Signed out.' } },
    handle: async incoming => {
      const server = await sharedServer(incoming);
      await incoming.services.serverSignIns.disconnect(actorOf(incoming), server, null);
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'GET',
    path: mine,
    access: 'own',
    tag,
    summary: 'List the servers that you sign in to for yourself',
    answers: { 200: { description: 'Servers.', schema: list('servers', server) } },
    handle: async incoming => {
      const { services } = incoming;
      const person = signedInOf(incoming);
      const { db } = services.deps;
      const rows = await listServerSignIns(db, person.operatorId);
      const servers = (await personalTools(services, person)).map(({ tool, key }) => ({
        id: tool.sourceId,
        name: tool.name,
        url: withoutSecrets(tool.target),
        keyId: key.id,
        keyName: key.name,
        signIn: showSignIn(
          services.serverSignIns.stateIn(rows.find(each => each.toolId === tool.sourceId) ?? null),
        ),
      }));
      return Response.json({ servers, nextCursor: null });
    },
  }),
  route({
    method: 'POST',
    path: `${mine}/:toolId/connect`,
    access: 'own',
    tag,
    summary: 'Begin to sign in to a server for yourself',
    answers: { 200: { description: 'Where to go.', schema: connect } },
    handle: async incoming => {
      const person = signedInOf(incoming);
      const tool = await personalTool(incoming, person);
      return wayTo(incoming, tool, person.operatorId);
    },
  }),
  route({
    method: 'DELETE',
    path: `${mine}/:toolId`,
    access: 'own',
    tag,
    summary: 'Sign out of a server for yourself',
    description: 'Forgets your tokens, and revokes them at the server if it allows that.',
    answers: { 204: { description: 'Signed out.' } },
    handle: async incoming => {
      const { services, params } = incoming;
      const person = signedInOf(incoming);
      // Whoever may not use the key any more can still sign out.
      const tool = await findSource(services.deps.db, params['toolId'] ?? '');
      if (tool?.oauthAs !== 'person') throw noSuchServer();
      await services.serverSignIns.disconnect(actorOf(incoming), tool, person.operatorId);
      return new Response(null, { status: 204 });
    },
  }),
];

/** A tool for which an admin signs in; the tool server, if it names one. */
async function keyTool({ services, params }: Incoming<unknown, unknown>): Promise<ToolSource> {
  const { db } = services.deps;
  const tool = await findConnectedTool(db, params['id'] ?? '', params['toolId'] ?? '');
  const source = tool && (await findSource(db, tool.sourceId));
  if (source === null) throw noSuchTool();
  return requireOneSignIn(source, 'This Connected Tool');
}

async function sharedServer({ services, params }: Incoming<unknown, unknown>): Promise<ToolSource> {
  const server = await findToolServer(services.deps.db, params['id'] ?? '');
  if (server === null) throw noSuchToolServer();
  return requireOneSignIn(server, 'This tool server');
}

function requireOneSignIn(source: ToolSource, what: string): ToolSource {
  if (source.oauthAs === 'key') return source;
  throw new GuardError(
    'conflict',
    source.oauthAs === null
      ? `${what} does not use OAuth.`
      : 'Everybody signs in to this server for themselves.',
  );
}

/** The tools that a person signs in to: those of keys that are open to them, each server once. */
async function personalTools(
  { deps }: Services,
  person: SignedIn,
): Promise<{ tool: ConnectedTool; key: OpenKey }[]> {
  const [tools, keys] = await Promise.all([listPersonalTools(deps.db), keysOpenTo(deps, person)]);
  const found = new Map<string, { tool: ConnectedTool; key: OpenKey }>();
  // A server that several of the keys share has one sign-in of this person.
  for (const key of keys)
    for (const tool of tools)
      if (tool.keyId === key.id && !found.has(tool.sourceId)) found.set(tool.sourceId, { tool, key });
  return [...found.values()].sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
}

async function personalTool(
  { services, params }: Incoming<unknown, unknown>,
  person: SignedIn,
): Promise<ConnectedTool> {
  const found = (await personalTools(services, person)).find(
    ({ tool }) => tool.sourceId === params['toolId'],
  );
  if (found === undefined) throw noSuchServer();
  return found.tool;
}

function noSuchServer(): GuardError {
  return new GuardError('not_found', 'There is no server with this id that you sign in to.');
}

/** A page of ours, which says where the sign-in leads before anybody goes there. */
async function wayTo(
  { services }: Incoming<unknown, unknown>,
  tool: ToolSource,
  personId: string | null,
): Promise<Response> {
  const body: z.output<typeof connect> = { url: await services.serverSignIns.ticket(tool, personId) };
  return Response.json(body, { headers: { 'Cache-Control': 'no-store' } });
}
