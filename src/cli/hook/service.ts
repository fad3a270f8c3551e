// The requests of the hook to the service: asks for a verdict, and mints and ends sessions. Whatever is not an answer
// of the expected shape is no verdict. Texts from answers are not repeated: who answers may not be Toolgate.

import { NoVerdict } from './no-verdict.ts';

/** What the command has to print, and its exit code. */
export interface Outcome {
  stdout: string;
  stderr: string;
  exitCode: number;
}

export interface Minted {
  id: string;
  token: string;
  /** In ms since 1970. */
  expiresAt: number;
}

/** What takes the place of a result may be as long as the event that told it, with every quote escaped twice. */
const MAX_ANSWER = 16 * 1024 * 1024;

/** A door answers a refusal in the agent's words, with status 200; this header has the code of the error. */
const ERROR_HEADER = 'X-Toolgate-Error';

const MEANINGS: Record<number, string> = {
  401: 'does not accept the key',
  403: 'does not let this key ask',
  404: 'has no such hook; is it an older Toolgate, or another program',
  413: 'finds the event too large',
  429: 'has too much to do',
  503: 'has too much to do',
};

/** Only what can stand in a header: an error here would be a refusal of the call. */
const HEADER_VALUE = /^[!-~](?:[ -~]{0,1022}[!-~])?$/;

/** The trace that the agent names to the commands that it starts, in the variables that OpenTelemetry has for it. */
export function traceOf(env: Record<string, string | undefined>): Record<string, string> {
  const { TRACEPARENT: traceparent = '', TRACESTATE: tracestate = '' } = env;
  if (!HEADER_VALUE.test(traceparent)) return {};
  return HEADER_VALUE.test(tracestate) ? { traceparent, tracestate } : { traceparent };
}

export class Service {
  readonly #baseUrl: string;
  readonly #trace: Record<string, string>;

  constructor(baseUrl: string, trace: Record<string, string> = {}) {
    this.#baseUrl = baseUrl;
    this.#trace = trace;
  }

  /** The outcome for the agent; null when the credential is not accepted. */
  async askForVerdict(path: string, credential: string, event: Uint8Array): Promise<Outcome | null> {
    const { status, error, body } = await this.#send('POST', path, credential, event);
    if (status === 401 || error === 'unauthenticated') return null;
    const outcome = status === 200 ? outcomeOf(parsed(body)) : null;
    if (outcome === null) throw this.refused(status);
    return outcome;
  }

  /** A new session; null when the key may not have one, or has too many. */
  async mint(key: string, label: string, ttlMinutes: number): Promise<Minted | null> {
    const request = new TextEncoder().encode(JSON.stringify({ label, ttlMinutes }));
    const { status, body } = await this.#send('POST', '/v1/sessions', key, request);
    if (status === 403 || status === 409) return null;
    const minted = status === 201 ? mintedOf(parsed(body)) : null;
    if (minted === null) throw this.refused(status);
    return minted;
  }

  async end(key: string, id: string): Promise<void> {
    await this.#send('DELETE', `/v1/sessions/${encodeURIComponent(id)}`, key);
  }

  refused(status: number): NoVerdict {
    const meaning = status >= 300 && status < 400 ? 'redirects to another address' : MEANINGS[status];
    if (meaning !== undefined) return new NoVerdict(`${this.#origin} ${meaning} (${status}).`);
    return new NoVerdict(`${this.#origin} answered ${status}, and not as Toolgate does.`);
  }

  async #send(method: string, path: string, credential: string, event?: Uint8Array) {
    const headers = {
      ...this.#trace,
      Authorization: `Bearer ${credential}`,
      'Content-Type': 'application/json',
    };
    // Certificates are verified whatever the environment says: nobody else may give the verdict.
    const tls = { rejectUnauthorized: true };
    const init: BunFetchRequestInit = { method, headers, redirect: 'manual', tls };
    if (event !== undefined) init.body = event as Uint8Array<ArrayBuffer>;
    try {
      const response = await fetch(this.#baseUrl + path, init);
      const error = response.headers.get(ERROR_HEADER);
      return { status: response.status, error, body: await text(response) };
    } catch (error) {
      if (error instanceof NoVerdict) throw error;
      throw new NoVerdict(`${this.#origin} ${reasonOf(error as { code?: string })}`);
    }
  }

  /** Without a path, and without a password that the address may hold. */
  get #origin(): string {
    return new URL(this.#baseUrl).origin;
  }
}

function reasonOf({ code = '' }: { code?: string }): string {
  if (/^(ECONNREFUSED|ConnectionRefused)$/.test(code)) return 'refuses connections. Is the service running?';
  return 'cannot be reached.';
}

async function text(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let read = '';
  for await (const chunk of response.body ?? []) {
    read += decoder.decode(chunk, { stream: true });
    if (read.length > MAX_ANSWER) throw new NoVerdict('The answer is too long.');
  }
  return read;
}

function parsed(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function outcomeOf({ stdout, stderr, exitCode }: Record<string, unknown>): Outcome | null {
  if (typeof stdout !== 'string' || typeof stderr !== 'string') return null;
  if (!Number.isInteger(exitCode) || (exitCode as number) < 0 || (exitCode as number) > 255) return null;
  // Some agents take a refusal for yes if it says nothing.
  if (exitCode !== 0 && stdout.trim() === '' && stderr.trim() === '') return null;
  return { stdout, stderr, exitCode: exitCode as number };
}

function mintedOf({ id, token, expiresAt }: Record<string, unknown>): Minted | null {
  const ends = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN;
  if (typeof id !== 'string' || typeof token !== 'string' || Number.isNaN(ends)) return null;
  return { id, token, expiresAt: ends };
}
