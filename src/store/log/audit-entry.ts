// The shape of one entry of the audit log inside the program, and of the row that it is read from.

import type { Decision } from '../../core/decision/decide.ts';
import type { Surface } from '../../core/text/surface.ts';

/** What the shadow policy of the key said about a call, in a version that was current then. It changed nothing. */
export interface Shadow {
  policyId: string;
  policyVersion: number;
  decision: Decision;
  ruleIndex: number | null;
}

export interface AuditEntry {
  id: string;
  at: number;
  keyId: string;
  sessionId: string | null;
  /** The operator for whom the session acts; null if it acts for nobody. */
  personId: string | null;
  surface: Surface;
  serverName: string;
  toolName: string;
  decision: Decision;
  /** As it is stored (core/decision/recorded-reason.ts). `shownEntry` has it for people. */
  reason: string;
  policyId: string;
  policyVersion: number;
  ruleIndex: number | null;
  referenceId: string | null;
  latencyMs: number;
  /** What the shadow policy of the key said about the call; null if no shadow judged it. */
  shadow: Shadow | null;
  /** The trace to which the call belongs, as its caller says, or ours; null if it is not traced. It is not sealed. */
  traceId: string | null;
  /** The run to which the call belongs; null if nothing is remembered of it. It is not sealed. */
  runId: string | null;
  /** The marks that the run had, with blanks between them, in the order of the alphabet. They are part of the reason. */
  marks: string | null;
}

/** The columns of a shadow, which are null where there is none. */
export interface ShadowRow {
  shadowPolicyId: string | null;
  shadowPolicyVersion: number | null;
  shadowDecision: Decision | null;
  shadowRuleIndex: number | null;
}

export type AuditRow = Omit<AuditEntry, 'shadow'> & ShadowRow;

/** A row with its columns of a shadow put together. */
export function withShadow<Row extends ShadowRow>(
  row: Row,
): Omit<Row, keyof ShadowRow> & { shadow: Shadow | null } {
  const { shadowPolicyId, shadowPolicyVersion, shadowDecision, shadowRuleIndex, ...rest } = row;
  return Object.assign(rest, { shadow: shadowOf(row) });
}

/** A part of a shadow counts as one, so that nobody can put it into a sealed entry unnoticed. */
function shadowOf(row: ShadowRow): Shadow | null {
  const { shadowPolicyId, shadowPolicyVersion, shadowDecision, shadowRuleIndex } = row;
  if ((shadowPolicyId ?? shadowPolicyVersion ?? shadowDecision ?? shadowRuleIndex) === null) return null;
  return {
    policyId: shadowPolicyId as string,
    policyVersion: shadowPolicyVersion as number,
    decision: shadowDecision as Decision,
    ruleIndex: shadowRuleIndex,
  };
}
