// /admin/v1/tool-servers: the tool servers that several keys share. What keys have of them are Connected Tools that name one
// (connected-tools.ts); tool-reviews.ts has their tools, and server-sign-ins.ts our sign-ins to them.

import { z } from 'zod';
import {
  deleteToolServer,
  editToolServer,
  makeToolServer,
  noSuchToolServer,
} from '../../guard/tool-servers/tool-servers.ts';
import {
  countKeysOf,
  findToolServer,
  listToolServers,
  listToolServerUses,
  type ToolServer,
} from '../../store/tool-servers.ts';
import { list, uuid, wholeNumberText } from '../serving/fields.ts';
import { actorOf, holdOpen, type Incoming, type Route, route } from '../serving/route.ts';
import { seesAll } from '../serving/shown-address.ts';
import { changes, serverBody, shownSource, tested } from './connected-tool-fields.ts';
import { changesIn, inputIn, showSource } from './source-fields.ts';

export const shownServer = shownSource.extend({
  keys: z
    .int()
    .meta({ description: 'How many keys that are not revoked have a Connected Tool that names it.' }),
});

const withUses = shownServer.extend({
  uses: z
    .array(z.object({ keyId: uuid, keyName: z.string(), connectedToolId: uuid, name: z.string() }))
    .meta({ description: 'The Connected Tools of these keys that name it; at most 1000.' }),
});

const tag = 'tool servers';
const path = '/admin/v1/tool-servers';

const MOST_SERVERS = 200;
const MOST_USES = 1000;

export const toolServerRoutes: Route[] = [
  route({
    method: 'GET',
    path,
    access: 'view',
    tag,
    summary: 'List the tool servers that keys share, with their health on this replica',
    query: z.strictObject({
      limit: wholeNumberText(MOST_SERVERS, 50).default(50),
      cursor: z.string().max(64).optional().meta({ description: '`nextCursor` of the page before.' }),
    }),
    answers: { 200: { description: 'Tool servers, by name.', schema: list('toolServers', shownServer) } },
    handle: async incoming => {
      const { services, query } = incoming;
      const rows = await listToolServers(services.deps.db, query.limit + 1, query.cursor ?? '');
      const shown = await Promise.all(rows.slice(0, query.limit).map(row => showServer(incoming, row)));
      return Response.json({
        toolServers: shown,
        nextCursor: rows.length > query.limit ? (shown.at(-1)?.name ?? null) : null,
      });
    },
  }),
  route({
    method: 'POST',
    path,
    access: 'admin',
    tag,
    summary: 'Register an MCP server that keys can share',
    description: 'Keys get it by a Connected Tool that names it.',
    body: serverBody,
    answers: {
      201: { description: 'The tool server.', schema: shownServer },
      409: { description: 'There is another tool server with this name.' },
    },
    handle: async incoming => {
      const { services, body } = incoming;
      const input = inputIn(services, body);
      const server = await makeToolServer(services.deps, actorOf(incoming), services.targetRules, input);
      return Response.json(await showServer(incoming, server), { status: 201 });
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    access: 'view',
    tag,
    summary: 'Show a tool server, and who uses it',
    answers: { 200: { description: 'The tool server.', schema: withUses } },
    handle: async incoming => {
      const server = await required(incoming);
      const uses = await listToolServerUses(incoming.services.deps.db, server.id, MOST_USES);
      return Response.json({ ...(await showServer(incoming, server)), uses });
    },
  }),
  route({
    method: 'PATCH',
    path: `${path}/:id`,
    access: 'admin',
    tag,
    summary: 'Change a tool server for all keys that share it',
    description:
      'It holds for every key from the moment of the answer. The accepted definitions of its tools stay. Its connections are ' +
      'opened anew, unless only `name` or `trust` change. Another `url`, another `clientId`, or another `as` ends its ' +
      'sign-ins. The transport cannot change. The names under which keys have it stay.',
    body: changes,
    answers: {
      200: { description: 'The tool server.', schema: shownServer },
      409: { description: 'There is another tool server with this name.' },
    },
    handle: async incoming => {
      const { services, body } = incoming;
      const { id, ...server } = await required(incoming);
      const changed = changesIn(services, { id, ...server }, body);
      const edited = await editToolServer(
        services.deps,
        actorOf(incoming),
        services.targetRules,
        id,
        changed,
      );
      return Response.json(await showServer(incoming, edited));
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    access: 'admin',
    tag,
    summary: 'Remove a tool server, with all that is known of its tools',
    answers: {
      204: { description: 'Removed.' },
      409: { description: 'Connected Tools of keys that are not revoked name it.' },
    },
    handle: async incoming => {
      const { services, params } = incoming;
      await deleteToolServer(services.deps, actorOf(incoming), params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/test`,
    access: 'admin',
    tag,
    summary: 'Connect now, and show the tools that it offers or why it fails',
    answers: { 200: { description: 'The result of the attempt.', schema: tested } },
    handle: async incoming => {
      const { mcp } = incoming.services;
      const connected = await mcp.hub.findServer(incoming.params['id'] ?? '');
      if (connected === null) throw noSuchToolServer();
      // The answer may take long, because the command may have to be downloaded first.
      holdOpen(incoming);
      return Response.json(await mcp.listing.test(connected));
    },
  }),
];

async function required({ services, params }: Incoming<unknown, unknown>): Promise<ToolServer> {
  const server = await findToolServer(services.deps.db, params['id'] ?? '');
  if (server === null) throw noSuchToolServer();
  return server;
}

export async function showServer(
  incoming: Incoming<unknown, unknown>,
  server: ToolServer,
): Promise<z.output<typeof shownServer>> {
  const { services } = incoming;
  const connected = await services.mcp.hub.findServer(server.id);
  const shown = await showSource(services, server, connected?.upstream ?? null, seesAll(incoming));
  return { ...shown, keys: await countKeysOf(services.deps.db, server.id) };
}
