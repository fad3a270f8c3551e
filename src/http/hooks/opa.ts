// OPA's data API: whoever asks an Open Policy Agent for a decision can ask this service instead. An input that cannot be
// read is an error and never an empty object, which clients would take for an undefined decision.

import { z } from 'zod';
import { DECISIONS } from '../../core/decision/decide.ts';
import type { GuardError } from '../../core/errors.ts';
import { runNameFault } from '../../core/flows/names.ts';
import { serverNameFault, toolNameFault } from '../../core/text/name.ts';
import { isObject, type JsonObject } from '../../core/wire/json.ts';
import type { Verdict } from '../../guard/check/request.ts';
import { headersOf, STATUS } from '../serving/errors.ts';
import { text } from '../serving/fields.ts';
import type { Route } from '../serving/route.ts';
import { doorRoute } from './door.ts';
import { refusalText } from './refusal-text.ts';

const body = z.object({
  input: z.object({
    server: text(serverNameFault, 'Name of the tool server; without "__".', 'github'),
    tool: text(toolNameFault, 'Name of the tool.', 'create_issue'),
    arguments: z.custom<JsonObject>(isObject, 'must be an object').optional().meta({
      type: 'object',
      description: 'The arguments of the call. They are evaluated in memory and never stored.',
    }),
    context: z
      .object({ run: text(runNameFault, 'The run that the call belongs to.', 'run-17').optional() })
      .optional(),
  }),
});

const allow = z.boolean().meta({ description: 'True only if the call is allowed.' });
const detailed = z.object({
  allow,
  decision: z.enum(DECISIONS),
  reason: z.string(),
  referenceId: z.string().nullable().meta({ description: 'The approval, while the call waits for one.' }),
});

export const opaRoutes: Route[] = [
  opa('allow', 'Ask as in OPA whether a call is allowed', allow, ({ decision }) => decision === 'allow'),
  opa('decision', 'Ask as in OPA for the decision about a call', detailed, detailedOf),
];

function opa<Result>(
  rule: string,
  summary: string,
  result: z.ZodType<Result>,
  resultOf: (verdict: Verdict) => Result,
): Route {
  return doorRoute({
    surface: 'opa',
    path: `/v1/data/toolgate/${rule}`,
    summary,
    body,
    answers: { 200: { description: 'The result, as of a rule in OPA.', schema: z.object({ result }) } },
    readCall: ({ input: { server, tool, arguments: args, context } }) => ({
      call: { serverName: server, toolName: tool },
      args,
      run: context?.run,
    }),
    answer: verdict => ({ result: resultOf(verdict) }),
    refuse,
  });
}

function detailedOf(verdict: Verdict): z.output<typeof detailed> {
  const { decision } = verdict;
  const reason = decision === 'pending' ? verdict.reason : refusalText(verdict);
  return { allow: decision === 'allow', decision, reason, referenceId: verdict.referenceId ?? null };
}

/** OPA's error: a code of its own list, a message, and the faults of the input. */
function refuse(error: GuardError): Response {
  const status = STATUS[error.code];
  const code = codeOf(status);
  const errors = error.errors?.map(({ path, message }) => ({ code, message: `${path}: ${message}` }));
  const shown = { code, message: error.message, ...(errors !== undefined && { errors }) };
  return Response.json(shown, { status, headers: headersOf(error) });
}

function codeOf(status: number): string {
  if (status === 401 || status === 403) return 'unauthorized';
  return status < 500 ? 'invalid_parameter' : 'internal_error';
}
