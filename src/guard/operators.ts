// Operators: the people who sign in. Here: the one-time link that lets the first of them in.

import { GuardError, invalidInput } from '../core/errors.ts';
import {
  anyOperator,
  insertOperator,
  insertSetupLink,
  type OperatorRecord,
  takeSetupLink,
} from '../store/operators.ts';
import { recordChange } from './changes.ts';
import { type Guard, newId } from './guard.ts';
import { hashToken } from './secrets.ts';

const SETUP_LOCK = '5 operators';
const MIN_PASSWORD = 15;

/** A fresh one-time token for the first operator, or null when there is one already. */
export async function offerSetup(guard: Guard): Promise<string | null> {
  if (await anyOperator(guard.db)) return null;
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString('base64url');
  await insertSetupLink(guard.db, hashToken(token), guard.now());
  return token;
}

export async function setUpFirstOperator(
  guard: Guard,
  input: { token: string; email: string; password: string },
): Promise<OperatorRecord> {
  if ([...input.password].length < MIN_PASSWORD) {
    throw invalidInput([{ path: '/password', message: `must have at least ${MIN_PASSWORD} characters` }]);
  }
  const passwordHash = await Bun.password.hash(input.password, 'argon2id');
  return guard.db.transaction({ exclusive: [SETUP_LOCK] }, async tx => {
    if (await anyOperator(tx))
      throw new GuardError('gone', 'There is an operator already; ask them for an invitation.');
    if (!(await takeSetupLink(tx, hashToken(input.token)))) {
      throw new GuardError(
        'gone',
        'This set-up link is used or unknown. Restart the service to get a fresh one.',
      );
    }
    const operator: OperatorRecord = {
      id: newId(),
      email: input.email,
      role: 'admin',
      createdAt: guard.now(),
    };
    await insertOperator(tx, operator, passwordHash);
    await recordChange(tx, guard, 'system', 'operator.setup', operator.id, { email: input.email });
    return operator;
  });
}
