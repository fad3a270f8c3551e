// The resources of /admin/v1 as the command line reads them, and how a person's word for one (a name or an
// id) is found. Sending is http.ts; where the token comes from is connect.ts.

import type { Decision } from '../core/decide.ts';
import { normalEmail } from '../core/email.ts';
import type { ListedApproval, Surface } from '../core/event.ts';
import type { Rule } from '../core/policy.ts';
import { CliError, EXIT } from './exit.ts';
import type { Http } from './http.ts';
import { time } from './print.ts';

export interface PolicySummary {
  id: string;
  name: string;
  description: string;
  version: number;
  createdAt: string;
  updatedAt: string;
}

export interface PolicyResource extends PolicySummary {
  rules: Rule[];
}

export interface PolicyVersion {
  version: number;
  name: string;
  rules: Rule[];
  createdAt: string;
  createdBy: string;
}

export interface NotifyTargets {
  emails?: string[];
  slackWebhookUrl?: string;
  url?: string;
}

export interface KeyResource {
  id: string;
  name: string;
  prefix: string;
  policyId: string;
  requireSignInToApprove: boolean;
  expiresAt: string | null;
  /** Addresses come back masked. */
  notify: NotifyTargets | null;
  forward: string[];
  createdAt: string;
  revokedAt: string | null;
}

export interface OperatorResource {
  id: string;
  email: string;
  role: string;
  status: string;
  createdAt: string;
}

export interface ConnectedToolResource {
  id: string;
  name: string;
  transport: string;
  url?: string;
  server?: string;
  health: { state: string; error: string | null; since: string };
  tools: { name: string; drifted: boolean }[];
}

export interface SessionResource {
  id: string;
  keyId?: string;
  label: string;
  prefix: string;
  scopeTools: string[] | null;
  createdAt: string;
  expiresAt: string;
  revokedAt?: string | null;
}

export interface WebhookResource {
  id: string;
  url: string;
  keyId: string | null;
  events: string[];
  enabled: boolean;
  disabledReason: string | null;
  createdAt: string;
}

export interface DeliveryResource {
  id: string;
  eventId: string;
  type: string;
  referenceId: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts: { at: string; status: number | null; durationMs: number; error: string | null }[];
  nextAttemptAt: string | null;
}

export interface GrantResource {
  id: string;
  referenceId: string;
  keyId: string;
  serverName: string;
  toolName: string;
  createdAt: string;
  expiresAt: string;
}

export interface AuditResource {
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

export interface ChangeResource {
  id: string;
  at: string;
  actor: string;
  action: string;
  target: string;
  detail: Record<string, unknown>;
}

export type ApprovalResource = ListedApproval;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export async function allOf<T>(http: Http, plural: string): Promise<T[]> {
  const found: T[] = [];
  for await (const item of http.all<T>(`/${plural}`, plural)) found.push(item);
  return found;
}

/** The id of the policy a person means. */
export async function policyId(http: Http, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  const policies = await allOf<PolicySummary>(http, 'policies');
  return theOne(
    'policy',
    nameOrId,
    policies.filter(each => each.name === nameOrId),
  ).id;
}

/** The id of the key a person means; by name, only keys that still work are looked at. */
export async function keyId(http: Http, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  return theOne('live key', nameOrId, (await keysNamed(http, nameOrId)).filter(isLive)).id;
}

/** As `keyId`, for looking back: when no key of that name works any more, a revoked one is meant. */
export async function pastKeyId(http: Http, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  const named = await keysNamed(http, nameOrId);
  return theOne('key', nameOrId, named.some(isLive) ? named.filter(isLive) : named).id;
}

/** The id of the operator a person means. */
export async function operatorId(http: Http, emailOrId: string): Promise<string> {
  if (UUID.test(emailOrId)) return emailOrId.toLowerCase();
  const email = normalEmail(emailOrId);
  const operators = await allOf<OperatorResource>(http, 'operators');
  const found = operators.find(each => each.email === email);
  if (found === undefined)
    throw new CliError(EXIT.failed, `There is no operator with the e-mail "${email}".`);
  return found.id;
}

async function keysNamed(http: Http, name: string): Promise<KeyResource[]> {
  return (await allOf<KeyResource>(http, 'keys')).filter(key => key.name === name);
}

function isLive(key: KeyResource): boolean {
  return key.revokedAt === null;
}

/** What there is to tell apart two of one name. */
interface Named {
  id: string;
  createdAt: string;
  prefix?: string;
}

const BY_ID = 'Use the id of the one you mean in place of its name:';

export function theOne<T extends Named>(what: string, name: string, found: readonly T[], advice = BY_ID): T {
  const [first, ...others] = found;
  if (first === undefined) {
    const list = what === 'policy' ? 'policies' : 'keys';
    throw new CliError(
      EXIT.failed,
      `There is no ${what} named "${name}"; \`toolgate ${list} list\` shows those there are.`,
    );
  }
  if (others.length === 0) return first;
  const list = found.map(({ id, prefix, createdAt }) => {
    const token = prefix === undefined ? '' : `  ${prefix}…`;
    return `${id}${token}  created ${time(createdAt)}`;
  });
  throw new CliError(EXIT.failed, `More than one ${what} is named "${name}". ${advice}`, { list });
}

/** Names by id, for tables that show whose something is. */
export async function keyNames(http: Http): Promise<Map<string, string>> {
  const keys = await allOf<KeyResource>(http, 'keys');
  return new Map(keys.map(key => [key.id, key.name]));
}

export async function policyNames(http: Http): Promise<Map<string, string>> {
  const policies = await allOf<PolicySummary>(http, 'policies');
  return new Map(policies.map(policy => [policy.id, policy.name]));
}
