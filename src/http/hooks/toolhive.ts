// ToolHive's validating webhook: before a proxy sends a message of MCP to its server, it asks whether it may. Every answer
// is 200, because ToolHive's `failure_policy: ignore` lets a message through after any other status but 422.

import { z } from 'zod';
import type { GuardError } from '../../core/errors.ts';
import type { Json } from '../../core/wire/json.ts';
import type { Route } from '../serving/route.ts';
import { type Door, doorRoute } from './door.ts';
import { doorCallAt, notLetThrough, passedOn, requireLetThrough } from './json-rpc.ts';
import { refusalText } from './refusal-text.ts';
import { signedByToolHive } from './signature.ts';

const VERSION = 'v0.1.0';

const body = z.looseObject({
  version: z.literal(VERSION),
  uid: z.string().max(200),
  mcp_request: z
    .custom<Json>(value => value !== undefined, 'is required')
    .meta({ type: 'object', description: 'The JSON-RPC message.' }),
  context: z.looseObject({
    server_name: z.string(),
    backend_server: z.string().optional(),
  }),
});

type Body = z.output<typeof body>;

const answered = z.object({
  version: z.literal(VERSION),
  uid: z.string(),
  allowed: z.boolean(),
  reason: z.string().optional(),
});

type Answered = z.output<typeof answered>;

const door: Door<Body> = {
  surface: 'toolhive',
  path: '/v1/hooks/toolhive',
  summary: 'Answer ToolHive’s validating webhook',
  description:
    'A `tools/call` is judged; for other methods `TOOLGATE_EXT_AUTHZ_OTHER` counts. If `TOOLGATE_TOOLHIVE_SECRET` is set, the request has to be signed (`X-ToolHive-Signature`, `X-ToolHive-Timestamp`).',
  body,
  answers: { 200: { description: 'The verdict, or a refusal.', schema: answered } },
  readCall: ({ mcp_request, context, uid }, _, config) => {
    const passed = passedOn(mcp_request);
    // A virtual MCP server stands for several: the one behind it is the one that is called.
    if (passed.kind === 'call') return doorCallAt(context.backend_server || context.server_name, passed);
    // ToolHive asks about requests only, so it did not send this.
    if (passed.kind === 'answer') throw notLetThrough();
    requireLetThrough(passed.method, config.extAuthzOther);
    return Response.json({ version: VERSION, uid, allowed: true } satisfies Answered);
  },
  answer: (verdict, { uid }): Answered =>
    verdict.decision === 'allow'
      ? { version: VERSION, uid, allowed: true }
      : { version: VERSION, uid, allowed: false, reason: refusalText(verdict) },
  refuse: (error: GuardError, read): Answered => ({
    version: VERSION,
    uid: read?.uid ?? '',
    allowed: false,
    reason: error.message,
  }),
};

export const toolhiveRoute: Route = { ...doorRoute(door), signed: signedByToolHive };
