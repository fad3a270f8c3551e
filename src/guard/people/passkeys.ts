// Passkeys: people add them to their account and sign in with them, without naming an e-mail. A passkey is a second way
// to the same account: everybody also has a password or single sign-on. passkey-responses.ts verifies what browsers
// answer.

import { GuardError } from '../../core/errors.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { providerDecides } from '../../store/identities.ts';
import { canSignIn, findOperator } from '../../store/operators.ts';
import {
  findPasskey,
  insertPasskey,
  listPasskeys,
  notePasskeyUse,
  type PasskeyRecord,
  removePasskey as remove,
  updatePasskeyName,
} from '../../store/passkeys.ts';
import { signInAlive } from '../../store/sign-ins.ts';
import { recordChange } from '../changes.ts';
import type { Deps } from '../deps.ts';
import { OPERATORS_LOCK } from '../locks.ts';
import { changeOperators } from './admins.ts';
import { CHALLENGE_MS, newChallenge, requireChallenge, spendChallenge } from './passkey-challenges.ts';
import {
  ALGORITHMS,
  challengeIn,
  type MadePasskey,
  type RelyingParty,
  readMade,
  readSigned,
  type SignedChallenge,
} from './passkey-responses.ts';
import { type Browser, openSignIn, type SignedIn, signInsAlive } from './sign-ins.ts';
import { admitAttempt, forgetFailures, oneOfFew } from './throttle.ts';

export const MAX_PASSKEYS = 20;
/**
 * A passkey can be added only soon after signing in. Otherwise a stolen cookie would be enough to get a lasting way in,
 * and to prove approvals in the person's name.
 */
const FRESH_MS = 15 * 60_000;

const SIGN_IN = 'sign-in';
const adding = (operatorId: string): string => `passkey of ${operatorId}`;
const handleOf = (operatorId: string): string => Buffer.from(operatorId).toString('base64url');

/**
 * The service as passkeys know it, or null if its address cannot have any: browsers offer them for names over https, and
 * for localhost.
 */
export function rpOf(
  { publicUrl }: { publicUrl: string | null },
  request: { url: string },
): RelyingParty | null {
  const { protocol, hostname, origin } = new URL(publicUrl ?? request.url);
  const local = hostname === 'localhost' || hostname.endsWith('.localhost');
  const isName = !hostname.startsWith('[') && !/(^|\.)[0-9]+$/.test(hostname);
  return local || (isName && protocol === 'https:') ? { id: hostname, origin } : null;
}

/** What the browser needs in order to make a passkey, in the JSON form of WebAuthn. */
export async function beginAdding(deps: Deps, who: SignedIn, rp: RelyingParty) {
  await requireFresh(deps, who);
  const own = await listPasskeys(deps.db, who.operatorId);
  requireRoom(own);
  return {
    rp: { id: rp.id, name: 'Toolgate' },
    user: { id: handleOf(who.operatorId), name: who.email, displayName: who.email },
    challenge: newChallenge(deps, adding(who.operatorId)),
    pubKeyCredParams: ALGORITHMS.map(alg => ({ type: 'public-key' as const, alg })),
    timeout: CHALLENGE_MS,
    attestation: 'none' as const,
    excludeCredentials: own.map(descriptorOf),
    authenticatorSelection: {
      residentKey: 'required' as const,
      requireResidentKey: true,
      userVerification: 'required' as const,
    },
  };
}

export async function finishAdding(
  deps: Deps,
  who: SignedIn,
  rp: RelyingParty,
  { name, response }: { name: string; response: MadePasskey },
): Promise<PasskeyRecord> {
  const challenge = challengeIn(response);
  requireChallenge(deps, adding(who.operatorId), challenge);
  const credential = await readMade(response, { challenge, rp });
  return changeOperators(deps, async tx => {
    // The operator may have been reset or removed meanwhile.
    await requireFresh({ ...deps, db: tx }, who);
    requireRoom(await listPasskeys(tx, who.operatorId));
    await spendChallenge(tx, deps, challenge);
    const passkey = {
      ...credential,
      operatorId: who.operatorId,
      name,
      createdAt: deps.now(),
      usedAt: null,
    };
    if (!(await insertPasskey(tx, passkey))) {
      throw new GuardError('conflict', 'This passkey was added before.');
    }
    await recordChange(tx, deps, `operator:${who.email}`, 'passkey.add', who.operatorId, { name });
    return passkey;
  });
}

async function requireFresh(
  { db, now }: Pick<Deps, 'now'> & { db: Pick<Transaction, 'all' | 'run'> },
  { signInId }: SignedIn,
): Promise<void> {
  const at = now();
  if (await signInAlive(db, signInId, { ...signInsAlive(at), createdAfter: at - FRESH_MS })) return;
  throw new GuardError(
    'forbidden',
    'A passkey can be added within 15 minutes after you signed in. Sign in again.',
  );
}

function requireRoom(own: readonly PasskeyRecord[]): void {
  if (own.length < MAX_PASSKEYS) return;
  throw new GuardError('conflict', `You have ${MAX_PASSKEYS} passkeys. Remove one first.`);
}

export async function renamePasskey(
  deps: Deps,
  who: SignedIn,
  id: string,
  name: string,
): Promise<PasskeyRecord> {
  return changeOperators(deps, async tx => {
    const passkey = await requireOwn(tx, who, id);
    if (passkey.name === name) return passkey;
    await updatePasskeyName(tx, id, name);
    const detail = { from: passkey.name, to: name };
    await recordChange(tx, deps, `operator:${who.email}`, 'passkey.rename', who.operatorId, detail);
    return { ...passkey, name };
  });
}

export async function removePasskey(deps: Deps, who: SignedIn, id: string): Promise<void> {
  await changeOperators(deps, async tx => {
    const { name } = await requireOwn(tx, who, id);
    await remove(tx, id);
    if (!(await canSignIn(tx, who.operatorId, deps.settings.oidcIssuer))) {
      throw new GuardError('conflict', 'This passkey is your only way to sign in.');
    }
    await recordChange(tx, deps, `operator:${who.email}`, 'passkey.remove', who.operatorId, { name });
  });
}

async function requireOwn(tx: Transaction, { operatorId }: SignedIn, id: string): Promise<PasskeyRecord> {
  const passkey = await findPasskey(tx, id);
  if (passkey?.operatorId === operatorId) return passkey;
  throw new GuardError('not_found', 'You have no passkey with this id.');
}

/** What the browser needs in order to sign in. It names no passkey: the person chooses among those of this service. */
export function beginPasskeySignIn(deps: Deps, rp: RelyingParty) {
  return signingOptions(rp, newChallenge(deps, SIGN_IN), []);
}

/** What the browser needs in order to sign a challenge, with any passkey of this service or one of those given. */
export function signingOptions(rp: RelyingParty, challenge: string, passkeys: readonly PasskeyRecord[]) {
  return {
    rpId: rp.id,
    challenge,
    timeout: CHALLENGE_MS,
    userVerification: 'required' as const,
    allowCredentials: passkeys.map(descriptorOf),
  };
}

const descriptorOf = ({ id, transports }: PasskeyRecord) => ({ type: 'public-key' as const, id, transports });

/** `secret` is for the cookie. It is stored nowhere else. */
export function finishPasskeySignIn(
  deps: Deps,
  rp: RelyingParty,
  response: SignedChallenge,
  browser: Browser,
): Promise<{ operator: SignedIn; secret: string }> {
  return oneOfFew(browser.ip, () => tryPasskey(deps, rp, response, browser));
}

async function tryPasskey(deps: Deps, rp: RelyingParty, response: SignedChallenge, browser: Browser) {
  const challenge = challengeIn(response);
  requireChallenge(deps, SIGN_IN, challenge);
  const account = `passkey ${response.id}`;
  await admitAttempt(deps, account, browser.ip);
  const passkey = await findPasskey(deps.db, response.id);
  // The handle is what the passkey itself knows of its account.
  const owned = passkey !== null && response.response.userHandle === handleOf(passkey.operatorId);
  const counter = owned ? await readSigned(response, { ...passkey, challenge, rp }) : null;
  if (passkey === null || counter === null) throw unknown();
  return deps.db.transaction({ shared: [OPERATORS_LOCK] }, async tx => {
    // The passkey may have been removed meanwhile, or used with this counter.
    if (!(await notePasskeyUse(tx, passkey, counter, deps.now()))) throw unknown();
    await spendChallenge(tx, deps, challenge);
    const operator = await findOperator(tx, passkey.operatorId);
    if (operator === null) throw unknown();
    if (await providerDecides(tx, operator.id)) throw atProvider();
    await forgetFailures(tx, account, browser.ip);
    return openSignIn(tx, deps, operator, browser);
  });
}

/**
 * Whether the operator's passkeys sign them in. They do not where a provider's groups decide about the role: whoever loses
 * their account or groups there must not come in by another way. Such passkeys still prove approvals.
 */
export async function passkeysSignIn(deps: Deps, { operatorId }: SignedIn): Promise<boolean> {
  return !(await providerDecides(deps.db, operatorId));
}

function atProvider(): GuardError {
  return new GuardError('forbidden', 'Your role comes from single sign-on. Sign in with it.');
}

function unknown(): GuardError {
  return new GuardError('unauthenticated', 'This passkey is not known here, or it did not verify you.');
}

/**
 * Verifies that one of the operator's passkeys signed the challenge, which the caller made and lets count only once.
 * Throws `forbidden` if it did not. A use is noted at once, in a transaction of its own.
 */
export async function verifyAssertion(
  deps: Deps,
  given: { challenge: string; response: SignedChallenge; operatorId: string; rp: RelyingParty },
): Promise<{ credentialId: string; publicKey: string }> {
  const { challenge, response, operatorId, rp } = given;
  const passkey = await findPasskey(deps.db, response.id);
  const own = passkey?.operatorId === operatorId ? passkey : null;
  const counter = own === null ? null : await readSigned(response, { ...own, challenge, rp });
  const noted = own !== null && counter !== null && (await notePasskeyUse(deps.db, own, counter, deps.now()));
  if (!noted) throw new GuardError('forbidden', 'This is not the signature of one of your passkeys.');
  return { credentialId: own.id, publicKey: own.publicKey };
}
