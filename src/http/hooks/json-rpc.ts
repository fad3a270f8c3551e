// A JSON-RPC message of MCP that a gateway passes on before it sends it to a server: is it the call of a tool, another
// method, or an answer? What servers could read in different ways is refused, because the server reads the message itself.

import { GuardError } from '../../core/errors.ts';
import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import { CONTINUATION, continuationOf } from '../../mcp/call-input.ts';
import type { DoorCall } from './door.ts';

interface PassedCall {
  kind: 'call';
  toolName: string;
  args: JsonObject | undefined;
  continuation?: Json;
}

export type Passed =
  | PassedCall
  /** Any other request, or a notification. */
  | { kind: 'other'; method: string }
  /** The answer to an earlier request: it asks for nothing. */
  | { kind: 'answer' };

/** Throws if it is none of them. */
export function passedOn(message: Json): Passed {
  if (!isObject(message)) throw unreadable('it has to be one JSON-RPC message, and not a batch');
  requirePlainNames(message, MEMBERS);
  const answers = Object.hasOwn(message, 'result') || Object.hasOwn(message, 'error');
  const { method } = message;
  if (answers && method === undefined) return { kind: 'answer' };
  if (answers) throw unreadable('a message cannot be a request and an answer');
  if (typeof method !== 'string') throw unreadable('it names no method');
  return method === 'tools/call' ? callIn(message.params) : { kind: 'other', method };
}

function callIn(params: Json | undefined): Passed {
  if (!isObject(params)) throw unreadable('a tools/call has params');
  requirePlainNames(params, PARAMS);
  const { name, arguments: args = null } = params;
  if (typeof name !== 'string') throw unreadable('a tools/call names a tool');
  if (args !== null && !isObject(args)) throw unreadable('the arguments of a tools/call are an object');
  return { kind: 'call', toolName: name, args: args ?? undefined, ...continuationOf(params) };
}

export function doorCallAt(serverName: string, { kind: _, toolName, ...rest }: PassedCall): DoorCall {
  return { call: { serverName, toolName }, ...rest };
}

/** Whether TOOLGATE_EXT_AUTHZ_OTHER names a method. */
export function isNamed(others: readonly string[], method: string): boolean {
  return others.some(
    each => each === '*' || each === method || (each.endsWith('/*') && method.startsWith(each.slice(0, -1))),
  );
}

/** Throws unless a method that no rule decides about may pass. */
export function requireLetThrough(method: string, others: readonly string[]): void {
  if (!isNamed(others, method)) throw notLetThrough();
}

export function notLetThrough(): GuardError {
  return new GuardError(
    'forbidden',
    'Only calls of tools are judged here; anything else passes if TOOLGATE_EXT_AUTHZ_OTHER names it.',
  );
}

const MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const PARAMS = new Set(['name', 'arguments', ...CONTINUATION]);

/**
 * A server written in Go reads `Method` as `method`, and `paramſ` as `params`; where both are there, it takes the last
 * one.
 */
function requirePlainNames(object: JsonObject, known: ReadonlySet<string>): void {
  const folded = new Set([...known].map(fold));
  for (const name of Object.keys(object))
    if (!known.has(name) && folded.has(fold(name)))
      throw unreadable('a name in it differs from another only by the case of its letters');
}

const fold = (name: string): string => name.toUpperCase().toLowerCase();

function unreadable(why: string): GuardError {
  return new GuardError('invalid_input', `The message cannot be judged: ${why}.`);
}
