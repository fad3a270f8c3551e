// What is wrong with the fields of a rule that are about the question to people: what they see, who may answer, how long
// it waits, and who is told. Nothing is known of their types yet. Whether a channel exists, the guard checks.

import { MAX_PATH, parsePath, parseQuestion } from '../text/argument-path.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import { textFault } from '../text/name.ts';
import { parseGrantDuration } from '../time/duration.ts';
import { isChannelName } from './channel.ts';
import { ASKING_FIELDS, type Rule } from './policy.ts';

type AskingField = (typeof ASKING_FIELDS)[number];

/** The fields of the fields that are objects. */
export const ASKING_PARTS: Readonly<Record<string, readonly string[]>> = {
  approvers: ['group', 'count', 'proof'],
  escalate: ['after', 'notify'],
};

export interface AskingFault {
  /** The names and indexes that lead to it from the rule on. */
  path: readonly (string | number)[];
  message: string;
}

export const MAX_SHOWN_PATHS = 50;
export const MAX_NOTIFIED = 10;
const MAX_ASK = 300;
const MAX_GROUP = 128;
export const MAX_VOTES = 5;

/** `asks`: whether the rule can lead to a question at all. */
export function askingFaults(rule: Rule, asks: boolean): AskingFault[] {
  return ASKING_FIELDS.flatMap(field => {
    if (rule[field] === undefined) return [];
    if (!asks) return [{ path: [field], message: NOBODY_ASKED }];
    return FAULTS[field](rule[field], rule).map(({ path, message }) => ({ path: [field, ...path], message }));
  });
}
const NOBODY_ASKED =
  'is only for require_approval rules, and for allow rules whose limit has beyond: require_approval';

const FAULTS: Readonly<Record<AskingField, (value: unknown, rule: Rule) => AskingFault[]>> = {
  show: value => (value === 'all' ? [] : listFaults(value, MAX_SHOWN_PATHS, SHOW_FORM, pathFault)),
  ask: value => single(typeof value === 'string' ? askFault(value) : 'must be a string'),
  approvers: value => objectFaults('approvers', value, [], APPROVERS_FORM) ?? approversFaults(value),
  timeout: value => single(spanOf(value) === null ? SPAN_FORM : null),
  notify: value => listFaults(value, MAX_NOTIFIED, NOTIFY_FORM, channelNameFault),
  escalate: (value, { timeout }) =>
    objectFaults('escalate', value, ['after', 'notify'], ESCALATE_FORM) ?? escalateFaults(value, timeout),
};
const SHOW_FORM = 'must be all, or a list of paths to arguments, such as [amount, customer.name]';
const APPROVERS_FORM = 'must be an object, such as { group: finance, count: 2 } or { proof: passkey }';
const NOTIFY_FORM = 'must be a list of names of channels, such as [finance-mail]';
const ESCALATE_FORM = 'must be an object, such as { after: 10m, notify: [on-call] }';
const SPAN_FORM = 'must be 1m to 7d: a number of minutes (m), hours (h) or days (d)';

function pathFault(text: string): string | null {
  if (text === 'all') return LISTED_ALL;
  const path = parsePath(text);
  return typeof path === 'string' ? path : textFault(text, 1, MAX_PATH);
}
const LISTED_ALL =
  'means all arguments only outside of a list, as show: all; an argument of this name is written ["all"]';

function askFault(ask: string): string | null {
  const fault = textFault(ask, 1, MAX_ASK);
  if (fault !== null) return fault;
  const parts = parseQuestion(ask);
  return typeof parts === 'string' ? parts : null;
}

/** What is wrong with the name of a group of operators, or null. Providers of single sign-on choose such names, too. */
export const groupNameFault = (name: string): string | null => textFault(name, 1, MAX_GROUP);

const channelNameFault = (name: string): string | null => (isChannelName(name) ? null : CHANNEL_NAME_FORM);
const CHANNEL_NAME_FORM =
  'is no name for a channel: it has 1 to 64 letters, digits, _, . and -, and begins with a letter or a digit';

const groupFault = (group: unknown): string | null =>
  typeof group === 'string' ? groupNameFault(group) : 'must be a string';

function approversFaults(value: unknown): AskingFault[] {
  const { group, count, proof } = value as Partial<Record<'group' | 'count' | 'proof', unknown>>;
  if (group === undefined && proof === undefined)
    return single(`needs "group" or "proof"; it ${APPROVERS_FORM}`);
  const whole = Number.isInteger(count) && (count as number) >= 1 && (count as number) <= MAX_VOTES;
  return [
    ...single(group === undefined ? null : groupFault(group), 'group'),
    ...single(count === undefined || whole ? null : `must be a whole number from 1 to ${MAX_VOTES}`, 'count'),
    ...single(proof === undefined || proof === 'passkey' ? null : 'must be passkey', 'proof'),
  ];
}

function escalateFaults(value: unknown, timeout: unknown): AskingFault[] {
  const { after, notify } = value as { after: unknown; notify: unknown };
  const [begins, ends] = [spanOf(after), spanOf(timeout)];
  const late = begins !== null && ends !== null && begins >= ends;
  const wrong = begins === null ? SPAN_FORM : late ? `must be shorter than "timeout", ${timeout}` : null;
  return [
    ...single(wrong, 'after'),
    ...listFaults(notify, MAX_NOTIFIED, NOTIFY_FORM, channelNameFault).map(({ path, message }) => ({
      path: ['notify', ...path],
      message,
    })),
  ];
}

const spanOf = (value: unknown): number | null =>
  typeof value === 'string' ? parseGrantDuration(value) : null;

function single(message: string | null, ...path: string[]): AskingFault[] {
  return message === null ? [] : [{ path, message }];
}

/** What is wrong with a value that should be an object, or null. */
function objectFaults(
  field: 'approvers' | 'escalate',
  value: unknown,
  needed: readonly string[],
  form: string,
): AskingFault[] | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return single(form);
  const known = ASKING_PARTS[field] ?? [];
  const stray = Object.keys(value).find(each => !known.includes(each));
  if (stray !== undefined)
    return single(
      `is an unknown field; known: ${known.join(', ')}${withDot(didYouMean(stray, known))}`,
      stray,
    );
  const missing = needed.find(each => !Object.hasOwn(value, each));
  return missing === undefined ? null : single(`needs "${missing}"; it ${form}`);
}
const withDot = (meant: string): string => meant && `.${meant}`;

/** A list of different texts. */
function listFaults(
  value: unknown,
  most: number,
  form: string,
  fault: (text: string) => string | null,
): AskingFault[] {
  if (!Array.isArray(value) || value.length === 0) return single(form);
  if (value.length > most) return single(`must have at most ${most} items`);
  return value.flatMap((item, index) => {
    const message =
      typeof item !== 'string'
        ? 'must be a string'
        : (fault(item) ?? (value.indexOf(item) < index ? 'is in the list twice' : null));
    return message === null ? [] : [{ path: [index], message }];
  });
}
