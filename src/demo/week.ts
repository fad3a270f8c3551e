// Invents a week of calls: verdicts, approvals with their answers, and grants. core/decision/decide.ts makes the decisions. Ids
// carry the time at which a thing happened, as in a store that was really in use. write.ts writes the week.

import { type Considered, consider } from '../core/decision/consider.ts';
import { decide, type Freedom } from '../core/decision/decide.ts';
import type { CompiledPolicy } from '../core/policy/compiled-policy.ts';
import { countsUntil } from '../core/policy/limit.ts';
import { limitId } from '../guard/check/limits.ts';
import type { ApprovalRecord } from '../store/approvals.ts';
import type { GrantRecord } from '../store/grants.ts';
import type { LimitCount } from '../store/limits.ts';
import type { AuditEntry } from '../store/log/audit-entry.ts';
import type { OutcomeRecord } from '../store/log/outcomes.ts';
import { NOBODY, type SessionRecord } from '../store/sessions.ts';
import { ARGUMENTS, type DemoAgent } from './agents.ts';
import { ADMIN, NOTES, OPERATORS, WAITING } from './scenario.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const RUN_MS = 4 * HOUR;

export interface Week {
  entries: AuditEntry[];
  approvals: ApprovalRecord[];
  grants: GrantRecord[];
  outcomes: OutcomeRecord[];
  sessions: SessionRecord[];
  counts: LimitCount[];
}

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
export function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function liveWeek(residents: readonly Resident[], now: number, approvalTimeout: number): Week {
  const week = new Living(now, approvalTimeout);
  for (const resident of residents) week.live(resident);
  for (const { agent, server, tool, minutesAgo } of WAITING) {
    const resident = residents.find(each => each.agent.name === agent);
    if (resident !== undefined) week.wait(resident, server, tool, now - minutesAgo * MINUTE);
  }
  return week;
}

class Living implements Week {
  readonly entries: AuditEntry[] = [];
  readonly approvals: ApprovalRecord[] = [];
  readonly grants: GrantRecord[] = [];
  readonly outcomes: OutcomeRecord[] = [];
  readonly sessions: SessionRecord[] = [];
  readonly counts: LimitCount[] = [];
  readonly #now: number;
  readonly #timeout: number;
  readonly #roll = dice(7);

  constructor(now: number, timeout: number) {
    this.#now = now;
    this.#timeout = timeout;
  }

  /** Makes the calls of one agent, hour by hour. */
  live(resident: Resident): void {
    const { agent } = resident;
    for (let hour = this.#now - 7 * DAY; hour < this.#now; hour += HOUR) {
      const expected = agent.perHour * busyness(agent, hour) * (0.7 + 0.6 * this.#roll());
      const count = Math.floor(expected + this.#roll());
      const times = Array.from({ length: count }, () => Math.floor(hour + this.#roll() * HOUR)).sort();
      for (const at of times.filter(each => each < this.#now)) {
        const [server, tool] = this.#pick(agent);
        this.#call(resident, server, tool, at);
      }
    }
  }

  /** Makes a call whose approval is still waiting. */
  wait(resident: Resident, server: string, tool: string, at: number): void {
    const entry = this.#record(resident, server, tool, at, null);
    if (entry.decision === 'pending') this.approvals.push(this.#question(resident, entry));
  }

  #call(resident: Resident, server: string, tool: string, at: number): void {
    const grant = this.grants.find(
      each =>
        each.keyId === resident.keyId &&
        each.serverName === server &&
        each.toolName === tool &&
        each.createdAt <= at &&
        each.expiresAt > at,
    );
    const freedom: Freedom | null = grant ? { kind: 'grant', referenceId: grant.referenceId } : null;
    const entry = this.#record(resident, server, tool, at, freedom);
    if (entry.decision === 'pending') this.#ask(resident, entry);
  }

  #record(
    resident: Resident,
    serverName: string,
    toolName: string,
    at: number,
    freedom: Freedom | null,
  ): AuditEntry {
    const { agent, keyId } = resident;
    const policy = resident.policyAt(at);
    const situation = {
      now: at,
      surface: agent.surface,
      args: ARGUMENTS[toolName],
      keyId,
      keyName: agent.name,
      session: null,
      person: null,
      annotations: null,
    };
    const considered = consider(policy, { serverName, toolName }, null, situation);
    const facts = { drift: null, freedom, approvalLimit: null, usedUp: false };
    const made = decide(considered, facts);
    const shadow = resident.shadowAt(at);
    const judged = shadow && decide(consider(shadow, { serverName, toolName }, null, situation), facts);
    const entry: AuditEntry = {
      id: idAt(at),
      at,
      keyId,
      sessionId: this.#session(resident, at),
      personId: null,
      surface: agent.surface,
      serverName,
      toolName,
      decision: made.decision,
      reason: made.reason,
      policyId: policy.id,
      policyVersion: policy.version,
      ruleIndex: made.ruleIndex,
      referenceId: freedom?.referenceId ?? null,
      latencyMs: this.#latency(),
      shadow: shadow &&
        judged && {
          policyId: shadow.id,
          policyVersion: shadow.version,
          decision: judged.decision,
          ruleIndex: judged.ruleIndex,
        },
      traceId: null,
    };
    this.entries.push(entry);
    if (made.decision === 'allow') this.#count(considered, keyId, at);
    if (agent.surface === 'mcp' && made.decision === 'allow') this.outcomes.push(this.#outcome(entry));
    return entry;
  }

  #count({ meter, policy }: Considered, keyId: string, at: number): void {
    if (meter === null || meter.subject === null) return;
    const { subject, units: amount } = meter;
    const { name, limit } = meter.limit;
    const endsAt = countsUntil(limit, at);
    const id = limitId(policy.id, name, limit);
    const counted = this.counts.find(
      each => each.limitId === id && each.subject === subject && each.endsAt === endsAt,
    );
    if (counted !== undefined) counted.amount += amount;
    else this.counts.push({ limitId: id, subject, endsAt, amount, policyId: policy.id, name, keyId });
  }

  /** Usually one or two milliseconds, and occasionally more, as with a slow disk. */
  #latency(): number {
    const tail = this.#roll();
    return tail > 0.995 ? Math.round(12 + 25 * this.#roll()) : Math.round(1 + 3 * this.#roll() ** 3);
  }

  #outcome({ id: toolCallId, at }: AuditEntry): OutcomeRecord {
    const luck = this.#roll();
    const outcome = luck > 0.995 ? 'timed_out' : luck > 0.97 ? 'tool_error' : 'ok';
    const durationMs = outcome === 'timed_out' ? 55_000 : Math.round(40 + 900 * this.#roll() ** 3);
    return { toolCallId, outcome, durationMs, at: at + durationMs };
  }

  #question({ policyAt }: Resident, entry: AuditEntry): ApprovalRecord {
    const id = idAt(entry.at);
    entry.referenceId = id;
    const { keyId, sessionId, policyId, surface, serverName, toolName, reason, at } = entry;
    const about = { keyId, sessionId, policyId, surface, serverName, toolName, reason };
    const ends = { grantExpiresAt: null, spentAt: null, withdrawnAt: null };
    const answer = { resolvedAt: null, resolvedBy: null, note: null, ...ends };
    const { approvers, show, ask } = policyAt(at).rules[entry.ruleIndex ?? -1] ?? {};
    const answerers = { approverGroup: approvers?.group ?? null, votesNeeded: approvers?.count ?? 1 };
    const asked = {
      // Details are never stored; live.ts makes up those of calls that wait.
      shows: show === undefined && ask === undefined ? 0 : 1,
      personId: null,
      personEmail: null,
      proof: null,
      valueDigests: null,
      ...answerers,
    };
    const times = { createdAt: at, expiresAt: at + this.#timeout };
    return {
      id,
      toolCallId: entry.id,
      argsDigest: '',
      definitionDigest: null,
      ruleDigest: null,
      status: 'pending',
      ...about,
      ...times,
      ...answer,
      ...asked,
    };
  }

  /** Asks for an approval and answers it. Most are approved, some with a duration, and some are never answered. */
  #ask(resident: Resident, entry: AuditEntry): void {
    const approval = this.#question(resident, entry);
    this.approvals.push(approval);
    if (approval.approverGroup !== null) return;
    const luck = this.#roll();
    const resolvedAt = Math.floor(entry.at + MINUTE + this.#roll() ** 2 * 30 * MINUTE);
    if (luck > 0.88 && approval.expiresAt < this.#now) {
      Object.assign(approval, { status: 'timed_out', resolvedAt: approval.expiresAt });
    } else if (resolvedAt < Math.min(this.#now, approval.expiresAt)) {
      const by = this.#answerer(resident.agent);
      const status = luck > 0.7 ? 'denied' : 'approved';
      const note = status === 'denied' ? (NOTES[this.approvals.length % 4] ?? null) : null;
      Object.assign(approval, { status, resolvedAt, resolvedBy: by, note });
      if (status === 'approved') this.#free(resident, approval, resolvedAt);
    }
  }

  #answerer(agent: DemoAgent): string {
    if (!agent.requireSignInToApprove && this.#roll() < 0.5) return 'link';
    const approvers = OPERATORS.filter(each => each.role === 'approver');
    const one = approvers[Math.floor(this.#roll() * approvers.length)];
    return `operator:${one?.email ?? ADMIN}`;
  }

  /** Opens a grant, or frees the one call, which is then repeated. */
  #free(resident: Resident, approval: ApprovalRecord, at: number): void {
    const { id: referenceId, keyId, serverName, toolName } = approval;
    if (this.#roll() < 0.2) {
      const hours = [1, 4, 8, 24][Math.floor(this.#roll() * 4)] ?? 1;
      approval.grantExpiresAt = at + hours * HOUR;
      const grant = { referenceId, keyId, serverName, toolName, createdAt: at };
      const ends = { definitionDigest: null, ruleDigest: null, expiresAt: approval.grantExpiresAt };
      const unbound = { sessionId: null, samePaths: null, sameDigest: null };
      this.grants.push({
        id: idAt(at),
        ...grant,
        ...ends,
        ...unbound,
        openedBy: approval.resolvedBy,
        used: 0,
      });
      return;
    }
    const again = Math.floor(at + 2000 + this.#roll() * 40_000);
    if (again >= this.#now) return;
    this.#record(resident, serverName, toolName, again, { kind: 'approval', referenceId });
    approval.spentAt = again;
  }

  /** The session of a run of a few hours; null if the agent uses its key. */
  #session({ agent, keyId }: Resident, at: number): string | null {
    if (agent.runs.length === 0) return null;
    const run = Math.floor(at / RUN_MS);
    // A run begins a few minutes before its first call, and never at a round time.
    const createdAt = run * RUN_MS - ((run * 7919) % (9 * MINUTE));
    const known = this.sessions.find(each => each.keyId === keyId && each.createdAt === createdAt);
    if (known !== undefined) return known.id;
    const label = agent.runs[run % agent.runs.length] ?? '';
    const expiresAt = createdAt + RUN_MS + 10 * MINUTE;
    const session = { id: idAt(createdAt), keyId, prefix: '', label, scopeTools: null, revokedAt: null };
    this.sessions.push({ ...session, ...NOBODY, createdAt, expiresAt });
    return session.id;
  }

  #pick(agent: DemoAgent): [server: string, tool: string] {
    let left = this.#roll() * agent.calls.reduce((sum, [, , weight]) => sum + weight, 0);
    for (const [server, tool, weight] of agent.calls) {
      left -= weight;
      if (left <= 0) return [server, tool];
    }
    const [server, tool] = agent.calls[0] ?? ['', ''];
    return [server, tool];
  }
}

/** From 0 to 1: a working day is busiest in the morning and in the afternoon. */
function busyness(agent: DemoAgent, at: number): number {
  const time = new Date(at);
  const hour = time.getHours();
  const weekend = time.getDay() === 0 || time.getDay() === 6;
  const daylight = Math.exp(-(((hour - 10.5) / 2.6) ** 2)) + 0.9 * Math.exp(-(((hour - 15.5) / 2.4) ** 2));
  if (agent.officeHours) return (weekend ? 0.3 : 1) * (0.04 + daylight);
  return (weekend ? 0.7 : 1) * (0.25 + 0.8 * daylight);
}
