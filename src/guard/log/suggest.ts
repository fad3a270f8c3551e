// Suggests a policy for a key from what is counted of its calls. core/foresight/suggest.ts writes it; this file reads
// what it is made from: the calls, what people answered, and the tools that the key's servers offer.

import { GuardError } from '../../core/errors.ts';
import { seenCall } from '../../core/foresight/decided-by.ts';
import { isEarlier } from '../../core/foresight/evidence.ts';
import { byName, SeenTools } from '../../core/foresight/seen-tools.ts';
import { type Seen, suggestedPolicy, UNUSED_MS } from '../../core/foresight/suggest.ts';
import type { Outcomes } from '../../core/foresight/suggestion-remarks.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import type { Rule } from '../../core/policy/policy.ts';
import { listConnectedTools } from '../../store/connected-tools.ts';
import { answersByRule } from '../../store/earlier-approvals.ts';
import type { Queries } from '../../store/engine/db.ts';
import { findKey, type KeyRecord } from '../../store/keys.ts';
import { firstIdAt } from '../../store/log/audit.ts';
import { findPolicy } from '../../store/policies.ts';
import { listToolNames } from '../../store/tool-definitions.ts';
import { compiledVersion } from '../compiled-version.ts';
import type { Deps } from '../deps.ts';
import { noSuchKey } from '../keys.ts';
import { ruleDigest } from '../rule-digest.ts';
import { byVersion, countedCalls } from './counted-calls.ts';
import { inTurn, nextTurn, Slices } from './long-reads.ts';

/** The most tools that are read of what all servers of the key offer. */
const MOST_OFFERED = 10_000;
/** What people answered is read for so many tools: those about which they were asked most often. */
const MOST_ASKED = 200;

/** The text of a policy for what the key did since a time. */
export async function suggestPolicy(deps: Deps, keyId: string, from: number): Promise<string> {
  const key = await findKey(deps.db, keyId);
  if (key === null) throw noSuchKey();
  return inTurn(() => suggestion(deps, key, from));
}

async function suggestion(deps: Deps, key: KeyRecord, from: number): Promise<string> {
  const { db, now } = deps;
  const policy = await currentPolicy(db, key.policyId);
  const to = now();
  const seen = await seenSince(deps, key.id, policy, from, to);
  const unusedFrom = to - UNUSED_MS;
  const longer = unusedFrom < from ? await seenSince(deps, key.id, policy, unusedFrom, to) : seen;
  const outcomes = await outcomesOf(db, key.id, policy, seen);
  const offered = await offeredTo(db, key.id);
  const steps = suggestedPolicy({ ...seen, keyName: key.name, policy, outcomes, longer, offered });
  const slices = new Slices();
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) await slices.next();
  return step.value;
}

async function currentPolicy(db: Queries, id: string): Promise<CompiledPolicy> {
  const record = await findPolicy(db, id);
  const policy = record && (await compiledVersion(db, id, record.version));
  if (policy !== null) return policy;
  throw new GuardError('conflict', 'The policy of this key cannot be read, and a suggestion begins with it.');
}

type Counted = Pick<Seen, 'from' | 'to' | 'tools' | 'unidentified' | 'earlier'>;

/** The calls of the key. Those of one policy version are looked at together, so that it is read once. */
async function seenSince(
  deps: Deps,
  keyId: string,
  policy: CompiledPolicy,
  since: number,
  until: number,
): Promise<Counted> {
  const { from, to, calls, others } = await countedCalls(deps, { keyId }, since, until);
  const tools = new SeenTools(policy.index);
  const slices = new Slices();
  let earlier = 0;
  for (const group of byVersion(calls)) {
    const recorded = await compiledVersion(deps.db, group[0].policyId, group[0].policyVersion);
    for (const call of group) {
      const seen = seenCall(call, recorded, policy);
      if (seen !== null) tools.add(seen);
      if (isEarlier(call)) earlier += call.count;
      await slices.next();
    }
  }
  return { from, to, tools, unidentified: others, earlier };
}

/**
 * What people answered about the tools of the key, in the time that was counted, for each rule of the current policy that
 * asked. Questions may also come from a limit that was used up, or from a rule that is gone: they say nothing about others.
 */
async function outcomesOf(
  db: Queries,
  keyId: string,
  { rules }: CompiledPolicy,
  { tools, from, to }: Counted,
): Promise<Outcomes[]> {
  const asked = [...tools.all()]
    .filter(tool => tool.counts.pending > 0)
    .sort((a, b) => b.counts.pending - a.counts.pending || byName(a, b))
    .slice(0, MOST_ASKED);
  const outcomes: Outcomes[] = [];
  for (const { serverName, toolName, candidates } of asked) {
    const before = { id: firstIdAt(to), keyId, serverName, toolName };
    for (const { ruleDigest: digest, approved, refused } of await answersByRule(
      db,
      before,
      firstIdAt(from),
    )) {
      const rule = candidates.find(index => ruleDigest(rules[index] as Rule) === digest);
      if (rule !== undefined) outcomes.push({ serverName, toolName, rule, approved, refused });
    }
    await nextTurn();
  }
  return outcomes;
}

async function offeredTo(db: Queries, keyId: string): Promise<Seen['offered']> {
  const offered: { serverName: string; toolName: string }[] = [];
  for (const { sourceId, name: serverName } of await listConnectedTools(db, keyId)) {
    const names = await listToolNames(db, sourceId, MOST_OFFERED - offered.length);
    offered.push(...names.map(toolName => ({ serverName, toolName })));
    await nextTurn();
  }
  return offered;
}
