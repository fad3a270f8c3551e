// AuthZEN's evaluations: several calls in one request, with the fields that they share given once. All of them are
// submitted together and so share a transaction; where the first deny or permit ends the request, they are judged one
// after the other, because an evaluation behind it is not decided and must leave no entry.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/wire/canonical.ts';
import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import type { CheckRequest, Verdict } from '../../guard/check/request.ts';
import { fit } from '../serving/body.ts';
import { type DecisionAnswer, decisionOf, type Evaluation, evaluation, undecided } from './authzen.ts';

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
    .custom<Json[]>(isBatch, `must be an array of at most ${MOST_EVALUATIONS}`)
    .optional()
    .meta({ maxItems: MOST_EVALUATIONS, type: 'array', items: { type: 'object' } }),
  options: z.object({ evaluations_semantic: z.enum(SEMANTICS).optional() }).optional(),
});

function isBatch(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MOST_EVALUATIONS;
}

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
  return items.map(item => {
    const whole = isObject(item) ? withDefaults(item, body) : item;
    return orFault(() => fit(evaluation, whole));
  });
}

function withDefaults(item: JsonObject, defaults: Batch): JsonObject {
  const { subject, action, resource, context } = item;
  return {
    subject: subject === undefined ? defaults.subject : subject,
    action: action === undefined ? defaults.action : action,
    resource: resource === undefined ? defaults.resource : resource,
    context: context === undefined ? defaults.context : context,
  } as JsonObject;
}

/** The mapped value, or the error if the evaluation cannot be mapped: the others are still checked. */
export function orFault<T>(map: () => T): T | GuardError {
  try {
    return map();
  } catch (error) {
    if (error instanceof GuardError) return error;
    throw error;
  }
}

type Item = CheckRequest | GuardError;
type Outcome = Verdict | GuardError;
type Submit = (questions: readonly CheckRequest[]) => Promise<Outcome[]>;

/**
 * The answers, in the order of the items. An evaluation that could not be recorded is answered with `false` and the
 * error; if none was, the error is thrown and refuses the whole request.
 */
export async function answersTo(
  items: readonly Item[],
  semantic: Semantic,
  submit: Submit,
): Promise<DecisionAnswer[]> {
  const outcomes =
    semantic === 'execute_all'
      ? await together(items, submit)
      : await inTurn(items, semantic === 'permit_on_first_permit', submit);
  const failure = outcomes.find((each, at) => isFailure(each, items[at]));
  if (failure instanceof GuardError && outcomes.every(each => each instanceof GuardError)) throw failure;
  return outcomes.map(each => (each instanceof GuardError ? undecided(each) : decisionOf(each)));
}

/**
 * Whether the check of an item failed. An item that could not be mapped is an error itself, and no check of it failed.
 */
function isFailure(outcome: Outcome, item: Item | undefined): boolean {
  return outcome instanceof GuardError && outcome !== item;
}

async function together(items: readonly Item[], submit: Submit): Promise<Outcome[]> {
  const outcomes = await submit(items.filter((each): each is CheckRequest => !(each instanceof GuardError)));
  let next = 0;
  return items.map(each => (each instanceof GuardError ? each : (outcomes[next++] as Outcome)));
}

/** `last`: the decision after which no other is made. */
async function inTurn(items: readonly Item[], last: boolean, submit: Submit): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const item of items) {
    const outcome = item instanceof GuardError ? item : ((await submit([item]))[0] as Outcome);
    outcomes.push(outcome);
    const permitted = !(outcome instanceof GuardError) && outcome.decision === 'allow';
    // If a check failed, the store is probably away, and further checks would wait for it.
    if (permitted === last || isFailure(outcome, item)) break;
  }
  return outcomes;
}
