// What looks at the result of a call that was decided before, on this replica or another: the policy version that decided
// the call, and its run. The arguments of the call are gone, so conditions about them fail, and what depends on those is
// withheld.

import { Failure } from '../../core/condition/condition.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { resultsFor } from '../../core/results/results.ts';
import { findAudit } from '../../store/log/audit.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { findRun } from '../../store/runs.ts';
import { compiledVersion } from '../compiled-version.ts';
import type { Principal } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import type { Live } from './facts.ts';
import type { CompiledPolicies } from './policies.ts';
import type { Watched } from './request.ts';
import { runOf } from './runs.ts';
import { situationOf } from './situation.ts';
import { whileLive } from './while-live.ts';

/** Null if the policy has no say about the result. The caller has found out that the credential is valid, and whose the call is. */
export async function watchedAgain(
  deps: Deps,
  policies: CompiledPolicies,
  { principal, live }: { principal: Principal; live: Live },
  entry: AuditEntry,
): Promise<Watched | null> {
  const { serverName, toolName, surface, id: toolCallId } = entry;
  const now = deps.now();
  const policy = await versionOf(deps, policies, entry);
  const found = entry.runId === null ? null : await findRun(deps.db, entry.runId, now);
  const run = found && runOf(deps, found);
  const call: ToolCall = { serverName, toolName, unseen: true };
  const marks = entry.marks === null ? [] : entry.marks.split(' ');
  const facts = { marks, knows: run?.knows ?? (() => NOT_KNOWN) };
  const said = { principal, surface, args: undefined };
  const guard = resultsFor(policy, call, situationOf(live, said, { now, annotations: null, run: facts }));
  return guard && { guard, by: { serverName, toolName, toolCallId }, run };
}

/** The same of a call of this credential on `/mcp`, which is refused if it is not valid any more. */
export async function watchedCall(
  deps: Deps,
  policies: CompiledPolicies,
  principal: Principal,
  toolCallId: string,
): Promise<Watched | null> {
  const entry = await findAudit(deps.db, toolCallId);
  if (entry === null) throw new Error('the entry of the call cannot be read');
  const { serverName, toolName } = entry;
  const { compiledResults } = await versionOf(deps, policies, entry);
  if (!compiledResults?.matching({ serverName, toolName, unseen: true })) return null;
  const speaker = { principal, surface: entry.surface, run: undefined };
  const live = await whileLive(deps, speaker, async (_, found) => found);
  return watchedAgain(deps, policies, { principal, live }, entry);
}

/** The version of the policy that decided a call. */
export async function versionOf(
  { db }: Pick<Deps, 'db'>,
  policies: CompiledPolicies,
  { policyId, policyVersion }: Pick<AuditEntry, 'policyId' | 'policyVersion'>,
): Promise<CompiledPolicy> {
  const known = policies.get(policyId, policyVersion);
  const policy = known ?? (await compiledVersion(db, policyId, policyVersion));
  if (policy === null) throw unreadable();
  return policy;
}

export function unreadable(): Error {
  return new Error('the version of the policy that decided the call is missing or cannot be read');
}

const NOT_KNOWN = new Failure('It is not known any more.');
