// The answer of a call that has ended, wherever it is held. A replica that holds it may be too busy to give it away in time, so
// an answer that was not found soon after the end is not said to be lost: whoever asks is to ask again.

import { GuardError } from '../../core/errors.ts';
import type { Deps } from '../deps.ts';
import type { Admit, FinalAnswer } from './held-results.ts';

const PATIENCE_MS = 10_000;

interface Ended {
  toolCallId: string;
  keyId: string;
  endedAt: number;
}

/** Null if it is lost, or if its time is over. */
export async function fetchAnswer(
  { db, now, results, settings }: Deps,
  { toolCallId, keyId, endedAt }: Ended,
  admit?: Admit,
): Promise<FinalAnswer | null> {
  const until = endedAt + settings.resultsFor;
  if (until <= now()) return null;
  const answer = await results.find(toolCallId, until, admit, keyId);
  if (answer === null && db.hintsReachReplicas && now() < endedAt + PATIENCE_MS)
    throw new GuardError('overloaded', 'The replica that holds this result has not answered.', {
      retryAfter: 1,
    });
  return answer;
}
