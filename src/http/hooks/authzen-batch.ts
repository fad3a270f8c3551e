// AuthZEN's evaluations: several calls in one request, with the fields that they share given once. All of them are
// submitted together and so share a transaction; where the first deny or permit ends the request, they are judged one
// after the other, because an evaluation behind it is not decided and must leave no entry.

import { z } from 'zod';
import { canonicalJson } from '../../core/canonical.ts';
import { GuardError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json.ts';
import type { CheckRequest } from '../../guard/check/request.ts';
import { fit } from '../body.ts';
import { type DecisionAnswer, type Evaluation, evaluation, undecided } from './authzen.ts';

/** Each evaluation costs a decision and an audit entry. */
const MOST_EVALUATIONS = 100;

const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;
export type Semantic = (typeof SEMANTICS)[number];

const value = z.custom<Json>(each => each !== undefined).optional();
const byDefault = { description: 'For evaluations that have none of their own.' };

export const batch = z.object({
  subject: value.meta(byDefault),
  action: value.meta(byDefault),
  resource: value.meta(byDefault),
  context: value.meta(byDefault),
  evaluations: z
    .array(z.custom<Json>(() => true).meta({ type: 'object' }))
    .max(MOST_EVALUATIONS)
    .optional(),
  options: z.object({ evaluations_semantic: z.enum(SEMANTICS).optional() }).optional(),
});

export type Batch = z.output<typeof batch>;

const FIELDS = ['subject', 'action', 'resource', 'context'] as const;

/**
 * The evaluations with the defaults in place, or what is wrong with them. It throws if they would be too large written
 * out: arguments that are sent once and judged a hundred times cost as much as if they were sent a hundred times.
 */
export function evaluationsOf(body: Batch, limit: number): (Evaluation | GuardError)[] {
  const items = body.evaluations ?? [];
  const given = FIELDS.filter(name => body[name] !== undefined);
  const sizes = given.map(name => {
    const heirs = items.filter(item => isObject(item) && item[name] === undefined).length;
    return heirs * canonicalJson(body[name] as Json).length;
  });
  if (sizes.reduce((sum, size) => sum + size, 0) > limit)
    throw new GuardError('too_large', `The evaluations with their defaults are larger than ${limit} bytes.`);
  const defaults = Object.fromEntries(given.map(name => [name, body[name]]));
  return items.map(item => orFault(() => fit(evaluation, isObject(item) ? { ...defaults, ...item } : item)));
}

/** What cannot be mapped is the fault of one evaluation, and the others are still judged. */
export function orFault<T>(map: () => T): T | GuardError {
  try {
    return map();
  } catch (error) {
    if (error instanceof GuardError) return error;
    throw error;
  }
}

/**
 * The answers, in the order of the items. An evaluation that could not be recorded is answered with `false` and the
 * error; if none was, the error is thrown and refuses the whole request.
 */
export async function judgeAll(
  items: readonly (CheckRequest | GuardError)[],
  semantic: Semantic,
  decide: (asked: CheckRequest) => Promise<DecisionAnswer>,
): Promise<DecisionAnswer[]> {
  const failures: GuardError[] = [];
  let decided = 0;
  const one = async (item: CheckRequest | GuardError): Promise<DecisionAnswer> => {
    if (item instanceof GuardError) return undecided(item);
    try {
      const answer = await decide(item);
      decided++;
      return answer;
    } catch (error) {
      if (!(error instanceof GuardError)) throw error;
      failures.push(error);
      return undecided(error);
    }
  };
  const answers: DecisionAnswer[] = [];
  if (semantic === 'execute_all') answers.push(...(await Promise.all(items.map(one))));
  else {
    const last = semantic === 'permit_on_first_permit';
    for (const item of items) {
      answers.push(await one(item));
      // What comes after a check that failed would wait for a store that is away.
      if (answers.at(-1)?.decision === last || failures.length > 0) break;
    }
  }
  if (decided === 0 && failures[0] !== undefined) throw failures[0];
  return answers;
}
