// Webhook secrets: from the text an operator was shown to the bytes that sign.

import { InvalidConfiguration } from './errors.ts';

const SECRET_PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The bytes of each secret; a malformed one is a mistake in the receiver, not in the delivery. */
export function secretsOf(secret: string | readonly string[]): Uint8Array<ArrayBuffer>[] {
  const list = typeof secret === 'string' ? [secret] : secret;
  if (list.length === 0) throw new InvalidConfiguration('There is no webhook secret.');
  return list.map(each => {
    const encoded = each.startsWith(SECRET_PREFIX) ? each.slice(SECRET_PREFIX.length) : each;
    const bytes = fromBase64(encoded);
    if (bytes !== null && bytes.length > 0) return bytes;
    throw new InvalidConfiguration('A webhook secret is "whsec_" and base64.');
  });
}

export function fromBase64(encoded: string): Uint8Array<ArrayBuffer> | null {
  return BASE64.test(encoded) ? Uint8Array.from(atob(encoded), each => each.charCodeAt(0)) : null;
}
