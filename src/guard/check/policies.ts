// Creates policies, replaces them by new versions, and deletes those that no key uses. Compiled versions are kept in
// memory; a version never changes, so a kept one is never stale.

import type { Channels } from '../../core/channels/channels.ts';
import { GuardError, invalidInput } from '../../core/errors.ts';
import { isKnownChannel, unknownChannel } from '../../core/policy/channel.ts';
import { type CompiledPolicy, compilePolicy } from '../../core/policy/compiled-policy.ts';
import type { Limits, Rule } from '../../core/policy/policy.ts';
import type { ResultEntry } from '../../core/policy/result-fields.ts';
import { type Fault, policyFaults } from '../../core/policy/rule-faults.ts';
import { durationText, parseDuration } from '../../core/time/duration.ts';
import { type Queries, type Transaction, UniqueViolation } from '../../store/engine/db.ts';
import { keysShadowedBy, policyInUse } from '../../store/keys.ts';
import {
  findPolicy,
  insertPolicy,
  insertPolicyVersion,
  markPolicyDeleted,
  type PolicyRecord,
  type PolicyVersion,
  updatePolicy,
} from '../../store/policies.ts';
import { recordChange } from '../changes.ts';
import { compiledVersion } from '../compiled-version.ts';
import type { Actor, Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { POLICIES_LOCK } from '../locks.ts';

/** What a version of a policy says. */
interface Content {
  rules: readonly Rule[];
  limits?: Limits | undefined;
  results?: readonly ResultEntry[] | undefined;
  /** The text that all of this was written in. */
  text?: string | undefined;
}

interface PolicyInput extends Content {
  name: string;
  description: string;
}

export function createPolicy(deps: Deps, actor: Actor, input: PolicyInput): Promise<PolicyRecord> {
  return namedOnce(input.name, () =>
    deps.db.transaction({ exclusive: [POLICIES_LOCK] }, tx => addPolicy(tx, deps, actor, input)),
  );
}

export async function addPolicy(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  input: PolicyInput,
): Promise<PolicyRecord> {
  requireUsable(deps, input);
  const now = deps.now();
  const { name, description, rules } = input;
  const policy = { id: newId(), name, description, version: 1, createdAt: now, updatedAt: now };
  await insertPolicy(tx, policy);
  await insertPolicyVersion(tx, policy.id, version(policy, input, actor));
  await recordChange(tx, deps, actor, 'policy.create', policy.id, { name, rules: rules.length });
  return policy;
}

interface PolicyChange extends Content {
  name?: string | undefined;
  description?: string | undefined;
  /** The version that the caller wants to replace. If it is left out, the current version is replaced. */
  version?: number | undefined;
}

/** Saves a new version. Every check that starts after this has returned is decided by it. */
export async function replacePolicy(
  deps: Deps,
  actor: Actor,
  id: string,
  input: PolicyChange,
): Promise<PolicyRecord> {
  requireUsable(deps, input);
  const now = deps.now();
  return namedOnce(input.name ?? '', () =>
    deps.db.transaction({ exclusive: [POLICIES_LOCK] }, async tx => {
      const current = await findPolicy(tx, id);
      if (current === null) throw noSuchPolicy();
      if (input.version !== undefined && input.version !== current.version) {
        throw new GuardError(
          'conflict',
          `Version ${current.version} was saved meanwhile. Look at it before you replace it.`,
        );
      }
      const policy: PolicyRecord = {
        ...current,
        name: input.name ?? current.name,
        description: input.description ?? current.description,
        version: current.version + 1,
        updatedAt: now,
      };
      await insertPolicyVersion(tx, id, version(policy, input, actor));
      await updatePolicy(tx, policy);
      await recordChange(tx, deps, actor, 'policy.update', id, {
        name: policy.name,
        version: policy.version,
        rules: input.rules.length,
      });
      return policy;
    }),
  );
}

export async function deletePolicy(deps: Deps, actor: Actor, id: string): Promise<void> {
  await deps.db.transaction({ exclusive: [POLICIES_LOCK] }, async tx => {
    const policy = await findPolicy(tx, id);
    if (policy === null) throw noSuchPolicy();
    if (await policyInUse(tx, id)) {
      throw new GuardError(
        'conflict',
        'Keys use this policy. Attach them to another one or revoke them first.',
      );
    }
    requireNoShadow(await keysShadowedBy(tx, id, MOST_NAMED + 1));
    await markPolicyDeleted(tx, id, deps.now());
    await recordChange(tx, deps, actor, 'policy.delete', id, { name: policy.name });
  });
}

const MOST_NAMED = 3;

function requireNoShadow(keys: readonly string[]): void {
  if (keys.length === 0) return;
  const named = keys.slice(0, MOST_NAMED).map(name => `"${name}"`);
  const all = keys.length > MOST_NAMED ? `${named.join(', ')} and others` : named.join(', ');
  throw new GuardError(
    'conflict',
    `This policy is the shadow of these keys: ${all}. Give them another shadow or none, or revoke them first.`,
  );
}

/** This is more than one group of checks can use, so that no version is dropped before the group has used it. */
const KEPT_VERSIONS = 1000;

/** Compiled policies, one version of each. The least recently used are dropped first. */
export class CompiledPolicies {
  readonly #kept = new Map<string, CompiledPolicy>();

  /** Reads the versions that are not kept. One that is missing or unreadable fails only the checks that need it. */
  async load(db: Queries, wanted: Iterable<{ policyId: string; policyVersion: number }>): Promise<void> {
    for (const { policyId, policyVersion } of wanted) {
      const kept = this.#kept.get(policyId);
      const compiled =
        kept?.version === policyVersion ? kept : await compiledVersion(db, policyId, policyVersion);
      this.#kept.delete(policyId);
      if (compiled === null) continue;
      this.#kept.set(policyId, compiled);
      if (this.#kept.size > KEPT_VERSIONS) this.#kept.delete(this.#kept.keys().next().value as string);
    }
  }

  /** A version that `load` was just called with, or null if the store has none that can be read. */
  get(policyId: string, version: number): CompiledPolicy | null {
    const kept = this.#kept.get(policyId);
    return kept?.version === version ? kept : null;
  }
}

export function noSuchPolicy(): GuardError {
  return new GuardError('not_found', 'There is no policy with this id.');
}

function version(policy: PolicyRecord, content: Content, actor: Actor): PolicyVersion {
  const { rules, limits = {}, results = [], text = null } = content;
  const { version, name, updatedAt } = policy;
  return { version, name, rules, limits, results, text, createdAt: updatedAt, createdBy: actor };
}

/** Makes a draft of a policy ready for decisions. It is refused with the same words as if it were saved. */
export function compileDraft(deps: Deps, { id, name }: PolicyRecord, draft: Content): CompiledPolicy {
  requireUsable(deps, draft);
  const { rules, limits = {}, results = [] } = draft;
  return compilePolicy({ id, name, version: 0, rules, limits, results });
}

/** Refuses a policy by which calls could not be decided, or whose questions would reach nobody. */
function requireUsable({ settings }: Deps, { rules, limits = {}, results = [] }: Content): void {
  const wrong = policyFaults(rules, limits, results);
  const faults = wrong.length > 0 ? wrong : unheardFaults(rules, settings);
  if (faults.length > 0) throw invalidInput(faults.slice(0, MOST_FAULTS).map(inputFault));
}

function unheardFaults(rules: readonly Rule[], { channels, approvalTimeout }: Deps['settings']): Fault[] {
  return [
    ...channelFaults(rules, channels),
    ...rules.flatMap((rule, index) => lateFaults(rule, index, approvalTimeout)),
  ];
}

/** A rule that has a timeout of its own was checked without the settings. */
function lateFaults({ escalate, timeout }: Rule, index: number, lifetime: number): Fault[] {
  if (escalate === undefined || timeout !== undefined) return [];
  if ((parseDuration(escalate.after) ?? 0) < lifetime) return [];
  const message =
    `the rule tells further channels after ${escalate.after}, but its question lapses after ${durationText(lifetime)} ` +
    '(TOOLGATE_APPROVAL_TIMEOUT), so they would never be told. Shorten "after", or give the rule a longer "timeout".';
  return [{ path: ['rules', index, 'escalate', 'after'], message, offset: null }];
}

/** Of many unknown names only a few are compared with all channels. */
function channelFaults(rules: readonly Rule[], channels: Channels): Fault[] {
  const named = rules.flatMap(({ notify = [], escalate }, index) => [
    ...notify.map((name, at) => ({ name, path: ['rules', index, 'notify', at] })),
    ...(escalate?.notify ?? []).map((name, at) => ({
      name,
      path: ['rules', index, 'escalate', 'notify', at],
    })),
  ]);
  const unknown = named.filter(({ name }) => !isKnownChannel(channels, name)).slice(0, MOST_FAULTS);
  return unknown.map(({ name, path }) => ({ path, message: unknownChannel(channels, name), offset: null }));
}
const MOST_FAULTS = 20;

function inputFault({ path, message, offset }: Fault): { path: string; message: string } {
  const pointer = path.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return { path: pointer, message: offset === null ? message : `at character ${offset + 1}: ${message}` };
}

async function namedOnce<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new GuardError('conflict', `There is a policy named "${name}" already.`, { cause: error });
  }
}
