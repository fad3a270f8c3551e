// The dashboard's one road to the service: requests to /admin/v1 with the cookie of the sign-in, and the shapes
// of what comes back. A refusal becomes a `Refusal`, which components/problem.tsx shows in place.

export type Role = 'viewer' | 'approver' | 'admin';
export type Decision = 'allow' | 'deny' | 'pending';
export type Surface = 'check' | 'mcp';
export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'timed_out';

export interface Me {
  email: string | null;
  role: Role;
  actor: string;
}

export interface AuditEntry {
  id: string;
  at: string;
  keyId: string;
  sessionId: string | null;
  surface: Surface;
  serverName: string;
  toolName: string;
  decision: Decision;
  reason: string;
  policyId: string;
  policyVersion: number;
  ruleIndex: number | null;
  referenceId: string | null;
  latencyMs: number;
}

export interface Approval {
  referenceId: string;
  toolCallId: string;
  policyId: string;
  keyId: string;
  sessionId: string | null;
  surface: Surface;
  serverName: string;
  toolName: string;
  status: ApprovalStatus;
  reason: string;
  createdAt: string;
  expiresAt: string;
  resolvedAt: string | null;
  resolvedBy: string | null;
  grantExpiresAt: string | null;
}

/** As the list shows it; events say less. */
export interface ListedApproval extends Approval {
  spentAt: string | null;
  withdrawnAt: string | null;
  /** Of one that frees a single call: when it ends, if it is neither spent nor withdrawn before. */
  usableUntil: string | null;
}

export interface Grant {
  id: string;
  referenceId: string;
  keyId: string;
  serverName: string;
  toolName: string;
  createdAt: string;
  expiresAt: string;
}

export interface Key {
  id: string;
  name: string;
  prefix: string;
  policyId: string;
  requireSignInToApprove: boolean;
  expiresAt: string | null;
  /** Where its approval links go, masked; null: where the service's go. */
  notify: { emails?: string[]; slackWebhookUrl?: string; url?: string } | null;
  /** What besides tools its MCP proxy forwards. */
  forward: string[];
  createdAt: string;
  revokedAt: string | null;
}

export interface Fault {
  /** JSON Pointer into what was sent. */
  path: string;
  message: string;
}

/** What the service answered when it did not do what was asked; status 0: it did not answer at all. */
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

/** The query string of what is set, with its question mark; empty when nothing is. */
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
/** DELETE, which answers with nothing. */
export const remove = (path: string): Promise<void> => call('DELETE', path);

async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(method, path, body, signal);
  const text = await response.text();
  if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
  // The sign-in has ended. The server leads this address to the sign-in and back.
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
