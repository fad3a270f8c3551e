// A reason (reason.ts) as the audit log stores it: canonical JSON after the character that RFC 7464 puts before a JSON
// text. Entries of earlier versions have an English sentence there, in which people may have chosen words, but no
// control character: names and the texts of rules could not contain one in any version. So neither is taken for the
// other. What cannot be read here, such as a code of a later version, stays a text.

import { canonicalJson } from '../wire/canonical.ts';
import { isObject, type Json } from '../wire/json.ts';
import { HANDED_TO, HELD_FOR, type Reason, WHY_NOT_FREED } from './reason.ts';

const MARK = '\u001e';

/** `marks` are those of the run, in the order of the alphabet. */
export function recordedReason(reason: Reason, marks: readonly string[] = []): string {
  return MARK + JSON.stringify(marks.length === 0 ? reason : withMarks(reason, marks));
}

/** The parts of a reason stand in the order of the alphabet. */
function withMarks(reason: Reason, marks: readonly string[]): object {
  const parts: Record<string, unknown> = {};
  let after = false;
  for (const name in reason) {
    if (!after && name > 'marks') {
      parts['marks'] = marks;
      after = true;
    }
    parts[name] = reason[name as keyof Reason];
  }
  if (!after) parts['marks'] = marks;
  return parts;
}

/** The same for a reason that was shown, whose keys may stand in any order. */
export function recordedAgain(reason: Reason): string {
  return MARK + canonicalJson(reason as object as Json);
}

/** Whether it is no sentence, also if it cannot be read: a later version may have written it. */
export function isCode(text: string): boolean {
  return text.startsWith(MARK);
}

/** Null for the sentence of an earlier version, and for whatever is not exactly what `recordedReason` writes. */
export function readReason(text: string): Reason | null {
  if (!isCode(text)) return null;
  try {
    const read: unknown = JSON.parse(text.slice(MARK.length));
    return isReason(read) && recordedAgain(read) === text ? read : null;
  } catch {
    return null;
  }
}

type Test = (value: unknown) => boolean;

const text: Test = value => typeof value === 'string';
const whole: Test = value => Number.isSafeInteger(value);
const flag: Test = value => value === true;
const oneOf =
  (values: readonly string[]): Test =>
  value =>
    values.includes(value as string);

/** An object that has these fields, of the second ones some, and no others. */
function fields(must: Record<string, Test>, may: Record<string, Test> = {}): Test {
  const known = new Map(Object.entries({ ...may, ...must }));
  return value =>
    isObject(value) &&
    Object.keys(must).every(key => Object.hasOwn(value, key)) &&
    Object.keys(value).every(key => known.get(key)?.(value[key]) === true);
}

/** One of several forms of an object, which one of its fields tells. */
function byField(field: string, forms: Record<string, Test>): Test {
  return value => {
    const form = isObject(value) ? value[field] : undefined;
    return typeof form === 'string' && Object.hasOwn(forms, form) && forms[form]?.(value) === true;
  };
}

const notFreedCode = oneOf(WHY_NOT_FREED);
const otherSurface = fields({ asked: text, here: text });
const whyNotFreed: Test = value => notFreedCode(value) || otherSurface(value);
const why = text;
const not = byField('why', {
  false: fields({ condition: whole, why }),
  failed: fields({ condition: whole, why }),
  hours: fields({ why }),
  uncounted: fields({ limit: text, why }),
});
const nearest = fields({ not, rule: whole }, { ruleName: text });
const noPlace = fields({ atMost: whole, of: oneOf(['key', 'connected_tool']) });
const is = text;
const answer = byField('is', {
  freed: fields({ by: oneOf(['grant', 'approval']), is, referenceId: text }),
  denied: fields({ is }),
  too_many: fields({ is, of: oneOf(['key', 'session']), open: whole }, { whyNotFreed }),
  unseen: fields({ is }, { whyNotFreed }),
  waits: fields({ is }, { handedTo: oneOf(HANDED_TO), text, whyNotFreed }),
});
const code = text;
const ofRule = { code, policy: text, rule: whole };
const ruleName = text;
const condition = whole;

const FORMS: Record<Reason['code'], Test> = {
  relayed: fields({ code }, { noPlace }),
  outside_scope: fields({ code }),
  no_rule: fields({ code, policy: text }, { nearest }),
  allows: fields(ofRule, { ruleName, noPlace }),
  denies: fields(ofRule, { ruleName, condition, nearest, text }),
  asks: fields({ ...ofRule, answer }, { ruleName, condition, nearest, noPlace }),
  drifted: fields(ofRule, { ruleName, answer, asks: flag, noPlace }),
  unaccepted: fields({ ...ofRule, why: oneOf(HELD_FOR) }, { ruleName, answer, asks: flag, noPlace }),
  used_up: fields(
    { ...ofRule, atMost: text, limit: text, per: text, window: text },
    { ruleName, answer, nearest, noPlace },
  ),
  no_subject: fields({ ...ofRule, limit: text, per: text }, { ruleName, nearest }),
  unmetered: fields({ ...ofRule, limit: text }, { ruleName, nearest }),
};

const form = byField('code', FORMS);

export const CODES = Object.keys(FORMS) as [Reason['code'], ...Reason['code'][]];

/** The marks of the run may stand beside the parts of every code. */
export function isReason(value: unknown): value is Reason {
  if (!isObject(value) || value['marks'] === undefined) return form(value);
  const { marks, ...parts } = value;
  return Array.isArray(marks) && marks.length > 0 && marks.every(text) && form(parts);
}
