// What a client sends to a tool: the arguments, and where the tool had asked for more, the client's answer and the state
// that the tool wants back. It is taken out of the message once, and the same object is checked and forwarded. The type of
// parsed JSON lets nobody write to it. It is not frozen: for usual arguments that took seven times as long as parsing
// them, and writing them to the tool server then took twelve times as long. test/mcp/answers.test.ts freezes it.

import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';
import { CODES, RpcError } from './protocol.ts';

declare const TAKEN: unique symbol;

export type CallInput = {
  readonly arguments?: JsonObject;
  readonly inputResponses?: Json;
  readonly requestState?: Json;
  /** Only `inputOf` makes one, so nothing else can be forwarded. */
  readonly [TAKEN]: true;
};

/** A client's answer to a tool that asked for more, and the state that the tool wants back. */
export const CONTINUATION = ['inputResponses', 'requestState'] as const;

export function inputOf(params: JsonObject): CallInput {
  const args = params['arguments'];
  if (args !== undefined && !isObject(args))
    throw new RpcError(CODES.invalidParams, 'Invalid params: "arguments" is an object.');
  return { ...(args !== undefined && { arguments: args }), ...continuationIn(params) } as CallInput;
}

/** What the check reads of it. A continuation is sent on with the arguments, so an approval is bound to it as well. */
export function checkedOf(input: CallInput): { args: JsonObject | undefined; continuation?: Json } {
  return { args: input.arguments, ...continuationOf(input) };
}

export function continuationOf(params: Partial<JsonObject>): { continuation?: Json } {
  const continuation = continuationIn(params);
  return Object.keys(continuation).length === 0 ? {} : { continuation };
}

function continuationIn(params: Partial<JsonObject>): JsonObject {
  const given = CONTINUATION.filter(key => params[key] !== undefined);
  return Object.fromEntries(given.map(key => [key, params[key] as Json]));
}
