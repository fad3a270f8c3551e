// What a tool server may say of its task, in the form in which it is passed on: bounded, and looked at as the policy says.
// Anything else that it says is no state of a task.

import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import type { GuardedCall } from '../../guard/check/guarded-call.ts';
import { asksAsWe } from '../own-questions.ts';
import { CODES, type RpcResponse } from '../protocol.ts';

/** What a server says of a task that has not ended. */
export interface Course {
  status: 'working' | 'input_required';
  statusMessage?: string;
  inputRequests?: JsonObject;
}

/** What became of the call, in the server's own words. */
export type End = Pick<RpcResponse, 'result' | 'error'>;

const MOST_MESSAGE_CHARS = 1000;
const MOST_REQUESTS = 100;
const INPUTS = ['elicitation/create', 'sampling/createMessage', 'roots/list'];
const NO_STATE = 'The tool server works on it, and said something that is no state of a task.';
const WITHHELD = 'The tool server asks for something that the policy withholds.';

/** The end of a task that has ended with an answer. */
export function endIn(said: JsonObject): End | null {
  const { status, result, error } = said;
  if (status === 'completed' && isObject(result)) return { result, error: null };
  if (status !== 'failed' || !isObject(error)) return null;
  const { code, message, data } = error;
  return {
    result: null,
    error: {
      code: Number.isInteger(code) ? (code as number) : CODES.internal,
      message: typeof message === 'string' ? message : '',
      ...(data !== undefined && { data }),
    },
  };
}

/** What may be passed on of a task that has not ended. */
export async function courseIn(said: JsonObject, guarded: GuardedCall | null): Promise<Course> {
  const { status, inputRequests } = said;
  if (status === 'working') return { status, ...(await message(said, guarded)) };
  if (status !== 'input_required' || !isAsking(inputRequests))
    return { status: 'working', statusMessage: NO_STATE };
  const seen =
    guarded === null ? inputRequests : (await guarded.result({ inputRequests })).result['inputRequests'];
  if (!isAsking(seen)) return { status: 'working', statusMessage: WITHHELD };
  return { status, ...(await message(said, guarded)), inputRequests: seen };
}

async function message(
  { statusMessage }: JsonObject,
  guarded: GuardedCall | null,
): Promise<{ statusMessage?: string }> {
  if (typeof statusMessage !== 'string' || statusMessage === '') return {};
  const said = { statusMessage: statusMessage.slice(0, MOST_MESSAGE_CHARS) };
  const seen = guarded === null ? said : await guarded.note(said);
  return typeof seen?.['statusMessage'] === 'string' ? { statusMessage: seen['statusMessage'] } : {};
}

function isAsking(requests: Json | undefined): requests is JsonObject {
  if (!isObject(requests) || asksAsWe(requests)) return false;
  const all = Object.values(requests);
  const isKnown = (each: Json) => isObject(each) && INPUTS.includes(each['method'] as string);
  return all.length > 0 && all.length <= MOST_REQUESTS && all.every(isKnown);
}
