// Clients that describe themselves in a document on the web: its https address is their client_id. The document is fetched
// like a webhook's target, from checked addresses only, and is limited in time and bytes, and only for somebody who is
// signed in, a few times a minute. What it says is kept in memory for as long as HTTP allows, within bounds.

import { GuardError } from '../../core/errors.ts';
import { parseJsonBytes } from '../../core/wire/json.ts';
import type { TargetRules } from '../outgoing/addresses.ts';
import { boundedBody } from '../outgoing/bounded-body.ts';
import { PinnedFetch } from '../outgoing/pinned-fetch.ts';
import { RateLimit } from '../rate-limit.ts';
import { redirectFault } from './redirects.ts';

export interface ClientDocument {
  name: string;
  redirectUris: readonly string[];
}

const MAX_CHARS = 500;
const MAX_BYTES = 64 * 1024;
const FETCH_MS = 5000;
const MAX_REDIRECTS = 20;
const MINUTE_MS = 60_000;
/** Between the page and its form a document is not fetched again, even if it must not be cached. */
const KEPT_AT_LEAST_MS = MINUTE_MS;
const KEPT_USUALLY_MS = 5 * MINUTE_MS;
const KEPT_AT_MOST_MS = 24 * 60 * MINUTE_MS;
const MAX_KEPT = 500;
const MAX_AT_ONCE = 20;
/** How many documents one person can make this process fetch. Who connects clients needs one at a time. */
const FETCHES_PER_MINUTE = 20;

/**
 * Copies of the documents of well-known clients, for when they cannot be fetched: some services have no way to the
 * internet, and the host of claude.ai refuses programs in data centres.
 */
const COPIES: Record<string, ClientDocument> = {
  'https://claude.ai/oauth/claude-code-client-metadata': {
    name: 'Claude Code',
    redirectUris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  },
  'https://claude.ai/oauth/mcp-oauth-client-metadata': {
    name: 'Claude',
    redirectUris: ['https://claude.ai/api/mcp/auth_callback'],
  },
  'https://chatgpt.com/oauth/client.json': {
    name: 'ChatGPT',
    redirectUris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
  },
  'https://vscode.dev/oauth/client-metadata.json': {
    name: 'Visual Studio Code',
    redirectUris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
  },
};

interface Kept {
  document: ClientDocument;
  until: number;
}

/** Whether a client_id is the address of a document: https, with a path, in the one form that a parser gives it. */
export function isDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || clientId.length > MAX_CHARS || !URL.canParse(clientId))
    return false;
  const url = new URL(clientId);
  const plain = url.hash === '' && !clientId.includes('#') && url.username === '' && url.password === '';
  return plain && url.href === clientId && url.pathname !== '/';
}

export class ClientDocuments {
  readonly #rules: TargetRules;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Map<string, Promise<ClientDocument>>();
  readonly #fetches = new RateLimit(FETCHES_PER_MINUTE, null);
  /** By person and address. */
  readonly #admitted = new Map<string, Promise<void>>();

  constructor(rules: TargetRules, now = () => performance.now()) {
    this.#rules = rules;
    this.#now = now;
  }

  /**
   * Throws a GuardError for people if there is no such document, or it cannot be used. `personId` is the operator for whom
   * it is fetched.
   */
  async find(url: string, personId: string): Promise<ClientDocument> {
    const kept = this.#kept.get(url);
    if (kept !== undefined && kept.until > this.#now()) return kept.document;
    const underWay = this.#underWay.get(url);
    if (underWay !== undefined) return underWay;
    await this.#admit(url, personId);
    return this.#underWay.get(url) ?? this.#begin(url);
  }

  /** Requests of a person for the same document at the same time count once, as they share one fetch. */
  #admit(url: string, personId: string): Promise<void> {
    const name = `${personId} ${url}`;
    const before = this.#admitted.get(name);
    if (before !== undefined) return before;
    const admitted = this.#fetches.admit(personId, this.#now()).finally(() => this.#admitted.delete(name));
    this.#admitted.set(name, admitted);
    return admitted;
  }

  #begin(url: string): Promise<ClientDocument> {
    if (this.#underWay.size >= MAX_AT_ONCE) {
      // Strangers may name many slow addresses. Well-known clients do not have to wait for them.
      const copy = COPIES[url];
      if (copy !== undefined) return Promise.resolve(copy);
      throw new GuardError('overloaded', 'Too many clients are being looked up. Try again in a moment.', {
        retryAfter: 5,
      });
    }
    const fetched = this.#fetch(url).finally(() => this.#underWay.delete(url));
    this.#underWay.set(url, fetched);
    return fetched;
  }

  async #fetch(url: string): Promise<ClientDocument> {
    let answer: FetchedDocument;
    try {
      answer = await inTime(signal => answerOf(url, this.#rules, signal));
    } catch (cause) {
      const copy = COPIES[url];
      if (copy === undefined) throw unreadable(cause);
      return this.#keep(url, copy, KEPT_AT_LEAST_MS);
    }
    return this.#keep(url, readDocument(url, answer.bytes), keptFor(answer.cacheControl));
  }

  #keep(url: string, document: ClientDocument, ms: number): ClientDocument {
    this.#kept.delete(url);
    this.#kept.set(url, { document, until: this.#now() + ms });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return document;
  }
}

interface FetchedDocument {
  bytes: Uint8Array;
  cacheControl: string;
}

async function answerOf(url: string, rules: TargetRules, signal: AbortSignal): Promise<FetchedDocument> {
  // A new one each time: what it remembers about hosts would grow with every host that a stranger names.
  const response = await new PinnedFetch(rules).fetch(url, {
    signal,
    headers: { Accept: 'application/json', 'User-Agent': 'Toolgate' },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the answer has the status ${response.status}`);
  }
  const bytes = await boundedBody(response, MAX_BYTES);
  if (bytes === null) throw new Error('the document is too large');
  return { bytes, cacheControl: response.headers.get('cache-control') ?? '' };
}

async function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    ended.abort();
    late.reject(new Error(`there was no answer within ${FETCH_MS / 1000} s`));
  }, FETCH_MS);
  try {
    return await Promise.race([work(ended.signal), late.promise]);
  } finally {
    clearTimeout(timer);
    // This also ends a body that was not read to its end.
    ended.abort();
  }
}

/** The cause is for the log: a page for strangers must not say what stands in our network. */
function unreadable(cause: unknown): GuardError {
  return new GuardError('invalid_input', 'The document of this client cannot be read at its address.', {
    cause,
  });
}

function readDocument(url: string, bytes: Uint8Array): ClientDocument {
  let read: unknown;
  try {
    read = parseJsonBytes(bytes);
  } catch (cause) {
    throw unreadable(cause);
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) throw unusable('is no JSON object');
  const fields = read as Record<string, unknown>;
  if (fields['client_id'] !== url) throw unusable('names another client_id than its own address');
  if ('client_secret' in fields || /secret/.test(String(fields['token_endpoint_auth_method'] ?? ''))) {
    throw unusable('wants a shared secret, which a public document cannot have');
  }
  const uris = fields['redirect_uris'];
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_REDIRECTS)
    throw unusable(`must list 1 to ${MAX_REDIRECTS} redirect_uris`);
  for (const uri of uris) {
    const fault = typeof uri === 'string' ? redirectFault(uri) : 'must be a text';
    if (fault !== null) throw unusable(`lists an address in redirect_uris that ${fault}`);
  }
  const name = fields['client_name'];
  return { name: typeof name === 'string' ? name : '', redirectUris: uris as string[] };
}

function unusable(why: string): GuardError {
  return new GuardError('invalid_input', `The document of this client ${why}.`);
}

function keptFor(cacheControl: string): number {
  if (/no-store|no-cache/i.test(cacheControl)) return KEPT_AT_LEAST_MS;
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(cacheControl) ?? [];
  const said = seconds === undefined ? KEPT_USUALLY_MS : Number(seconds) * 1000;
  return Math.min(Math.max(said, KEPT_AT_LEAST_MS), KEPT_AT_MOST_MS);
}
