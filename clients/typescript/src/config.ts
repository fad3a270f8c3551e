// What a client is made with: given options first, then the environment where there is one, then defaults.

import { wantTimeout } from './deadline.ts';
import { InvalidConfiguration } from './errors.ts';
import { wantRetries } from './exchange.ts';

export interface ToolgateOptions {
  /** A key or a session token; `TOOLGATE_API_KEY` when left out. */
  key?: string | undefined;
  /** `TOOLGATE_BASE_URL` when left out, else `http://127.0.0.1:8787`. */
  baseUrl?: string | undefined;
  /** Bounds every call as a whole; 10 seconds when left out. */
  timeoutMs?: number | undefined;
  /** How often a call is sent again where that is safe; 2 when left out. */
  retries?: number | undefined;
  /**
   * Names the run to which the calls belong, in 1 to 128 visible ASCII characters; when left out, it is the session or
   * the key. A session's token is its own run, whatever this says.
   */
  run?: string | undefined;
}

export interface Settings {
  key: string;
  baseUrl: string;
  timeoutMs: number;
  retries: number;
  run: string | undefined;
}

const BASE_URL = 'http://127.0.0.1:8787';
/** The service itself gives up on a check after 3 seconds. */
const TIMEOUT_MS = 10_000;
const RETRIES = 2;

export function settingsFrom(options: ToolgateOptions): Settings {
  return {
    key: wantKey(options.key ?? fromEnvironment('TOOLGATE_API_KEY')),
    baseUrl: wantUrl(options.baseUrl ?? fromEnvironment('TOOLGATE_BASE_URL') ?? BASE_URL),
    timeoutMs: wantTimeout(options.timeoutMs ?? TIMEOUT_MS),
    retries: wantRetries(options.retries ?? RETRIES),
    run: options.run === undefined ? undefined : wantRun(options.run),
  };
}

/** Undefined where there is no environment (a browser), or no leave to read it (Deno). */
function fromEnvironment(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}

function wantKey(key: string | undefined): string {
  if (key === undefined || key === '')
    throw new InvalidConfiguration('There is no key: give `key`, or set TOOLGATE_API_KEY.');
  // Whatever a header cannot carry; the value is not repeated.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new InvalidConfiguration('The key has characters no key has.');
  return key;
}

export function wantRun(run: string): string {
  return wantHeader('run', run);
}

/** The value of an option that is sent as a header. */
export function wantHeader(option: string, value: string): string {
  if (typeof value === 'string' && /^[\x21-\x7e]{1,128}$/.test(value)) return value;
  throw new InvalidConfiguration(`${option} must be a name of 1 to 128 visible ASCII characters.`);
}

function wantUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidConfiguration('baseUrl must be an http or https address.');
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new InvalidConfiguration('baseUrl must have no credentials, query or fragment.');
  return url.href.replace(/\/+$/, '');
}
