// AuthZEN's Authorization API 1.0: an evaluation as our call, and our verdict as its decision. A resource of type `tool`
// is named in full (`github__create_issue`), or by the tool alone as the COAZ binding for MCP does. The caller is known by
// its key: what the request says about its subject is not used. authzen-routes.ts has the routes.

import { z } from 'zod';
import { type GuardError, invalidInput } from '../../core/errors.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { SEPARATOR, serverNameFault, splitName, toolNameFault } from '../../core/text/name.ts';
import { canonicalJson } from '../../core/wire/canonical.ts';
import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import type { Verdict } from '../../guard/check/request.ts';
import { headersOf, STATUS } from '../serving/errors.ts';
import { requireRunName } from '../serving/run-header.ts';
import type { DoorCall } from './door.ts';
import { refusalText } from './refusal-text.ts';

/** The value itself is passed on and not a copy, so that what is judged is what was sent. */
const object = z.custom<JsonObject>(isObject, 'must be an object').meta({ type: 'object' });

const entity = (what: string) =>
  z.object({ type: z.string(), id: z.string(), properties: object.optional() }).meta({ description: what });

/** Fields that are not named here are ignored, as the specification wants. */
export const evaluation = z.object({
  subject: entity('Who asks. It is not used: the caller is known by its key.'),
  action: z
    .object({ name: z.string(), properties: object.optional() })
    .meta({ description: '`properties.arguments` may hold the arguments of the call.' }),
  resource: entity(
    'Type `tool`; the id is `<server>__<tool>`, or the name of the tool, with `properties.server` unless the key has a single Connected Tool.',
  ),
  context: object.optional().meta({
    type: 'object',
    description:
      '`arguments` may hold the arguments of the call. They are evaluated in memory and never stored. `run` may name the run that the call belongs to, if the header `Toolgate-Run` does not.',
  }),
});

export type Evaluation = z.output<typeof evaluation>;

/** Whether the evaluation names a tool without its server. */
export function wantsServer({ resource: { id, properties } }: Evaluation): boolean {
  return properties?.['server'] === undefined && !id.includes(SEPARATOR);
}

/** `only` is the server of the key's single Connected Tool, if there is one; it is needed where `wantsServer` says so. */
export function callInEvaluation(body: Evaluation, only: string | null): DoorCall {
  const { type } = body.resource;
  if (type !== 'tool') throw fault('/resource/type', 'must be "tool": this service decides about tools only');
  return { call: callOf(body, only), args: argumentsOf(body), run: runIn(body) };
}

function runIn({ context }: Evaluation): string | undefined {
  const name = context?.['run'];
  if (name === undefined) return undefined;
  if (typeof name !== 'string') throw fault('/context/run', 'must be a string');
  return requireRunName(name, '/context/run');
}

function callOf(body: Evaluation, only: string | null): ToolCall {
  const { id, properties = {} } = body.resource;
  const given = properties['server'];
  if (given === undefined && id.includes(SEPARATOR)) {
    const call = splitName(id);
    if (call === null) throw fault('/resource/id', 'must be a full tool name, <server>__<tool>');
    return call;
  }
  const serverName = given ?? only;
  if (serverName === null)
    throw fault(
      '/resource/properties/server',
      'is required: the key does not have exactly one Connected Tool',
    );
  if (typeof serverName !== 'string') throw fault('/resource/properties/server', 'must be a string');
  check('/resource/properties/server', serverNameFault(serverName));
  check('/resource/id', toolNameFault(id));
  // Read as a bare name, the id would name a tool that no rule for the full name matches.
  if (id.startsWith(serverName + SEPARATOR))
    throw fault('/resource/id', 'must not repeat the server that /resource/properties/server names');
  return { serverName, toolName: id };
}

function argumentsOf({ action, context }: Evaluation): Json | undefined {
  const first = argumentsAt('/context/arguments', context);
  const second = argumentsAt('/action/properties/arguments', action.properties);
  if (first === undefined || second === undefined) return first ?? second;
  if (canonicalJson(first) === canonicalJson(second)) return first;
  throw fault('/context/arguments', 'differs from /action/properties/arguments: give the arguments once');
}

function argumentsAt(path: string, holder: JsonObject | undefined): JsonObject | undefined {
  const given = holder?.['arguments'];
  if (given === undefined || isObject(given)) return given;
  throw fault(path, 'must be an object');
}

function check(path: string, message: string | null): void {
  if (message !== null) throw fault(path, message);
}

function fault(path: string, message: string): GuardError {
  return invalidInput([{ path, message }]);
}

export const decision = z.object({
  decision: z.boolean().meta({ description: 'True only if the call is allowed.' }),
  context: z
    .object({
      reason: z.string(),
      toolCallId: z.string().optional().meta({ description: 'The id of the audit entry.' }),
      evaluation_id: z
        .string()
        .optional()
        .meta({ description: 'While approval is needed: the id of the audit entry.' }),
      access_request: z
        .object({ id: z.string(), expires_at: z.iso.datetime() })
        .optional()
        .meta({ description: 'The approval that was asked for. Evaluate again once it is approved.' }),
      error: z
        .object({ status: z.int(), message: z.string() })
        .optional()
        .meta({ description: 'In a batch: why this evaluation was not decided.' }),
    })
    .optional(),
});

export type DecisionAnswer = z.output<typeof decision>;

export function decisionOf(verdict: Verdict): DecisionAnswer {
  const { toolCallId, referenceId, expiresAt } = verdict;
  if (verdict.decision === 'pending' && referenceId !== undefined && expiresAt !== undefined) {
    const access_request = { id: referenceId, expires_at: new Date(expiresAt).toISOString() };
    return {
      decision: false,
      context: { reason: 'approval_required', evaluation_id: toolCallId, access_request },
    };
  }
  return { decision: verdict.decision === 'allow', context: { reason: refusalText(verdict), toolCallId } };
}

/** An evaluation of a batch that could not be decided. */
export function undecided(error: GuardError): DecisionAnswer {
  const { message } = error;
  return { decision: false, context: { reason: message, error: { status: statusOf(error), message } } };
}

/** An error is a status and a message as plain text. */
export function refuse(error: GuardError): Response {
  return new Response(error.message, {
    status: statusOf(error),
    headers: { ...headersOf(error), 'Content-Type': 'text/plain; charset=utf-8' },
  });
}

/** AuthZEN answers 400 to a body that is not JSON, also where only its content type says so. */
function statusOf({ code }: GuardError): number {
  return code === 'unsupported_media_type' ? 400 : STATUS[code];
}
