// Sends all requests of the dashboard to /admin/v1, with the cookie of the sign-in. resources.ts has the shapes of the
// answers. A refusal becomes a `Refusal`, which components/states.tsx shows in place.

export interface Fault {
  /** A JSON Pointer into the body that was sent. */
  path: string;
  message: string;
}

/** The service's refusal of a request; status 0 means that it did not answer at all. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: Fault[];

  constructor(status: number, code: string, detail: string, errors: Fault[] = []) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }
}

export type Query = Record<string, string | number | null | undefined>;

/** The query string of the values that are set, with its question mark; empty if none is. */
export function queryOf(query: Query): string {
  const set = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return call('GET', path + queryOf(query), undefined, signal);
}

export const post = <T>(path: string, body: unknown = {}): Promise<T> => call('POST', path, body);
export const put = <T>(path: string, body: unknown): Promise<T> => call('PUT', path, body);
export const patch = <T>(path: string, body: unknown): Promise<T> => call('PATCH', path, body);
/** Sends a DELETE, whose answer is empty. */
export const remove = (path: string): Promise<void> => call('DELETE', path);

async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(method, path, body, signal);
  const text = await response.text();
  if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
  // The sign-in has ended. The server redirects this address to the sign-in page and back.
  if (response.status === 401) location.reload();
  throw refusalOf(response.status, text);
}

async function send(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const init: RequestInit = { method, headers: { Accept: 'application/json' } };
  if (signal !== undefined) init.signal = signal;
  if (body !== undefined) {
    init.headers = { ...init.headers, 'Content-Type': 'application/json' };
    init.body = JSON.stringify(body);
  }
  try {
    return await fetch(`/admin/v1${path}`, init);
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Refusal(0, 'unreachable', 'The service cannot be reached. Is it running?');
  }
}

function refusalOf(status: number, text: string): Refusal {
  try {
    const { code, detail, errors } = JSON.parse(text) as { code: string; detail: string; errors?: Fault[] };
    return new Refusal(status, code, detail, errors);
  } catch {
    return new Refusal(status, 'unreadable', `The service answered with status ${status}.`);
  }
}
