// The answer that a task ends with: what its call came back with, or an error of the protocol. It is held for whoever asks
// for the task.

import type { JsonObject } from '../../core/wire/json.ts';
import type { Deps } from '../../guard/deps.ts';
import type { FinalAnswer } from '../../guard/tasks/held-results.ts';
import { CODES, RpcError } from '../protocol.ts';

/** How much longer an answer is held than its task is known at least: the end is recorded after it. */
const SPARE_MS = 60_000;
const TOO_LARGE = 'It ran, but its result is larger than 5 MiB, so it is not held';

export function holdAnswer(
  { results, now, settings }: Pick<Deps, 'results' | 'now' | 'settings'>,
  { toolCallId, keyId }: { toolCallId: string; keyId: string },
  answer: FinalAnswer,
): void {
  const until = now() + settings.resultsFor + SPARE_MS;
  const tooLarge = { error: { code: CODES.internal, message: TOO_LARGE } };
  if (!results.hold(toolCallId, keyId, answer, until)) results.hold(toolCallId, keyId, tooLarge, until);
}

export function asError(error: unknown): JsonObject {
  if (!(error instanceof RpcError))
    return { code: CODES.internal, message: 'Something went wrong on our side.' };
  const { code, message, data } = error;
  return data === undefined ? { code, message } : { code, message, data };
}
