// Completion in the policy editor: fields, their values, and inside conditions variables and functions. place.ts says
// where the cursor is.

import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippet,
} from '@codemirror/autocomplete';
import type { EditorState } from '@codemirror/state';
import { type Entry, MANUAL } from '../../../../src/core/condition/manual.ts';
import { DEFAULT_CHANNEL } from '../../../../src/core/policy/channel.ts';
import { BEYONDS, type Limit, PERIODS, SUBJECTS } from '../../../../src/core/policy/limit.ts';
import { ACTIONS, type Approvers, type Escalation, type Rule } from '../../../../src/core/policy/policy.ts';
import { VARIABLES } from '../../../../src/core/policy/situation.ts';
import { limitNames, type Place, placeAt } from './place.ts';

export function complete(context: CompletionContext): CompletionResult | null {
  const place = placeAt(context.state, context.pos);
  if (place === null) return null;
  if (place.in === 'condition') return inCondition(context);
  const word = context.matchBefore(/[\w/-]*/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const options = place.field === null ? fieldsOf(place.in) : valuesOf(place.field, context.state);
  return options.length === 0 ? null : { from: word.from, options, validFor: /^[\w/-]*$/ };
}

const POLICY_HELP = {
  name: 'The name of the policy, which appears in the reasons of verdicts.',
  description: 'For people.',
  limits: 'Limits by their names; rules count against them.',
  rules: 'The rules in their order. The first that applies decides.',
};

const RULE_HELP: Record<keyof Rule, string> = {
  name: 'A name for people, unique in the policy; reasons show it beside the number of the rule.',
  tool: 'A pattern of tool names; * stands for any text.',
  action: 'What the rule decides: allow, deny or require_approval.',
  reason: 'A sentence for whoever reads the verdict.',
  when: 'A condition, or a list of conditions that must all hold.',
  during: 'Days, hours and a zone: mon-fri 08:00-18:00 Europe/Berlin.',
  limit: 'The name of a limit that an allowed call counts against.',
  show: 'Arguments that approvers see: all, or paths such as [amount, customer.name].',
  ask: 'The question to the approver; {amount} in it stands for the value of that argument.',
  approvers:
    'Who may answer: { group: finance, count: 2 } wants two of that group, { proof: passkey } a passkey.',
  timeout: 'How long the question waits for an answer: 15m, 1h, 7d.',
  notify: 'The names of the channels that are told, in place of those of the key.',
  escalate: 'Further channels, once it has waited: { after: 10m, notify: [on-call] }.',
};

const LIMIT_HELP: Record<keyof Limit, string> = {
  calls: 'How many calls are allowed.',
  sum: 'What is added up, such as args.amount.',
  atMost: 'How much the sum may be.',
  unit: 'The smallest amount, such as 0.01; every amount is a multiple of it.',
  within: 'A rolling window: 30m, 1h, 7d.',
  each: 'A calendar window: hour, day, week or month.',
  zone: 'The time zone of a calendar window; UTC where it is left out.',
  per: 'Who is counted: key, session, person or policy.',
  beyond: 'What happens to a call that no longer fits: deny or require_approval.',
};

const APPROVERS_HELP: Record<keyof Approvers, string> = {
  group: 'The group of operators who may answer.',
  count: 'How many of them have to approve, 1 to 5.',
  proof: 'passkey: each of them signs the approval with their passkey.',
};

const ESCALATE_HELP: Record<keyof Escalation, string> = {
  after: 'How long the question has waited then: 10m, 1h.',
  notify: 'The names of the channels that are told, too.',
};

const HELP: Record<Exclude<Place['in'], 'condition'>, Record<string, string>> = {
  policy: POLICY_HELP,
  rule: RULE_HELP,
  limit: LIMIT_HELP,
  approvers: APPROVERS_HELP,
  escalate: ESCALATE_HELP,
};

function fieldsOf(kind: keyof typeof HELP): Completion[] {
  return Object.entries(HELP[kind]).map(([label, info]) => ({
    label,
    info,
    type: 'property',
    apply: `${label}: `,
  }));
}

const CHOICES: Record<string, (state: EditorState) => readonly string[]> = {
  action: () => ACTIONS,
  each: () => PERIODS,
  per: () => SUBJECTS,
  beyond: () => BEYONDS,
  zone: () => Intl.supportedValuesOf('timeZone'),
  limit: limitNames,
  show: state => ['all', ...argumentNames(state)],
  notify: () => [DEFAULT_CHANNEL],
  proof: () => ['passkey'],
};

function valuesOf(field: string, state: EditorState): Completion[] {
  const names = CHOICES[field]?.(state) ?? [];
  return names.map(label => ({ label, type: 'enum' }));
}

const VARIABLE_HELP: Record<string, string> = {
  args: 'The arguments of the call, by their names.',
  tool: 'The tool that is called.',
  'tool.server': 'The name of the tool’s server.',
  'tool.name': 'The name of the tool without its server.',
  'tool.annotations': 'What the tool’s accepted definition says about it; absent on a check.',
  key: 'The key that the call is made with.',
  'key.name': 'The name of the key.',
  session: 'The session that the call is made in.',
  'session.label': 'The label of the session; absent without one.',
  person: 'Who signed in.',
  'person.email': 'The e-mail address of whoever signed in; absent if nobody did.',
  'person.groups': 'The groups of whoever signed in; absent if nobody did.',
  surface: 'Where the call came in: "check" or "mcp".',
};

const MODULES: Record<string, string> = {
  path: 'Functions on file paths.',
  url: 'Functions on URLs.',
  email: 'Functions on e-mail addresses.',
  shell: 'Functions on shell texts.',
};

function inCondition(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/\w*/);
  if (word === null) return null;
  const before = context.state.sliceDoc(context.state.doc.lineAt(word.from).from, word.from);
  const [, head] = /(?:^|[^\w.])([a-z_]\w*)\.$/i.exec(before) ?? [];
  const isMember = before.endsWith('.');
  if (word.from === word.to && !isMember && !context.explicit) return null;
  const options = isMember ? membersOf(head, context.state) : names();
  return { from: word.from, options, validFor: /^\w*$/ };
}

/** What may stand behind a dot: fields of a variable, functions of a module, or methods of any value. */
function membersOf(head: string | undefined, state: EditorState): Completion[] {
  if (head === 'args') return argumentNames(state).map(label => ({ label, type: 'property' }));
  const type = head !== undefined && Object.hasOwn(VARIABLES, head) ? VARIABLES[head] : undefined;
  if (type?.kind === 'struct')
    return Object.keys(type.fields).map(label => ({
      label,
      type: 'property',
      info: VARIABLE_HELP[`${head}.${label}`] ?? '',
    }));
  if (head !== undefined && Object.hasOwn(MODULES, head))
    return MANUAL.filter(({ name }) => name.startsWith(`${head}.`)).map(each =>
      optionOf(each, head.length + 1),
    );
  return MANUAL.filter(({ form }) => form !== 'function').map(each => optionOf(each));
}

function names(): Completion[] {
  const described = (label: string, info = '', type = 'variable'): Completion => ({ label, info, type });
  return [
    ...Object.keys(VARIABLES).map(label => described(label, VARIABLE_HELP[label])),
    ...Object.entries(MODULES).map(([label, info]) => described(label, info, 'namespace')),
    ...MANUAL.filter(({ form, name }) => form !== 'method' && !name.includes('.')).map(each =>
      optionOf(each),
    ),
    ...['true', 'false', 'null', 'in'].map(label => ({ label, type: 'keyword' })),
  ];
}

function optionOf({ name, signature, help }: Entry, from = 0): Completion {
  const label = name.slice(from);
  const detail = signature.slice(signature.indexOf('('));
  // The cursor goes between the brackets where something belongs there.
  const apply = detail.startsWith('()') ? `${label}()` : snippet(`${label}(\${})`);
  return { label, detail, info: help, type: 'function', apply };
}

/** The names of arguments that the text mentions anywhere. */
function argumentNames(state: EditorState): string[] {
  return [...new Set(Array.from(state.doc.toString().matchAll(/\bargs\.(\w+)\b/g), ([, name = '']) => name))];
}
