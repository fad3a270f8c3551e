// Makes the first admin, through a one-time link. The service prints the link when it starts, or writes it into a file:
// only people who run the service can read either. The link works as long as no admin can sign in, even if there are
// operators with lower roles, or admins who were invited and have not come yet.

import { GuardError, invalidInput } from '../../core/errors.ts';
import { normalEmail } from '../../core/text/email.ts';
import type { Queries, Transaction } from '../../store/engine/db.ts';
import {
  findOperator,
  findOperatorCredential,
  insertOperator,
  insertSetupLink,
  type ListedOperator,
  removeSetupLinks,
  setupLinkStands,
  takeSetupLink,
  updateOperatorPassword,
  updateOperatorRole,
} from '../../store/operators.ts';
import { recordChange } from '../changes.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { hashToken } from '../secrets.ts';
import { anyAdmin, changeOperators } from './admins.ts';
import { hashPassword, passwordFaults } from './passwords.ts';
import { type Browser, newSecret, openSignIn } from './sign-ins.ts';
import { changeAccount } from './ways-in.ts';

/** A new one-time token, which invalidates earlier ones; null if there is an admin. */
export async function offerSetup(deps: Deps): Promise<string | null> {
  return changeOperators(deps, async tx => {
    if (await anyAdmin(tx, deps)) return null;
    const token = newSecret();
    await removeSetupLinks(tx);
    await insertSetupLink(tx, hashToken(token), deps.now());
    return token;
  });
}

/** Throws if the link with this token does not work. The error says what to do. */
export async function requireSetupLink(deps: Deps, token: string): Promise<void> {
  if ((await anyAdmin(deps.db, deps)) || !(await setupLinkStands(deps.db, hashToken(token))))
    throw await setupGone(deps.db, deps);
}

/** Whether an admin can sign in. Anybody may learn this: the answer to a wrong set-up link tells it too. */
export function adminExists(deps: Deps): Promise<boolean> {
  return anyAdmin(deps.db, deps);
}

/** The new admin is signed in at once, since they have just proven who they are. `secret` is for their cookie. */
export async function setUpFirstAdmin(
  deps: Deps,
  input: { token: string; email: string; password: string },
  browser: Browser,
): Promise<{ operator: ListedOperator; secret: string }> {
  const email = normalEmail(input.email);
  const link = hashToken(input.token);
  const faults = passwordFaults(input.password, email, '/password');
  if (faults.length > 0) throw invalidInput(faults);
  // The link is checked before the expensive hashing, which only the holder of a valid link may cause.
  await requireSetupLink(deps, input.token);
  const passwordHash = await hashPassword(input.password);
  const known = await findOperatorCredential(deps.db, email);
  return changeAccount(deps, known?.id ?? '', async (tx, endWaysIn) => {
    if ((await anyAdmin(tx, deps)) || !(await takeSetupLink(tx, link))) throw await setupGone(tx, deps);
    // The locks are those for the account that was found before, so no other account may become the admin.
    if ((await findOperatorCredential(tx, email))?.id !== known?.id) throw changedMeanwhile();
    // Whoever had the account before must not get the rights of an admin by it.
    if (known !== null) await endWaysIn('The person became the first admin.');
    const id = known?.id ?? (await insertAdmin(tx, deps, email));
    await updateOperatorPassword(tx, id, passwordHash);
    await updateOperatorRole(tx, id, 'admin');
    await recordChange(tx, deps, 'system', 'operator.setup', id, { email });
    const operator = (await findOperator(tx, id)) as ListedOperator;
    const { secret } = await openSignIn(tx, deps, operator, browser);
    return { operator, secret };
  });
}

async function insertAdmin(tx: Transaction, deps: Deps, email: string): Promise<string> {
  const id = newId();
  await insertOperator(tx, { id, email, role: 'admin', createdAt: deps.now() }, null);
  return id;
}

function changedMeanwhile(): GuardError {
  return new GuardError(
    'conflict',
    'The operator with this e-mail was made or removed meanwhile. Try again.',
  );
}

async function setupGone(db: Queries, deps: Deps): Promise<GuardError> {
  const message = (await anyAdmin(db, deps))
    ? 'There is an admin already. If that is you, sign in; otherwise ask them for an invitation.'
    : 'This set-up link is incomplete, unknown, or was replaced by that of a later start. Use the link that was printed last, or restart the service to get a fresh one.';
  return new GuardError('gone', message);
}
