// PATCH /admin/v1/keys/:id/connected-tools/:toolId, which changes a Connected Tool in place, and …/share, which makes a tool
// server of it.

import { z } from 'zod';
import { noSuchTool } from '../../guard/tool-servers/connected-tools.ts';
import { editTool } from '../../guard/tool-servers/edit-tool.ts';
import { shareTool } from '../../guard/tool-servers/share.ts';
import { findConnectedTool } from '../../store/connected-tools.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import { changes, name, shown } from './connected-tool-fields.ts';
import { path, show, tag } from './connected-tools.ts';
import { changesIn } from './source-fields.ts';
import { shownServer, showServer } from './tool-servers.ts';

export const editConnectedToolRoutes: Route[] = [
  route({
    method: 'PATCH',
    path: `${path}/:toolId`,
    access: 'admin',
    tag,
    summary: 'Change a Connected Tool',
    description:
      'The accepted definitions of its tools stay. Its connections are opened anew. Another `url`, another `clientId`, or ' +
      'another `as` ends its sign-ins. The transport cannot change. Of one that names a tool server, only the name can be ' +
      'changed here.',
    body: changes,
    answers: {
      200: { description: 'The Connected Tool.', schema: shown },
      409: {
        description:
          'The key has another Connected Tool with this name, or this one names a tool server, which is changed itself.',
      },
    },
    handle: async incoming => {
      const { services, body: given, params } = incoming;
      const { id: keyId = '', toolId = '' } = params;
      const { deps, targetRules, mcp } = services;
      const tool = await findConnectedTool(deps.db, keyId, toolId);
      if (tool === null) throw noSuchTool();
      const changed = changesIn(services, tool, given);
      const edited = await editTool(deps, actorOf(incoming), targetRules, keyId, toolId, changed);
      const connected = await mcp.hub.find(keyId, toolId);
      return Response.json(await show(services, edited, connected?.upstream ?? null));
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:toolId/share`,
    access: 'admin',
    tag,
    summary: 'Make a tool server of a Connected Tool, which other keys can name too',
    description:
      'The Connected Tool keeps its id and its name, and names the tool server from then on. Definitions, their acceptance ' +
      'and sign-ins stay. Calls go on meanwhile.',
    body: z.strictObject({
      name: name
        .optional()
        .meta({ description: 'Of the tool server. Without it, that of the Connected Tool.' }),
    }),
    bodyOptional: true,
    answers: {
      201: { description: 'The tool server.', schema: shownServer },
      409: { description: 'It names a tool server already, or another tool server has this name.' },
    },
    handle: async incoming => {
      const { services, params, body } = incoming;
      const { id: keyId = '', toolId = '' } = params;
      const server = await shareTool(services.deps, actorOf(incoming), keyId, toolId, body.name);
      return Response.json(await showServer(incoming, server), { status: 201 });
    },
  }),
];
