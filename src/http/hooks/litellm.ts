// LiteLLM's Generic Guardrail API. The tool calls that a model answers with come in `input_type: response`; each is judged,
// and all of them have to be allowed. Those of a `request` are the history of the conversation: they were made before.
// Every answer is 200, because `unreachable_fallback: fail_open` and `fail_on_error: false` let other ones through.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { splitName } from '../../core/text/name.ts';
import { isObject, type Json, MAX_CHECK_VALUES, parseJson } from '../../core/wire/json.ts';
import type { Verdict } from '../../guard/check/request.ts';
import { fit } from '../serving/body.ts';
import { type Incoming, type Route, route } from '../serving/route.ts';
import { submitChecks } from '../serving/submit-check.ts';
import { DOOR, type DoorCall, questionOf, refused } from './door.ts';
import { refusalText } from './refusal-text.ts';

/** Each costs a decision and an audit entry. */
const MOST_CALLS = 100;
const MOST_TOLD = 3;

const body = z.looseObject({
  input_type: z.enum(['request', 'response']),
  structured_messages: z
    .custom<Json>(() => true)
    .nullish()
    .meta({ type: 'array' }),
  tools: z
    .custom<Json>(() => true)
    .nullish()
    .meta({ type: 'array' }),
  tool_calls: z
    .custom<Json>(() => true)
    .nullish()
    .meta({
      type: 'array',
      description: 'Their `arguments` are JSON as text. They are evaluated in memory and never stored.',
    }),
});

type Body = z.output<typeof body>;

const calls = z
  .array(z.looseObject({ function: z.looseObject({ name: z.string(), arguments: z.string().nullish() }) }))
  .max(MOST_CALLS);

const answered = z.object({ action: z.enum(['NONE', 'BLOCKED']), blocked_reason: z.string().optional() });

type Answered = z.output<typeof answered>;

const NONE: Answered = { action: 'NONE' };
const blocked = (why: string): Answered => ({ action: 'BLOCKED', blocked_reason: why });

export const litellmRoute: Route = route({
  ...DOOR,
  method: 'POST',
  path: '/v1/hooks/litellm/beta/litellm_basic_guardrail_api',
  summary: 'Answer LiteLLM’s Generic Guardrail API',
  description:
    'The tool calls of a model’s answer are judged, each with an audit entry, and all of them have to be allowed. The server is `litellm`, or what stands before the first `__` in the name of the tool. What has no tool calls is answered with `NONE`, without an entry.',
  body,
  answers: { 200: { description: 'The verdict, or a refusal.', schema: answered } },
  handle: guard,
  refusal: error => refused(error, blocked(error.message)),
});

async function guard(incoming: Incoming<Body, unknown>): Promise<Response> {
  const { services, identifyMs } = incoming;
  const questions = callsIn(incoming.body).map(each => questionOf('litellm', each, incoming));
  const verdicts = await submitChecks(services, questions, identifyMs);
  return Response.json(answer(verdicts.map(orThrow)));
}

function orThrow(verdict: Verdict | GuardError): Verdict {
  if (verdict instanceof GuardError) throw verdict;
  return verdict;
}

export function callsIn({ input_type, structured_messages, tools, tool_calls }: Body): DoorCall[] {
  if (input_type === 'request') {
    if (isEmpty(structured_messages) && !isEmpty(tools)) throw withoutArguments();
    return [];
  }
  const made = fit(calls, tool_calls ?? []);
  return made.map(({ function: { name, arguments: text } }) => ({
    call: callNamed(name),
    args: argumentsIn(text ?? '', Math.floor(MAX_CHECK_VALUES / made.length)),
  }));
}

export function answer(verdicts: readonly Verdict[]): Answered {
  const stopped = verdicts.filter(({ decision }) => decision !== 'allow').map(refusalText);
  if (stopped.length === 0) return NONE;
  const more =
    stopped.length > MOST_TOLD ? [`${stopped.length - MOST_TOLD} more calls may not proceed.`] : [];
  return blocked([...stopped.slice(0, MOST_TOLD), ...more].join(' '));
}

/** A hyphen, which LiteLLM itself puts behind the name of an MCP server, is part of many names of tools. */
function callNamed(name: string): ToolCall {
  return splitName(name) ?? { serverName: 'litellm', toolName: name };
}

function argumentsIn(text: string, maxValues: number): Json | undefined {
  if (text.trim() === '') return undefined;
  const args = parseJson(text, maxValues);
  if (!isObject(args))
    throw new GuardError('invalid_input', 'The arguments of a tool call are not an object.');
  return args;
}

function isEmpty(value: Json | null | undefined): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}

/**
 * A tool outside of a conversation: so LiteLLM asks about a call of its MCP gateway, in modes that have to be turned on
 * in LiteLLM. Newer versions add the texts in the arguments, but not where they stand.
 */
function withoutArguments(): GuardError {
  return new GuardError(
    'invalid_input',
    'LiteLLM sent a tool without its arguments, so the call cannot be judged: use this guardrail in the mode post_call.',
  );
}
