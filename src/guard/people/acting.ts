// What an operator's request works with: it looks at their sign-in and their role again at the beginning of every
// transaction. The transaction shares the lock on operators, for which the end of a sign-in and a change of an operator
// wait. So nobody changes anything with a sign-in, or in a role, that ended while the request was under way.

import { GuardError } from '../../core/errors.ts';
import { dbThrough, type Lane, type Locks, type Queries, type Transaction } from '../../store/engine/db.ts';
import type { Role } from '../../store/operators.ts';
import { signInRole } from '../../store/sign-ins.ts';
import type { Deps } from '../deps.ts';
import { OPERATORS_LOCK } from '../locks.ts';
import { requireRole, type SignedIn, signInsAlive } from './sign-ins.ts';

type Who = Pick<SignedIn, 'signInId'>;

/** The Deps with which an operator acts, where at least this role is needed. */
export function actingAs(deps: Deps, who: Who, needed: Role): Deps {
  const look: Look = tx => requireSignIn({ ...deps, db: tx }, who, needed);
  return { ...deps, db: dbThrough(deps.db, lane => heldLane(lane, look)) };
}

/** Throws unless the sign-in is valid and its operator has at least this role. */
export async function requireSignIn(
  { db, now }: { db: Queries; now: () => number },
  { signInId }: Who,
  needed: Role,
): Promise<void> {
  const role = await signInRole(db, signInId, signInsAlive(now()));
  if (role === null) throw signInEnded();
  requireRole({ role }, needed);
}

export function signInEnded(): GuardError {
  return new GuardError('unauthenticated', 'This sign-in has ended; sign in again.');
}

type Look = (tx: Transaction) => Promise<void>;

function heldLane(lane: Lane, look: Look): Lane {
  const transaction: Lane['transaction'] = (locks, work) =>
    lane.transaction(withOperators(locks), async tx => {
      await look(tx);
      return work(tx);
    });
  return {
    all: (sql, params) => lane.all(sql, params),
    run: (sql, params) => transaction({}, tx => tx.run(sql, params)),
    transaction,
  };
}

function withOperators({ shared = [], exclusive = [] }: Locks): Locks {
  const has = [...shared, ...exclusive].includes(OPERATORS_LOCK);
  return { exclusive, shared: has ? shared : [...shared, OPERATORS_LOCK] };
}
