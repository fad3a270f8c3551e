// Passwords of operators: which ones are allowed, and their hashes (argon2id). Hashing is slow on purpose. A separate
// thread hashes one password at a time and the others wait, so that a flood of sign-ins cannot use up the machine.

import { GuardError, type InputFault } from '../../core/errors.ts';
import { Thread } from '../../store/engine/thread.ts';
// @ts-expect-error: the compiler does not know that a module can be imported as text.
import hashingThread from './hashing-thread.ts' with { type: 'text' };

const MIN_LENGTH = 15;
const MAX_LENGTH = 1000;
const MIN_DISTINCT = 5;
/** A password that only repeats a piece of at most this length is refused: it is as weak as the piece. */
const MAX_PERIOD = 10;

const ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiopasdfghjklzxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
];
const SEQUENCES = ROWS.flatMap(row => [row + row, [...(row + row)].reverse().join('')]);

/**
 * Passwords that are long enough but on the lists that attackers try first. Only their letters and digits are given.
 */
const WELL_KNOWN = new Set([
  'correcthorsebatterystaple',
  'correctbatteryhorsestaple',
  'thequickbrownfox',
  'thequickbrownfoxjumps',
  'thequickbrownfoxjumpsoverthelazydog',
  'maytheforcebewithyou',
  'tobeornottobethatisthequestion',
  'onceuponatime',
  'opensesameopensesame',
  'passwordadministrator',
  'administratorpassword',
  'thisismypassword',
  'thisisapassword',
  'mysecretpassword',
  'mysupersecretpassword',
  'passwordpassword1',
  'passwordpassword123',
  'passwordpassword1234',
  'password123456789',
  'password1234567890',
  'qwerty1234567890',
  'iloveyouforever',
  'letmeinletmeinplease',
  'changemechangeme1',
  'changethispassword',
  'pleasechangethispassword',
  'fourunrelatedwords',
  'toolgatepassword',
  'toolgateadministrator',
]);

/** What is wrong with a new password of this operator, or null. */
function passwordFault(password: string, email: string): string | null {
  const { length } = [...password];
  if (length < MIN_LENGTH) return `must have at least ${MIN_LENGTH} characters`;
  if (length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
  const plain = password.toLowerCase();
  if (new Set(plain).size < MIN_DISTINCT || repeats(plain))
    return 'repeats itself; take a few unrelated words';
  if (plain.replaceAll(email.toLowerCase(), '').length < MIN_DISTINCT) return 'must not be the e-mail';
  const folded = plain.replace(/[^\p{L}\p{N}]/gu, '');
  const guessable =
    WELL_KNOWN.has(folded) || (folded !== '' && SEQUENCES.some(each => each.includes(folded)));
  return guessable ? 'is well known; take a few unrelated words of your own' : null;
}

function repeats(text: string): boolean {
  for (let period = 1; period <= MAX_PERIOD; period++) {
    if (text.slice(period) === text.slice(0, -period)) return true;
  }
  return false;
}

export function passwordFaults(password: string, email: string, path: string): InputFault[] {
  const message = passwordFault(password, email);
  return message === null ? [] : [{ path, message }];
}

const COST = { algorithm: 'argon2id', memoryCost: 65_536, timeCost: 2 } as const;
/** The hash of a password that nobody knows, so that an unknown account takes as long as a known one. */
const NOBODY =
  '$argon2id$v=19$m=65536,t=2,p=1$UxTkm1RCuS1Xmj+zibKy4LHBVgqNjEKjEScj/3bG3oA$0hskCzhITMk2YsCM72RMH6D3q+22wxaff39EGpjdylw';

export function hashPassword(password: string): Promise<string> {
  return inLine({ password: normal(password), hash: null, cost: COST }) as Promise<string>;
}

/** Also returns false if there is no hash, after the same amount of work. */
export async function passwordFits(password: string, hash: string | null): Promise<boolean> {
  const fits = await inLine({ password: normal(password), hash: hash ?? NOBODY, cost: COST });
  return fits === true && hash !== null;
}

/** The password is normalised because keyboards differ in how they compose the same character. */
const normal = (password: string): string => password.normalize('NFKC');

/** The limit on passwords that are being hashed or wait for it. */
const MAX_IN_LINE = 100;

interface Order {
  password: string;
  hash: string | null;
  cost: typeof COST;
}

let line: Thread<Order, string | boolean> | null = null;
let inside = 0;

/** The thread starts when it is first needed, because most processes hash no password. */
async function inLine(order: Order): Promise<string | boolean> {
  if (inside >= MAX_IN_LINE) {
    throw new GuardError('overloaded', 'Too many people sign in right now.', { retryAfter: 10 });
  }
  if (line === null || line.ended) line = new Thread(hashingThread);
  inside++;
  try {
    return await line.ask(order);
  } finally {
    inside--;
  }
}
