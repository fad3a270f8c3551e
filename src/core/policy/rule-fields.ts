// Every field of a rule, described once and in the order in which it is written. Made of it are the type of rules, what
// readers refuse (rule-faults.ts adds what depends on other fields), the API's document, the editor's help and the table
// in docs/policies.md.

import { MAX_MARKS, markFault } from '../flows/names.ts';
import { MAX_PATH, parsePath, parseQuestion } from '../text/argument-path.ts';
import { groupFault, textFault } from '../text/name.ts';
import { DAY } from '../time/duration.ts';
import { HOURS_FORM } from '../time/hours.ts';
import { CHANNEL_NAME_FORM, isChannelName } from './channel.ts';
import {
  choice,
  type Field,
  type Fields,
  type FieldType,
  label,
  list,
  parts,
  single,
  span,
  text,
  whole,
} from './field-type.ts';

export const MAX_VOTES = 5;
export const MAX_PATTERN = 512;
export const MAX_REASON = 1000;
const MAX_RULE_NAME = 64;
const MAX_SHOWN_PATHS = 50;
const MAX_NOTIFIED = 10;
const MAX_ASK = 300;
const LONGEST = 7 * DAY;

export const conditions: FieldType<string | readonly string[]> = {
  faults: value =>
    single(
      typeof value === 'string' || (Array.isArray(value) && value.every(each => typeof each === 'string'))
        ? null
        : 'must be a condition or a list of conditions',
    ),
  schema: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
  words: 'a condition, or a list of conditions',
  offers: 'conditions',
};

const listedPaths = list(
  MAX_SHOWN_PATHS,
  'paths of arguments',
  'must be all, or a list of paths to arguments, such as [amount, customer.name]',
  path => (path === 'all' ? LISTED_ALL : pathFault(path)),
);
const LISTED_ALL =
  'means all arguments only outside of a list, as show: all; an argument of this name is written ["all"]';

function pathFault(written: string): string | null {
  const path = parsePath(written);
  return typeof path === 'string' ? path : textFault(written, 1, MAX_PATH);
}

const paths: FieldType<'all' | readonly string[]> = {
  faults: value => (value === 'all' ? [] : listedPaths.faults(value)),
  schema: { anyOf: [{ type: 'string', enum: ['all'] }, listedPaths.schema] },
  words: `\`all\`, or ${listedPaths.words}`,
  offers: 'arguments',
  bare: true,
};

const question = label(1, MAX_ASK, ask => {
  const read = parseQuestion(ask);
  return typeof read === 'string' ? read : null;
});

const channels: FieldType<readonly string[]> = {
  ...list(
    MAX_NOTIFIED,
    'names of channels',
    'must be a list of names of channels, such as [finance-mail]',
    name => (isChannelName(name) ? null : CHANNEL_NAME_FORM),
  ),
  offers: 'channels',
};

const listedMarks = list(
  MAX_MARKS,
  'names of marks',
  'must be the name of a mark, or a list of names, such as [untrusted, private]',
  markFault,
);

export const marks: FieldType<string | readonly string[]> = {
  faults: value => (typeof value === 'string' ? single(markFault(value)) : listedMarks.faults(value)),
  schema: { anyOf: [{ type: 'string' }, listedMarks.schema] },
  words: `the name of a mark, or ${listedMarks.words}`,
  offers: 'marks',
};

/** At least `group` or `proof` is given. */
const APPROVERS = {
  group: {
    type: text('the name of a group', groupFault),
    help: 'Only operators of this group may answer; every approver when left out.',
    example: 'finance',
  },
  count: {
    type: whole(1, MAX_VOTES),
    help: 'How many different people have to approve; 1 when left out.',
    example: 2,
  },
  proof: {
    type: choice(['passkey']),
    help: 'Each of them signs this very answer with a passkey.',
    example: 'passkey',
  },
} as const satisfies Fields;

const ESCALATE = {
  after: {
    type: span(LONGEST),
    help: 'How long the question has waited then; less than `timeout`, or than `TOOLGATE_APPROVAL_TIMEOUT` if the rule has none.',
    example: '10m',
    needed: true,
  },
  notify: {
    type: channels,
    help: 'The channels that are told then, too.',
    example: ['on-call'],
    needed: true,
  },
} as const satisfies Fields;

export const RULE = {
  name: {
    type: label(1, MAX_RULE_NAME),
    help: 'A name for people, unique in the policy. Reasons show it beside the number of the rule; it decides nothing.',
    example: 'small refunds',
  },
  tool: {
    type: label(1, MAX_PATTERN),
    help: 'A pattern for tool names; `*` stands for any run of characters. A pattern with `__` is compared with full names only, others also with bare tool names.',
    example: 'github__*',
    needed: true,
  },
  action: {
    type: choice(['allow', 'deny', 'require_approval']),
    help: 'What the rule decides.',
    example: 'allow',
    needed: true,
  },
  when: {
    type: conditions,
    help: 'Conditions in CEL that must all hold for the rule to apply.',
    example: 'args.amount <= 50',
  },
  during: {
    type: text('days, hours and a time zone', undefined, `must be ${HOURS_FORM}`),
    help: 'When the rule applies; in UTC without a zone.',
    example: 'mon-fri 08:00-18:00 Europe/Berlin',
  },
  limit: {
    type: { ...text('the name of a limit of this policy'), offers: 'limits' },
    help: 'The limit that an allowed call counts against.',
    example: 'refunds',
    only: 'allow',
  },
  marks: {
    type: marks,
    help: 'Marks that a call allowed by this rule gives its run. Conditions on later calls see them as `marks`.',
    example: ['untrusted'],
    only: 'passing',
  },
  known: {
    type: choice(['results']),
    help: 'Values in the results of calls allowed by this rule become known in the run. Conditions ask with `known()`.',
    example: 'results',
    only: 'passing',
  },
  show: {
    type: paths,
    help: 'The arguments that approvers see, each with its path.',
    example: ['amount', 'customer.name', 'items[0].sku'],
    only: 'asking',
  },
  ask: {
    type: question,
    help: 'The question to the approver; `{path}` in it stands for the value of an argument.',
    example: 'Refund {amount} {currency} to {customer.name}?',
    only: 'asking',
  },
  approvers: {
    type: parts(APPROVERS, 'must be an object, such as { group: finance, count: 2 } or { proof: passkey }', [
      'group',
      'proof',
    ]),
    help: 'Who has to approve.',
    example: { group: 'finance', count: 2, proof: 'passkey' },
    only: 'asking',
  },
  timeout: {
    type: span(LONGEST),
    help: 'How long the question waits for an answer, in place of `TOOLGATE_APPROVAL_TIMEOUT`.',
    example: '15m',
    only: 'asking',
  },
  notify: {
    type: channels,
    help: 'The channels that are told, in place of those of the key; `default` stands for the service’s settings.',
    example: ['finance-mail'],
    only: 'asking',
  },
  escalate: {
    type: parts(ESCALATE, 'must be an object, such as { after: 10m, notify: [on-call] }'),
    help: 'Further channels that are told once the question has waited so long.',
    example: { after: '10m', notify: ['on-call'] },
    only: 'asking',
  },
  reason: {
    type: label(0, MAX_REASON),
    help: 'A sentence for whoever reads the verdict, of `deny` and `require_approval`.',
    example: 'Refunds of more than 50 EUR need a second look.',
  },
} as const satisfies Fields;

export type RuleField = keyof typeof RULE;

/** In the order in which they are written. */
export const RULE_FIELDS = Object.keys(RULE) as readonly RuleField[];

/** What a rule that asks for approval says about people: what they see, who of them may answer, and who is told. */
export const ASKING_FIELDS = RULE_FIELDS.filter(field => fieldOf(field).only === 'asking');
/** What a call that the rule lets pass means for its run. */
export const PASSING_FIELDS = RULE_FIELDS.filter(field => fieldOf(field).only === 'passing');

/** Whether a field is looked at once the rest of the rule is known, because it depends on it who may have the field. */
export function isReadLater({ only }: Pick<Field, 'only'>): boolean {
  return only === 'asking' || only === 'passing';
}

export function fieldOf(name: RuleField): Field {
  return RULE[name];
}

/** The names of the fields of a field that is an object; none for any other. */
export function partsOf(name: string): readonly string[] {
  return PARTS[name] ?? [];
}
const PARTS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  RULE_FIELDS.flatMap(name => {
    const { parts } = fieldOf(name).type;
    return parts === undefined ? [] : [[name, Object.keys(parts)]];
  }),
);
