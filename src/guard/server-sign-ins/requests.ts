// Requests to authorization servers and to the metadata of tool servers. They go only to checked addresses, over https
// unless the address is private and private addresses are allowed. All requests of one step share its time, answers are
// limited in bytes, and redirects are refused.

import { GuardError } from '../../core/errors.ts';
import { checkTarget, type TargetRules, urlFault } from '../outgoing/addresses.ts';
import { boundedBody } from '../outgoing/bounded-body.ts';
import { PinnedFetch } from '../outgoing/pinned-fetch.ts';

/** The limit for a whole step, because our server closes a connection that is silent for 10 s. */
export const STEP_MS = 8000;
const MAX_ANSWER_BYTES = 256 * 1024;
/** The runtime needs seconds to write an answer again that is nested a hundred thousand times, and waits for nobody. */
const MAX_LEVELS = 50;

export interface Outgoing {
  method?: string;
  headers: Record<string, string>;
  body?: string | URLSearchParams | null;
}

/** A request could not be made, or its answer could not be used. `sent`: whether the server may have received it. */
export class Unanswered extends Error {
  readonly sent: boolean;
  constructor(message: string, sent: boolean) {
    super(message);
    this.sent = sent;
  }
}

/** The requests of one step. */
export interface Step {
  send(url: string, init: Outgoing): Promise<Response>;
  /** Like `send`, but without the body of the answer, which may be a stream without end. */
  ask(url: string, init: Outgoing): Promise<Response>;
  /** Throws unless a token may be sent to the address, or a person to the page there. */
  require(url: unknown, what: string): Promise<string>;
}

export class Requests {
  readonly #fetch: PinnedFetch;
  readonly #rules: TargetRules;

  constructor(rules: TargetRules) {
    this.#rules = rules;
    this.#fetch = new PinnedFetch(rules);
  }

  step(ms: number = STEP_MS): Step {
    const signal = AbortSignal.timeout(ms);
    const ask = (url: string, init: Outgoing) => this.#ask(url, init, signal);
    return {
      ask: async (url, init) => {
        const response = await ask(url, init);
        await response.body?.cancel().catch(() => {});
        return new Response(null, { status: response.status, headers: response.headers });
      },
      send: async (url, init) => whole(url, await ask(url, init)),
      require: (url, what) => this.#require(url, what),
    };
  }

  async #ask(url: string, init: Outgoing, signal: AbortSignal): Promise<Response> {
    await this.#require(url, 'an address');
    let response: Response;
    try {
      // A kept connection that turns out to be closed would make the runtime send the request a second time, and a
      // refresh token must not be sent twice.
      response = await orAborted(this.#fetch.fetch(url, { ...init, signal, keepalive: false }), signal);
    } catch (error) {
      if (error instanceof GuardError) throw new Unanswered(error.message, false);
      const why = signal.aborted ? 'did not answer in time' : 'cannot be reached';
      throw new Unanswered(`${new URL(url).host} ${why}.`, !isBeforeSending(error));
    }
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel().catch(() => {});
      throw new Unanswered(`${new URL(url).host} answered with a redirect, which is not followed.`, true);
    }
    return response;
  }

  async #require(url: unknown, what: string): Promise<string> {
    if (typeof url !== 'string') throw unusable(`It does not name ${what}.`);
    const fault = urlFault(url);
    if (fault !== null) throw unusable(`It names ${what} that ${fault}.`);
    if (/^https:/i.test(url) || (await this.#isPrivate(url))) return url;
    throw unusable(`It names ${what} without https.`);
  }

  async #isPrivate(url: string): Promise<boolean> {
    if (!this.#rules.allowPrivate) return false;
    await checkTarget(url, this.#rules);
    return checkTarget(url, { allowPrivate: false }).then(
      () => false,
      () => true,
    );
  }
}

/** The server behaves in a way with which nobody can sign in to it. */
export function unusable(why: string): GuardError {
  return new GuardError('conflict', `It is not possible to sign in to this server. ${why}`);
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const late = Promise.withResolvers<never>();
  const abort = () => late.reject(new Error('too late'));
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Whether it is certain that nothing was sent, because there was no connection. */
function isBeforeSending(error: unknown): boolean {
  return ['ConnectionRefused', 'FailedToOpenSocket', 'ECONNREFUSED'].includes(
    String((error as { code?: unknown } | null)?.code ?? ''),
  );
}

async function whole(url: string, response: Response): Promise<Response> {
  const { status, headers } = response;
  const { host } = new URL(url);
  const body = await boundedBody(response, MAX_ANSWER_BYTES).catch(() => {
    throw new Unanswered(`${host} did not finish its answer.`, true);
  });
  if (body === null) throw new Unanswered(`The answer of ${host} is too large.`, true);
  return new Response(body, { status, headers });
}

/** The object in an answer; null if there is none. */
export async function readObject(response: Response): Promise<Record<string, unknown> | null> {
  try {
    const value: unknown = await response.json();
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && isShallow(value, MAX_LEVELS) ? { ...value } : null;
  } catch {
    return null;
  }
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every(each => isShallow(each, levels - 1));
}
