// Whether a delivery is genuine, after Standard Webhooks 1.0 (symmetric, v1): the time is recent, and one of
// the signatures is right under one of the secrets. WebCrypto compares in constant time, and is everywhere.

import { joined, utf8 } from './body.ts';
import { WebhookRejected } from './errors.ts';
import { parseEvent, type WebhookEvent } from './event.ts';
import { fromBase64, secretsOf } from './secret.ts';

/** The Headers of a Request, or a plain object as Node's http gives it. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | string[] | undefined };

export interface VerifyOptions {
  /** How far the delivery's time may be from ours, either way; 300 seconds when left out. */
  toleranceSeconds?: number;
  /** Milliseconds since 1970; the present when left out. */
  now?: number;
}

const TOLERANCE_SECONDS = 300;
/** A delivery carries one signature per live secret; work is not to grow with what a stranger sends. */
const MOST_SIGNATURES = 16;
const HMAC = { name: 'HMAC', hash: 'SHA-256' };

/** The event of a genuine delivery; throws WebhookRejected for any other. `body` is what came, unparsed. */
export async function verifyWebhook(
  headers: WebhookHeaders,
  body: string | Uint8Array | ArrayBuffer,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  const keys = secretsOf(secret);
  const bytes = bytesOf(body);
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = signaturesIn(header(headers, 'webhook-signature'));
  checkTime(timestamp, options);
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = joined([start, bytes], start.length + bytes.length);
  if (!(await anyMatches(keys, signatures, signed))) {
    throw new WebhookRejected('webhook_signature', 'No signature of the delivery is right.');
  }
  return parseEvent(text(bytes));
}

function header(headers: WebhookHeaders, name: string): string {
  const value = typeof headers['get'] === 'function' ? headers['get'](name) : inRecord(headers, name);
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookRejected('webhook_headers', `The delivery has no ${name}.`);
}

function inRecord(headers: object, name: string): unknown {
  const found = Object.entries(headers).filter(([key]) => key.toLowerCase() === name);
  return found.length === 1 ? found[0]?.[1] : undefined;
}

function checkTime(timestamp: string, { toleranceSeconds = TOLERANCE_SECONDS, now }: VerifyOptions): void {
  const apart = Math.abs((now ?? Date.now()) / 1000 - Number(timestamp));
  if (/^\d{1,12}$/.test(timestamp) && apart <= toleranceSeconds) return;
  throw new WebhookRejected('webhook_timestamp', 'The delivery is too old, too new, or has no valid time.');
}

function signaturesIn(value: string): Uint8Array<ArrayBuffer>[] {
  const found = value.split(' ').filter(each => each.startsWith('v1,'));
  return found.slice(0, MOST_SIGNATURES).flatMap(each => fromBase64(each.slice('v1,'.length)) ?? []);
}

async function anyMatches(
  secrets: Uint8Array<ArrayBuffer>[],
  signatures: Uint8Array<ArrayBuffer>[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey('raw', secret, HMAC, false, ['verify']);
    for (const signature of signatures) {
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return true;
    }
  }
  return false;
}

function bytesOf(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  return body instanceof Uint8Array ? body : new Uint8Array(body);
}

function text(bytes: Uint8Array): string {
  try {
    return utf8(bytes);
  } catch {
    throw new WebhookRejected('webhook_body', 'The event is not UTF-8.');
  }
}
