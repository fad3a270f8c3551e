// The challenges that passkeys sign. A challenge is not stored: it carries its end and a code that only replicas can
// make, so it costs nothing that strangers can ask for them. Only a challenge that was answered rightly leaves a row, for
// as long as it could be answered again.

import { GuardError } from '../../core/errors.ts';
import type { Queries } from '../../store/engine/db.ts';
import { insertAnswered, removeOldAnswered } from '../../store/passkeys.ts';
import type { Deps } from '../deps.ts';
import { hashToken, sameText } from '../secrets.ts';

export const CHALLENGE_MS = 5 * 60_000;
/** The clocks of replicas differ: a row must not go while a slower replica still takes its challenge. */
const CLOCKS_MS = 5 * 60_000;
const RANDOM_BYTES = 18;
const PARTS = /^([\w-]{24}\.([0-9]{1,15}))\.([\w-]{43})$/;

/** `about` says what the answer is for: a challenge for one thing is none for another. */
export function newChallenge(deps: Deps, about: string): string {
  const random = Buffer.from(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))).toString('base64url');
  const body = `${random}.${deps.now() + CHALLENGE_MS}`;
  return Buffer.from(`${body}.${codeOf(deps, about, body)}`).toString('base64url');
}

/** Throws unless the challenge was made here for this and is not too old. */
export function requireChallenge(deps: Deps, about: string, challenge: string): void {
  const [, body = '', until = '0', code = ''] = PARTS.exec(textOf(challenge)) ?? [];
  if (!sameText(code, codeOf(deps, about, body))) {
    throw new GuardError('invalid_input', 'The passkey answered another question than this one. Try again.');
  }
  if (Number(until) <= deps.now()) throw tooLate('This took too long. Try again.');
}

/** Throws if the challenge was answered before. It comes after `requireChallenge`, in the transaction of what follows. */
export async function spendChallenge(tx: Queries, deps: Deps, challenge: string): Promise<void> {
  const now = deps.now();
  await removeOldAnswered(tx, now);
  const first = await insertAnswered(tx, hashToken(challenge), now + CHALLENGE_MS + CLOCKS_MS);
  if (!first) throw tooLate('This answer of the passkey was used before. Try again.');
}

/** Only the one text that stands for these bytes is read, so that a spent challenge has no second spelling. */
function textOf(challenge: string): string {
  const bytes = Buffer.from(challenge, 'base64url');
  return bytes.toString('base64url') === challenge ? bytes.toString('latin1') : '';
}

const codeOf = (deps: Deps, about: string, body: string): string =>
  deps.vault.challengeMac(`${about}\n${body}`);

const tooLate = (sentence: string): GuardError => new GuardError('gone', sentence);
