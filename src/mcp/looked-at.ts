// What may be passed on of what a tool server says: its whole answer, or why it failed. Where the policy has no say about
// results, that is all of it.

import type { GuardedCall } from '../guard/check/guarded-call.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { LookedAt } from '../store/log/outcomes.ts';
import { CODES, type RpcResponse } from './protocol.ts';
import type { UpstreamError } from './wire.ts';

type Answer = Pick<RpcResponse, 'result' | 'error'>;

/** `lookedAt` is null where the policy has no say about the result. */
export async function lookAt(
  guarded: GuardedCall | null,
  ration: AnswerRation,
  { result, error }: Answer,
): Promise<Answer & { lookedAt: LookedAt | null }> {
  if (guarded === null) return { result, error, lookedAt: null };
  await ration.turn(ration.bytes);
  if (error !== null) {
    const seen = await guarded.error(error);
    return { result: null, error: seen.error, lookedAt: seen.outcome };
  }
  const seen = await guarded.result(result ?? {});
  return { result: seen.result, error: null, lookedAt: seen.outcome };
}

/** Why a server failed. It may have said so itself, as when it refuses a connection. */
export async function tellable({ message }: UpstreamError, guarded: GuardedCall | null): Promise<string> {
  if (guarded === null) return message;
  return (await guarded.error({ code: CODES.internal, message })).error.message;
}
