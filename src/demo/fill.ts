// Fills a store with a believable week, for newcomers and for screenshots. scenario.ts describes the week, week.ts
// invents its calls, and they are written as if they had happened. Nothing is sent anywhere. The only usable secret is
// the password of the sign-in, which is shown once.

import { randomUUID } from 'node:crypto';
import { GuardError } from '../core/errors.ts';
import { type CompiledPolicy, compilePolicy } from '../core/policy/compiled-policy.ts';
import { joinName } from '../core/text/name.ts';
import { DAY } from '../core/time/duration.ts';
import { canonicalJson } from '../core/wire/canonical.ts';
import type { Deps } from '../guard/deps.ts';
import { countAgain } from '../guard/log/rollups.ts';
import { hashPassword } from '../guard/people/passwords.ts';
import { hashToken, mintToken } from '../guard/secrets.ts';
import { insertConnectedTool, insertLink } from '../store/connected-tools.ts';
import type { Transaction } from '../store/engine/db.ts';
import { insertKey, listKeys, revokeKey } from '../store/keys.ts';
import { nextAuditId } from '../store/log/audit-tally.ts';
import { sealedSize } from '../store/log/seals.ts';
import {
  anyOperator,
  findOperatorCredential,
  insertInvitation,
  insertOperator,
  updateOperatorGroups,
} from '../store/operators.ts';
import { insertPolicy, insertPolicyVersion, listPolicies } from '../store/policies.ts';
import { keepSetting } from '../store/settings.ts';
import { markDrift, pinDefinition } from '../store/tool-definitions.ts';
import { findToolServerByName, insertToolServer } from '../store/tool-servers.ts';
import { AGENTS, CHANGED, type DemoAgent, SHARED } from './agents.ts';
import { ADMIN, type DemoPolicy, OPERATORS, POLICIES } from './scenario.ts';
import { daysBefore, idAt, type Resident, Week } from './week.ts';
import { noteChange, writeHooks, writeWeek } from './write.ts';

export interface Demo {
  /** Null if operators with these e-mails existed already. */
  signIn: { email: string; password: string; others: { email: string; role: string }[] } | null;
  verdicts: number;
  approvals: number;
  waiting: number;
}

/** The setting of a store that the demo has filled; src/main.ts reads it. */
const DEMO = 'demo';

export async function fillDemo(deps: Deps, force: boolean, progress: (what: string) => void): Promise<Demo> {
  await requireUnsealed(deps);
  if (!force) await requireFresh(deps);
  const now = deps.now();
  progress('operators');
  const signIn = await addOperators(deps, now);
  progress('policies and keys');
  const residents = await deps.db.transaction({}, tx => addResidents(tx, now));
  progress('a week of calls');
  const week = new Week(residents, now, deps.settings.approvalTimeout);
  await writeWeek(deps, week);
  await countAgain(deps, now - 7 * DAY);
  progress('webhooks and deliveries');
  await writeHooks(deps, week);
  await keepSetting(deps.db, DEMO, String(now));
  const waiting = week.approvals.filter(each => each.status === 'pending').length;
  return { signIn, verdicts: week.entries.length, approvals: week.approvals.length, waiting };
}

/** In a sealed log the invented entries would look like tampering, because they are inserted afterwards. */
async function requireUnsealed({ db }: Deps): Promise<void> {
  if ((await sealedSize(db)) === 0) return;
  throw new GuardError(
    'conflict',
    'The audit log of this store is sealed, and nothing may be put into it afterwards. The demo needs another store: choose one with TOOLGATE_DATA_DIR or TOOLGATE_DATABASE_URL.',
  );
}

/** Throws unless the store has no operators, no checks and only what a first start creates. */
async function requireFresh({ db }: Deps): Promise<void> {
  const used =
    (await anyOperator(db)) ||
    (await nextAuditId(db, 0)) !== null ||
    (await listKeys(db, 2, 'z')).length > 1 ||
    (await listPolicies(db, 2, 'z')).length > 1;
  if (!used) return;
  throw new GuardError(
    'conflict',
    'This store is in use. The demo fills a fresh one: choose another with TOOLGATE_DATA_DIR or TOOLGATE_DATABASE_URL, or add to this one with --force.',
  );
}

async function addOperators(deps: Deps, now: number): Promise<Demo['signIn']> {
  const password = randomUUID();
  const passwordHash = await hashPassword(password);
  return deps.db.transaction({}, async tx => {
    if ((await findOperatorCredential(tx, ADMIN)) !== null) return null;
    for (const { email, role, daysAgo, invited, groups = [] } of OPERATORS) {
      if ((await findOperatorCredential(tx, email)) !== null) continue;
      const createdAt = daysBefore(now, daysAgo);
      const id = idAt(createdAt);
      await insertOperator(tx, { id, email, role, createdAt }, invited ? null : passwordHash);
      await updateOperatorGroups(tx, id, groups);
      await noteChange(tx, 'operator.invite', id, createdAt, { email, role });
      const invitation = { hash: hashToken(randomUUID()), operatorId: id, createdAt };
      if (invited) await insertInvitation(tx, { ...invitation, expiresAt: createdAt + 7 * DAY });
    }
    const others = OPERATORS.filter(each => each.email !== ADMIN && !each.invited);
    return { email: ADMIN, password, others: others.map(({ email, role }) => ({ email, role })) };
  });
}

async function addResidents(tx: Transaction, now: number): Promise<Resident[]> {
  const taken = new Set((await listPolicies(tx, 1000, 'z')).map(each => each.name));
  const policies = new Map<string | undefined, Resident['policyAt']>();
  for (const policy of POLICIES) policies.set(policy.name, await addPolicy(tx, policy, taken, now));
  const residents: Resident[] = [];
  for (const agent of AGENTS) {
    const policyAt = policies.get(agent.policy) as Resident['policyAt'];
    const { policy, daysAgo = 0 } = agent.shadow ?? {};
    const shadowSince = daysBefore(now, daysAgo);
    const shadowAt: Resident['shadowAt'] = at =>
      at < shadowSince ? null : (policies.get(policy)?.(at) ?? null);
    const keyId = await addKey(tx, agent, policyAt(now).id, shadowAt(now)?.id ?? null, now);
    for (const server of agent.servers ?? []) await addServer(tx, server, agent, keyId, now);
    residents.push({ agent, keyId, policyAt, shadowAt });
  }
  return residents;
}

async function addPolicy(
  tx: Transaction,
  { name: wished, versions }: DemoPolicy,
  taken: ReadonlySet<string>,
  now: number,
): Promise<Resident['policyAt']> {
  let name = wished;
  for (let number = 2; taken.has(name); number++) name = `${wished} ${number}`;
  const times = versions.map(each => daysBefore(now, each.daysAgo));
  const [createdAt = now] = times;
  const id = idAt(createdAt);
  const description = versions.at(-1)?.policy.description ?? '';
  const updatedAt = times.at(-1) ?? now;
  await insertPolicy(tx, { id, name, description, version: versions.length, createdAt, updatedAt });
  const compiled: { at: number; policy: CompiledPolicy }[] = [];
  for (const [index, { text, policy }] of versions.entries()) {
    const at = times[index] as number;
    const content = {
      version: index + 1,
      name,
      rules: policy.rules,
      limits: policy.limits,
      results: policy.results,
    };
    await insertPolicyVersion(tx, id, { ...content, text, createdAt: at, createdBy: `operator:${ADMIN}` });
    const detail = { name, version: index + 1, rules: policy.rules.length };
    await noteChange(tx, index === 0 ? 'policy.create' : 'policy.update', id, at, detail);
    compiled.push({ at, policy: compilePolicy({ id, ...content }) });
  }
  return at => (compiled.findLast(each => each.at <= at) ?? compiled[0])?.policy as CompiledPolicy;
}

async function addKey(
  tx: Transaction,
  { name, daysAgo, requireSignInToApprove = false, shadow, revokedDaysAgo }: DemoAgent,
  policyId: string,
  shadowPolicyId: string | null,
  now: number,
): Promise<string> {
  const createdAt = daysBefore(now, daysAgo);
  const { hash, prefix } = mintToken('key');
  const id = idAt(createdAt);
  const about = { id, name, prefix, policyId, shadowPolicyId, requireSignInToApprove, createdAt };
  const rest = { notifyEncrypted: null, forward: [], openTo: [], expiresAt: null, revokedAt: null };
  const switches = { tasks: true, approveHere: false };
  await insertKey(tx, { ...about, ...rest, ...switches }, hash);
  await noteChange(tx, 'key.create', id, createdAt, { name, policyId });
  const changed = { changed: ['shadowPolicyId'], shadowPolicyId };
  if (shadow) await noteChange(tx, 'key.update', id, daysBefore(now, shadow.daysAgo), changed);
  if (revokedDaysAgo === undefined) return id;
  await revokeKey(tx, id, daysBefore(now, revokedDaysAgo));
  await noteChange(tx, 'key.revoke', id, daysBefore(now, revokedDaysAgo), { name });
  return id;
}

async function addServer(
  tx: Transaction,
  name: string,
  agent: DemoAgent,
  keyId: string,
  now: number,
): Promise<void> {
  const createdAt = daysBefore(now, agent.daysAgo);
  const id = idAt(createdAt);
  const toolServerId = SHARED.includes(name) ? await addShared(tx, name, createdAt) : null;
  if (toolServerId === null) await insertConnectedTool(tx, { ...sourceOf(id, name, createdAt), keyId });
  else await insertLink(tx, { id, keyId, name, toolServerId, createdAt });
  const detail = { keyId, name, ...(toolServerId !== null && { toolServerId }) };
  await noteChange(tx, 'connected-tool.create', id, createdAt, detail);
  pinTools(tx, toolServerId ?? id, name, agent, now);
}

/** The tool server with this name, which is made if there is none. */
async function addShared(tx: Transaction, name: string, createdAt: number): Promise<string> {
  const known = await findToolServerByName(tx, name);
  if (known !== null) return known.id;
  const id = idAt(createdAt);
  await insertToolServer(tx, { ...sourceOf(id, name, createdAt), toolServerId: id });
  await noteChange(tx, 'tool-server.create', id, createdAt, { name });
  return id;
}

function sourceOf(id: string, name: string, createdAt: number) {
  const open = { headersEncrypted: null, oauthEncrypted: null, oauthAs: null, authorizationServer: null };
  const reached = { transport: 'http' as const, target: `https://mcp.example.com/${name}` };
  const own = { id, sourceId: id, name, keyId: null, toolServerId: null, trust: 'first' as const };
  return { ...own, ...reached, ...open, createdAt, updatedAt: null };
}

function pinTools(
  tx: Transaction,
  sourceId: string,
  name: string,
  { calls, daysAgo }: DemoAgent,
  now: number,
): void {
  const seenAt = daysBefore(now, daysAgo);
  const prefix = joinName(name, '');
  for (const tool of new Set(calls.filter(each => each.startsWith(prefix)))) {
    const toolName = tool.slice(prefix.length);
    const words = toolName.replaceAll('_', ' ');
    const pin = definition(toolName, `${words[0]?.toUpperCase()}${words.slice(1)}.`);
    pinDefinition(tx, { sourceId, toolName, seenAt, ...pin });
    if (tool !== CHANGED.tool) continue;
    const changed = definition(toolName, CHANGED.description);
    markDrift(tx, sourceId, toolName, { ...changed, at: daysBefore(now, CHANGED.daysAgo) });
  }
}

function definition(name: string, description: string): { digest: string; definition: string } {
  const shown = { name, description, inputSchema: { type: 'object', additionalProperties: true } };
  return { digest: hashToken(canonicalJson(shown)), definition: JSON.stringify(shown) };
}
