// POST /v1/check: the advisory verdict. Parsing is here; judging and recording are the guard's.

import { z } from 'zod';
import { DECISIONS } from '../core/decide.ts';
import { GuardError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { ExactNumber } from '../core/json.ts';
import { serverNameFault, toolNameFault } from '../core/name.ts';
import { text, uuid } from './fields.ts';
import { agentOf, type Incoming, type Route, route } from './route.ts';

/** The value itself goes on, not a copy: what is judged is what was sent. */
const argsObject = z
  .unknown()
  .refine(
    value =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber),
    'must be an object',
  )
  .meta({ type: 'object', description: 'Arguments of the call. Evaluated in memory only, never stored.' });

const body = z.strictObject({
  serverName: text(serverNameFault, 'Name of the tool server; without "__".', 'github'),
  toolName: text(toolNameFault, 'Name of the tool.', 'create_issue'),
  args: argsObject.optional(),
  referenceId: uuid
    .optional()
    .meta({ description: 'An approved, unspent approval of this very call: it is then allowed, once.' }),
});

export const verdict = z.object({
  decision: z.enum(DECISIONS),
  reason: z.string(),
  policyId: uuid,
  toolCallId: uuid.meta({ description: 'The id of the audit entry of this call.' }),
  referenceId: uuid.optional().meta({ description: 'Only when pending: correlates the later events.' }),
  message: z.string().optional().meta({ description: 'Only when pending: this is not the final outcome.' }),
  latencyMs: z.int(),
});

export const checkRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/check',
    access: 'agent',
    tag: 'check',
    summary: 'Ask whether a tool call may proceed',
    description:
      'Anything but `allow` means: do not proceed. Exactly one audit entry is committed before the verdict is sent; if it cannot be, the answer is 500 and there is no verdict.',
    body,
    bodyLimit: 'checkBodyLimit',
    answers: { 200: { description: 'The verdict.', schema: verdict } },
    handle: check,
  }),
];

async function check(incoming: Incoming<z.output<typeof body>, unknown>): Promise<Response> {
  const { services, body, startedAt } = incoming;
  const principal = agentOf(incoming);
  try {
    const call = { serverName: body.serverName, toolName: body.toolName };
    const { args, referenceId = null } = body;
    const verdict = await services.checks.submit(
      { principal, surface: 'check', call, args: args as Json | undefined, referenceId, startedAt },
      incoming.identifyMs,
    );
    services.metrics.verdict(verdict.decision, 'check', (performance.now() - startedAt) / 1000);
    return Response.json(verdict);
  } catch (error) {
    if (error instanceof GuardError && error.code === 'unauthenticated')
      services.principals.forget(principal);
    throw error;
  }
}
