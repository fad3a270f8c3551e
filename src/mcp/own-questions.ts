// Our own questions to the person at a client: whether they want to open an address, where they sign in. A client of the newer
// era is asked in a result, and answers when it calls again; its answer is taken out of the call and decides nothing. A client
// of the older era gets an error. sign-in-answer.ts and approve-here.ts say what is asked.

import {
  isObject,
  type Json,
  type JsonObject,
  MAX_CHECK_VALUES,
  parseJson,
  writeJson,
} from '../core/wire/json.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import { continuationOf } from './call-input.ts';
import { CODES, RpcError } from './protocol.ts';

/** The names of our questions among the `inputRequests` of a result. A tool's own questions have other names. */
const NAMES = { signIn: 'toolgate/sign-in', approval: 'toolgate/approval' } as const;
const OURS: ReadonlySet<string> = new Set(Object.values(NAMES));
/** What our `requestState` begins with. */
const KEPT = 'toolgate:';
/** How long a client that has sent somebody to the address waits for them. Clients give up after a minute. */
const PATIENCE_MS = 25_000;

type OwnQuestion = keyof typeof NAMES;

/** What the client answered to our questions: whether the person wanted to open the address. */
export type OwnAnswers = { [Question in OwnQuestion]?: 'accept' | 'refuse' };

/** What is known here of a call. */
interface Asked {
  modern: boolean;
  params: JsonObject;
  ration: AnswerRation;
  cancel: AbortController;
}

interface Address {
  message: string;
  url: string;
  /** The same for the same question, if the client may be asked it again. */
  elicitationId?: string;
}

/** Whether a client's capabilities say that it can send its user to an address. */
export function elicitsUrl(capabilities: Json | undefined): boolean {
  if (!isObject(capabilities)) return false;
  const { elicitation } = capabilities;
  return isObject(elicitation) && isObject(elicitation['url']);
}

/**
 * Takes the answers to our own questions out of a call: they are neither for the tool nor part of what was approved. Null if
 * the call has none.
 */
export function takeOwnAnswers(params: JsonObject): { params: JsonObject; answers: OwnAnswers } | null {
  if (!isObject(params['inputResponses'])) return null;
  const {
    inputResponses: responses,
    requestState,
    ...rest
  } = params as JsonObject & { inputResponses: JsonObject };
  const answers: OwnAnswers = {};
  for (const [question, name] of Object.entries(NAMES) as [OwnQuestion, string][]) {
    const given = responses[name];
    if (given === undefined) continue;
    answers[question] = isObject(given) && given['action'] === 'accept' ? 'accept' : 'refuse';
  }
  if (Object.keys(answers).length === 0) return null;
  if (typeof requestState === 'string' && requestState.startsWith(KEPT))
    return { params: { ...rest, ...keptIn(requestState) }, answers };
  const theirs = withoutOwn(responses);
  return {
    params: {
      ...rest,
      ...(requestState !== undefined && { requestState }),
      ...(theirs !== null && { inputResponses: theirs }),
    },
    answers,
  };
}

/** Whether a tool server asks something under the name of a question of ours, whose address would be taken for ours. */
export function asksAsWe(requests: Json | undefined): boolean {
  return isObject(requests) && Object.keys(requests).some(name => OURS.has(name));
}

/** The answers to the questions of the tool server; null if there are none beside those to ours. */
export function withoutOwn(responses: JsonObject): JsonObject | null {
  const theirs = Object.entries(responses).filter(([name]) => !OURS.has(name));
  return theirs.length > 0 ? Object.fromEntries(theirs) : null;
}

/** Asks the person at the client to open an address. For the older era's elicitation it is an error, which is thrown. */
export async function askToOpen(
  { modern, params, ration, cancel }: Asked,
  question: OwnQuestion,
  address: Address,
): Promise<JsonObject> {
  if (!modern) {
    const { message, url, elicitationId = crypto.randomUUID() } = address;
    const elicitations = [{ mode: 'url', message, url, elicitationId }];
    throw new RpcError(CODES.urlElicitationRequired, message, { data: { elicitations } });
  }
  const state = kept(params);
  if (state !== null) await ration.grow(state.length, cancel.signal);
  return {
    resultType: 'input_required',
    inputRequests: requestToOpen(question, address),
    ...(state !== null && { requestState: state }),
  };
}

export function requestToOpen(question: OwnQuestion, { message, url }: Address): JsonObject {
  return { [NAMES[question]]: { method: 'elicitation/create', params: { mode: 'url', message, url } } };
}

/**
 * What the client had answered to the tool's own questions. A client answers only the last questions when it calls again, so
 * it is given this to return. It may return anything else: that is then another call.
 */
function kept(params: JsonObject): string | null {
  const { continuation } = continuationOf(params);
  return continuation === undefined ? null : `${KEPT}${writeJson(continuation)}`;
}

function keptIn(state: string): JsonObject {
  try {
    const parsed = parseJson(state.slice(KEPT.length), MAX_CHECK_VALUES);
    if (isObject(parsed)) return (continuationOf(parsed).continuation ?? {}) as JsonObject;
  } catch {}
  throw new RpcError(CODES.invalidParams, 'Invalid params: "requestState" is not as it was given.');
}

/** Waits for a while until `listen` calls what it is given. Returns whether it has. */
export function forAWhile(listen: (done: () => void) => () => void, signal: AbortSignal): Promise<boolean> {
  return new Promise(resolve => {
    const end = (isDone: boolean) => {
      stop();
      clearTimeout(timer);
      signal.removeEventListener('abort', givenUp);
      resolve(isDone);
    };
    const givenUp = () => end(false);
    const timer = setTimeout(givenUp, PATIENCE_MS);
    const stop = listen(() => end(true));
    signal.addEventListener('abort', givenUp);
    if (signal.aborted) givenUp();
  });
}
