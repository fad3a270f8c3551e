// Schemas of what a policy consists of, made of the descriptions of their fields in core/policy/. What
// is wrong with a single field is found here; what depends on other fields, the guard finds with policyFaults.

import { z } from 'zod';
import { type Field, fieldSchema, objectSchema } from '../../core/policy/field-type.ts';
import { LIMIT } from '../../core/policy/limit-fields.ts';
import { type Limits, MAX_RULES, type Rule } from '../../core/policy/policy.ts';
import { ENTRY, type ResultEntry } from '../../core/policy/result-fields.ts';
import { fieldFault, MAX_RESULTS } from '../../core/policy/rule-faults.ts';
import { fieldOf, isReadLater, RULE_FIELDS, type RuleField } from '../../core/policy/rule-fields.ts';

function schemaOf(name: RuleField): z.ZodType {
  const field = fieldOf(name);
  const checked = checkedBy(name, field);
  return (field.needed ? checked : checked.optional()).meta(fieldSchema(field));
}

function checkedBy(name: RuleField, field: Field): z.ZodType {
  if (isReadLater(field)) return z.unknown();
  const { type } = field;
  // An enum refuses the same values with the same message, and takes less time.
  if (Array.isArray(type.offers)) return z.enum(type.offers);
  const fault = (value: unknown) => (value === undefined ? 'is required' : fieldFault(name, value));
  return z.unknown().refine(value => fault(value) === null, { error: ({ input }) => fault(input) });
}

const rule = z.strictObject(
  Object.fromEntries(RULE_FIELDS.map(name => [name, schemaOf(name)])),
) as unknown as z.ZodType<Rule>;

export const rules = z
  .array(rule)
  .max(MAX_RULES)
  .meta({ description: 'Tried in order; the first that matches and applies decides.' });

/** The guard checks each limit. This is no `z.record`, because that would drop a limit with the name `__proto__`. */
export const limits = z
  .custom<Limits>(
    value => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  )
  .meta({
    type: 'object',
    description: 'Limits by name, which rules refer to.',
    additionalProperties: objectSchema(LIMIT),
  });

/** The guard checks each entry. */
export const results = z
  .custom<ResultEntry[]>(value => Array.isArray(value), 'must be a list')
  .meta({
    type: 'array',
    maxItems: MAX_RESULTS,
    description: 'What is done to the results of calls. Every entry that matches is applied.',
    items: ENTRY.schema,
  });
