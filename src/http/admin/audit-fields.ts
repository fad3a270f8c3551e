// What the API shows of an entry of the audit log: its fields, its reason as data, and the outcome of a forwarded call.

import { z } from 'zod';
import { DECISIONS } from '../../core/decision/decide.ts';
import { HANDED_TO, WHY_NOT_FREED } from '../../core/decision/reason.ts';
import { CODES } from '../../core/decision/recorded-reason.ts';
import { shownEntry } from '../../core/log/entry.ts';
import { LIMIT } from '../../core/policy/limit-fields.ts';
import { SURFACES } from '../../core/text/surface.ts';
import type { UnknownCall } from '../../store/executions.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { OUTCOMES, type OutcomeRecord } from '../../store/log/outcomes.ts';
import { iso, isoTime, uuid } from '../serving/fields.ts';

export const traceId = z
  .string()
  .regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits in lower case')
  .meta({ example: '4bf92f3577b34da6a3ce929d0e0e4736' });

const passedOver = z.object({
  not: z.object({
    why: z.enum(['false', 'failed', 'hours', 'uncounted']),
    condition: z.int().optional(),
    limit: z.string().optional(),
  }),
  rule: z.int(),
  ruleName: z.string().optional(),
});

const answer = z.object({
  is: z.enum(['waits', 'freed', 'denied', 'too_many', 'unseen']),
  by: z.enum(['grant', 'approval']).optional(),
  referenceId: z.string().optional(),
  of: z.enum(['key', 'session']).optional(),
  open: z.int().optional(),
  text: z.string().optional(),
  handedTo: z.enum(HANDED_TO).optional(),
  whyNotFreed: z
    .union([z.enum(WHY_NOT_FREED), z.object({ asked: z.enum(SURFACES), here: z.enum(SURFACES) })])
    .optional(),
});

/** Which of the optional fields are there depends on the code. */
const reasonCode = z.object({
  code: z.enum(CODES),
  policy: z.string().optional().meta({ description: 'The name of the policy then.' }),
  rule: z.int().optional(),
  ruleName: z.string().optional(),
  condition: z.int().optional().meta({ description: 'The condition that could not be evaluated.' }),
  text: z.string().optional().meta({ description: 'What the rule itself says.' }),
  limit: z.string().optional(),
  atMost: z.string().optional(),
  per: z.enum(LIMIT.per.type.offers).optional(),
  window: z.string().optional(),
  asks: z.literal(true).optional(),
  answer: answer.optional().meta({ description: 'What came of the question to people.' }),
  nearest: passedOver.optional().meta({ description: 'The rule that came nearest to deciding more freely.' }),
  noPlace: z.object({ of: z.enum(['key', 'connected_tool']), atMost: z.int() }).optional(),
  marks: z.array(z.string()).optional().meta({ description: 'The marks that the run had.' }),
});

export const entry = z.object({
  id: uuid,
  at: isoTime,
  keyId: uuid,
  sessionId: uuid.nullable(),
  surface: z.enum(SURFACES),
  serverName: z.string(),
  toolName: z.string(),
  decision: z.enum(DECISIONS),
  reason: z.string(),
  policyId: uuid,
  policyVersion: z.int(),
  ruleIndex: z.int().nullable(),
  referenceId: uuid.nullable(),
  latencyMs: z.int(),
  reasonCode: reasonCode.optional().meta({
    description: 'What `reason` says, as data; absent if an earlier version recorded the call.',
  }),
  personId: uuid
    .optional()
    .meta({ description: 'The operator for whom the session acts; absent if it acts for nobody.' }),
  shadow: z
    .object({
      policyId: uuid,
      policyVersion: z.int(),
      decision: z.enum(DECISIONS),
      ruleIndex: z.int().nullable(),
    })
    .optional()
    .meta({ description: "What the key's shadow policy said about the call; absent if it had none." }),
  traceId: traceId.optional().meta({
    description:
      'The trace to which the call belongs (W3C Trace Context); absent if it was not traced. It is not sealed.',
  }),
  runId: uuid.optional().meta({
    description:
      'The run to which the call belongs; absent if its policy uses no marks and no known values. It is not sealed.',
  }),
  marks: z
    .array(z.string())
    .optional()
    .meta({ description: 'The marks that the run had when the call was decided; absent if it had none.' }),
});

export const forwarded = z
  .object({
    outcome: z.enum(OUTCOMES),
    durationMs: z.int(),
    at: isoTime,
    result: z
      .object({
        hidden: z.record(z.string(), z.int()).meta({ description: 'How often each detector was hidden.' }),
        withheld: z.boolean(),
        cut: z.boolean(),
      })
      .nullable()
      .meta({
        description:
          'What the policy did to the result; null if no entry of its `results` matches the call, or no result came.',
      }),
  })
  .nullable()
  .meta({
    description:
      'The outcome of a call that the proxy forwarded, or whose result was looked at; null if it is not known.',
  });

export const settled = z
  .object({
    ran: z.boolean(),
    by: z.string().meta({ description: '`admin`, or `operator:` with an e-mail address.' }),
    at: isoTime,
    note: z.string().nullable(),
  })
  .nullable()
  .meta({
    description:
      'What somebody has found out about a call whose outcome is `outcome_unknown`; null if nobody has.',
  });

export function showOutcome(found: OutcomeRecord | null): z.output<typeof forwarded> {
  if (found === null) return null;
  const { outcome, durationMs, at, result } = found;
  return { outcome, durationMs, at: iso(at), result };
}

/** What somebody has found out about a call; null if nobody has, or if nothing about it is unknown. */
export function showSettled(found: UnknownCall | null): z.output<typeof settled> {
  if (found === null) return null;
  const { settledRan, settledBy, settledAt, settledNote } = found;
  if (settledRan === null || settledBy === null || settledAt === null) return null;
  return { ran: settledRan === 1, by: settledBy, at: iso(settledAt), note: settledNote };
}

/** The types make sure that a row of the store has all fields of the schema. */
export const showEntry = (row: AuditEntry): z.output<typeof entry> => shownEntry(row);
