// What a request says about a policy: either its rules, limits and results, or the text of a policy file, which is kept as it
// was written. The guard checks the rules.

import type { z } from 'zod';
import { type InputFault, invalidInput } from '../../core/errors.ts';
import { LIMIT_FIELDS } from '../../core/policy/limit-fields.ts';
import { type Limits, MAX_RULES, MAX_TEXT, type Rule } from '../../core/policy/policy.ts';
import { RESULT_FIELDS, type ResultEntry } from '../../core/policy/result-fields.ts';
import { MAX_CONDITIONS, MAX_LIMITS, MAX_LISTED, MAX_RESULTS } from '../../core/policy/rule-faults.ts';
import { partsOf, RULE_FIELDS } from '../../core/policy/rule-fields.ts';
import { folderMissing } from '../../core/policy-file/pack-folder.ts';
import { parsePolicy, type WrittenPolicy } from '../../core/policy-file/policy-file.ts';
import { textFault } from '../../core/text/name.ts';
import { label, text } from '../serving/fields.ts';
import { limits, results, rules } from './rule-fields.ts';

const MAX_NAME = 200;
const MAX_DESCRIPTION = 2000;
const TOO_LONG = `must have at most ${MAX_TEXT} characters; send a larger policy as "rules", "limits" and "results"`;

export const policyFields = {
  name: label(1, MAX_NAME, 'Unique among policies; it appears in the reasons of verdicts.').optional(),
  description: label(0, MAX_DESCRIPTION, 'A description for people.').optional(),
  rules: rules.optional(),
  limits: limits.optional(),
  results: results.optional(),
  text: text(
    value => (value.length > MAX_TEXT ? TOO_LONG : null),
    `A policy file in YAML or JSON, in place of \`rules\`, \`limits\` and \`results\`. At most ${MAX_TEXT} characters.`,
  ).optional(),
};

export const TEXT_OR_RULES =
  'The policy comes either as `rules`, perhaps with `limits` and `results`, or as `text`, which may hold the name and the description too.';

/** Values in `hide` and `marks` of an entry; few have as many. */
const MOST_HIDDEN = 20;

/** How many JSON values the largest policy has: each rule is an object with its fields. Only admins send policies. */
export const MAX_POLICY_VALUES =
  50 +
  MAX_RULES * (1 + RULE_FIELDS.length + RULE_FIELDS.flatMap(partsOf).length) +
  MAX_LIMITS * (1 + LIMIT_FIELDS.length) +
  MAX_RESULTS * (1 + RESULT_FIELDS.length + MOST_HIDDEN) +
  MAX_CONDITIONS +
  MAX_LISTED;

type Body = { [field in keyof typeof policyFields]?: z.output<(typeof policyFields)[field]> };

interface PolicyInput {
  name?: string | undefined;
  description?: string | undefined;
  rules: readonly Rule[];
  limits: Limits;
  results: readonly ResultEntry[];
  text?: string | undefined;
}

export function policyIn({ name, description, rules, limits, results, text }: Body): PolicyInput {
  if (text === undefined) {
    if (rules === undefined) throw wrong('/rules', 'is required, or "text" in its place');
    return { name, description, rules, limits: limits ?? {}, results: results ?? [] };
  }
  const stray = Object.entries({ rules, limits, results }).find(([, value]) => value !== undefined);
  if (stray !== undefined)
    throw wrong(`/${stray[0]}`, 'must be left out, because "text" has the rules, limits and results');
  const missing = folderMissing(text);
  if (missing !== null) throw wrong('/text', missing);
  const written = read(text);
  return {
    name: agreed('name', name, written),
    description: agreed('description', description, written),
    rules: written.rules,
    limits: written.limits,
    results: written.results,
    text,
  };
}

export function newPolicy(body: Body): PolicyInput & { name: string; description: string } {
  const { name, description = '', ...rest } = policyIn(body);
  if (name === undefined) throw wrong('/name', 'is required, here or in the text');
  return { ...rest, name, description };
}

const MOST_FAULTS = 20;

function read(text: string): WrittenPolicy {
  const { policy, problems } = parsePolicy(text);
  if (policy !== null) {
    const fault = labelFault('name', policy.name, 1, MAX_NAME);
    const other = labelFault('description', policy.description, 0, MAX_DESCRIPTION);
    if (fault ?? other) throw wrong('/text', fault ?? other ?? '');
    return policy;
  }
  const errors = problems.filter(problem => problem.severity === 'error').slice(0, MOST_FAULTS);
  throw invalidInput(
    errors.map(({ line, column, message }) => ({
      path: '/text',
      message: `line ${line}, column ${column}: ${message}`,
    })),
  );
}

function labelFault(field: string, value: string | null, min: number, max: number): string | null {
  const fault = value === null ? null : textFault(value, min, max);
  return fault === null ? null : `"${field}" ${fault}`;
}

function agreed(
  field: 'name' | 'description',
  given: string | undefined,
  written: WrittenPolicy,
): string | undefined {
  const inText = written[field];
  if (inText === null || given === undefined || given === inText) return given ?? inText ?? undefined;
  throw wrong(`/${field}`, `differs from the ${field} in the text; leave one of them out`);
}

function wrong(path: string, message: string): Error {
  const fault: InputFault = { path, message };
  return invalidInput([fault]);
}
