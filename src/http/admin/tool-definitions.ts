// /admin/v1/keys/:id/connected-tools/:toolId/definitions: what the tools of a Connected Tool say about themselves, as it was
// accepted and as it is now, and the acceptance of a change.

import { z } from 'zod';
import { acceptDrift, acceptOfTool } from '../../guard/tool-servers/accept.ts';
import { noSuchTool } from '../../guard/tool-servers/connected-tools.ts';
import { findConnectedTool } from '../../store/connected-tools.ts';
import { listDefinitions } from '../../store/tool-definitions.ts';
import { isoOrNull, isoTime, list } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import { path, tag } from './connected-tools.ts';
import { digest, lookedAt } from './tool-reviews.ts';

const definition = z.object({
  name: z.string(),
  accepted: z.record(z.string(), z.unknown()),
  acceptedDigest: z.string(),
  changed: z.record(z.string(), z.unknown()).nullable(),
  changedDigest: z
    .string()
    .nullable()
    .meta({ description: 'Send this digest to accept the changed definition.' }),
  changedAt: isoTime.nullable(),
});

export const toolDefinitionRoutes: Route[] = [
  route({
    method: 'GET',
    path: `${path}/:toolId/definitions`,
    access: 'view',
    tag,
    summary: 'List tool definitions as accepted, and as they are now if they changed',
    answers: { 200: { description: 'Definitions.', schema: list('definitions', definition) } },
    handle: async ({ services, params }) => {
      const tool = await findConnectedTool(services.deps.db, params['id'] ?? '', params['toolId'] ?? '');
      if (tool === null) throw noSuchTool();
      const rows = await listDefinitions(services.deps.db, tool.sourceId);
      const definitions = rows.map(row => ({
        name: row.toolName,
        accepted: JSON.parse(row.definition),
        acceptedDigest: row.digest,
        changed: row.changedDefinition === null ? null : JSON.parse(row.changedDefinition),
        changedDigest: row.changedDigest,
        changedAt: isoOrNull(row.changedAt),
      }));
      return Response.json({ definitions, nextCursor: null });
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:toolId/accept`,
    access: 'admin',
    tag,
    summary: 'Accept definitions of tools, or a single changed one',
    body: z
      .strictObject({
        tools: lookedAt.optional(),
        tool: z.string().optional().meta({ description: 'The own name of a single tool that has changed.' }),
        digest: digest.optional().meta({ description: 'The `changedDigest` of its definition.' }),
      })
      .refine(
        ({ tools, tool, digest: one }) => (tools === undefined) === (tool !== undefined && one !== undefined),
        'must have "tools", or "tool" and "digest"',
      ),
    bodyLimit: 'policyBodyLimit',
    answers: {
      204: { description: 'Accepted.' },
      409: {
        description:
          'A tool now has a different definition, or the accepted one, or a lock file decides. None is accepted.',
      },
    },
    handle: async incoming => {
      const { id = '', toolId = '' } = incoming.params;
      const { services, body } = incoming;
      const { tools, tool: toolName = '', digest: one = '' } = body;
      const actor = actorOf(incoming);
      if (tools === undefined) await acceptDrift(services.deps, actor, id, toolId, { toolName, digest: one });
      else await acceptOfTool(services.deps, actor, id, toolId, tools);
      return new Response(null, { status: 204 });
    },
  }),
];
