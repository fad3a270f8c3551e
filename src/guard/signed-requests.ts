// Verifies that a request comes from somebody who shares a secret with us (Slack, a gateway): an HMAC-SHA256, as
// hexadecimal digits, over its body and, where the sender names it, its time. A request that is too old, or from the
// future, is refused, so that it cannot be replayed later.

import { createHmac, timingSafeEqual } from 'node:crypto';

const MOST_AGE_SECONDS = 5 * 60;

/** Whether this time, in seconds since 1970, is close enough to now. It is known before the body is read. */
export function isRecent(timestamp: string, now: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= MOST_AGE_SECONDS;
}

/** `prefix` is what the sender writes before the digits. */
export function isSigned(
  secret: string,
  parts: readonly (string | Uint8Array)[],
  prefix: string,
  signature: string,
): boolean {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  const wanted = Buffer.from(prefix + hmac.digest('hex'));
  const given = Buffer.from(signature);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
