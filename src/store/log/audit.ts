// The audit log. In the service only the group commit writes it, and an entry is never changed. The id sorts by time,
// so a period is a range of ids. audit-search.ts searches the log, audit-tally.ts counts it.

import { type Into, into, type Queries, type Transaction, type Value } from '../engine/db.ts';
import { type AuditEntry, type AuditRow, withShadow } from './audit-entry.ts';
import { type Context, ContextMemory } from './contexts.ts';
import { SlotMemory } from './slots.ts';

const COLUMNS = {
  id: 'text',
  at: 'bigint',
  context: 'bigint',
  session_id: 'text',
  surface: 'text',
  decision: 'text',
  reference_id: 'text',
  latency_ms: 'bigint',
} as const;
/** Where nothing is traced, or nothing remembered of runs, a column that is always null is not written. */
const ENTRIES = [
  into('audit_entries', COLUMNS),
  into('audit_entries', { ...COLUMNS, trace_id: 'text' }),
  into('audit_entries', { ...COLUMNS, run_id: 'text' }),
  into('audit_entries', { ...COLUMNS, trace_id: 'text', run_id: 'text' }),
] as const;

/** Writes entries, and remembers which of the values that many entries share are already in the store. */
export class AuditWriter {
  readonly #contexts = new ContextMemory();
  readonly #slots = new SlotMemory();

  async insert(tx: Transaction, entries: readonly AuditEntry[]): Promise<void> {
    const contexts = await this.#contexts.of(tx, entries);
    let traced = false;
    let remembered = false;
    for (const { traceId, runId } of entries) {
      traced ||= traceId !== null;
      remembered ||= runId !== null;
    }
    const values: Value[] = [];
    entries.forEach((entry, index) => {
      pushRow(values, entry, (contexts[index] as Context).number);
      if (traced) values.push(entry.traceId);
      if (remembered) values.push(entry.runId);
    });
    tx.insert(ENTRIES[(traced ? 1 : 0) + (remembered ? 2 : 0)] as Into, values);
    this.#slots.add(tx, entries, contexts);
  }

  /** Must be called when the transaction of the last write has committed. */
  committed(): void {
    this.#contexts.keep();
    this.#slots.keep();
  }
}

export function insertAudit(tx: Transaction, entries: readonly AuditEntry[]): Promise<void> {
  return new AuditWriter().insert(tx, entries);
}

function pushRow(values: Value[], entry: AuditEntry, context: number): void {
  values.push(
    entry.id,
    entry.at,
    context,
    entry.sessionId,
    entry.surface,
    entry.decision,
    entry.referenceId,
    entry.latencyMs,
  );
}

/** The columns of an entry, as `withShadow` takes them. */
export const AUDIT_COLUMNS = `id, at, key_id AS "keyId", session_id AS "sessionId", person_id AS "personId", surface, server_name AS "serverName",
  tool_name AS "toolName", decision, reason, policy_id AS "policyId", policy_version AS "policyVersion",
  rule_index AS "ruleIndex", reference_id AS "referenceId", latency_ms AS "latencyMs",
  shadow_policy_id AS "shadowPolicyId", shadow_policy_version AS "shadowPolicyVersion",
  shadow_decision AS "shadowDecision", shadow_rule_index AS "shadowRuleIndex", trace_id AS "traceId", run_id AS "runId", marks`;

/**
 * The same columns read from the two tables of an entry, `e` and `c`, because the view would mislead query planners. An
 * entry whose context is missing has nulls, and so differs from what was sealed.
 */
export const ENTRY_COLUMNS = `e.id, e.at, c.key_id AS "keyId", e.session_id AS "sessionId", c.person_id AS "personId", e.surface,
  c.server_name AS "serverName", c.tool_name AS "toolName", e.decision, c.reason, c.policy_id AS "policyId",
  c.policy_version AS "policyVersion", c.rule_index AS "ruleIndex", e.reference_id AS "referenceId",
  e.latency_ms AS "latencyMs", c.shadow_policy_id AS "shadowPolicyId", c.shadow_policy_version AS "shadowPolicyVersion",
  c.shadow_decision AS "shadowDecision", c.shadow_rule_index AS "shadowRuleIndex", e.trace_id AS "traceId",
  e.run_id AS "runId", c.marks`;

/** Entries after an id, newest first. */
export async function listAuditSince(db: Queries, after: string, limit: number): Promise<AuditEntry[]> {
  const rows = await db.all<AuditRow>(
    `SELECT ${AUDIT_COLUMNS} FROM audit WHERE id > $1 ORDER BY id DESC LIMIT $2`,
    [after, limit],
  );
  return rows.map(withShadow);
}

export async function findAudit(db: Queries, id: string): Promise<AuditEntry | null> {
  const [row] = await db.all<AuditRow>(`SELECT ${AUDIT_COLUMNS} FROM audit WHERE id = $1`, [id]);
  return row === undefined ? null : withShadow(row);
}

/** The smallest UUID of version 7 that can be made at or after a time. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.min(Math.ceil(ms), 0xffff_ffff_ffff))
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
