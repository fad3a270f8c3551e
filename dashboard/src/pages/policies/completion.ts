// Completion in the policy editor: fields, their values, and inside conditions variables and functions. place.ts says
// where the cursor is.

import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippet,
} from '@codemirror/autocomplete';
import type { EditorState } from '@codemirror/state';
import type { Declarations } from '../../../../src/core/condition/condition.ts';
import { type Entry, MANUAL } from '../../../../src/core/condition/manual.ts';
import { DETECTOR_NAMES } from '../../../../src/core/detectors/detectors.ts';
import { DEFAULT_CHANNEL } from '../../../../src/core/policy/channel.ts';
import { RESULT_VARIABLES } from '../../../../src/core/policy/compiled-results.ts';
import type { FieldType } from '../../../../src/core/policy/field-type.ts';
import { VARIABLES } from '../../../../src/core/policy/situation.ts';
import { describedIn, helpIn } from './field-help.ts';
import { hiddenNames, type Kind, limitNames, markNames, placeAt } from './place.ts';

export function complete(context: CompletionContext): CompletionResult | null {
  const place = placeAt(context.state, context.pos);
  if (place === null) return null;
  if (place.in === 'condition') return inCondition(context, place.of);
  const word = context.matchBefore(/[\w/-]*/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const options =
    place.field === null ? fieldsOf(place.in) : valuesOf(place.in, place.field, context.state, word.text);
  return options.length === 0 ? null : { from: word.from, options, validFor: /^[\w/-]*$/ };
}

function fieldsOf(kind: Kind): Completion[] {
  return Object.entries(helpIn(kind)).map(([label, info]) => ({
    label,
    info,
    type: 'property',
    apply: `${label}: `,
  }));
}

function valuesOf(kind: Kind, field: string, state: EditorState, written: string): Completion[] {
  const { offers = [] } = describedIn(kind)[field]?.type ?? {};
  const names = typeof offers === 'string' ? OFFERED[offers](state, written) : offers;
  return names.map(label => ({ label, type: 'enum' }));
}

type Offered = (state: EditorState, written: string) => readonly string[];

/** What the text, or the browser, knows of values. */
const OFFERED: Record<string & FieldType<unknown>['offers'], Offered> = {
  arguments: state => ['all', ...argumentNames(state)],
  channels: () => [DEFAULT_CHANNEL],
  conditions: () => [],
  detectors: () => DETECTOR_NAMES,
  limits: limitNames,
  // What is just being written is a name in the text, too.
  marks: (state, written) => markNames(state).filter(name => name !== written),
  zones: () => Intl.supportedValuesOf('timeZone'),
};

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
  'session.attributes': 'What the session was minted with; absent without.',
  marks: 'What rules have brought into the run: "untrusted" in marks.',
  result: 'What the call brought back.',
  'result.text': 'All its texts, joined by newlines.',
  'result.structured': 'Its structured content; absent without.',
  'result.isError': 'Whether it is an error.',
  'result.bytes': 'Its size as JSON.',
  'result.found': 'How many finds of each detector and pattern it has: result.found.secrets > 0.',
};

const MODULES: Record<string, string> = {
  path: 'Functions on file paths.',
  url: 'Functions on URLs.',
  email: 'Functions on e-mail addresses.',
  shell: 'Functions on shell texts.',
};

function inCondition(context: CompletionContext, of: Kind | null): CompletionResult | null {
  const word = context.matchBefore(/\w*/);
  if (word === null) return null;
  const before = context.state.sliceDoc(context.state.doc.lineAt(word.from).from, word.from);
  const [, head] = /(?:^|[^\w.])([a-z_]\w*(?:\.found)?)\.$/i.exec(before) ?? [];
  const isMember = before.endsWith('.');
  if (word.from === word.to && !isMember && !context.explicit) return null;
  const variables = of === 'result' ? RESULT_VARIABLES : VARIABLES;
  const options = isMember ? membersOf(head, variables, context.state) : names(variables);
  return { from: word.from, options, validFor: /^\w*$/ };
}

/** What may stand behind a dot: fields of a variable, functions of a module, or methods of any value. */
function membersOf(head: string | undefined, variables: Declarations, state: EditorState): Completion[] {
  if (head === 'args') return argumentNames(state).map(label => ({ label, type: 'property' }));
  if (head === 'result.found' && Object.hasOwn(variables, 'result'))
    return [...DETECTOR_NAMES, ...hiddenNames(state)].map(label => ({ label, type: 'property' }));
  const type = head !== undefined && Object.hasOwn(variables, head) ? variables[head] : undefined;
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

function names(variables: Declarations): Completion[] {
  const described = (label: string, info = '', type = 'variable'): Completion => ({ label, info, type });
  return [
    ...Object.keys(variables).map(label => described(label, VARIABLE_HELP[label])),
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
