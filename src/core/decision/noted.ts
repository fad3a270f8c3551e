// A rule that is examined for a trace: it notes what its conditions come to, and what they ask `known()` about.

import {
  type Condition,
  decimalOf,
  Failure,
  KNOWN,
  type Knows,
  type NumberResult,
  type Scope,
  Steps,
} from '../condition/condition.ts';
import type { CompiledRule } from '../policy/compiled-policy.ts';
import { safeJson } from '../text/visible.ts';

/** A value that `known()` was asked about, as JSON writes it, and the answer. */
export type Asked = ReadonlyMap<string, boolean | Failure>;

/** All rules of a check share its steps, so a condition that is evaluated a second time could have another result. */
export class Noted {
  readonly rule: CompiledRule;
  /** What the limit adds up; undefined if it was not looked at, or if the limit counts calls. */
  sum: NumberResult | Failure | undefined;
  readonly #results = new Map<Condition<boolean>, boolean | Failure>();
  readonly #asked = new Map<Condition<unknown>, Map<string, boolean | Failure>>();

  constructor({ conditions, hours, limit }: CompiledRule) {
    const noting = conditions.map(each => this.#noting(each, result => this.#results.set(each, result)));
    const sum = limit?.sum
      ? this.#noting(limit.sum, result => {
          this.sum = result;
        })
      : null;
    this.rule = { conditions: noting, hours, limit: limit === null ? null : { ...limit, sum } };
  }

  /** What a condition came to. One that was not looked at is evaluated. */
  result(condition: Condition<boolean>, scope: Scope): boolean | Failure {
    return this.#results.get(condition) ?? this.#evaluate(condition, scope, new Steps());
  }

  /** What a condition asked `known()` about. */
  asked(condition: Condition<unknown>): Asked {
    return this.#asked.get(condition) ?? new Map();
  }

  #noting<R>(condition: Condition<R>, note: (result: R | Failure) => void): Condition<R> {
    return {
      ...condition,
      evaluate: (scope, steps) => {
        const result = this.#evaluate(condition, scope, steps);
        note(result);
        return result;
      },
    };
  }

  #evaluate<R>(condition: Condition<R>, scope: Scope, steps: Steps): R | Failure {
    const knows = scope[KNOWN] as Knows | Failure | undefined;
    if (typeof knows !== 'function') return condition.evaluate(scope, steps);
    const asked = new Map<string, boolean | Failure>();
    this.#asked.set(condition, asked);
    const noting: Knows = (kind, written) => {
      const answer = knows(kind, written);
      asked.set(kind === 'text' ? safeJson(written) : written, answer);
      return answer;
    };
    return condition.evaluate({ ...scope, [KNOWN]: noting }, steps);
  }

  /** What is added to the limit. */
  get amount(): string {
    if (this.sum === undefined) return '1';
    return this.sum instanceof Failure ? '' : (decimalOf(this.sum) ?? '');
  }
}
