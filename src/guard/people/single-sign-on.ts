// Signs operators in through a provider. The values that bind a sign-on are kept in the store, encrypted and for one
// use, so that any replica can finish it. The browser that began it has the two values under which it is found. The
// person signs in as the operator that they are, or becomes one if their groups give them a role.

import { GuardError } from '../../core/errors.ts';
import { isPlainEmail } from '../../core/text/email.ts';
import type { Transaction } from '../../store/engine/db.ts';
import {
  type Account,
  findIdentity,
  hasIdentity,
  insertIdentity,
  insertSignOn,
  noteSignOn,
  removeOldSignOns,
  takeSignOn,
  wasRemoved,
} from '../../store/identities.ts';
import {
  findOperator,
  findOperatorCredential,
  insertOperator,
  type ListedOperator,
  markVerified,
  removeInvitations,
  updateOperatorRole,
} from '../../store/operators.ts';
import { personFacts } from '../../store/people.ts';
import { recordChange } from '../changes.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { hashToken } from '../secrets.ts';
import { changeOperators, isLastAdmin } from './admins.ts';
import { type Person, readPerson } from './claims.ts';
import { changeGroups } from './operators.ts';
import type { Provider, SignOnBinding } from './provider.ts';
import { type Browser, newSecret, openSignIn, type SignedIn } from './sign-ins.ts';
import { admitAttempt, forgetFailures } from './throttle.ts';

/** How long a person may take at the provider. */
export const SIGN_ON_MS = 10 * 60_000;

interface SignOn extends Omit<SignOnBinding, 'state'> {
  /** The name of the page to return to (return-targets.ts). */
  next: string;
  /** The address that the attempt is counted for. */
  ip: string;
}

const about = (hash: string): string => `sign-on ${hash}`;

/** `url` is where to send the person, and `browser` is the value of their cookie. */
export async function beginSignOn(
  deps: Deps,
  provider: Provider,
  { redirectUri, next, ip }: { redirectUri: string; next: string; ip: string },
): Promise<{ url: string; browser: string }> {
  const [state, browser, nonce, verifier] = [newSecret(), newSecret(), newSecret(), newSecret()] as const;
  // This comes before the attempt is counted: if the provider is down, the person has not failed.
  const url = await provider.addressFor({ redirectUri, state, nonce, verifier });
  const hash = hashToken(state);
  await admitAttempt(deps, about(hash), ip);
  const kept: SignOn = { redirectUri, nonce, verifier, next, ip };
  await deps.db.transaction({}, async tx => {
    const now = deps.now();
    await removeOldSignOns(tx, now);
    const stateEncrypted = deps.vault.encrypt(JSON.stringify(kept), about(hash));
    await insertSignOn(tx, {
      hash,
      browserHash: hashToken(browser),
      stateEncrypted,
      expiresAt: now + SIGN_ON_MS,
    });
  });
  return { url, browser };
}

/** A sign-on that came back from the provider. It can be taken once, by the browser that began it. */
interface Returned {
  binding: SignOnBinding;
  next: string;
  forget: (tx: Transaction) => Promise<void>;
}

export async function takeReturned(deps: Deps, state: string, browser: string): Promise<Returned> {
  const hash = hashToken(state);
  const encrypted = await deps.db.transaction({}, tx => takeSignOn(tx, hash, hashToken(browser), deps.now()));
  if (encrypted === null) {
    throw new GuardError(
      'gone',
      'This sign-in was used, took too long or began in another browser. Begin again.',
    );
  }
  const { next, ip, ...rest } = JSON.parse(deps.vault.decrypt(encrypted, about(hash))) as SignOn;
  return { binding: { ...rest, state }, next, forget: tx => forgetFailures(tx, about(hash), ip) };
}

/** `secret` is for the cookie. It is stored nowhere else. */
export async function finishSignOn(
  deps: Deps,
  provider: Provider,
  { binding, forget }: Returned,
  answer: URLSearchParams,
  browser: Browser,
): Promise<{ operator: SignedIn; secret: string }> {
  const claims = await provider.claimsFor(answer, binding);
  const person = readPerson(claims, provider.settings);
  const account = { issuer: String(claims['iss']), subject: String(claims['sub']) };
  return changeOperators(deps, async tx => {
    const operator = await operatorFor(tx, deps, account, person);
    await noteSignOn(tx, account, deps.now());
    const { groups: given } = person;
    const groups = given === null ? operator.groups : await changeGroups(tx, deps, 'system', operator, given);
    await forget(tx);
    return openSignIn(tx, deps, { ...operator, groups }, browser);
  });
}

async function operatorFor(
  tx: Transaction,
  deps: Deps,
  account: Account,
  person: Person,
): Promise<ListedOperator> {
  const identity = await findIdentity(tx, account);
  if (identity !== null) {
    const operator = await findOperator(tx, identity.operatorId);
    if (operator === null) throw removed();
    await noteVerified(tx, operator, person);
    return identity.decidesRole ? withRole(tx, deps, operator, person) : operator;
  }
  const known = await findOperatorCredential(tx, person.email);
  return known === null ? provision(tx, deps, account, person) : link(tx, deps, account, person, known.id);
}

/** The provider may say only now that the e-mail with which it brought somebody is theirs. */
export async function noteVerified(
  tx: Transaction,
  { id, email }: Pick<ListedOperator, 'id' | 'email'>,
  person: Pick<Person, 'email' | 'emailVerified'>,
): Promise<void> {
  if (person.emailVerified && person.email === email) await markVerified(tx, id);
}

/**
 * Updates the role, because groups may have changed. The last admin stays one, since nobody else could make another.
 */
async function withRole(
  tx: Transaction,
  deps: Deps,
  operator: ListedOperator,
  { role }: Person,
): Promise<ListedOperator> {
  if (role === null) throw noRole();
  if (role === operator.role || (await isLastAdmin(tx, deps, operator))) return operator;
  const { id, email, role: before } = operator;
  await updateOperatorRole(tx, id, role);
  await recordChange(tx, deps, 'system', 'operator.role', id, { email, from: before, to: role });
  return { ...operator, role };
}

/**
 * Links an operator's account at the provider at their first sign-on. From then on the account counts, not the e-mail.
 */
export async function link(
  tx: Transaction,
  deps: Deps,
  account: Account,
  { email, emailVerified }: Person,
  operatorId: string,
): Promise<ListedOperator> {
  if (!isPlainEmail(email)) {
    throw forbidden(
      'There is an operator with your e-mail, and it has characters that can be mistaken for others. Ask an admin to remove the operator, or to invite you with another e-mail.',
    );
  }
  if (!emailVerified) {
    throw forbidden(
      'There is an operator with your e-mail, and the provider does not say that it is verified.',
    );
  }
  // Whoever came first with this e-mail may be somebody else, and both would be the same operator.
  const [operator] = await personFacts(tx, [operatorId]);
  if (operator?.unverified) {
    throw forbidden(
      'There is an operator with your e-mail whom a provider brought without saying that it is verified. Ask an admin to remove that operator.',
    );
  }
  if (await hasIdentity(tx, operatorId, account.issuer)) {
    throw forbidden('The operator with your e-mail signs in with another account of the provider.');
  }
  await insertIdentity(tx, { ...account, operatorId, decidesRole: false }, deps.now());
  // They have signed in, so an invitation in some mailbox must not let anybody choose a password for them.
  await removeInvitations(tx, operatorId);
  await recordChange(tx, deps, `operator:${email}`, 'operator.link', operatorId, { ...account });
  return (await findOperator(tx, operatorId)) as ListedOperator;
}

export async function provision(
  tx: Transaction,
  deps: Deps,
  account: Account,
  { email, emailVerified, role }: Person,
): Promise<ListedOperator> {
  if (await wasRemoved(tx, email)) throw removed();
  if (role === null) throw noRole();
  const operator = { id: newId(), email, role, createdAt: deps.now() };
  await insertOperator(tx, operator, null, emailVerified ? 'verified' : 'unverified');
  await insertIdentity(tx, { ...account, operatorId: operator.id, decidesRole: true }, deps.now());
  await recordChange(tx, deps, 'system', 'operator.provision', operator.id, {
    email,
    role,
    ...account,
    ...(!emailVerified && { emailVerified }),
  });
  return { ...operator, status: 'active', groups: [] };
}

const forbidden = (message: string): GuardError => new GuardError('forbidden', message);
const noRole = (): GuardError => forbidden('You have no role here. Ask an admin to invite you.');
export const removed = (): GuardError =>
  forbidden('You were removed from the operators. Ask an admin to invite you.');
