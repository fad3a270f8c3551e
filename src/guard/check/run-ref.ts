// Which run a call belongs to: that of its session, else the one that is named, else that of the key or of the person's
// connection. docs/flows.md has the table.

import { DAY, MINUTE } from '../../core/time/duration.ts';
import type { Principal } from '../credentials.ts';

export interface RunRef {
  /** Differs for different runs that are under way. */
  ref: string;
  kind: 'session' | 'named' | 'resting';
  name: string | null;
  /** The session with which it ends at the latest. */
  sessionId: string | null;
}

/** How long a run that was named is remembered after its last call. */
const NAMED_MS = DAY;

export function runRef(principal: Principal, name: string | undefined): RunRef {
  const { keyId, sessionId, personId, companys } = principal;
  if (sessionId !== null && personId === undefined)
    return { ref: `session ${sessionId}`, kind: 'session', name: null, sessionId };
  if (name !== undefined)
    return { ref: `named ${keyId} ${personId ?? ''} ${name}`, kind: 'named', name, sessionId: null };
  const resting = { kind: 'resting', name: null, sessionId: null } as const;
  if (sessionId === null) return { ref: `key ${keyId}`, ...resting };
  // The company's tokens are short-lived, and each has a session of its own, so their run is that of the person.
  if (companys) return { ref: `person ${keyId} ${personId}`, ...resting };
  return { ref: `connection ${sessionId}`, ...resting, sessionId };
}

/** When a run ends if no further call is made; `sessionEndsAt` is when its session does. */
export function endOf(
  kind: RunRef['kind'],
  now: number,
  sessionEndsAt: number | null,
  runRest: number,
): number {
  if (kind === 'session') return sessionEndsAt ?? now;
  const rest = kind === 'named' ? NAMED_MS : runRest;
  return now + rest + grainOf(runRest);
}

/** The time of the last call is written only if it is so much later than the one that is stored. */
export function grainOf(runRest: number): number {
  return Math.min(MINUTE, runRest / 60);
}
