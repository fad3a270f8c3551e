// What conditions may know about a call: of the request, of its credential as it was read in the transaction, and of its run.

import type { Situation } from '../../core/policy/situation.ts';
import type { Live } from './facts.ts';
import type { CheckRequest } from './request.ts';

type Said = Pick<CheckRequest, 'principal' | 'surface' | 'args' | 'agent'>;

export function situationOf(
  { key, person }: Pick<Live, 'key' | 'person'>,
  { principal, surface, args, agent }: Said,
  { now, annotations, run }: Pick<Situation, 'now' | 'annotations' | 'run'>,
): Situation {
  const { sessionId, sessionLabel = '', attributes } = principal;
  return {
    now,
    surface,
    args,
    keyId: key.id,
    keyName: key.name,
    session: sessionId === null ? null : { id: sessionId, label: sessionLabel, attributes },
    person,
    annotations,
    agent,
    run,
  };
}
