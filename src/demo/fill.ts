// Fills a store with a believable week, for newcomers and for screenshots. scenario.ts describes the week, week.ts
// invents its calls, and they are written as if they had happened. Nothing is sent anywhere. The only usable secret is
// the password of the sign-in, which is shown once.

import { randomInt } from 'node:crypto';
import { GuardError } from '../core/errors.ts';
import { type CompiledPolicy, compilePolicy } from '../core/policy/compiled-policy.ts';
import { canonicalJson } from '../core/wire/canonical.ts';
import type { Actor, Deps } from '../guard/deps.ts';
import { countAgain } from '../guard/log/rollups.ts';
import { hashPassword } from '../guard/people/passwords.ts';
import { hashToken, mintToken } from '../guard/secrets.ts';
import { insertChange } from '../store/changes.ts';
import { insertConnectedTool, markDrift, pinDefinition } from '../store/connected-tools.ts';
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
import { AGENTS, type DemoAgent, type DemoServer } from './agents.ts';
import { ADMIN, type DemoPolicy, OPERATORS, POLICIES, RETIRED } from './scenario.ts';
import { DAY, daysBefore, idAt, liveWeek, type Resident, type Week } from './week.ts';
import { writeHooks, writeWeek } from './write.ts';

export interface Demo {
  /** Null if operators with these e-mails existed already. */
  signIn: { email: string; password: string; others: { email: string; role: string }[] } | null;
  verdicts: number;
  approvals: number;
  waiting: number;
}

/** The setting of a store that the demo has filled; main.ts reads it. */
const DEMO = 'demo';
const BY: Actor = `operator:${ADMIN}`;

export async function fillDemo(deps: Deps, force: boolean, progress: (what: string) => void): Promise<Demo> {
  await wantUnsealed(deps);
  if (!force) await wantFresh(deps);
  const now = deps.now();
  progress('operators');
  const signIn = await addOperators(deps, now);
  progress('policies and keys');
  const residents = await deps.db.transaction({}, tx => addResidents(tx, now));
  progress('a week of calls');
  const week: Week = liveWeek(residents, now, deps.settings.approvalTimeout);
  await writeWeek(deps, week);
  await countAgain(deps, now - 7 * DAY);
  progress('webhooks and deliveries');
  await writeHooks(deps, week, residents);
  await keepSetting(deps.db, DEMO, String(now));
  const waiting = week.approvals.filter(each => each.status === 'pending').length;
  return { signIn, verdicts: week.entries.length, approvals: week.approvals.length, waiting };
}

/** In a sealed log the invented entries would look like tampering, because they are inserted afterwards. */
async function wantUnsealed({ db }: Deps): Promise<void> {
  if ((await sealedSize(db)) === 0) return;
  throw new GuardError(
    'conflict',
    'The audit log of this store is sealed, and nothing may be put into it afterwards. The demo needs another store: choose one with TOOLGATE_DATA_DIR or TOOLGATE_DATABASE_URL.',
  );
}

/** Throws unless the store has no operators, no checks and only what a first start creates. */
async function wantFresh({ db }: Deps): Promise<void> {
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
  const password = newPassword();
  const passwordHash = await hashPassword(password);
  return deps.db.transaction({}, async tx => {
    if ((await findOperatorCredential(tx, ADMIN)) !== null) return null;
    for (const { email, role, daysAgo, invited, groups = [] } of OPERATORS) {
      if ((await findOperatorCredential(tx, email)) !== null) continue;
      const createdAt = daysBefore(now, daysAgo);
      const operator = { id: idAt(createdAt), email, role, createdAt };
      await insertOperator(tx, operator, invited ? null : passwordHash);
      if (groups.length > 0) await updateOperatorGroups(tx, operator.id, groups);
      await note(tx, 'operator.invite', operator.id, createdAt, { email, role });
      if (!invited) continue;
      const hash = hashToken(newPassword());
      await insertInvitation(tx, {
        hash,
        operatorId: operator.id,
        createdAt,
        expiresAt: createdAt + 7 * DAY,
      });
    }
    const others = OPERATORS.filter(each => each.email !== ADMIN && !each.invited);
    return { email: ADMIN, password, others: others.map(({ email, role }) => ({ email, role })) };
  });
}

/** Five groups of four characters, without those that look alike. This gives 98 bits. */
function newPassword(): string {
  const group = () => Array.from({ length: 4 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return Array.from({ length: 5 }, group).join('-');
}
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

async function addResidents(tx: Transaction, now: number): Promise<Resident[]> {
  const taken = new Set((await listPolicies(tx, 1000, 'z')).map(each => each.name));
  const policies = new Map<string, Resident['policyAt']>();
  for (const policy of POLICIES)
    policies.set(policy.name, await addPolicy(tx, policy, freeName(policy.name, taken), now));
  const residents: Resident[] = [];
  for (const agent of AGENTS) {
    const policyAt = policies.get(agent.policy) as Resident['policyAt'];
    const shadowAt = shadowOf(agent, policies, now);
    const keyId = await addKey(tx, agent, policyAt(now).id, now, shadowAt(now)?.id);
    for (const server of agent.servers)
      await addServer(tx, server, keyId, daysBefore(now, agent.daysAgo), now);
    residents.push({ agent, keyId, policyAt, shadowAt });
  }
  const { policy, revokedDaysAgo, ...retired } = RETIRED;
  const policyId = policies.get(policy)?.(now).id ?? '';
  const id = await addKey(tx, { ...retired, requireSignInToApprove: false }, policyId, now);
  await revokeKey(tx, id, daysBefore(now, revokedDaysAgo));
  await note(tx, 'key.revoke', id, daysBefore(now, revokedDaysAgo), { name: retired.name });
  return residents;
}

function shadowOf(
  { shadow }: DemoAgent,
  policies: ReadonlyMap<string, Resident['policyAt']>,
  now: number,
): Resident['shadowAt'] {
  const policyAt = policies.get(shadow?.policy ?? '');
  if (shadow === undefined || policyAt === undefined) return () => null;
  return at => (at < daysBefore(now, shadow.daysAgo) ? null : policyAt(at));
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name} ${number}`;
  return free;
}

async function addPolicy(
  tx: Transaction,
  { description, versions }: DemoPolicy,
  name: string,
  now: number,
): Promise<Resident['policyAt']> {
  const times = versions.map(each => daysBefore(now, each.daysAgo));
  const [createdAt = now] = times;
  const id = idAt(createdAt);
  const updatedAt = times.at(-1) ?? now;
  await insertPolicy(tx, { id, name, description, version: versions.length, createdAt, updatedAt });
  const compiled: { at: number; policy: CompiledPolicy }[] = [];
  for (const [index, { rules, limits = {} }] of versions.entries()) {
    const version = index + 1;
    const at = times[index] as number;
    await insertPolicyVersion(tx, id, {
      version,
      name,
      rules,
      limits,
      text: null,
      createdAt: at,
      createdBy: BY,
    });
    const action = version === 1 ? 'policy.create' : 'policy.update';
    await note(tx, action, id, at, { name, version, rules: rules.length });
    compiled.push({ at, policy: compilePolicy({ id, version, name, rules, limits }) });
  }
  return at => (compiled.findLast(each => each.at <= at) ?? compiled[0])?.policy as CompiledPolicy;
}

async function addKey(
  tx: Transaction,
  agent: Pick<DemoAgent, 'name' | 'daysAgo' | 'requireSignInToApprove' | 'shadow'>,
  policyId: string,
  now: number,
  shadowPolicyId: string | null = null,
): Promise<string> {
  const { name, daysAgo, requireSignInToApprove, shadow } = agent;
  const createdAt = daysBefore(now, daysAgo);
  const { hash, prefix } = mintToken('key');
  const id = idAt(createdAt);
  const rest = {
    shadowPolicyId,
    notifyEncrypted: null,
    forward: [],
    openTo: [],
    createdAt,
    expiresAt: null,
    revokedAt: null,
  };
  await insertKey(tx, { id, name, prefix, policyId, requireSignInToApprove, ...rest }, hash);
  await note(tx, 'key.create', id, createdAt, { name, policyId });
  if (shadow !== undefined && shadowPolicyId !== null)
    await note(tx, 'key.update', id, daysBefore(now, shadow.daysAgo), {
      changed: ['shadowPolicyId'],
      shadowPolicyId,
    });
  return id;
}

async function addServer(
  tx: Transaction,
  { name, url, tools }: DemoServer,
  keyId: string,
  createdAt: number,
  now: number,
): Promise<void> {
  const id = idAt(createdAt);
  const tool = {
    id,
    keyId,
    name,
    transport: 'http' as const,
    target: url,
    headersEncrypted: null,
    oauthEncrypted: null,
    oauthAs: null,
    authorizationServer: null,
    updatedAt: null,
    createdAt,
  };
  await insertConnectedTool(tx, tool);
  await note(tx, 'connected-tool.create', id, createdAt, { keyId, name });
  for (const each of tools) {
    const pin = definition(each.name, each.description);
    pinDefinition(tx, { connectedToolId: id, toolName: each.name, seenAt: createdAt, ...pin });
    if (each.changedTo === undefined) continue;
    markDrift(tx, id, each.name, { ...definition(each.name, each.changedTo), at: daysBefore(now, 2.3) });
  }
}

function definition(name: string, description: string): { digest: string; definition: string } {
  const shown = { name, description, inputSchema: { type: 'object', additionalProperties: true } };
  return { digest: hashToken(canonicalJson(shown)), definition: JSON.stringify(shown) };
}

function note(
  tx: Transaction,
  action: string,
  target: string,
  at: number,
  detail: Record<string, unknown>,
): Promise<void> {
  return insertChange(tx, { id: idAt(at), at, actor: BY, action, target, detail });
}
