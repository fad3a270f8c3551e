// A call that is tried on the text in the editor: what a person wrote into the form, read strictly. core/decision/simulate.ts
// decides about it, in the browser; nothing is sent.

import { type Details, detailsOf } from '../../../../src/core/approvals/details.ts';
import { callOf, type Simulated, simulate, usedFault } from '../../../../src/core/decision/simulate.ts';
import type { CompiledPolicy } from '../../../../src/core/policy/compiled-policy.ts';
import { isObject, type JsonObject, parseJson } from '../../../../src/core/wire/json.ts';

/** The fields of the form as they are written; an empty one is left out of the call. */
export interface Form {
  tool: string;
  args: string;
  keyName: string;
  session: string;
  person: string;
  /** The working folder of a coding agent. */
  folder: string;
  /** A local time, as browsers write it: `2026-03-01T08:30`. */
  at: string;
  /** By the names of limits. */
  used: Readonly<Record<string, string>>;
}

export const EMPTY_FORM: Form = {
  tool: '',
  args: '',
  keyName: '',
  session: '',
  person: '',
  folder: '',
  at: '',
  used: {},
};

export interface TriedCall extends Simulated {
  /** What approvers would see of the call; null if nobody is asked, or they would see nothing. */
  details: Details | null;
}

/** A sentence says what is wrong with what was written. */
export function tryCall(policy: CompiledPolicy, form: Form): TriedCall | string {
  const args = form.args.trim() === '' ? undefined : readArguments(form.args);
  if (typeof args === 'string') return args;
  const { limits = {} } = policy;
  const used = Object.entries(form.used).filter(
    ([name, text]) => text.trim() !== '' && Object.hasOwn(limits, name),
  );
  for (const [name, text] of used) {
    const fault = usedFault(policy, name, text.trim());
    if (fault !== null) return `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
  }
  const at = form.at === '' ? Date.now() : Date.parse(form.at);
  if (Number.isNaN(at)) return 'The time cannot be read.';
  const tried = simulate(policy, callOf(form.tool), {
    at,
    args,
    used: Object.fromEntries(used.map(([name, text]) => [name, text.trim()])),
    keyName: form.keyName,
    session: form.session || undefined,
    person: form.person || undefined,
    folder: form.folder || undefined,
  });
  const rule = policy.rules[tried.ruleIndex ?? -1];
  const asks = tried.decision === 'pending' && rule !== undefined;
  return { ...tried, details: asks ? detailsOf(rule, args, form.folder || null) : null };
}

function readArguments(text: string): JsonObject | string {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : 'The arguments must be a JSON object, such as {"amount": 5}.';
  } catch (error) {
    return `The arguments cannot be read. ${(error as Error).message}`;
  }
}
