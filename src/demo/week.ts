// Invents a week of calls: verdicts, approvals with their answers, and grants. core/decision/decide.ts makes the
// decisions. Ids carry the time at which a thing happened, as in a store that was really in use. write.ts writes the week.

import { type Considered, consider } from '../core/decision/consider.ts';
import { decide, type Freedom } from '../core/decision/decide.ts';
import { recordedReason } from '../core/decision/recorded-reason.ts';
import { shownEntry } from '../core/log/entry.ts';
import type { CompiledPolicy } from '../core/policy/compiled-policy.ts';
import { countsUntil } from '../core/policy/limit.ts';
import type { ToolCall } from '../core/policy/situation.ts';
import { joinName, splitName } from '../core/text/name.ts';
import { DAY, HOUR, MINUTE } from '../core/time/duration.ts';
import { limitId } from '../guard/check/limits.ts';
import { ruleDigest } from '../guard/rule-digest.ts';
import type { ApprovalRecord } from '../store/approvals.ts';
import type { GrantRecord } from '../store/grants.ts';
import type { LimitCount } from '../store/limits.ts';
import type { AuditEntry } from '../store/log/audit-entry.ts';
import type { OutcomeRecord } from '../store/log/outcomes.ts';
import { NOBODY, type SessionRecord } from '../store/sessions.ts';
import { ARGUMENTS, type DemoAgent } from './agents.ts';
import { ADMIN, NOTES, OPERATORS, WAITING } from './scenario.ts';

const RUN_MS = 4 * HOUR;
/** The facts of a call about which nothing else is known. */
const PLAIN = { drift: null, approvalLimit: null, usedUp: false };
const UNBOUND = { definitionDigest: null, sessionId: null, samePaths: null, sameDigest: null, used: 0 };
const UNANSWERED = {
  ...{
    resolvedAt: null,
    resolvedBy: null,
    grantExpiresAt: null,
    spentAt: null,
    withdrawnAt: null,
    note: null,
  },
  ...{ personId: null, personEmail: null, proof: null, valueDigests: null, runId: null, runMarks: null },
};

/** An agent with its key and policy in the store. */
export interface Resident {
  agent: DemoAgent;
  keyId: string;
  /** The version of its policy that was current at a time. */
  policyAt: (at: number) => CompiledPolicy;
  /** The same of its shadow; null where it had none. */
  shadowAt: (at: number) => CompiledPolicy | null;
}

/** The time that is `days` before `now`, in whole milliseconds. */
export function daysBefore(now: number, days: number): number {
  return Math.floor(now - days * DAY);
}

/** An id that carries the given time. */
export function idAt(ms: number): string {
  return Bun.randomUUIDv7('hex', ms);
}

/** A random number generator that gives the same numbers every time. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

export class Week {
  readonly entries: AuditEntry[] = [];
  readonly approvals: ApprovalRecord[] = [];
  readonly grants: GrantRecord[] = [];
  readonly outcomes: OutcomeRecord[] = [];
  readonly sessions = new Map<string, SessionRecord>();
  readonly counts = new Map<string, LimitCount>();
  readonly #now: number;
  readonly #timeout: number;
  readonly #roll = dice(7);

  constructor(residents: readonly Resident[], now: number, timeout: number) {
    this.#now = now;
    this.#timeout = timeout;
    for (const resident of residents) this.#live(resident);
    for (const { agent, tool, minutesAgo } of WAITING) {
      const resident = residents.find(each => each.agent.name === agent) as Resident;
      const entry = this.#record(resident, splitName(tool) as ToolCall, now - minutesAgo * MINUTE, null);
      if (entry.decision === 'pending') this.#question(resident, entry);
    }
  }

  /** Makes the calls of one agent, hour by hour. */
  #live(resident: Resident): void {
    const { agent } = resident;
    for (let hour = this.#now - 7 * DAY; hour < this.#now; hour += HOUR) {
      const expected = agent.perHour * busyness(agent, hour) * (0.7 + 0.6 * this.#roll());
      const count = Math.floor(expected + this.#roll());
      const times = Array.from({ length: count }, () => Math.floor(hour + this.#roll() * HOUR)).sort();
      for (const at of times.filter(each => each < this.#now)) this.#call(resident, at);
    }
  }

  /** Makes a call of one of its tools. */
  #call(resident: Resident, at: number): void {
    const { calls } = resident.agent;
    const call = splitName(calls[Math.floor(this.#roll() * calls.length)] ?? '') as ToolCall;
    const grant = this.grants.find(
      ({ keyId, toolName, createdAt, expiresAt }) =>
        keyId === resident.keyId && toolName === call.toolName && createdAt <= at && expiresAt > at,
    );
    const freedom = grant ? ({ kind: 'grant', referenceId: grant.referenceId } as const) : null;
    const entry = this.#record(resident, call, at, freedom);
    if (entry.decision === 'pending') this.#answer(resident, this.#question(resident, entry));
  }

  #record(resident: Resident, call: ToolCall, at: number, freedom: Freedom | null): AuditEntry {
    const { agent, keyId } = resident;
    const { surface } = agent;
    const args = ARGUMENTS[joinName(call.serverName, call.toolName)];
    const nobody = { session: null, person: null, annotations: null };
    const situation = { now: at, surface, args, keyId, keyName: agent.name, ...nobody };
    const judge = (policy: CompiledPolicy) => {
      const considered = consider(policy, call, null, situation);
      const { decision, reason, ruleIndex } = decide(considered, { ...PLAIN, freedom });
      const verdict = { policyId: policy.id, policyVersion: policy.version, decision, ruleIndex };
      return { considered, reason, verdict };
    };
    const { considered, reason, verdict } = judge(resident.policyAt(at));
    const shadow = resident.shadowAt(at);
    const entry: AuditEntry = {
      ...{
        id: idAt(at),
        at,
        keyId,
        sessionId: this.#session(resident, at),
        personId: null,
        surface,
        ...call,
      },
      ...{ ...verdict, reason: recordedReason(reason), referenceId: freedom?.referenceId ?? null },
      // Usually one or two milliseconds, and occasionally more, as with a slow disk.
      latencyMs: Math.round(this.#roll() > 0.995 ? 12 + 25 * this.#roll() : 1 + 3 * this.#roll() ** 3),
      shadow: shadow && judge(shadow).verdict,
      traceId: null,
      runId: null,
      marks: null,
    };
    this.entries.push(entry);
    if (entry.decision === 'allow') this.#count(considered, keyId, at);
    if (entry.decision === 'allow' && surface === 'mcp') this.outcomes.push(this.#outcome(entry));
    return entry;
  }

  #count({ meter, policy }: Considered, keyId: string, at: number): void {
    if (meter === null || meter.subject === null) return;
    const { subject, units } = meter;
    const { name, limit } = meter.limit;
    const of = { limitId: limitId(policy.id, name, limit), subject, endsAt: countsUntil(limit, at) };
    const id = JSON.stringify(of);
    const amount = (this.counts.get(id)?.amount ?? 0) + units;
    this.counts.set(id, { ...of, amount, policyId: policy.id, name, keyId });
  }

  #outcome({ id: toolCallId, at }: AuditEntry): OutcomeRecord {
    const luck = this.#roll();
    const outcome = luck > 0.995 ? 'timed_out' : luck > 0.97 ? 'tool_error' : 'ok';
    const durationMs = outcome === 'timed_out' ? 55_000 : Math.round(40 + 900 * this.#roll() ** 3);
    return { toolCallId, outcome, durationMs, at: at + durationMs, result: null };
  }

  /** Asks for an approval. Its details are never stored; live.ts makes up those of calls that wait. */
  #question({ policyAt }: Resident, entry: AuditEntry): ApprovalRecord {
    const id = idAt(entry.at);
    entry.referenceId = id;
    const { keyId, sessionId, policyId, surface, serverName, toolName, at } = entry;
    const { reason } = shownEntry(entry);
    const rule = policyAt(at).rules[entry.ruleIndex ?? -1];
    const approval: ApprovalRecord = {
      ...{ id, toolCallId: entry.id, keyId, sessionId, policyId, surface, serverName, toolName, reason },
      ...{ argsDigest: '', definitionDigest: null, ruleDigest: rule ? ruleDigest(rule) : null },
      ...{ status: 'pending', createdAt: at, expiresAt: at + this.#timeout, ...UNANSWERED },
      shows: rule?.show || rule?.ask ? 1 : 0,
      approverGroup: rule?.approvers?.group ?? null,
      votesNeeded: rule?.approvers?.count ?? 1,
    };
    this.approvals.push(approval);
    return approval;
  }

  /** Most questions are approved, some for a while, and some are not answered in time. */
  #answer(resident: Resident, approval: ApprovalRecord): void {
    if (approval.approverGroup !== null) return;
    const luck = this.#roll();
    const resolvedAt = Math.floor(approval.createdAt + MINUTE + this.#roll() ** 2 * 30 * MINUTE);
    if (luck > 0.88 && approval.expiresAt < this.#now) {
      Object.assign(approval, { status: 'timed_out', resolvedAt: approval.expiresAt });
    } else if (resolvedAt < Math.min(this.#now, approval.expiresAt)) {
      const status = luck > 0.7 ? 'denied' : 'approved';
      const note = status === 'denied' ? (NOTES[this.approvals.length % 4] ?? null) : null;
      Object.assign(approval, { status, resolvedAt, resolvedBy: this.#answerer(resident.agent), note });
      if (status === 'approved') this.#free(resident, approval, resolvedAt);
    }
  }

  #answerer({ requireSignInToApprove }: DemoAgent): string {
    if (!requireSignInToApprove && this.#roll() < 0.5) return 'link';
    const approvers = OPERATORS.filter(each => each.role === 'approver');
    return `operator:${approvers[Math.floor(this.#roll() * approvers.length)]?.email ?? ADMIN}`;
  }

  /** Opens a grant, or frees the one call, which is then repeated. */
  #free(resident: Resident, approval: ApprovalRecord, at: number): void {
    const { id: referenceId, keyId, serverName, toolName, ruleDigest, resolvedBy: openedBy } = approval;
    if (this.#roll() < 0.2) {
      const expiresAt = at + ([1, 4, 8, 24][Math.floor(this.#roll() * 4)] ?? 1) * HOUR;
      approval.grantExpiresAt = expiresAt;
      const about = { referenceId, keyId, serverName, toolName, ruleDigest, openedBy };
      this.grants.push({ id: idAt(at), ...about, ...UNBOUND, createdAt: at, expiresAt });
      return;
    }
    const again = Math.floor(at + 2000 + this.#roll() * 40_000);
    if (again >= this.#now) return;
    this.#record(resident, { serverName, toolName }, again, { kind: 'approval', referenceId });
    approval.spentAt = again;
  }

  /** The session of a run of a few hours. */
  #session({ agent, keyId }: Resident, at: number): string {
    const run = Math.floor(at / RUN_MS);
    const known = this.sessions.get(`${keyId} ${run}`);
    if (known !== undefined) return known.id;
    // A run begins a few minutes before its first call, and never at a round time.
    const createdAt = run * RUN_MS - ((run * 7919) % (9 * MINUTE));
    const label = agent.runs[run % agent.runs.length] ?? '';
    const session = { id: idAt(createdAt), keyId, prefix: '', label, scopeTools: null, revokedAt: null };
    const expiresAt = createdAt + RUN_MS + 10 * MINUTE;
    this.sessions.set(`${keyId} ${run}`, { ...session, ...NOBODY, createdAt, expiresAt });
    return session.id;
  }
}

/** From 0 to 1: a working day is busiest in the morning and in the afternoon. */
function busyness({ officeHours }: DemoAgent, at: number): number {
  const time = new Date(at);
  const hour = time.getHours();
  const isWeekend = time.getDay() === 0 || time.getDay() === 6;
  const daylight = Math.exp(-(((hour - 10.5) / 2.6) ** 2)) + 0.9 * Math.exp(-(((hour - 15.5) / 2.4) ** 2));
  if (officeHours) return (isWeekend ? 0.3 : 1) * (0.04 + daylight);
  return (isWeekend ? 0.7 : 1) * (0.25 + 0.8 * daylight);
}
