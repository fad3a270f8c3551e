// What the `results` of a policy do to what a call brings back: which finds are hidden, whether the whole is withheld, and
// where it is cut. It is the door of this folder. Nothing here is kept: whoever forwards a call holds the guard until the
// result is there, and passes on only what comes back from here.

import type { Scope } from '../condition/condition.ts';
import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import type { MatchingEntries } from '../policy/compiled-results.ts';
import { type Situation, scopeOf, type ToolCall } from '../policy/situation.ts';
import { isObject, type Json, type JsonObject } from '../wire/json.ts';
import { type Applied, applyEntries, type Outcome, type Shown } from './apply.ts';
import type { InTurns } from './turns.ts';

export { type Outcome, WITHHELD } from './apply.ts';
export { atOnce, type InTurns } from './turns.ts';

/**
 * What is needed to guard the results of one call. It holds what conditions see of the call, arguments included, in
 * private fields, so that nothing of it gets into a log or a message by accident.
 */
export class ResultGuard {
  readonly #policy: string;
  readonly #matching: MatchingEntries;
  readonly #scope: Scope;

  constructor(policy: string, matching: MatchingEntries, scope: Scope) {
    this.#policy = policy;
    this.#matching = matching;
    this.#scope = scope;
  }

  apply(value: JsonObject, shown: Omit<Shown, 'text'>): InTurns<Applied> {
    return applyEntries(this.#policy, this.#matching, this.#scope, value, shown);
  }
}

/** Null if no entry of the policy matches the call: its results are passed on as they are. */
export function resultsFor(policy: CompiledPolicy, call: ToolCall, situation: Situation): ResultGuard | null {
  const matching = policy.compiledResults?.matching(call) ?? null;
  if (matching === null) return null;
  const reads = matching.entries.some(({ conditions }) => conditions.length > 0);
  return new ResultGuard(policy.name, matching, reads ? scopeOf(call, situation) : {});
}

interface Told {
  readonly outcome: Outcome;
  /** What the run has to be marked with before anything is passed on. */
  readonly marks: readonly string[];
}

/** The result of a tool, a resource or a prompt. */
export function* guardResult(guard: ResultGuard, result: JsonObject): InTurns<Told & { result: JsonObject }> {
  const structured = result['structuredContent'];
  const isError = result['isError'] === true;
  const { value, reason, outcome, marks } = yield* guard.apply(result, {
    structured: isObject(structured) ? structured : undefined,
    isError,
  });
  if (reason === null) return { result: value, outcome, marks };
  return { result: { content: [{ type: 'text', text: reason }], isError: true }, outcome, marks };
}

/** An error of JSON-RPC. */
export interface CallError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json | undefined;
}

export const WITHHELD_CODE = -32603;

/** What a tool server says in place of a result. Its code is passed on unless the error is withheld. */
export function* guardError(guard: ResultGuard, error: CallError): InTurns<Told & { error: CallError }> {
  const { code, message, data } = error;
  const { value, reason, outcome, marks } = yield* guard.apply(
    { text: message, code, ...(data !== undefined && { data }) },
    { structured: undefined, isError: true },
  );
  if (reason !== null) return { error: { code: WITHHELD_CODE, message: reason }, outcome, marks };
  return {
    error: { code, message: String(value['text']), ...(data !== undefined && { data: value['data'] }) },
    outcome,
    marks,
  };
}

/** The parameters of a log or progress message. Null if it must not be passed on. */
export function* guardNote(
  guard: ResultGuard,
  params: JsonObject,
): InTurns<Told & { params: JsonObject | null }> {
  const { value, reason, outcome, marks } = yield* guard.apply(params, {
    structured: undefined,
    isError: false,
  });
  return { params: reason === null ? value : null, outcome, marks };
}
