// Sends requests to the service, with one credential or none. The result is data, a refusal (with the service's own
// message) or no usable answer; the exit code depends on which of them it is.

import { CliError, EXIT } from './exit.ts';

/** The service answered and refused the request. */
export class Refused extends CliError {
  readonly status: number;
  readonly code: string;
  /** What the service says. */
  readonly detail: string;

  constructor(status: number, code: string, detail: string, from: string) {
    super(EXIT.failed, `${detail}${from} (${status})`);
    this.status = status;
    this.code = code;
    this.detail = detail;
  }
}

/** There was no answer, or it could not be understood. */
export class Unreachable extends CliError {
  constructor(message: string, cause?: unknown) {
    super(EXIT.noAnswer, message, { cause });
  }
}

export type Query = Record<string, string | number | undefined>;

export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** The token is wrong, or is not for this. */
const TOKEN_REFUSED = ['unauthenticated', 'forbidden'];
const TIMEOUT_MS = 30_000;
const PAGE = 1000;

export class Http {
  readonly #root: string;
  readonly #token: string | null;
  readonly #from: string | null;

  /** `from` says where the token was found; it is shown when the token is refused. */
  constructor(root: string, token: string | null, from: string | null = null) {
    this.#root = root;
    this.#token = token;
    this.#from = from;
  }

  get<T>(path: string, query: Query = {}): Promise<T> {
    return this.#json<T>('GET', path + queryText(query));
  }

  post<T>(path: string, body?: unknown): Promise<T> {
    return this.#json<T>('POST', path, body);
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.#json<T>('PUT', path, body);
  }

  patch<T>(path: string, body: unknown): Promise<T> {
    return this.#json<T>('PATCH', path, body);
  }

  async delete(path: string): Promise<void> {
    await this.#json('DELETE', path);
  }

  /** One page of a list; `plural` is the name of its field in the answer. */
  async page<T>(path: string, plural: string, query: Query = {}): Promise<Page<T>> {
    const body = await this.get<Record<string, T[]> & { nextCursor?: string | null }>(path, query);
    const items = body[plural];
    if (!Array.isArray(items)) throw new Unreachable(`The answer from ${this.#root} holds no ${plural}.`);
    return { items, nextCursor: body.nextCursor ?? null };
  }

  async *all<T>(path: string, plural: string, query: Query = {}): AsyncGenerator<T> {
    let cursor: string | undefined;
    do {
      const page: Page<T> = await this.page<T>(path, plural, { limit: PAGE, ...query, cursor });
      yield* page.items;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** The body as a stream, without a time limit. */
  async stream(path: string, query: Query, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#send('GET', path + queryText(query), undefined, signal);
    if (response.body === null) throw new Unreachable(`The answer from ${this.#root} is empty.`);
    return response.body;
  }

  async #json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.#send(method, path, body, AbortSignal.timeout(TIMEOUT_MS));
    const text = await response.text().catch(error => {
      throw this.#lost(error);
    });
    if (text === '') return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new Unreachable(`The answer from ${this.#root} is not JSON; is Toolgate there?`, error);
    }
  }

  async #send(method: string, path: string, body: unknown, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = {};
    if (this.#token !== null) headers['Authorization'] = `Bearer ${this.#token}`;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    // Certificates are verified whatever the environment says: the request carries a token.
    const tls = { rejectUnauthorized: true };
    const init: BunFetchRequestInit = { method, headers, signal, redirect: 'manual', tls };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await fetch(this.#root + path, init).catch(error => {
      throw this.#lost(error);
    });
    if (!response.ok) throw await this.#refusal(response);
    return response;
  }

  async #refusal(response: Response): Promise<CliError> {
    const { status } = response;
    const problem = (await response.json().catch(() => null)) as { detail?: unknown; code?: unknown } | null;
    if (typeof problem?.detail !== 'string') {
      return new Unreachable(`${this.#root} answered ${status} and gave no reason; is Toolgate there?`);
    }
    const code = String(problem.code);
    const from = this.#from !== null && TOKEN_REFUSED.includes(code) ? ` It is from ${this.#from}.` : '';
    return new Refused(status, code, problem.detail, from);
  }

  #lost(error: Error): Unreachable {
    return new Unreachable(`${new URL(this.#root).origin} cannot be reached: ${reasonOf(error)}`, error);
  }
}

function reasonOf(error: Error & { code?: string }): string {
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s.`;
  if (/^(ECONNREFUSED|ConnectionRefused)$/.test(error.code ?? ''))
    return 'connection refused. Is the service running? If it is elsewhere, set TOOLGATE_BASE_URL or give --base-url.';
  return error.message;
}

function queryText(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? '' : `?${search}`;
}
