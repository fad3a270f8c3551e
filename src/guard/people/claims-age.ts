// How long the provider's word about a person counts. Role and groups that its claims decide are stored at a sign-on, and
// nothing tells us when they change. So they are believed for as long as a sign-in lasts: also where no sign-in is needed,
// as in Slack, and for somebody who has come in with a password meanwhile.

import { GuardError } from '../../core/errors.ts';
import type { Queries } from '../../store/engine/db.ts';
import { lastSignOn } from '../../store/identities.ts';
import type { Deps } from '../deps.ts';
import { SIGN_IN_MS } from './sign-ins.ts';

/** Why the role of an operator, or their groups if these are needed, cannot be relied on; null if they can. */
export async function claimsFault(
  db: Queries,
  { settings, now }: Deps,
  operatorId: string,
  needsGroups: boolean,
): Promise<GuardError | null> {
  const last = await lastSignOn(db, operatorId, settings.oidcIssuer);
  if (last === null || last.at > now() - SIGN_IN_MS) return null;
  const decides = last.decidesRole || (needsGroups && settings.oidcGroupsClaim !== null);
  return decides ? new GuardError('forbidden', TOO_OLD) : null;
}

const TOO_OLD =
  'You cannot answer: your role or groups come from single sign-on, and you last signed in with it more than 7 days ago. Sign in to the dashboard with it, then answer again.';
