// Signs webhook deliveries by Standard Webhooks 1.0 (symmetric, v1). webhooks.ts keeps the secrets encrypted, and
// send.ts sends the signed bytes.

import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

interface SignatureHeaders {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

export function newWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Makes one signature for each valid secret, so that a receiver can change to the new secret at any time. */
export function sign(
  secrets: string[],
  id: string,
  timestampSeconds: number,
  body: string,
): SignatureHeaders {
  const signed = `${id}.${timestampSeconds}.${body}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': secrets.map(secret => `v1,${hmac(secret, signed)}`).join(' '),
  };
}

function hmac(secret: string, text: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(text).digest('base64');
}
