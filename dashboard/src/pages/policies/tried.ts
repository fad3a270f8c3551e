// A call that is tried on the text in the editor: what a person wrote into the form, read strictly. core/decision/simulate.ts
// decides about it, in the browser; nothing is sent.

import { type Details, detailsOf } from '../../../../src/core/approvals/details.ts';
import {
  callOf,
  type Simulated,
  simulate,
  type Tried,
  usedFault,
} from '../../../../src/core/decision/simulate.ts';
import {
  broughtBack,
  type TriedResult,
  writtenResult,
} from '../../../../src/core/decision/simulate-result.ts';
import { attributesFault } from '../../../../src/core/flows/attributes.ts';
import type { CompiledPolicy } from '../../../../src/core/policy/compiled-policy.ts';
import { triedMarkFault } from '../../../../src/core/policy/mark-names.ts';
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
  /** The marks of the run, with commas or blanks between them. */
  marks: string;
  /** What the person or a trusted tool has said in the run. */
  known: string;
  /** The attributes of the session, as JSON. */
  attributes: string;
  /** What the call brings back: the JSON of an MCP result, or a text. */
  result: string;
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
  marks: '',
  known: '',
  attributes: '',
  result: '',
};

export interface TriedCall extends Simulated {
  /** What approvers would see of the call; null if nobody is asked, or they would see nothing. */
  details: Details | null;
  /** What the agent gets of the result; null if there is none, or the call is denied. */
  brought: TriedResult | null;
}

/** A sentence says what is wrong with what was written. */
export function tryCall(policy: CompiledPolicy, form: Form): TriedCall | string {
  const args = readObject('arguments', form.args, '{"amount": 5}');
  if (typeof args === 'string') return args;
  const attributes = readObject('attributes', form.attributes, '{"customer": "c_17"}');
  if (typeof attributes === 'string') return attributes;
  const tooMuch = attributes === undefined ? null : attributesFault(attributes);
  if (tooMuch !== null) return `The attributes ${tooMuch}.`;
  const marks = form.marks.split(/[\s,]+/).filter(name => name !== '');
  for (const name of marks) {
    const fault = triedMarkFault(policy, name);
    if (fault !== null) return sentence(fault);
  }
  const { limits = {} } = policy;
  const used = Object.entries(form.used).filter(
    ([name, text]) => text.trim() !== '' && Object.hasOwn(limits, name),
  );
  for (const [name, text] of used) {
    const fault = usedFault(policy, name, text.trim());
    if (fault !== null) return sentence(fault);
  }
  const at = form.at === '' ? Date.now() : Date.parse(form.at);
  if (Number.isNaN(at)) return 'The time cannot be read.';
  const call = callOf(form.tool);
  const tried: Tried = {
    at,
    args,
    used: Object.fromEntries(used.map(([name, text]) => [name, text.trim()])),
    keyName: form.keyName,
    session: form.session || undefined,
    person: form.person || undefined,
    folder: form.folder || undefined,
    attributes,
    marks,
    known: [form.known],
  };
  const simulated = simulate(policy, call, tried);
  const rule = policy.rules[simulated.ruleIndex ?? -1];
  const asks = simulated.decision === 'pending' && rule !== undefined;
  const brings = form.result.trim() !== '' && simulated.decision !== 'deny';
  return {
    ...simulated,
    details: asks ? detailsOf(rule, args, form.folder || null) : null,
    brought: brings ? broughtBack(policy, call, tried, simulated, writtenResult(form.result)) : null,
  };
}

/** The JSON object that was written, undefined if nothing was, or a sentence that says what is wrong. */
function readObject(what: string, text: string, example: string): JsonObject | string | undefined {
  if (text.trim() === '') return undefined;
  try {
    const value = parseJson(text);
    return isObject(value) ? value : `The ${what} must be a JSON object, such as ${example}.`;
  } catch (error) {
    return `The ${what} cannot be read. ${(error as Error).message}`;
  }
}

const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
