// What a passkey signs when somebody answers an approval that wants proof, and whether an assertion (WebAuthn) is such
// a signature. It reads nothing else: everything is computed from the arguments. proof-check.ts puts it into words.

import { canonicalJson } from '../wire/canonical.ts';
import type { Resolution } from './approval.ts';
import { verifyCose } from './cose-key.ts';

/** The answer that is signed. */
export interface Statement {
  action: Resolution;
  referenceId: string;
  argsDigest: string;
  nonce: string;
}

/** `{"action":"approve","argsDigest":"…","nonce":"…","referenceId":"…"}` */
export function statementText({ action, referenceId, argsDigest, nonce }: Statement): string {
  return canonicalJson({ action, referenceId, argsDigest, nonce });
}

/** The challenge that the authenticator gets, in base64url: the SHA-256 of the statement's text in UTF-8. */
export async function challengeOf(statement: Statement): Promise<string> {
  return base64url(await sha256(new TextEncoder().encode(statementText(statement))));
}

/** Names a public key, shortly enough to be compared by eye. */
export async function fingerprintOf(publicKey: string): Promise<string> {
  return `SHA256:${base64url(await sha256(bytesOf(publicKey)))}`;
}

/** What an authenticator returns, in the JSON form of WebAuthn; all binary parts are in base64url. */
export interface AssertionResponse {
  id: string;
  response: { clientDataJSON: string; authenticatorData: string; signature: string };
}

export interface Assertion {
  response: AssertionResponse;
  publicKey: string;
  credentialId: string;
  rpId: string;
  origin: string;
}

/** Each is true if it is as it must be. */
export interface AssertionFacts {
  /** The bytes were signed with the private key of the public one; null if the public key is of an unknown kind. */
  signature: boolean | null;
  /** The challenge is that of the statement. */
  statement: boolean;
  /** It was made on a page of the origin, and for the name that the passkey belongs to. */
  place: boolean;
  /** Somebody was there, and was verified by PIN, fingerprint or face. */
  person: boolean;
  /** It says that it was made with the credential that is named beside it. */
  credential: boolean;
}

const PRESENT = 0x01;
const VERIFIED = 0x04;
/** The hash of the name, the flags and the counter. */
const AUTHENTICATOR_DATA = 37;

export async function examine(assertion: Assertion, statement: Statement): Promise<AssertionFacts> {
  const { response, publicKey, credentialId, rpId, origin } = assertion;
  const clientData = bytesOf(response.response.clientDataJSON);
  const authenticator = bytesOf(response.response.authenticatorData);
  const signed = new Uint8Array([...authenticator, ...(await sha256(clientData))]);
  const client = clientOf(clientData);
  const name = base64url(await sha256(new TextEncoder().encode(rpId)));
  const flags = authenticator[AUTHENTICATOR_DATA - 5] ?? 0;
  return {
    signature: await verifyCose(bytesOf(publicKey), signed, bytesOf(response.response.signature)),
    statement: client['challenge'] === (await challengeOf(statement)),
    place:
      client['type'] === 'webauthn.get' &&
      client['origin'] === origin &&
      client['crossOrigin'] !== true &&
      belongsTo(origin, rpId) &&
      base64url(authenticator.subarray(0, 32)) === name,
    person: authenticator.length >= AUTHENTICATOR_DATA && (flags & PRESENT) !== 0 && (flags & VERIFIED) !== 0,
    credential: response.id === credentialId,
  };
}

/** Whether all is as it must be. */
export function isSound(facts: AssertionFacts): boolean {
  return Object.values(facts).every(each => each === true);
}

function belongsTo(origin: string, rpId: string): boolean {
  if (rpId === '' || !URL.canParse(origin)) return false;
  const { hostname, origin: own } = new URL(origin);
  return own === origin && (hostname === rpId || hostname.endsWith(`.${rpId}`));
}

/** What the browser says about the assertion; nothing if it is no JSON object. */
function clientOf(bytes: Uint8Array): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof read === 'object' && read !== null ? (read as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, 'base64url'));
const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}
