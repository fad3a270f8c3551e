// Verifies what browsers answer for a passkey (WebAuthn): that it was made, or that it signed a challenge. What is wrong
// with an answer is said in our own words, because the library's errors quote the answer.

import type * as WebAuthn from '@simplewebauthn/server';
import { GuardError } from '../../core/errors.ts';

/** The service as WebAuthn knows it: passkeys are bound to the name, and work only on pages of the origin. */
export interface RelyingParty {
  id: string;
  origin: string;
}

/** A browser's answer when a passkey was made (RegistrationResponseJSON). All binary values are in base64url. */
export interface MadePasskey {
  id: string;
  rawId: string;
  type: 'public-key';
  response: { clientDataJSON: string; attestationObject: string; transports?: string[] | undefined };
}

/** A browser's answer when a passkey signed a challenge (AuthenticationResponseJSON). */
export interface SignedChallenge {
  id: string;
  rawId: string;
  type: 'public-key';
  response: {
    clientDataJSON: string;
    authenticatorData: string;
    signature: string;
    userHandle?: string | null | undefined;
  };
}

export interface NewCredential {
  id: string;
  publicKey: string;
  counter: number;
  transports: string[];
}

/** Ed25519, ES256 and RS256: between them, every authenticator has one. */
export const ALGORITHMS = [-8, -7, -257];

interface ClientData {
  challenge: string;
  origin: string;
}

/** The challenge that an answer is for. It is not verified yet. */
export function challengeIn(answer: MadePasskey | SignedChallenge): string {
  return clientDataOf(answer)?.challenge ?? '';
}

/** Throws an `invalid_input` if the answer is not that of a new passkey for this service. */
export async function readMade(
  made: MadePasskey,
  expected: { challenge: string; rp: RelyingParty },
): Promise<NewCredential> {
  requireOwnPage(made, expected.rp);
  const { verifyRegistrationResponse } = await library();
  const verified = await attempt(async () => {
    await requireNoCertificate(made);
    return verifyRegistrationResponse({
      response: {
        ...made,
        clientExtensionResults: {},
        response: { ...made.response, transports: undefined as never },
      },
      expectedChallenge: expected.challenge,
      expectedOrigin: expected.rp.origin,
      expectedRPID: expected.rp.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
  });
  const { credential } = verified?.registrationInfo ?? {};
  if (verified?.verified !== true || credential === undefined) {
    throw new GuardError('invalid_input', 'The new passkey cannot be used here. Try another one.');
  }
  return {
    id: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    transports: made.response.transports ?? [],
  };
}

/**
 * The authenticator's counter, if the passkey signed the challenge for this service and verified the person; null if
 * not.
 */
export async function readSigned(
  signed: SignedChallenge,
  expected: { challenge: string; rp: RelyingParty; publicKey: string; counter: number },
): Promise<number | null> {
  requireOwnPage(signed, expected.rp);
  const { verifyAuthenticationResponse } = await library();
  const { userHandle: _, ...response } = signed.response;
  const verified = await attempt(() =>
    verifyAuthenticationResponse({
      response: { ...signed, clientExtensionResults: {}, response },
      expectedChallenge: expected.challenge,
      expectedOrigin: expected.rp.origin,
      expectedRPID: expected.rp.id,
      requireUserVerification: true,
      credential: {
        id: signed.id,
        publicKey: new Uint8Array(Buffer.from(expected.publicKey, 'base64url')),
        counter: expected.counter,
      },
    }),
  );
  return verified?.verified === true ? verified.authenticationInfo.newCounter : null;
}

/** Most services start without ever needing it, and it takes 150 ms and 25 MB, so it is loaded when first used. */
const library = (): Promise<typeof WebAuthn> => import('@simplewebauthn/server');

/** The library throws for whatever does not fit. */
async function attempt<T>(verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify();
  } catch {
    return null;
  }
}

/**
 * Browsers send no certificate of the authenticator, because none is asked for. One that comes all the same is refused:
 * to verify it, the library would fetch addresses that it names.
 */
async function requireNoCertificate({ response }: MadePasskey): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const made = decodeAttestationObject(new Uint8Array(Buffer.from(response.attestationObject, 'base64url')));
  const bare =
    made.get('fmt') === 'none' ||
    (made.get('fmt') === 'packed' && made.get('attStmt').get('x5c') === undefined);
  if (!bare) throw new Error('the answer has a certificate');
}

/** A wrong address is mostly a wrong setting, so it gets a message of its own. */
function requireOwnPage(answer: MadePasskey | SignedChallenge, { origin }: RelyingParty): void {
  if (clientDataOf(answer)?.origin === origin) return;
  throw new GuardError('forbidden', `Passkeys work only on pages of ${origin}.`);
}

/** Null if it cannot be read, or if the page was in a frame of another site. */
function clientDataOf({ response }: MadePasskey | SignedChallenge): ClientData | null {
  try {
    const data = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8')) as unknown;
    const { challenge, origin, crossOrigin } = data as Record<string, unknown>;
    if (typeof challenge !== 'string' || typeof origin !== 'string' || crossOrigin === true) return null;
    return { challenge, origin };
  } catch {
    return null;
  }
}
