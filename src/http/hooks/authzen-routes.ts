// The routes of AuthZEN's Authorization API 1.0: one evaluation, several of them, and the description of this decision
// point. authzen.ts maps evaluations and answers, authzen-batch.ts judges several.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { listConnectedTools } from '../../store/connected-tools.ts';
import { fit } from '../serving/body.ts';
import { baseUrl } from '../serving/origin.ts';
import { agentOf, type Incoming, type Route, route } from '../serving/route.ts';
import { submitCheck, submitChecks } from '../serving/submit-check.ts';
import {
  callInEvaluation,
  decision,
  decisionOf,
  type Evaluation,
  evaluation,
  refuse,
  wantsServer,
} from './authzen.ts';
import { answersTo, type Batch, batch, evaluationsOf, orFault } from './authzen-batch.ts';
import { DOOR, namedQuestion, refused } from './door.ts';

const EVALUATION = '/access/v1/evaluation';
const EVALUATIONS = '/access/v1/evaluations';

const metadata = z.object({
  policy_decision_point: z.string(),
  access_evaluation_endpoint: z.string(),
  access_evaluations_endpoint: z.string(),
});

const errors = { description: 'An error, as a text.', type: 'text/plain' };

/** What the routes for one evaluation and for several share. */
const EVALUATION_ROUTE = { ...DOOR, method: 'POST' } as const;

export const authzenRoutes: Route[] = [
  route({
    ...EVALUATION_ROUTE,
    path: EVALUATION,
    summary: 'Evaluate one access request (AuthZEN 1.0)',
    description:
      'The tool is the resource, its arguments are in `context.arguments` or in `action.properties.arguments`. Exactly one audit entry is committed before the answer. Nothing but `"decision": true` lets the call proceed.',
    body: evaluation,
    answers: {
      200: { description: 'The decision.', schema: decision },
      400: errors,
      401: errors,
      500: errors,
    },
    handle: incoming => evaluate(incoming, incoming.body),
  }),
  route({
    ...EVALUATION_ROUTE,
    path: EVALUATIONS,
    summary: 'Evaluate several access requests (AuthZEN 1.0)',
    description:
      'Each evaluation is judged and recorded like a single one; an evaluation that cannot be mapped is answered with `false`. With `deny_on_first_deny` and `permit_on_first_permit` those after the deciding one are neither judged nor recorded. Without `evaluations`, the body is a single request.',
    body: batch,
    answers: {
      200: {
        description: 'The decisions, in the order of the evaluations.',
        schema: z.union([z.object({ evaluations: z.array(decision) }), decision]),
      },
      400: errors,
      401: errors,
      500: errors,
    },
    handle: evaluateAll,
  }),
].map(identified);

export const authzenMetadata: Route = route({
  method: 'GET',
  path: '/.well-known/authzen-configuration',
  access: 'public',
  tag: 'agents and gateways',
  cors: true,
  summary: 'Metadata of this policy decision point (AuthZEN 1.0)',
  answers: { 200: { description: 'The metadata.', schema: metadata } },
  handle: ({ services, request }) => {
    const base = baseUrl(services.config, request);
    return Response.json({
      policy_decision_point: base,
      access_evaluation_endpoint: base + EVALUATION,
      access_evaluations_endpoint: base + EVALUATIONS,
    } satisfies z.output<typeof metadata>);
  },
});

async function evaluate(incoming: Incoming<unknown, unknown>, body: Evaluation): Promise<Response> {
  const only = wantsServer(body) ? await onlyServer(incoming) : null;
  const question = namedQuestion('authzen', callInEvaluation(body, only), incoming);
  return submitCheck(incoming.services, question, incoming.identifyMs, verdict =>
    Response.json(decisionOf(verdict)),
  );
}

async function evaluateAll(incoming: Incoming<Batch, unknown>): Promise<Response> {
  const { body, services, startedAt } = incoming;
  if (body.evaluations === undefined || body.evaluations.length === 0)
    return evaluate(incoming, fit(evaluation, body));
  const read = evaluationsOf(body, services.config.checkBodyLimit);
  const wanting = read.some(each => !(each instanceof GuardError) && wantsServer(each));
  const only = wanting ? await onlyServer(incoming) : null;
  const items = read.map(each =>
    each instanceof GuardError
      ? each
      : orFault(() => namedQuestion('authzen', callInEvaluation(each, only), incoming)),
  );
  const semantic = body.options?.evaluations_semantic ?? 'execute_all';
  // The time since the arrival counts toward the time limit, so that evaluations in turn have that of one check.
  const evaluations = await answersTo(items, semantic, questions =>
    submitChecks(services, questions, performance.now() - startedAt),
  );
  return Response.json({ evaluations });
}

/** The server of the key's Connected Tool, if it has exactly one. */
async function onlyServer(incoming: Incoming<unknown, unknown>): Promise<string | null> {
  const tools = await listConnectedTools(incoming.services.deps.db, agentOf(incoming).keyId);
  return tools.length === 1 ? (tools[0]?.name ?? null) : null;
}

/** The answer carries the identifier that the caller gave its request, also when it is a refusal. */
function identified(each: Route): Route {
  return {
    ...each,
    handle: async incoming =>
      named((incoming as Incoming<unknown, unknown>).request, await each.handle(incoming)),
    refusal: (error, request) => named(request, refused(error, refuse(error))),
  };
}

const REQUEST_ID = /^[\x20-\x7e]{1,200}$/;

function named({ headers }: Request, response: Response): Response {
  const id = headers.get('x-request-id');
  if (id !== null && REQUEST_ID.test(id)) response.headers.set('X-Request-ID', id);
  return response;
}
