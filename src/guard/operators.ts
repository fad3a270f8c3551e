// Operators: the people who sign in. The first comes by a one-time link that the start prints, the others by
// invitation or, where it is set up, by single-sign-on.ts. Signing in itself is sign-ins.ts's, what makes a
// password good is passwords.ts's.

import { GuardError, invalidInput } from '../core/errors.ts';
import type { Queries, Transaction } from '../store/db.ts';
import { endRemoval, endRoleByClaim, markRemoved } from '../store/identities.ts';
import {
  anyOperator,
  findInvited,
  findOperator,
  findOperatorCredential,
  insertInvitation,
  insertOperator,
  insertSetupLink,
  type ListedOperator,
  type OperatorRecord,
  otherAdmins,
  type Role,
  removeInvitations,
  removeOperator,
  setupLinkStands,
  takeSetupLink,
  updateOperatorPassword,
  updateOperatorRole,
} from '../store/operators.ts';
import { removeSignIns } from '../store/sign-ins.ts';
import { recordChange } from './changes.ts';
import { type Actor, type Guard, newId } from './guard.ts';
import { hashPassword, passwordFaults, passwordFits } from './passwords.ts';
import { hashToken } from './secrets.ts';
import { newSecret, normalEmail, OPERATORS_LOCK, type SignedIn } from './sign-ins.ts';
import { admitAttempt, forgetAccount, forgetFailures } from './throttle.ts';

const INVITATION_MS = 7 * 24 * 3_600_000;
const RESET_MS = 24 * 3_600_000;

const operatorsChange = <T>(guard: Guard, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  guard.db.transaction({ exclusive: [OPERATORS_LOCK] }, work);

/** A fresh one-time token for the first operator, or null when there is one already. */
export async function offerSetup(guard: Guard): Promise<string | null> {
  if (await anyOperator(guard.db)) return null;
  const token = newSecret();
  await insertSetupLink(guard.db, hashToken(token), guard.now());
  return token;
}

export async function setUpFirstOperator(
  guard: Guard,
  input: { token: string; email: string; password: string },
): Promise<OperatorRecord> {
  const email = normalEmail(input.email);
  const link = hashToken(input.token);
  wantPassword(input.password, email);
  // Before the work of hashing, which only the holder of a link may ask for.
  if (!(await setupLinkStands(guard.db, link))) throw await setupGone(guard.db);
  const passwordHash = await hashPassword(input.password);
  return operatorsChange(guard, async tx => {
    if ((await anyOperator(tx)) || !(await takeSetupLink(tx, link))) throw await setupGone(tx);
    const operator: OperatorRecord = { id: newId(), email, role: 'admin', createdAt: guard.now() };
    await insertOperator(tx, operator, passwordHash);
    await recordChange(tx, guard, 'system', 'operator.setup', operator.id, { email });
    return operator;
  });
}

async function setupGone(db: Queries): Promise<GuardError> {
  const message = (await anyOperator(db))
    ? 'There is an operator already; ask them for an invitation.'
    : 'This set-up link is used or unknown. Restart the service to get a fresh one.';
  return new GuardError('gone', message);
}

/** `token` goes into the link that the invited person opens; it is shown this once. */
export async function inviteOperator(
  guard: Guard,
  actor: Actor,
  input: { email: string; role: Role },
): Promise<{ operator: ListedOperator; token: string; expiresAt: number }> {
  const email = normalEmail(input.email);
  const token = newSecret();
  return operatorsChange(guard, async tx => {
    if ((await findOperatorCredential(tx, email)) !== null) {
      throw new GuardError(
        'conflict',
        'There is an operator with this e-mail. If they cannot get in, reset them.',
      );
    }
    const createdAt = guard.now();
    const operator = { id: newId(), email, role: input.role, createdAt };
    const expiresAt = createdAt + INVITATION_MS;
    await endRemoval(tx, email);
    await insertOperator(tx, operator, null);
    await insertInvitation(tx, { hash: hashToken(token), operatorId: operator.id, createdAt, expiresAt });
    await recordChange(tx, guard, actor, 'operator.invite', operator.id, { email, role: input.role });
    return { operator: { ...operator, status: 'invited' as const }, token, expiresAt };
  });
}

/** Whom a link invites; null when it is used, unknown or too old. */
export function invitedBy(guard: Guard, token: string): Promise<OperatorRecord | null> {
  return findInvited(guard.db, hashToken(token), guard.now());
}

/** An invited person chooses a password and thereby becomes an operator. */
export async function joinOperators(
  guard: Guard,
  input: { token: string; password: string },
): Promise<ListedOperator> {
  const invited = await invitedBy(guard, input.token);
  if (invited === null) throw invitationGone();
  wantPassword(input.password, invited.email);
  const passwordHash = await hashPassword(input.password);
  return operatorsChange(guard, async tx => {
    const operator = await findInvited(tx, hashToken(input.token), guard.now());
    if (operator === null) throw invitationGone();
    await removeInvitations(tx, operator.id);
    await updateOperatorPassword(tx, operator.id, passwordHash);
    await recordChange(tx, guard, `operator:${operator.email}`, 'operator.join', operator.id, {});
    return { ...operator, status: 'active' as const };
  });
}

function invitationGone(): GuardError {
  return new GuardError('gone', 'This invitation is used, unknown or too old. Ask for a new one.');
}

export async function changeRole(
  guard: Guard,
  actor: Actor,
  id: string,
  role: Role,
): Promise<ListedOperator> {
  return operatorsChange(guard, async tx => {
    const operator = await wantOperator(tx, id);
    if (operator.role === role) return operator;
    await keepAnAdmin(tx, operator);
    await updateOperatorRole(tx, id, role);
    await endRoleByClaim(tx, id);
    const { email, role: before } = operator;
    await recordChange(tx, guard, actor, 'operator.role', id, { email, from: before, to: role });
    return { ...operator, role };
  });
}

/** Their sign-ins and invitations end with them, at once; single sign-on does not bring them back. */
export async function deleteOperator(guard: Guard, actor: Actor, id: string): Promise<void> {
  await operatorsChange(guard, async tx => {
    const operator = await wantOperator(tx, id);
    await keepAnAdmin(tx, operator);
    await removeSignIns(tx, id, null);
    await removeInvitations(tx, id);
    await removeOperator(tx, id);
    await markRemoved(tx, operator, guard.now());
    const { email, role } = operator;
    await recordChange(tx, guard, actor, 'operator.delete', id, { email, role });
  });
}

/**
 * For somebody who cannot get in: ends their password and sign-ins at once, and lets them choose a password
 * anew. `token` goes into the link for it; it is shown this once.
 */
export async function resetOperator(
  guard: Guard,
  actor: Actor,
  id: string,
): Promise<{ operator: ListedOperator; token: string; expiresAt: number }> {
  const token = newSecret();
  return operatorsChange(guard, async tx => {
    const { email } = await wantOperator(tx, id);
    const createdAt = guard.now();
    const expiresAt = createdAt + RESET_MS;
    await updateOperatorPassword(tx, id, null);
    await removeSignIns(tx, id, null);
    await removeInvitations(tx, id);
    await forgetAccount(tx, email);
    await insertInvitation(tx, { hash: hashToken(token), operatorId: id, createdAt, expiresAt });
    await recordChange(tx, guard, actor, 'operator.reset', id, { email });
    return { operator: await wantOperator(tx, id), token, expiresAt };
  });
}

/** Ends the operator's other sign-ins: whoever knew the old password is out. */
export async function changePassword(
  guard: Guard,
  who: SignedIn,
  input: { current: string; password: string; ip: string },
): Promise<void> {
  await admitAttempt(guard, who.email, input.ip);
  const known = await findOperatorCredential(guard.db, who.email);
  const fits = await passwordFits(input.current, known?.passwordHash ?? null);
  if (!fits) throw invalidInput([{ path: '/current', message: 'is not your password' }]);
  await guard.db.transaction({}, tx => forgetFailures(tx, who.email, input.ip));
  wantPassword(input.password, who.email);
  const passwordHash = await hashPassword(input.password);
  await operatorsChange(guard, async tx => {
    const still = await findOperatorCredential(tx, who.email);
    if (still?.id !== who.operatorId || still.passwordHash !== known?.passwordHash) {
      throw new GuardError('conflict', 'The password was changed meanwhile.');
    }
    await updateOperatorPassword(tx, who.operatorId, passwordHash);
    await removeSignIns(tx, who.operatorId, who.signInId);
    await recordChange(tx, guard, `operator:${who.email}`, 'operator.password', who.operatorId, {});
  });
}

function wantPassword(password: string, email: string): void {
  const faults = passwordFaults(password, email, '/password');
  if (faults.length > 0) throw invalidInput(faults);
}

async function wantOperator(tx: Transaction, id: string): Promise<ListedOperator> {
  const operator = await findOperator(tx, id);
  if (operator === null) throw new GuardError('not_found', 'There is no operator with this id.');
  return operator;
}

/** Somebody must be left who can let others in. */
async function keepAnAdmin(tx: Transaction, operator: ListedOperator): Promise<void> {
  if (operator.role !== 'admin' || operator.status !== 'active' || (await otherAdmins(tx, operator.id)))
    return;
  throw new GuardError('conflict', 'This is the last admin; make somebody else one first.');
}
