// The probe: a request to /healthz by which the doctor finds out who answers at an address, and what arrives there of the
// request. Both sides prove with the master key that they belong to the same installation, so no stranger learns
// anything, and no secret is sent. Any replica can answer.

import { randomBytes } from 'node:crypto';
import { sameText, type Vault } from '../guard/secrets.ts';

export const PROBE_HEADER = 'toolgate-doctor';

/** What the service saw of a request. */
export interface Seen {
  /** The address of the other side of the connection: of the proxy, if there is one. */
  peer: string;
  /** Whether TOOLGATE_TRUSTED_PROXIES names it. */
  isTrusted: boolean;
  forwardedFor: string | null;
  host: string;
  /** Whether requests with this Host header are accepted where it is checked. */
  isHostAccepted: boolean;
}

/** The value of the header for a question. */
export function newQuestion(vault: Vault): { nonce: string; header: string } {
  const nonce = randomBytes(16).toString('base64url');
  return { nonce, header: `${nonce}.${vault.messageMac(`doctor asks ${nonce}`)}` };
}

/** The value of the header for the answer; null if the question does not come from this installation. */
export function answerTo(vault: Vault, header: string, see: () => Seen): string | null {
  const [nonce = '', mac = ''] = header.split('.');
  if (nonce.length !== 22 || !sameText(mac, vault.messageMac(`doctor asks ${nonce}`))) return null;
  const text = Buffer.from(JSON.stringify(see())).toString('base64url');
  return `${text}.${vault.messageMac(`doctor answers ${nonce} ${text}`)}`;
}

/** What the answer says; null if it does not come from this installation. */
export function answered(vault: Vault, nonce: string, header: string): Seen | null {
  const [text = '', mac = ''] = header.split('.');
  if (!sameText(mac, vault.messageMac(`doctor answers ${nonce} ${text}`))) return null;
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Seen;
}
