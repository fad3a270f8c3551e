// Operators are the people who sign in. setup.ts makes the first admin; the others are invited here or come through
// single-sign-on.ts, if that is configured. sign-ins.ts signs them in, and passwords.ts says which passwords are
// allowed.

import { GuardError, invalidInput } from '../../core/errors.ts';
import { normalEmail } from '../../core/text/email.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { endRemoval, endRoleByClaim, markRemoved } from '../../store/identities.ts';
import {
  findInvited,
  findOperator,
  findOperatorCredential,
  insertInvitation,
  insertOperator,
  type ListedOperator,
  markVerified,
  type OperatorRecord,
  type Role,
  removeInvitations,
  removeOperator,
  updateOperatorGroups,
  updateOperatorPassword,
  updateOperatorRole,
} from '../../store/operators.ts';
import { removeSignIns } from '../../store/sign-ins.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { hashToken } from '../secrets.ts';
import { endClosed } from '../sessions.ts';
import { changeOperators, keepAnAdmin } from './admins.ts';
import { hashPassword, passwordFaults, passwordFits } from './passwords.ts';
import { type Browser, newSecret, openSignIn, type SignedIn } from './sign-ins.ts';
import { admitAttempt, forgetAccount, forgetFailures } from './throttle.ts';
import { changeAccount } from './ways-in.ts';

const INVITATION_MS = 7 * 24 * 3_600_000;
const RESET_MS = 24 * 3_600_000;

/** `token` goes into the link that the invited person opens. It is shown only once. */
export async function inviteOperator(
  deps: Deps,
  actor: Actor,
  input: { email: string; role: Role },
): Promise<{ operator: ListedOperator; token: string; expiresAt: number }> {
  const email = normalEmail(input.email);
  const token = newSecret();
  return changeOperators(deps, async tx => {
    if ((await findOperatorCredential(tx, email)) !== null) {
      throw new GuardError(
        'conflict',
        'There is an operator with this e-mail. If they cannot get in, reset them.',
      );
    }
    const createdAt = deps.now();
    const operator = { id: newId(), email, role: input.role, createdAt };
    const expiresAt = createdAt + INVITATION_MS;
    await endRemoval(tx, email);
    await insertOperator(tx, operator, null);
    await insertInvitation(tx, { hash: hashToken(token), operatorId: operator.id, createdAt, expiresAt });
    await recordChange(tx, deps, actor, 'operator.invite', operator.id, { email, role: input.role });
    return { operator: { ...operator, status: 'invited' as const, groups: [] }, token, expiresAt };
  });
}

/** The operator whom a link invites, or null if the link is used, unknown or too old. */
export function invitedBy(deps: Deps, token: string): Promise<OperatorRecord | null> {
  return findInvited(deps.db, hashToken(token), deps.now());
}

/**
 * An invited person, or one who was reset, chooses a password and thereby becomes an operator. The link has proven who
 * they are, so they are signed in at once. `secret` is for their cookie.
 */
export async function joinOperators(
  deps: Deps,
  input: { token: string; password: string },
  browser: Browser,
): Promise<{ operator: ListedOperator; secret: string }> {
  const invited = await invitedBy(deps, input.token);
  if (invited === null) throw invitationGone();
  requirePassword(input.password, invited.email);
  const passwordHash = await hashPassword(input.password);
  return changeOperators(deps, async tx => {
    const found = await findInvited(tx, hashToken(input.token), deps.now());
    if (found === null) throw invitationGone();
    await removeInvitations(tx, found.id);
    await updateOperatorPassword(tx, found.id, passwordHash);
    // An admin gave the link to the person whom they know by this e-mail.
    await markVerified(tx, found.id);
    await recordChange(tx, deps, `operator:${found.email}`, 'operator.join', found.id, {});
    const operator = await requireOperator(tx, found.id);
    const { secret } = await openSignIn(tx, deps, operator, browser);
    return { operator, secret };
  });
}

function invitationGone(): GuardError {
  return new GuardError('gone', 'This invitation is used, unknown or too old. Ask for a new one.');
}

/** A role that is set here is no longer decided by single sign-on. Groups are, if a claim of it lists them. */
export async function changeOperator(
  deps: Deps,
  actor: Actor,
  id: string,
  { role, groups }: { role?: Role | undefined; groups?: readonly string[] | undefined },
): Promise<ListedOperator> {
  return changeOperators(deps, async tx => {
    const operator = await requireOperator(tx, id);
    if (role !== undefined && role !== operator.role) await changeRole(tx, deps, actor, operator, role);
    if (groups !== undefined) await changeGroups(tx, deps, actor, operator, groups);
    return requireOperator(tx, id);
  });
}

async function changeRole(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  operator: ListedOperator,
  role: Role,
): Promise<void> {
  const { id, email, role: before } = operator;
  await keepAnAdmin(tx, deps, operator);
  await updateOperatorRole(tx, id, role);
  await endRoleByClaim(tx, id);
  await recordChange(tx, deps, actor, 'operator.role', id, { email, from: before, to: role });
}

/**
 * Writes the groups, each once, and records the change, if it is one. What they have connected to keys that are not open
 * to them any more ends. Returns the groups.
 */
export async function changeGroups(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  { id, email, groups: before }: Pick<ListedOperator, 'id' | 'email' | 'groups'>,
  groups: readonly string[],
): Promise<string[]> {
  const after = [...new Set(groups)];
  if (JSON.stringify(before) === JSON.stringify(after)) return before;
  await updateOperatorGroups(tx, id, after);
  await endClosed(tx, deps, { personId: id });
  await recordChange(tx, deps, actor, 'operator.groups', id, { email, from: before, to: after });
  return after;
}

/**
 * Ends every way into their account too, at once. Their accounts at providers stay linked to the operator who is no more,
 * so that single sign-on does not create them again.
 */
export async function deleteOperator(deps: Deps, actor: Actor, id: string): Promise<void> {
  await changeAccount(deps, id, async (tx, endWaysIn) => {
    const operator = await requireOperator(tx, id);
    await keepAnAdmin(tx, deps, operator);
    await endWaysIn('The person was removed.', 'identities');
    await removeOperator(tx, id);
    await markRemoved(tx, operator, deps.now());
    const { email, role } = operator;
    await recordChange(tx, deps, actor, 'operator.delete', id, { email, role });
  });
}

/**
 * Resets somebody who cannot sign in, or whose account somebody else may have: it ends every way into the account at once,
 * and lets them choose a new password. `token` goes into the link for that. It is shown only once.
 */
export async function resetOperator(
  deps: Deps,
  actor: Actor,
  id: string,
): Promise<{ operator: ListedOperator; token: string; expiresAt: number }> {
  const token = newSecret();
  return changeAccount(deps, id, async (tx, endWaysIn) => {
    const { email } = await requireOperator(tx, id);
    await endWaysIn('The person was reset.');
    const createdAt = deps.now();
    const expiresAt = createdAt + RESET_MS;
    await forgetAccount(tx, email);
    await insertInvitation(tx, { hash: hashToken(token), operatorId: id, createdAt, expiresAt });
    await recordChange(tx, deps, actor, 'operator.reset', id, { email });
    return { operator: await requireOperator(tx, id), token, expiresAt };
  });
}

/** Also ends the operator's other sign-ins, since somebody else may have known the old password. */
export async function changePassword(
  deps: Deps,
  who: SignedIn,
  input: { current: string; password: string; ip: string },
): Promise<void> {
  await admitAttempt(deps, who.email, input.ip);
  const known = await findOperatorCredential(deps.db, who.email);
  const fits = await passwordFits(input.current, known?.passwordHash ?? null);
  if (!fits) throw invalidInput([{ path: '/current', message: 'is not your password' }]);
  await deps.db.transaction({}, tx => forgetFailures(tx, who.email, input.ip));
  requirePassword(input.password, who.email);
  const passwordHash = await hashPassword(input.password);
  await changeOperators(deps, async tx => {
    const still = await findOperatorCredential(tx, who.email);
    if (still?.id !== who.operatorId || still.passwordHash !== known?.passwordHash) {
      throw new GuardError('conflict', 'The password was changed meanwhile.');
    }
    await updateOperatorPassword(tx, who.operatorId, passwordHash);
    await removeSignIns(tx, who.operatorId, who.signInId);
    await recordChange(tx, deps, `operator:${who.email}`, 'operator.password', who.operatorId, {});
  });
}

function requirePassword(password: string, email: string): void {
  const faults = passwordFaults(password, email, '/password');
  if (faults.length > 0) throw invalidInput(faults);
}

async function requireOperator(tx: Transaction, id: string): Promise<ListedOperator> {
  const operator = await findOperator(tx, id);
  if (operator === null) throw new GuardError('not_found', 'There is no operator with this id.');
  return operator;
}
