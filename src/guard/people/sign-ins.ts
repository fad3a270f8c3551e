// Signs operators in and out. A sign-in is a new random value in the person's cookie, of which the store has the hash.
// It is looked up at every request together with the operator's role, so that the end of a sign-in or a change of the
// role takes effect at once on every replica. throttle.ts limits guessing.

import { GuardError } from '../../core/errors.ts';
import { normalEmail } from '../../core/text/email.ts';
import type { Transaction } from '../../store/engine/db.ts';
import {
  findOperatorCredential,
  type ListedOperator,
  type OperatorCredential,
  type Role,
} from '../../store/operators.ts';
import {
  findSignIn,
  insertSignIn,
  removeIdleSignIns,
  removeSignIn,
  removeSignIns,
  signInRole,
  touchSignIn,
} from '../../store/sign-ins.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { OPERATORS_LOCK } from '../locks.ts';
import { hashToken } from '../secrets.ts';
import { passwordFits } from './passwords.ts';
import { admitAttempt, forgetFailures, oneOfFew } from './throttle.ts';

const HOUR_MS = 3_600_000;
const IDLE_MS = 12 * HOUR_MS;
/** A sign-in ends after this time even if it is in use. */
export const SIGN_IN_MS = 7 * 24 * HOUR_MS;
/** The time of the last use is written at most this often, so that not every request writes. */
const NOTE_EVERY_MS = 60_000;
const MAX_USER_AGENT = 200;
const SECRET = /^[\w-]{43}$/;

/** An operator with a valid sign-in. */
export interface SignedIn {
  signInId: string;
  operatorId: string;
  email: string;
  role: Role;
  groups: readonly string[];
}

/** The browser in which somebody signs in. */
export interface Browser {
  ip: string;
  userAgent: string;
  /** The sign-in that the browser had before, which ends. */
  replaces: string | null;
}

interface SignInAttempt extends Browser {
  email: string;
  password: string;
}

/** 256 random bits, for cookies and one-time links. */
export function newSecret(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');
}

/** `secret` is for the cookie. It is stored nowhere else. */
export function signIn(deps: Deps, attempt: SignInAttempt): Promise<{ operator: SignedIn; secret: string }> {
  return oneOfFew(attempt.ip, () => tryToSignIn(deps, attempt));
}

async function tryToSignIn(deps: Deps, attempt: SignInAttempt) {
  const email = normalEmail(attempt.email);
  await admitAttempt(deps, email, attempt.ip);
  const known = await findOperatorCredential(deps.db, email);
  const fits = await passwordFits(attempt.password, known?.passwordHash ?? null);
  if (known === null || !fits) throw wrong();
  return open(deps, known, attempt);
}

async function open(deps: Deps, known: OperatorCredential, browser: Browser) {
  return deps.db.transaction({ shared: [OPERATORS_LOCK] }, async tx => {
    // Hashing took a while: the operator may have been removed or have a new password by now.
    const still = await findOperatorCredential(tx, known.email);
    if (still?.id !== known.id || still.passwordHash !== known.passwordHash) throw wrong();
    await forgetFailures(tx, known.email, browser.ip);
    return openSignIn(tx, deps, still, browser);
  });
}

/** Opens a new sign-in for somebody who has proven who they are. */
export async function openSignIn(
  tx: Transaction,
  deps: Deps,
  { id: operatorId, email, role, groups }: Pick<ListedOperator, 'id' | 'email' | 'role' | 'groups'>,
  { ip, userAgent, replaces }: Browser,
): Promise<{ operator: SignedIn; secret: string }> {
  const secret = newSecret();
  const now = deps.now();
  const signInId = newId();
  await removeIdleSignIns(tx, now - IDLE_MS);
  if (replaces !== null) await removeSignIn(tx, hashToken(replaces));
  const shortened = userAgent.slice(0, MAX_USER_AGENT);
  const record = { id: signInId, operatorId, createdAt: now, usedAt: now, userAgent: shortened, ip };
  await insertSignIn(tx, record, hashToken(secret));
  return { operator: { signInId, operatorId, email, role, groups }, secret };
}

function wrong(): GuardError {
  return new GuardError('unauthenticated', 'The e-mail or the password is wrong.');
}

/** The operator whose cookie it is, or null if the sign-in is unknown or has ended. */
export async function recognise(deps: Deps, secret: string): Promise<SignedIn | null> {
  if (!SECRET.test(secret)) return null;
  const found = await findSignIn(deps.db, hashToken(secret));
  const now = deps.now();
  const { usedAfter, createdAfter } = signInsAlive(now);
  if (found === null || found.usedAt <= usedAfter || found.createdAt <= createdAfter) return null;
  if (now - found.usedAt >= NOTE_EVERY_MS) await touchSignIn(deps.db, found.id, now);
  const { id: signInId, operatorId, email, role, groups } = found;
  return { signInId, operatorId, email, role, groups };
}

/** Whether a sign-in is still valid, and its operator has at least this role. Asking does not count as use. */
export async function signInHolds(deps: Deps, signInId: string, needed: Role): Promise<boolean> {
  const role = await signInRole(deps.db, signInId, signInsAlive(deps.now()));
  return role !== null && roleFault({ role }, needed) === null;
}

/** A sign-in is valid if it was last used and created after these times. */
export function signInsAlive(now: number): { usedAfter: number; createdAfter: number } {
  return { usedAfter: now - IDLE_MS, createdAfter: now - SIGN_IN_MS };
}

export async function signOut(deps: Deps, secret: string): Promise<void> {
  // Anybody can send a cookie. One that is no sign-in must not make operators wait for the lock.
  if ((await findSignIn(deps.db, hashToken(secret))) === null) return;
  // The lock waits for what is being changed with this sign-in: acting.ts shares it.
  await deps.db.transaction({ exclusive: [OPERATORS_LOCK] }, tx => removeSignIn(tx, hashToken(secret)));
}

export async function signOutEverywhere(deps: Deps, operatorId: string): Promise<void> {
  // Whatever removes several sign-ins takes this lock: two such transactions could otherwise deadlock.
  await deps.db.transaction({ exclusive: [OPERATORS_LOCK] }, tx => removeSignIns(tx, operatorId, null));
}

const RANK: Record<Role, number> = { user: 0, viewer: 1, approver: 2, admin: 3 };

/** An error if the operator's role is lower than the one needed, or null. */
export function roleFault(operator: { role: Role }, needed: Role): GuardError | null {
  if (RANK[operator.role] >= RANK[needed]) return null;
  return new GuardError('forbidden', `This needs the role ${needed}; yours is ${operator.role}.`);
}

export function requireRole(operator: { role: Role }, needed: Role): void {
  const fault = roleFault(operator, needed);
  if (fault !== null) throw fault;
}
