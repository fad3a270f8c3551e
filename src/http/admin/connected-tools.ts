// /admin/v1/keys/:id/connected-tools: the MCP servers of a key, their health and their tools. connected-tool-fields.ts
// describes requests and answers, and tool-definitions.ts has the definitions of the tools.

import type { z } from 'zod';
import { noSuchKey } from '../../guard/keys.ts';
import {
  connectServer,
  connectTool,
  disconnectTool,
  noSuchTool,
} from '../../guard/tool-servers/connected-tools.ts';
import type { Upstream } from '../../mcp/upstream.ts';
import { type ConnectedTool, listConnectedTools } from '../../store/connected-tools.ts';
import { findKey } from '../../store/keys.ts';
import { list } from '../serving/fields.ts';
import { actorOf, holdOpen, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { seesAll } from '../serving/shown-address.ts';
import { body, shown, tested } from './connected-tool-fields.ts';
import { inputIn, showSource } from './source-fields.ts';

export async function show(
  services: Services,
  tool: ConnectedTool,
  upstream: Upstream | null,
  all = true,
): Promise<z.output<typeof shown>> {
  return { ...(await showSource(services, tool, upstream, all)), toolServerId: tool.toolServerId };
}

export const tag = 'connected tools';
export const path = '/admin/v1/keys/:id/connected-tools';

export const connectedToolRoutes: Route[] = [
  route({
    method: 'GET',
    path,
    access: 'view',
    tag,
    summary: 'List a key’s Connected Tools, with their health on this replica',
    answers: { 200: { description: 'Connected Tools.', schema: list('connectedTools', shown) } },
    handle: async incoming => {
      const { services, params } = incoming;
      const keyId = params['id'] ?? '';
      if ((await findKey(services.deps.db, keyId)) === null) throw noSuchKey();
      const connected = await services.mcp.hub.of(keyId);
      const rows = await listConnectedTools(services.deps.db, keyId);
      const connectedTools = await Promise.all(
        rows.map(row => {
          const known = connected.find(each => each.tool.id === row.id);
          return show(services, row, known?.upstream ?? null, seesAll(incoming));
        }),
      );
      return Response.json({ connectedTools, nextCursor: null });
    },
  }),
  route({
    method: 'POST',
    path,
    access: 'admin',
    tag,
    summary: 'Register an MCP server for a key, or give it a tool server that keys share',
    body,
    answers: { 201: { description: 'The Connected Tool.', schema: shown } },
    handle: async incoming => {
      const { services, body: given } = incoming;
      const keyId = incoming.params['id'] ?? '';
      const [{ deps, targetRules }, actor] = [services, actorOf(incoming)];
      const tool =
        'toolServerId' in given
          ? await connectServer(deps, actor, keyId, given)
          : await connectTool(deps, actor, targetRules, keyId, inputIn(services, given));
      const connected = await services.mcp.hub.find(keyId, tool.id);
      return Response.json(await show(services, tool, connected?.upstream ?? null), { status: 201 });
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:toolId`,
    access: 'admin',
    tag,
    summary: 'Remove a Connected Tool',
    answers: { 204: { description: 'Removed.' } },
    handle: async incoming => {
      const { id = '', toolId = '' } = incoming.params;
      await disconnectTool(incoming.services.deps, actorOf(incoming), id, toolId);
      await incoming.services.mcp.hub.find(id, toolId);
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:toolId/test`,
    access: 'admin',
    tag,
    summary: 'Connect now, and show the tools that it offers or why it fails',
    answers: {
      200: { description: 'The result of the attempt.', schema: tested },
    },
    handle: async incoming => {
      const { services, params } = incoming;
      const connected = await services.mcp.hub.find(params['id'] ?? '', params['toolId'] ?? '');
      if (connected === null) throw noSuchTool();
      // The answer may take long, because the command may have to be downloaded first.
      holdOpen(incoming);
      return Response.json(await services.mcp.listing.test(connected));
    },
  }),
];
