// What people are told of a server at which a sign-in fails.

import { GuardError } from '../../core/errors.ts';
import { Unanswered, unusable } from './requests.ts';
import { Declined } from './tokens.ts';

/** Says in plain words what went wrong at the server. What it answered is left out, because it may contain tokens. */
export async function reachable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GuardError) throw error;
    if (error instanceof Unanswered) throw new GuardError('not_ready', error.message);
    if (error instanceof Declined) throw declined(error.code);
    throw unusable('Its answers cannot be understood.');
  }
}

function declined(code: string | null): GuardError {
  if (code === 'access_denied')
    return new GuardError('forbidden', 'The server says that the sign-in was refused.');
  const said = code === null ? '' : ` (${code})`;
  return new GuardError('forbidden', `The server did not complete the sign-in${said}.`);
}
