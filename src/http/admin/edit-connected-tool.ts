// PATCH /admin/v1/keys/:id/connected-tools/:toolId: changes a Connected Tool in place.

import { z } from 'zod';
import { invalidInput } from '../../core/errors.ts';
import { noSuchTool } from '../../guard/tool-servers/connected-tools.ts';
import { editTool, type ToolChanges } from '../../guard/tool-servers/edit-tool.ts';
import { type ConnectedTool, findConnectedTool } from '../../store/connected-tools.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import { auth, headers, name, oauth, shown, url } from './connected-tool-fields.ts';
import { show, undeclared } from './connected-tools.ts';

const body = z
  .strictObject({
    name: name.optional(),
    url: url.optional(),
    headers: headers.nullable().optional().meta({ description: 'Replaces all of them; null removes them.' }),
    server: z.string().optional().meta({ description: 'The name of another declared stdio server.' }),
    auth: auth.optional().meta({
      description: 'Another value than `oauth` ends the sign-ins, and `none` removes the headers too.',
    }),
    oauth: oauth.optional().meta({
      description:
        'Replaces all of it. A `clientSecret` that is left out stays, unless there is another `clientId`. The next sign-in ' +
        'may be with another authorization server than the first one was.',
    }),
  })
  .refine(given => Object.keys(given).length > 0, 'must change something');

export const editConnectedToolRoutes: Route[] = [
  route({
    method: 'PATCH',
    path: '/admin/v1/keys/:id/connected-tools/:toolId',
    access: 'admin',
    tag: 'connected tools',
    summary: 'Change a Connected Tool',
    description:
      'The accepted definitions of its tools stay. Its connections are opened anew. Another `url`, another `clientId`, or ' +
      'another `as` ends its sign-ins. The transport cannot change.',
    body,
    answers: {
      200: { description: 'The Connected Tool.', schema: shown },
      409: { description: 'The key has another Connected Tool with this name.' },
    },
    handle: async incoming => {
      const { services, body: given, params } = incoming;
      const { id: keyId = '', toolId = '' } = params;
      const { deps, targetRules, mcp, config } = services;
      const tool = await findConnectedTool(deps.db, keyId, toolId);
      if (tool === null) throw noSuchTool();
      const changes = changesIn(tool, given);
      const { target } = changes;
      if (tool.transport === 'stdio' && target !== undefined && !config.stdioServers.has(target))
        throw undeclared();
      const edited = await editTool(deps, actorOf(incoming), targetRules, keyId, toolId, changes);
      return Response.json(await show(services, edited, await mcp.hub.find(keyId, toolId)));
    },
  }),
];

function changesIn(tool: ConnectedTool, given: z.output<typeof body>): ToolChanges {
  const isCommand = tool.transport === 'stdio';
  for (const field of isCommand ? (['url', 'headers', 'auth', 'oauth'] as const) : (['server'] as const))
    if (given[field] !== undefined)
      throw invalidInput([{ path: `/${field}`, message: `is not part of a server over ${tool.transport}` }]);
  const target = isCommand ? given.server : given.url;
  const isOAuth = given.auth === undefined ? tool.oauthAs !== null : given.auth === 'oauth';
  const lacksSettings = isOAuth && tool.oauthAs === null && given.oauth === undefined;
  if (lacksSettings || (!isOAuth && given.oauth !== undefined))
    throw invalidInput([{ path: '/oauth', message: 'goes with auth: "oauth", and only with it' }]);
  const withHeaders = given.auth === 'none' ? null : given.headers;
  const settings = isOAuth ? given.oauth : tool.oauthAs === null ? undefined : null;
  return {
    ...(given.name !== undefined && { name: given.name }),
    ...(target !== undefined && { target }),
    ...(withHeaders !== undefined && { headers: withHeaders }),
    ...(settings !== undefined && { oauth: settings }),
  };
}
