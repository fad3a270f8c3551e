// One call of the service: send, read, and try again where that cannot record a second verdict. Time is the
// caller's: everything here, waits included, happens under one signal.

import { type Expected, readAnswer } from './answer.ts';
import { pause, within } from './deadline.ts';
import { InvalidConfiguration, NetworkFailure, Overloaded, ServiceFailure } from './errors.ts';

export interface Connection {
  baseUrl: string;
  key: string;
}

export interface Ask<T> {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: string;
  /** The run's name, if the request belongs to one. */
  run?: string | undefined;
  /** By which the service knows a request that is sent again. */
  idempotencyKey?: string | undefined;
  expected: Expected<T>;
  /** Whether it may be sent again when nobody knows if the service carried it out. */
  repeatable: boolean;
}

export interface Effort {
  timeoutMs: number;
  retries: number;
  signal?: AbortSignal | undefined;
}

const FIRST_PAUSE_MS = 100;
const MOST_RETRIES = 10;

export function wantRetries(retries: number): number {
  if (Number.isInteger(retries) && retries >= 0 && retries <= MOST_RETRIES) return retries;
  throw new InvalidConfiguration(`retries must be a whole number from 0 to ${MOST_RETRIES}.`);
}

export function exchange<T>(connection: Connection, ask: Ask<T>, effort: Effort): Promise<T> {
  const end = performance.now() + effort.timeoutMs;
  return within(effort, async signal => {
    for (let made = 0; ; made++) {
      try {
        return await once(connection, ask, signal);
      } catch (error) {
        if (signal.aborted || made >= effort.retries || !mayRepeat(error, ask.repeatable)) throw error;
        const wait = pauseBefore(error, made);
        // An error now says more than a time-out later.
        if (performance.now() + wait >= end) throw error;
        await pause(wait, signal);
      }
    }
  });
}

async function once<T>({ baseUrl, key }: Connection, ask: Ask<T>, signal: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Authorization: `Bearer ${key}`, Accept: 'application/json' };
  if (ask.body !== undefined) headers['Content-Type'] = 'application/json';
  if (ask.run !== undefined) headers['Toolgate-Run'] = ask.run;
  if (ask.idempotencyKey !== undefined) headers['Idempotency-Key'] = ask.idempotencyKey;
  const init = { method: ask.method, headers, signal, redirect: 'manual', cache: 'no-store' } as const;
  let response: Response;
  try {
    response = await fetch(baseUrl + ask.path, ask.body === undefined ? init : { ...init, body: ask.body });
  } catch (error) {
    throw new NetworkFailure(networkMessage(baseUrl, error), !neverConnected(error), error);
  }
  return readAnswer(response, ask.expected);
}

function mayRepeat(error: unknown, repeatable: boolean): boolean {
  if (error instanceof NetworkFailure) return !error.sent || repeatable;
  if (error instanceof Overloaded) return repeatable || promisesNothingDone(error);
  return repeatable && error instanceof ServiceFailure;
}

/** Only the service's own refusal promises that no entry was written; a proxy's 503 promises nothing. */
function promisesNothingDone({ status, problem, retryAfter }: Overloaded): boolean {
  const ours = problem?.code === 'overloaded' || problem?.code === 'not_ready';
  return status === 503 && ours && retryAfter !== null;
}

function pauseBefore(error: unknown, made: number): number {
  const asked = error instanceof Overloaded ? error.retryAfter : null;
  return asked === null ? FIRST_PAUSE_MS * 2 ** made : asked * 1000;
}

const BEFORE_SENDING = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * Whether the failure is one that only happens before a connection stands. Node names it in the cause, Bun in
 * the error, Deno in the text; a browser tells nobody, and then nothing is certain.
 */
function neverConnected(error: unknown): boolean {
  const { code, cause, message } = error as { code?: unknown; cause?: unknown; message?: unknown };
  if (BEFORE_SENDING.has(String(code)) || String(message).includes('client error (Connect)')) return true;
  if (typeof cause !== 'object' || cause === null) return false;
  // One failure per address that the name stands for.
  const { errors } = cause as { errors?: unknown };
  return Array.isArray(errors) ? errors.every(neverConnected) : neverConnected(cause);
}

function networkMessage(baseUrl: string, error: unknown): string {
  const { origin } = new URL(baseUrl);
  return neverConnected(error)
    ? `The service at ${origin} cannot be reached. Is it running, and is the base address (TOOLGATE_BASE_URL) right?`
    : `The connection to ${origin} failed before an answer.`;
}
