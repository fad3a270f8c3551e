// What is known about a question from what is stored anyway: the tool, the rule that asks, how earlier questions about the
// tool ended, and what the agent did just before. People read it before they answer.

import type { Decision } from '../../core/decision/decide.ts';
import { conditionsOf, type Rule } from '../../core/policy/policy.ts';
import { isObject } from '../../core/wire/json.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import { type Earlier, earlierApprovals } from '../../store/earlier-approvals.ts';
import type { Queries } from '../../store/engine/db.ts';
import { findKey } from '../../store/keys.ts';
import { findAudit, firstIdAt } from '../../store/log/audit.ts';
import { searchAudit } from '../../store/log/audit-search.ts';
import { findPolicyVersion } from '../../store/policies.ts';
import type { RunMark } from '../../store/runs.ts';
import { findSession } from '../../store/sessions.ts';
import { findDefinition } from '../../store/tool-definitions.ts';
import type { Deps } from '../deps.ts';
import { AFTER_EVERY_ID } from '../ids.ts';

/** The rule that asks, in the version of the policy that was in force. */
interface AskingRule {
  policyId: string;
  policyName: string;
  policyVersion: number;
  index: number;
  name: string | null;
  tool: string;
  action: Rule['action'];
  when: readonly string[];
  reason: string | null;
}

export interface Context {
  /** Null if the service does not forward the call itself. */
  toolDescription: string | null;
  /** Whether the tool's definition differs from the accepted one. */
  drifted: boolean;
  /** What has the tool. Null if the service does not forward the call itself. */
  connectedTool: { id: string; toolServerId: string | null } | null;
  rule: AskingRule | null;
  /** The questions of the same key about the same tool, in the 30 days before this one. */
  earlier: Earlier;
  /** The last calls of the session, or of the key. */
  recentCalls: { at: number; serverName: string; toolName: string; decision: Decision }[];
  keyName: string;
  sessionLabel: string | null;
  /** What the run had read when it asked. */
  marks: RunMark[];
}

const EARLIER_MS = 30 * 86_400_000;
const RECENT_CALLS = 10;
const DESCRIPTION_CHARS = 2000;

export async function contextOf(deps: Deps, approval: ApprovalRecord): Promise<Context> {
  const { db } = deps;
  const { keyId, sessionId } = approval;
  const [definition, rule, earlier, recent, key, session] = await Promise.all([
    findDefinition(db, approval),
    ruleOf(deps, approval),
    earlierApprovals(db, approval, firstIdAt(approval.createdAt - EARLIER_MS)),
    searchAudit(db, sessionId === null ? { keyId } : { sessionId }, RECENT_CALLS, AFTER_EVERY_ID),
    findKey(db, keyId),
    sessionId === null ? null : findSession(db, sessionId),
  ]);
  return {
    toolDescription: definition === null ? null : descriptionIn(definition.definition),
    drifted: definition?.drifted ?? false,
    connectedTool: definition && { id: definition.connectedToolId, toolServerId: definition.toolServerId },
    rule,
    earlier,
    recentCalls: recent.entries.map(({ at, serverName, toolName, decision }) => ({
      at,
      serverName,
      toolName,
      decision,
    })),
    keyName: key?.name ?? '',
    sessionLabel: session?.label || null,
    marks: marksOf(approval),
  };
}

/** The marks that the run had when it asked, the oldest first. */
export function marksOf({ runMarks }: Pick<ApprovalRecord, 'runMarks'>): RunMark[] {
  const marks: RunMark[] = runMarks === null ? [] : JSON.parse(runMarks);
  return marks.sort((a, b) => a.since - b.since || (a.name < b.name ? -1 : 1));
}

/** A definition is what the tool server sent, so it may say anything. */
function descriptionIn(definition: string): string | null {
  const read: unknown = JSON.parse(definition);
  const description = isObject(read) ? read['description'] : null;
  if (typeof description !== 'string' || description === '') return null;
  if (description.length <= DESCRIPTION_CHARS) return description;
  return `${description.slice(0, DESCRIPTION_CHARS).toWellFormed()}…`;
}

/** A policy can be large, and a version of it never changes, so the rules that were looked for last are remembered. */
const known = new Map<string, AskingRule>();
const MOST_KNOWN = 1000;

async function ruleOf({ db }: Deps, { toolCallId }: ApprovalRecord): Promise<AskingRule | null> {
  const entry = await findAudit(db, toolCallId);
  if (entry === null || entry.ruleIndex === null) return null;
  const { policyId, policyVersion, ruleIndex: index } = entry;
  const place = `${policyId} ${policyVersion} ${index}`;
  const found = known.get(place) ?? (await readRule(db, policyId, policyVersion, index));
  if (found === null) return null;
  known.delete(place);
  known.set(place, found);
  for (const oldest of known.keys()) {
    if (known.size <= MOST_KNOWN) break;
    known.delete(oldest);
  }
  return found;
}

async function readRule(
  db: Queries,
  policyId: string,
  policyVersion: number,
  index: number,
): Promise<AskingRule | null> {
  const policy = await findPolicyVersion(db, policyId, policyVersion);
  const rule = policy?.rules[index];
  if (policy === null || rule === undefined) return null;
  const { name = null, tool, action, reason = null } = rule;
  const when = conditionsOf(rule);
  return { policyId, policyName: policy.name, policyVersion, index, name, tool, action, when, reason };
}
