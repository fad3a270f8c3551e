// Makes the first admin, through a one-time link that the service prints at its start: only somebody who runs the
// service can read its output. The link is valid while no admin can sign in. Operators with lower roles, who may have
// come first through single sign-on, and people who are only invited do not matter for this.

import { normalEmail } from '../../core/email.ts';
import { GuardError, invalidInput } from '../../core/errors.ts';
import type { Queries, Transaction } from '../../store/db.ts';
import { removeIdentities } from '../../store/identities.ts';
import {
  anyAdmin,
  findOperator,
  findOperatorCredential,
  insertOperator,
  insertSetupLink,
  type OperatorRecord,
  removeInvitations,
  removeSetupLinks,
  setupLinkStands,
  takeSetupLink,
  updateOperatorPassword,
  updateOperatorRole,
} from '../../store/operators.ts';
import { removeSignIns } from '../../store/sign-ins.ts';
import { recordChange } from '../changes.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { hashToken } from '../secrets.ts';
import { changeOperators } from './admins.ts';
import { hashPassword, passwordFaults } from './passwords.ts';
import { newSecret } from './sign-ins.ts';

/** A new one-time token, which invalidates earlier ones; null if there is an admin. */
export async function offerSetup(deps: Deps): Promise<string | null> {
  return changeOperators(deps, async tx => {
    if (await anyAdmin(tx)) return null;
    const token = newSecret();
    await removeSetupLinks(tx);
    await insertSetupLink(tx, hashToken(token), deps.now());
    return token;
  });
}

export async function setUpFirstAdmin(
  deps: Deps,
  input: { token: string; email: string; password: string },
): Promise<OperatorRecord> {
  const email = normalEmail(input.email);
  const link = hashToken(input.token);
  const faults = passwordFaults(input.password, email, '/password');
  if (faults.length > 0) throw invalidInput(faults);
  // The link is checked before the expensive hashing, which only the holder of a valid link may cause.
  if (!(await setupLinkStands(deps.db, link))) throw await setupGone(deps.db);
  const passwordHash = await hashPassword(input.password);
  return changeOperators(deps, async tx => {
    if ((await anyAdmin(tx)) || !(await takeSetupLink(tx, link))) throw await setupGone(tx);
    const operator = await makeAdmin(tx, deps, email, passwordHash);
    await recordChange(tx, deps, 'system', 'operator.setup', operator.id, { email });
    return operator;
  });
}

/**
 * If an operator with this e-mail exists, they become the admin. All their earlier ways to sign in are removed, so that
 * none of them gives the rights of an admin.
 */
async function makeAdmin(
  tx: Transaction,
  deps: Deps,
  email: string,
  passwordHash: string,
): Promise<OperatorRecord> {
  const known = await findOperatorCredential(tx, email);
  if (known === null) {
    const operator: OperatorRecord = { id: newId(), email, role: 'admin', createdAt: deps.now() };
    await insertOperator(tx, operator, passwordHash);
    return operator;
  }
  const { id } = known;
  await removeSignIns(tx, id, null);
  await removeInvitations(tx, id);
  await removeIdentities(tx, id);
  await updateOperatorPassword(tx, id, passwordHash);
  await updateOperatorRole(tx, id, 'admin');
  const { createdAt } = (await findOperator(tx, id)) as OperatorRecord;
  return { id, email, role: 'admin', createdAt };
}

async function setupGone(db: Queries): Promise<GuardError> {
  const message = (await anyAdmin(db))
    ? 'There is an admin already; ask them for an invitation.'
    : 'This set-up link is used, unknown, or was replaced by that of a later start. Use the link that was printed last, or restart the service to get a fresh one.';
  return new GuardError('gone', message);
}
