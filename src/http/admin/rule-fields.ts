// Schemas of what a policy consists of: rules and limits.

import { z } from 'zod';
import { MAX_NOTIFIED, MAX_SHOWN_PATHS, MAX_VOTES } from '../../core/policy/asking-faults.ts';
import { BEYONDS, PERIODS, SUBJECTS } from '../../core/policy/limit.ts';
import {
  ACTIONS,
  type Limits,
  MAX_RULE_NAME,
  MAX_RULES,
  patternFault,
  type Rule,
  reasonFault,
  ruleNameFault,
} from '../../core/policy/policy.ts';
import { text } from '../serving/fields.ts';

/** A field that core/ checks together with all others; the schema is for the document. */
function checkedLater<T>(schema: z.ZodType, description: string, example: unknown) {
  return z
    .custom<NonNullable<T>>(() => true)
    .optional()
    .meta({ ...jsonSchemaOf(schema), description, example });
}

const rule = z.strictObject({
  name: text(
    ruleNameFault,
    `A name for people, unique in the policy. Reasons show it beside the number of the rule. At most ${MAX_RULE_NAME} characters.`,
    'small refunds',
  ).optional(),
  tool: text(
    patternFault,
    'A pattern for tool names; `*` stands for any run of characters. A pattern with `__` is compared with full names only, others also with bare tool names.',
    'github__*',
  ),
  action: z.enum(ACTIONS),
  when: z
    .union([z.string(), z.array(z.string())], 'must be a condition or a list of conditions')
    .optional()
    .meta({
      description: 'Conditions that must all hold for the rule to apply, in CEL; one or a list of them.',
      example: 'args.amount <= 50',
    }),
  during: z.string().optional().meta({
    description: 'Days, hours and zone in which the rule applies; without a zone in UTC.',
    example: 'mon-fri 08:00-18:00 Europe/Berlin',
  }),
  limit: z.string().optional().meta({ description: 'The name of the limit that an `allow` counts against.' }),
  show: checkedLater<Rule['show']>(
    z.union([z.enum(['all']), z.array(z.string()).min(1).max(MAX_SHOWN_PATHS)]),
    'Paths of the arguments that approvers see, or `all`. This and the fields up to `escalate` are for `require_approval` and for a limit that leads to it.',
    ['amount', 'customer.name', 'items[0].sku'],
  ),
  ask: checkedLater<Rule['ask']>(
    z.string(),
    'The question to the approver, in which `{path}` stands for the value of an argument. At most 300 characters.',
    'Refund {amount} {currency} to {customer.name}?',
  ),
  approvers: checkedLater<Rule['approvers']>(
    z.strictObject({
      group: z.string().optional(),
      count: z.int().min(1).max(MAX_VOTES).optional(),
      proof: z.enum(['passkey']).optional(),
    }),
    'Only operators of this group may answer, so many different ones have to approve (1 when left out), and with `proof` each of them signs the approval with a passkey. `group` or `proof` is needed.',
    { group: 'finance', count: 2, proof: 'passkey' },
  ),
  timeout: checkedLater<Rule['timeout']>(
    z.string(),
    'How long the question waits for an answer, 1m to 7d, in place of `TOOLGATE_APPROVAL_TIMEOUT`.',
    '15m',
  ),
  notify: checkedLater<Rule['notify']>(
    z.array(z.string()).min(1).max(MAX_NOTIFIED),
    'The names of the channels that are told, in place of those of the key.',
    ['finance-mail'],
  ),
  escalate: checkedLater<Rule['escalate']>(
    z.strictObject({ after: z.string(), notify: z.array(z.string()).min(1).max(MAX_NOTIFIED) }),
    'Further channels that are told once the question has waited so long, 1m to 7d.',
    { after: '10m', notify: ['on-call'] },
  ),
  reason: text(reasonFault, 'The reason in the verdict, for `deny` and `require_approval`.').optional(),
});

export const rules = z
  .array(rule)
  .max(MAX_RULES)
  .meta({ description: 'Tried in order; the first that matches and applies decides.' });

const limit = z.strictObject({
  calls: z.int().optional().meta({ description: 'How many calls are allowed.' }),
  sum: z.string().optional().meta({
    description: 'What is added up in place of calls, in CEL.',
    example: 'args.amount',
  }),
  atMost: z.number().optional().meta({ description: 'With `sum`: how much is allowed.' }),
  unit: z.number().optional().meta({ description: 'With `sum`: the smallest amount. 1 when left out.' }),
  within: z.string().optional().meta({ description: 'A rolling window, 1m to 31d.', example: '1h' }),
  each: z.enum(PERIODS).optional().meta({ description: 'A calendar window in place of `within`.' }),
  zone: z.string().optional().meta({ description: 'With `each`: an IANA time zone. UTC when left out.' }),
  per: z.enum(SUBJECTS).optional().meta({ description: 'What counts separately. `key` when left out.' }),
  beyond: z
    .enum(BEYONDS)
    .optional()
    .meta({ description: 'What happens when it is used up. `deny` when left out.' }),
});

export const limits = z
  .record(z.string(), limit)
  .meta({ description: 'Limits by name, which rules refer to.' });

/** The same in a request. core/policy/rule-faults.ts checks all of it; a record of zod would drop the name `__proto__`. */
export const limitsIn = z
  .custom<Limits>(
    value => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  )
  .meta(jsonSchemaOf(limits));

function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest;
}
