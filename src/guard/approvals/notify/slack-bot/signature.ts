// Verifies that a request comes from Slack: an HMAC-SHA256 over its time and its body, with a secret that Slack shares
// with this app. A request that is too old, or from the future, is refused, so that it cannot be replayed later.

import { createHmac, timingSafeEqual } from 'node:crypto';

const MOST_AGE_SECONDS = 5 * 60;

/** Whether the headers may belong to a request of Slack's, so that it is worth reading the body. */
export function isRecent(timestamp: string, now: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= MOST_AGE_SECONDS;
}

export function isSigned(secret: string, timestamp: string, body: Uint8Array, signature: string): boolean {
  const expected = createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex');
  const given = Buffer.from(signature);
  const wanted = Buffer.from(`v0=${expected}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
