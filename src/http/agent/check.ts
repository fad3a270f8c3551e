// POST /v1/check: answers with an advisory verdict. This file parses the request; guard/check decides and records it.

import { z } from 'zod';
import { DECISIONS } from '../../core/decision/decide.ts';
import { IDEMPOTENCY_META, idempotencyKeyIn } from '../../core/text/idempotency-key.ts';
import { serverNameFault, toolNameFault } from '../../core/text/name.ts';
import { isObject, type Json, MAX_CHECK_VALUES, parseJsonBytes } from '../../core/wire/json.ts';
import type { Span } from '../../core/wire/span.ts';
import { carryKey } from '../../guard/check/idempotency.ts';
import type { CheckRequest } from '../../guard/check/request.ts';
import type { Principal } from '../../guard/credentials.ts';
import { SMALL_BYTES } from '../../guard/rations/rations.ts';
import { fit, gone } from '../serving/body.ts';
import { text, uuid } from '../serving/fields.ts';
import { agentOf, type Incoming, type Route, route } from '../serving/route.ts';
import { runOf } from '../serving/run-header.ts';
import type { Services } from '../serving/services.ts';
import { submitCheck } from '../serving/submit-check.ts';
import { beginSpan, ending } from '../serving/tracing.ts';

/** The value itself is passed on and not a copy, so that what is checked is what was sent. */
const argsObject = z.unknown().refine(isObject, 'must be an object').meta({
  type: 'object',
  description:
    'The arguments of the call. They are evaluated in memory only and never stored. If the call needs approval, a keyed digest of them is kept.',
});

const body = z.strictObject({
  serverName: text(serverNameFault, 'Name of the tool server; without "__".', 'github'),
  toolName: text(toolNameFault, 'Name of the tool.', 'create_issue'),
  args: argsObject.optional(),
  referenceId: uuid
    .optional()
    .meta({ description: 'An approved, unspent approval of exactly this call, which is then allowed once.' }),
  _meta: z
    .strictObject({
      [IDEMPOTENCY_META]: z.string().meta({
        description: 'The same as the header `Idempotency-Key`: 1 to 128 visible ASCII characters.',
      }),
    })
    .optional(),
});

type Body = z.output<typeof body>;

const verdict = z.object({
  decision: z.enum(DECISIONS),
  reason: z.string(),
  policyId: uuid,
  toolCallId: uuid.meta({ description: 'The id of the audit entry of this call.' }),
  referenceId: uuid.optional().meta({ description: 'Only when pending: correlates the later events.' }),
  message: z.string().optional().meta({ description: 'Only when pending: this is not the final outcome.' }),
  known: z.literal('results').optional().meta({
    description: 'Only when allowed: report the result by POST /v1/told, which makes values known.',
  }),
  results: z.literal(true).optional().meta({
    description:
      'Only when allowed: the policy says what is to be done to the result. Get it by POST /v1/results.',
  }),
  latencyMs: z.int(),
});

const PATH = '/v1/check';

export const checkRoutes: Route[] = [
  route({
    method: 'POST',
    path: PATH,
    access: 'agent',
    sheds: true,
    tag: 'check',
    summary: 'Ask whether a tool call may proceed',
    description:
      'Anything but `allow` means: do not proceed. Exactly one audit entry is committed before the verdict is sent; if it cannot be, the answer is 500 and there is no verdict. ' +
      'With the header `Idempotency-Key` (1 to 128 visible ASCII characters), the same call of the same credential gets the same verdict for 24 hours, without another entry. A pending one is judged again once it is answered.',
    body,
    bodyLimit: 'checkBodyLimit',
    maxValues: MAX_CHECK_VALUES,
    anyText: true,
    answers: {
      200: { description: 'The verdict.', schema: verdict },
      409: { description: 'The idempotency key was used for another call (`idempotency_conflict`).' },
    },
    handle: check,
    quickly,
  }),
];

function check(incoming: Incoming<Body, unknown>): Promise<Response> {
  const { services, request, body, startedAt, identifyMs, span } = incoming;
  const named = namedIn(request.headers, body._meta?.[IDEMPOTENCY_META]);
  return answer(services, agentOf(incoming), named, body, startedAt, identifyMs, span);
}

/**
 * Answers the usual request, with a known credential and a small, plain JSON body, without the steps that only other
 * requests need. It returns null for any other request. docs/decisions/0012-written-by-hand.md says what this saves.
 */
function quickly(services: Services, request: Request, startedAt: number): Promise<Response> | null {
  // Reading a header is expensive, and the first read also makes the headers object.
  const { headers } = request;
  const principal = services.principals.recall(headers.get('authorization') ?? '');
  if (principal === undefined || headers.get('content-type') !== 'application/json') return null;
  const length = headers.get('content-length');
  if (length === null || Number(length) > Math.min(SMALL_BYTES, services.config.checkBodyLimit)) return null;
  const named = namedIn(headers);
  const { tracer } = services;
  const span = tracer === null ? undefined : beginSpan(tracer, PATH, request, startedAt);
  const answered = request.bytes().then(bytes => {
    const value = parseJsonBytes(bytes, MAX_CHECK_VALUES);
    if (isUsual(value)) return answer(services, principal, named, value, startedAt, 0, span);
    const given = fit(body, value);
    const all = given._meta === undefined ? named : namedIn(headers, given._meta[IDEMPOTENCY_META]);
    return answer(services, principal, all, given, startedAt, 0, span);
  }, gone);
  return span === undefined ? answered : ending(span, answered);
}

/**
 * Accepts what the schema accepts, except a referenceId and `_meta`. For all other bodies the schema decides and names the faults. The
 * schema would add 6 % of instructions to every check (decision 12).
 */
function isUsual(value: Json): value is Json & Body {
  if (!isObject(value)) return false;
  for (const name in value) if (name !== 'serverName' && name !== 'toolName' && name !== 'args') return false;
  const { serverName, toolName, args } = value;
  return (
    typeof serverName === 'string' &&
    typeof toolName === 'string' &&
    serverNameFault(serverName) === null &&
    toolNameFault(toolName) === null &&
    (args === undefined || isObject(args))
  );
}

/** What the caller names: the run of the call, and the call itself. */
interface Named {
  run: string | undefined;
  idempotencyKey: string | undefined;
}

function namedIn(headers: Headers, meta?: string): Named {
  return { run: runOf(headers), idempotencyKey: idempotencyKeyIn(headers, meta) };
}

function answer(
  services: Services,
  principal: Principal,
  { run, idempotencyKey }: Named,
  body: Body,
  startedAt: number,
  identifyMs: number,
  span: Span | undefined,
): Promise<Response> {
  const { serverName, toolName, args, referenceId = null } = body;
  const call = { serverName, toolName };
  const asked: CheckRequest = {
    principal,
    surface: 'check',
    call,
    args: args as Json | undefined,
    referenceId,
    run,
    startedAt,
    span,
  };
  if (idempotencyKey !== undefined) carryKey(services.deps, asked, idempotencyKey);
  return submitCheck(services, asked, identifyMs, verdict => Response.json(verdict));
}
