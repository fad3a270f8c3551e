// Sends one request with a body to a receiver that is not trusted. It connects only to addresses that were checked,
// follows no redirect, uses no proxy and shares no connection. Time and bytes are limited. The caller decides what a
// status means and when to try again.

import type { IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { GuardError } from '../../core/errors.ts';
import { type Address, checkTarget, type Resolve, type TargetRules, targetHost } from './addresses.ts';

/** How long a receiver may take for one attempt. */
export const ATTEMPT_MS = 15_000;

const RESPONSE_BYTES = 1024;
const HEADER_BYTES = 16 * 1024;

export interface SendRequest {
  url: string;
  headers: Record<string, string>;
  /** The body is sent unchanged, because it may have been signed. */
  body: string | Uint8Array;
  /** The limit for the whole request: resolving the name, connecting, TLS, the answer and its body. */
  timeoutMs: number;
  rules: TargetRules;
  maxResponseBytes?: number;
  resolve?: Resolve;
}

interface AnyRequest extends SendRequest {
  method: 'POST' | 'PUT';
  contentType: string;
}

interface SendResult {
  status: number;
  durationMs: number;
  /** The beginning of the answer, in which control characters and other invisible characters are escaped. */
  response: string;
  /** The same beginning as it came. */
  bytes: Uint8Array;
}

type Received = Omit<SendResult, 'durationMs'>;

/**
 * Why there was no complete answer. The message is a short, stable text without secrets, which may be stored and shown.
 */
export class SendError extends Error {}

export function sendJson(request: SendRequest): Promise<SendResult> {
  return sendBody({ ...request, method: 'POST', contentType: 'application/json' });
}

/** Throws a SendError, or a GuardError if the target is not allowed or its name cannot be resolved. */
export async function sendBody(request: AnyRequest): Promise<SendResult> {
  const started = performance.now();
  const answer = await within(request.timeoutMs, async signal => {
    const target = await checkTarget(request.url, request.rules, request.resolve);
    return toFirst(target.addresses, address => exchange(target.url, address, request, signal));
  });
  return { ...answer, durationMs: Math.round(performance.now() - started) };
}

/** Work with a time limit, whose failures all are a SendError or a GuardError. */
export async function within<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new SendError(`no answer within ${timeoutMs / 1000} s`));
    controller.abort();
  }, timeoutMs);
  try {
    return await Promise.race([work(controller.signal), late.promise]);
  } catch (error) {
    throw asSendError(error);
  } finally {
    clearTimeout(timer);
  }
}

const NOT_CONNECTED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL']);

/** Tries the next checked address only if nothing can have been sent to the one before. */
export async function toFirst<T, To extends Address>(
  addresses: readonly To[],
  exchange: (address: To) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await exchange(address);
    } catch (error) {
      failure = error;
      if (!NOT_CONNECTED.has(codeOf(error))) break;
    }
  }
  throw failure;
}

/** The runtime's client is loaded when something is first sent: it takes 10 ms. */
const clientOf = (url: URL) => (url.protocol === 'https:' ? import('node:https') : import('node:http'));

async function exchange(url: URL, to: Address, request: AnyRequest, signal: AbortSignal): Promise<Received> {
  const { request: open } = await clientOf(url);
  if (signal.aborted) throw new SendError('given up');
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const outgoing = open(connection(url, to, request), incoming => {
    readAnswer(incoming, request.maxResponseBytes ?? RESPONSE_BYTES, resolve);
    incoming.on('error', reject);
  });
  signal.addEventListener('abort', () => outgoing.destroy(), { once: true });
  outgoing.on('error', reject);
  outgoing.on('close', () => reject(new SendError('connection closed before the answer was complete')));
  outgoing.end(request.body);
  return promise.finally(() => outgoing.destroy());
}

function connection(url: URL, to: Address, request: AnyRequest): RequestOptions {
  const host = targetHost(url);
  return {
    // This is an address, so that no name is resolved again. The name is used only for Host and TLS.
    host: to.address,
    family: to.family,
    port: url.port || (url.protocol === 'https:' ? 443 : 80),
    path: url.pathname + url.search,
    method: request.method,
    headers: {
      'user-agent': 'Toolgate',
      ...request.headers,
      'content-type': request.contentType,
      'content-length': Buffer.byteLength(request.body),
      host: url.host,
    },
    servername: isIP(host) === 0 ? host : '',
    // This is set explicitly, because an environment variable could turn it off.
    rejectUnauthorized: true,
    agent: false,
    maxHeaderSize: HEADER_BYTES,
  };
}

function readAnswer(incoming: IncomingMessage, max: number, done: (answer: Received) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const finish = () => {
    const bytes = Buffer.concat(chunks).subarray(0, max);
    done({ status: incoming.statusCode ?? 0, response: escaped(bytes, size > max), bytes });
  };
  incoming.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > max) finish();
  });
  incoming.on('end', () => {
    if (incoming.complete) finish();
  });
}

const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** With `cut`, an incomplete character at the end is left out. */
function escaped(bytes: Uint8Array, cut: boolean): string {
  const text = new TextDecoder().decode(bytes, { stream: cut });
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, char => {
    const hex = char.codePointAt(0)!.toString(16);
    return SHORT[char] ?? (hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`);
  });
}

const SENTENCES: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EADDRNOTAVAIL: 'network unreachable',
  EPROTO: 'TLS handshake failed',
  CERT_HAS_EXPIRED: 'TLS certificate has expired',
  CERT_NOT_YET_VALID: 'TLS certificate is not yet valid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS certificate is for another host name',
};

/** Error texts of the system may contain addresses or paths, so they are replaced by our own. */
function asSendError(error: unknown): Error {
  if (error instanceof GuardError || error instanceof SendError) return error;
  const code = codeOf(error);
  return new SendError(SENTENCES[code] ?? sentenceForFamily(code), { cause: error });
}

function sentenceForFamily(code: string): string {
  if (code.startsWith('HPE_')) return 'the answer is not valid HTTP';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'TLS handshake failed';
  if (/CERT|ISSUER|SIGNATURE|CRL/.test(code)) return 'TLS certificate is not trusted';
  return /^[A-Z0-9_]{1,40}$/.test(code) ? `request failed (${code})` : 'request failed';
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
