// What people look at before they accept the tools of a server, and their acceptance: of a tool server that keys share, and of a
// Connected Tool. tool-definitions.ts has the older way, for single changes of a Connected Tool.

import { z } from 'zod';
import { FINDING_KINDS } from '../../core/definitions/finding.ts';
import { acceptOfServer } from '../../guard/tool-servers/accept.ts';
import { acceptedTools } from '../../guard/tool-servers/accepted.ts';
import { noSuchTool } from '../../guard/tool-servers/connected-tools.ts';
import { reviewTools } from '../../guard/tool-servers/review.ts';
import { findSource } from '../../guard/tool-servers/sources.ts';
import { noSuchToolServer } from '../../guard/tool-servers/tool-servers.ts';
import { findConnectedTool } from '../../store/connected-tools.ts';
import { listReviewed } from '../../store/definition-reviews.ts';
import { findToolServer, type ToolSource } from '../../store/tool-servers.ts';
import { isoOrNull, isoTime, list, uuid, wholeNumberText } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { path as connectedToolPath, tag as connectedToolTag } from './connected-tools.ts';

const tag = 'tool servers';
const path = '/admin/v1/tool-servers';

export const digest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be the 64 hexadecimal digits of a definition that you have looked at');

/** Definitions that somebody has looked at. */
export const lookedAt = z
  .array(z.strictObject({ name: z.string().meta({ description: 'The tool’s own name.' }), digest }))
  .min(1)
  .max(1000);

const acceptAnswers = {
  204: { description: 'All of them are accepted.' },
  409: {
    description: 'One of the tools has another definition now, or a lock file decides. None is accepted.',
  },
};

const line = z.object({ mark: z.enum([' ', '-', '+']), text: z.string() });
const skipped = z.object({ mark: z.enum(['…']), count: z.int() });

const reviewed = z.object({
  name: z.string(),
  definition: z.record(z.string(), z.unknown()).meta({ description: 'As the server shows it now.' }),
  digest: z.string().meta({ description: 'Send it to accept this definition.' }),
  accepted: z
    .object({
      by: z.string().meta({
        description:
          'The e-mail address of an operator, `admin`, `first` where nobody had to, or `lock file`.',
      }),
      at: isoTime.nullable(),
      digest: z.string(),
    })
    .nullable(),
  difference: z
    .array(z.union([line, skipped]))
    .nullable()
    .meta({
      description:
        'What changed since the accepted definition, by lines, with equal ones left out; null if nothing did.',
    }),
  findings: z.array(
    z.object({
      kind: z.enum(FINDING_KINDS),
      where: z.string().meta({ description: 'A JSON Pointer into `definition`.' }),
      text: z.string(),
    }),
  ),
  heldFor: z.array(uuid).meta({
    description:
      'The keys for which its calls wait, or are denied, until somebody accepts the definition; at most 1000.',
  }),
});

const MOST_TOOLS = 200;
const query = z.strictObject({
  limit: wholeNumberText(MOST_TOOLS, MOST_TOOLS).default(MOST_TOOLS),
  cursor: z.string().max(1024).optional().meta({ description: '`nextCursor` of the page before.' }),
});
const answers = { 200: { description: 'Tools, by name.', schema: list('tools', reviewed) } };

export const toolReviewRoutes: Route[] = [
  route({
    method: 'GET',
    path: `${path}/:id/tools`,
    access: 'view',
    tag,
    summary: 'Show the tools of a tool server: what they say, what was found in it, and who accepted it',
    query,
    answers,
    handle: async ({ services, params, query: asked }) => {
      const server = await findToolServer(services.deps.db, params['id'] ?? '');
      if (server === null) throw noSuchToolServer();
      return Response.json(await pageOf(services, server, asked));
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/accept`,
    access: 'admin',
    tag,
    summary: 'Accept definitions of tools for all keys that name the tool server',
    body: z.strictObject({ tools: lookedAt }),
    bodyLimit: 'policyBodyLimit',
    answers: acceptAnswers,
    handle: async incoming => {
      const { tools } = incoming.body;
      await acceptOfServer(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '', tools);
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'GET',
    path: `${connectedToolPath}/:toolId/tools`,
    access: 'view',
    tag: connectedToolTag,
    summary: 'Show the tools of a Connected Tool: what they say, what was found in it, and who accepted it',
    query,
    answers,
    handle: async ({ services, params, query: asked }) => {
      const { id = '', toolId = '' } = params;
      const tool = await findConnectedTool(services.deps.db, id, toolId);
      const source = tool && (await findSource(services.deps.db, tool.sourceId));
      if (source === null) throw noSuchTool();
      return Response.json(await pageOf(services, source, asked));
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/accepted-tools',
    access: 'view',
    tag,
    summary: 'List the accepted definitions of all tool servers, as a lock file names them',
    description:
      'While `TOOLGATE_TOOLS_LOCK` is set, these are the lines of that file. Definitions that are held for a key are left out. A page may have fewer tools than its limit.',
    query,
    answers: {
      200: {
        description: 'Accepted definitions.',
        schema: list('tools', z.object({ server: z.string(), tool: z.string(), digest: z.string() })),
      },
    },
    handle: async ({ services, query: { limit, cursor = '' } }) => {
      const { tools, next } = await acceptedTools(services.deps, limit, cursor);
      return Response.json({ tools, nextCursor: next });
    },
  }),
];

async function pageOf(
  { deps }: Services,
  source: ToolSource,
  { limit, cursor = '' }: { limit: number; cursor?: string | undefined },
) {
  const rows = await listReviewed(deps.db, source.sourceId, limit + 1, cursor);
  const tools = await reviewTools(deps, source, rows.slice(0, limit));
  return {
    tools: tools.map(({ accepted, ...each }) => ({
      ...each,
      accepted: accepted && { ...accepted, at: isoOrNull(accepted.at) },
    })),
    nextCursor: rows.length > limit ? (tools.at(-1)?.name ?? null) : null,
  };
}
