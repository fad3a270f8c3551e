// The shape of one entry of the audit log inside the program.

import type { Decision } from '../core/decide.ts';
import type { Surface } from '../core/surface.ts';

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
  reason: string;
  policyId: string;
  policyVersion: number;
  ruleIndex: number | null;
  referenceId: string | null;
  latencyMs: number;
}
