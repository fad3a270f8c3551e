// A door: how an agent, a gateway or another authorization API asks for the same check as `/v1/check`. Each door is two
// pure functions, their request as our call and our verdict as their answer, and its own way to refuse. Whatever cannot
// be read, authenticated or recorded is answered by that refusal, because callers may take silence for permission.

import type { z } from 'zod';
import type { AgentCall } from '../../core/agents/acts.ts';
import { cleaned, type Renaming } from '../../core/agents/renaming.ts';
import { SERVER as OWN_SERVER } from '../../core/clients/entries.ts';
import type { HandedTo } from '../../core/decision/reason.ts';
import { GuardError, invalidInput } from '../../core/errors.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { joinName, serverNameFault, toolNameFault } from '../../core/text/name.ts';
import type { Surface } from '../../core/text/surface.ts';
import { type Json, MAX_CHECK_VALUES } from '../../core/wire/json.ts';
import type { CheckRequest, Verdict } from '../../guard/check/request.ts';
import type { Config } from '../../settings/config.ts';
import { listConnectedTools } from '../../store/connected-tools.ts';
import { listToolNames } from '../../store/tool-definitions.ts';
import { bearer } from '../serving/auth.ts';
import { carriedKey } from '../serving/key-headers.ts';
import { type AnswerShape, agentOf, type Incoming, type Route, route } from '../serving/route.ts';
import { runOf } from '../serving/run-header.ts';
import { submitCheck } from '../serving/submit-check.ts';

/** The call that a door has read from a request. */
export interface DoorCall {
  call: ToolCall;
  args: Json | undefined;
  /** What a coding agent's call would do. */
  agent?: AgentCall;
  referenceId?: string | null;
  /** What else is sent to the tool with its arguments. An approval is bound to it as well. */
  continuation?: Json;
  /** The name of the run, if the request has it elsewhere than in its header. */
  run?: string | undefined;
  /** What a coding agent will name the call by when it reports the result. */
  resultName?: string | undefined;
}

export interface Door<Body> {
  surface: Surface;
  path: string;
  summary: string;
  description?: string;
  /** A loose object: vendors add fields, and those that we do not know are ignored. */
  body: z.ZodType<Body>;
  answers?: Record<number, AnswerShape>;
  /**
   * Throws a GuardError for what cannot be mapped. A Response answers an event that is not a call: nothing is decided
   * and nothing recorded.
   */
  readCall: (body: Body, request: Request, config: Config) => DoorCall | Response;
  /** Takes what such an event tells. Returns another answer to it than that one; null if there is none. */
  tell?: (incoming: Incoming<Body, unknown>) => Promise<object | null>;
  answer: (verdict: Verdict, body: Body) => object | Response;
  /** `body` is null if it could not be read. */
  refuse: (error: GuardError, body: Body | null) => object | Response;
}

/** Says why a door refused, for people who look for the cause: the protocol of the caller may have no field for it. */
const ERROR_HEADER = 'X-Toolgate-Error';

/** What all routes of doors share. */
export const DOOR = {
  access: 'door',
  tag: 'agents and gateways',
  sheds: true,
  anyText: true,
  anyKeyHeader: true,
  bodyLimit: 'checkBodyLimit',
  maxValues: MAX_CHECK_VALUES,
} as const satisfies Partial<Route>;

export function doorRoute<Body>(door: Door<Body>): Route {
  const { path, summary, description, body, answers } = door;
  return route({
    ...DOOR,
    method: 'POST',
    path,
    summary,
    ...(description !== undefined && { description }),
    body,
    answers: answers ?? { 200: { description: 'The verdict, or a refusal, as the caller expects it.' } },
    handle: incoming => through(door, incoming),
    refusal: (error, _, read) => refused(error, door.refuse(error, (read as Body | undefined) ?? null)),
  });
}

/** Marks an answer as a refusal of ours. */
export function refused(error: GuardError, answer: object | Response): Response {
  const response = asResponse(answer);
  response.headers.set(ERROR_HEADER, error.code);
  return response;
}

async function through<Body>(door: Door<Body>, incoming: Incoming<Body, unknown>): Promise<Response> {
  const { services, body, request, identifyMs } = incoming;
  const doorCall = door.readCall(body, request, services.config);
  if (doorCall instanceof Response) {
    const answer = await undecided(incoming, doorCall);
    const other = (await door.tell?.(incoming)) ?? null;
    return other === null ? answer : asResponse(other);
  }
  const question = questionOf(door.surface, await proxied(doorCall, incoming), incoming);
  return submitCheck(services, question, identifyMs, verdict => asResponse(door.answer(verdict, body)));
}

/**
 * The answer to an event that needs no check. The key is looked up here, because otherwise only a check would notice
 * that it was revoked.
 */
export async function undecided(incoming: Incoming<unknown, unknown>, answer: Response): Promise<Response> {
  const { services, request } = incoming;
  try {
    await services.principals.confirm(carriedKey(request.headers) ?? bearer(request));
  } catch (error) {
    if (error instanceof GuardError && error.code === 'unauthenticated')
      services.principals.forget(agentOf(incoming));
    throw error;
  }
  return answer;
}

/** The check of a call that came through a door; it throws if the names cannot be those of a tool. */
export function questionOf(
  surface: Surface,
  doorCall: DoorCall,
  incoming: Incoming<unknown, unknown>,
): CheckRequest {
  const { serverName, toolName } = doorCall.call;
  const faults = [
    { path: '/server', message: serverNameFault(serverName) },
    { path: '/tool', message: toolNameFault(toolName) },
  ].flatMap(({ path, message }) => (message === null ? [] : [{ path, message }]));
  if (faults.length > 0) throw invalidInput(faults);
  return namedQuestion(surface, doorCall, incoming);
}

/** The same for a call whose names were validated before. */
export function namedQuestion(
  surface: Surface,
  { call, args, agent, referenceId = null, continuation, run, resultName }: DoorCall,
  incoming: Incoming<unknown, unknown>,
): CheckRequest {
  const { request, startedAt, span } = incoming;
  const question: CheckRequest = {
    principal: agentOf(incoming),
    surface,
    call,
    args,
    referenceId,
    run: runOf(request.headers) ?? run,
    resultName,
    startedAt,
    span,
  };
  if (agent !== undefined) question.agent = agent;
  if (continuation !== undefined) question.continuation = continuation;
  const handedTo = receiverOf(call);
  if (handedTo !== undefined) question.handedTo = handedTo;
  return question;
}

/**
 * A call of our MCP proxy is left to the proxy only if the proxy would make it, because the key has that Connected Tool.
 * Otherwise another server has the proxy's name, and nobody would ask about its calls or count them.
 */
export async function proxied(doorCall: DoorCall, incoming: Incoming<unknown, unknown>): Promise<DoorCall> {
  const { serverName, toolName, unsent, renamed } = doorCall.call;
  if (!unsent) return doorCall;
  const { db } = incoming.services.deps;
  const tools = await listConnectedTools(db, agentOf(incoming).keyId);
  const named = nameBefore(
    serverName,
    tools.map(({ name }) => name),
    renamed,
  );
  const tool = tools.find(({ name }) => name === named);
  if (tool === undefined)
    return {
      ...doorCall,
      call: { serverName: OWN_SERVER, toolName: joinName(serverName, toolName), ...(renamed && { renamed }) },
    };
  if (renamed === undefined) return doorCall;
  const before = nameBefore(toolName, await listToolNames(db, tool.sourceId, MOST_NAMES), renamed);
  if (before === null) return { ...doorCall, call: { ...doorCall.call, serverName: tool.name } };
  return { ...doorCall, call: { serverName: tool.name, toolName: before, unsent } };
}

/** The limit of the query; a server has fewer tools. */
const MOST_NAMES = 10_000;

/** The name that the agent has changed into `name`; null if none or several of `names` can be it. */
function nameBefore(name: string, names: readonly string[], renamed: Renaming | undefined): string | null {
  if (names.includes(name)) return name;
  const found = renamed === 'codex' ? names.filter(each => trimmed(cleaned(each)) === trimmed(name)) : [];
  return found.length === 1 ? (found[0] as string) : null;
}

const trimmed = (name: string): string => name.replace(/^_+|_+$/g, '');

/** A call that comes to the MCP proxy next waits there and not here. */
export function receiverOf(call: ToolCall | undefined): HandedTo | undefined {
  return call?.unsent ? 'proxy' : undefined;
}

function asResponse(answer: object | Response): Response {
  return answer instanceof Response ? answer : Response.json(answer);
}
