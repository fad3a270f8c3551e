// The parts of an answer that both eras share: the tools and capabilities that a credential is shown, and how a failure is
// reported to the client. answer-call.ts answers a call.

import { GuardError } from '../core/errors.ts';
import { type JsonObject, writeJson } from '../core/wire/json.ts';
import type { Principal } from '../guard/credentials.ts';
import { pacedAnswer } from '../guard/rations/paced-body.ts';
import { shown } from './listing.ts';
import { CODES, errorMessage, type Id, RpcError } from './protocol.ts';
import type { ClientRequest, McpServices } from './services.ts';
import type { MadeList } from './shared-work.ts';

/** The answer to one message. It becomes a response of its own, or a part of the response to a batch. */
export interface Reply {
  /** Null: the client is sent no message. */
  message: JsonObject | null;
  status: number;
  headers?: Record<string, string>;
}

/** A Response is a stream of events. */
export type ReplyOrStream = Reply | Response;

const ACCEPTED: Reply = { message: null, status: 202 };

/** Every declared capability has to be answered, so only what the key's setting `forward` names is declared. */
export async function capabilities(
  services: McpServices,
  { keyId, scope }: Principal,
  listChanged: boolean,
): Promise<JsonObject> {
  const offered = scope === null ? await services.relayedFor(keyId) : [];
  return {
    tools: { listChanged },
    logging: {},
    ...(offered.includes('resources') ? { resources: {} } : {}),
    ...(offered.includes('prompts') ? { prompts: {} } : {}),
    ...(offered.includes('completion') ? { completions: {} } : {}),
  };
}

export function toolsOf(services: McpServices, asked: ClientRequest): Promise<JsonObject> {
  const { ration, request, shared } = asked;
  const waiting = { ration, signal: request.signal };
  return shared.list('tools/list', waiting, () => listTools(services, asked));
}

async function listTools(services: McpServices, asked: ClientRequest): Promise<MadeList> {
  const { principal, ration, request } = asked;
  takeListSlot(services, asked);
  const tools = await services.listing.list(principal.keyId, principal.personId);
  const callable = services.callable === null ? null : await services.callable(principal);
  const listed = callable === null ? tools : tools.filter(each => callable(each.serverName, each.toolName));
  const bytes = services.listing.bytesOf(tools);
  await ration.grow(bytes, request.signal);
  return { result: { tools: listed.map(shown) }, bytes };
}

/** Takes a slot for a list until the client has read it. Throws if the key has none left. */
export function takeListSlot({ slots }: Pick<McpServices, 'slots'>, asked: ListAsker): void {
  const { none, free } = slots.takeForList(asked.principal.keyId);
  if (none !== undefined)
    throw new GuardError('rate_limited', `${none}. Ask again when one of them has ended.`, { retryAfter: 1 });
  asked.ration.keep(free);
}

type ListAsker = Pick<ClientRequest, 'principal' | 'ration'>;

/** Reports a failure in the words of the protocol. Others (401, 503) are thrown, and http/server.ts answers them. */
export function failure(id: Id | null, error: unknown): Reply {
  if (error instanceof RpcError) return json(errorMessage(id, error), error.status);
  if (error instanceof GuardError && error.code !== 'audit_failed') throw error;
  return json(errorMessage(id, internal(error)));
}

export function internal(error: unknown): RpcError {
  const said = error instanceof GuardError ? error.message : 'Something went wrong on our side.';
  return new RpcError(CODES.internal, said);
}

export function accepted(): Reply {
  return ACCEPTED;
}

export function json(message: JsonObject, status = 200, headers?: Record<string, string>): Reply {
  return headers === undefined ? { message, status } : { message, status, headers };
}

/** The response to a message that came alone. What it has of the key's share is given back when the client has read it. */
export function responseOf(answer: ReplyOrStream, asked: Answered): Response | Promise<Response> {
  if (answer instanceof Response) return answer;
  const { message, status, headers } = answer;
  if (asked.ration.isLarge && message !== null) return pacedResponse(message, answer, asked);
  asked.ration.free();
  if (message === null) return new Response(null, { status });
  if (status === 200 && headers === undefined) return Response.json(message);
  return Response.json(message, { status, headers: headers ?? {} });
}

type Answered = Pick<ClientRequest, 'ration' | 'reading'>;

async function pacedResponse(
  message: JsonObject,
  { status, headers }: Reply,
  { ration, reading }: Answered,
): Promise<Response> {
  await ration.turn(ration.bytes);
  const body = pacedAnswer(Buffer.from(writeJson(message)), () => ration.free(), reading);
  return new Response(body, { status, headers: { ...JSON_HEADERS, ...headers } });
}

export const JSON_HEADERS = { 'Content-Type': 'application/json;charset=utf-8' };
