// What the policy editor offers to complete, and how it cuts conditions into tokens, without a browser. `|` is the cursor.

import { expect, test } from 'bun:test';
import { CompletionContext } from '@codemirror/autocomplete';
import { yaml } from '@codemirror/lang-yaml';
import { ensureSyntaxTree, syntaxTree } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { complete } from '../../dashboard/src/pages/policies/completion.ts';
import { isCondition, tokensOf } from '../../dashboard/src/pages/policies/conditions.ts';
import { helpAt } from '../../dashboard/src/pages/policies/field-help.ts';

/** Wholly parsed: a busy machine would otherwise stop the parser, which has little time while somebody types. */
function stateOf(doc: string): EditorState {
  const state = EditorState.create({ doc, extensions: yaml() });
  ensureSyntaxTree(state, doc.length, 60_000);
  return state.update({}).state;
}

function offered(text: string, explicit = false): string[] {
  const position = text.indexOf('|');
  const state = stateOf(text.slice(0, position) + text.slice(position + 1));
  return complete(new CompletionContext(state, position, explicit))?.options.map(({ label }) => label) ?? [];
}

const LIMITS = 'limits:\n  sends: { calls: 5, within: 1h }\n  refunds:\n    sum: args.amount\nrules:\n';

test.each([
  ['a rule’s fields', '- { tool: a, a|', ['action', 'when', 'during', 'limit', 'ask']],
  ['a rule’s fields on a line of their own', 'rules:\n  - tool: a\n    ac|\n', ['action', 'when']],
  ['actions', 'rules:\n  - tool: a\n    action: al|\n', ['allow', 'deny', 'require_approval']],
  ['the policy’s fields', 'name: a\nru|\n', ['rules', 'limits']],
  ['a limit’s fields', 'limits:\n  sends: { calls: 5, wi|\n', ['within', 'each', 'per']],
  ['windows', 'limits:\n  sends: { calls: 5, each: d| }\n', ['day', 'week']],
  ['zones', 'limits:\n  sends:\n    zone: Europe/B|\n', ['Europe/Berlin']],
  ['the limits of this policy', `${LIMITS}  - { tool: a, action: allow, limit: s| }\n`, ['sends', 'refunds']],
  ['variables and functions', "- { tool: a, when: 'a|' }", ['args', 'tool', 'size', 'has', 'path']],
  ['the same in a text that is not closed yet', "- { tool: a, when: 'a|\n- { tool: b }", ['args', 'has']],
  ['the same in a list', '- tool: a\n  when:\n    - a|\n', ['args', 'has']],
  ['the same in a block', '- tool: a\n  when: >\n    size(args.b) > 1 &&\n    a|\n', ['args']],
  ['fields of a variable', "- { when: 'tool.| == 1' }", ['server', 'name', 'annotations']],
  ['functions of a module', "- { when: '!path.|' }", ['within']],
  ['arguments that the text mentions', "- { when: 'args.amount > 1 && args.|' }", ['amount']],
  ['methods of a value', `- { when: 'args.to.|' }`, ['contains', 'all', 'size']],
  ['what is about people', '- { tool: a, s|', ['show', 'ask', 'approvers', 'timeout', 'notify', 'escalate']],
  ['what is shown', "- { when: 'args.amount > 1', show: a| }", ['all', 'amount']],
  ['arguments in a list to show', "- { when: 'args.amount > 1', show: [b, a| ] }", ['amount']],
  ['the fields of who may answer', 'rules:\n  - { tool: a, approvers: { g| } }', ['group', 'count', 'proof']],
  ['the same on a line of their own', '- tool: a\n  approvers:\n    group: x\n    c|\n', ['group', 'count']],
  ['proofs', '- { tool: a, approvers: { proof: p| } }', ['passkey']],
  ['the fields of an escalation', '- { tool: a, escalate: { after: 1m, n| } }', ['after', 'notify']],
  ['the channel that always exists', '- { tool: a, notify: [d| ] }', ['default']],
  ['the same for an escalation', '- tool: a\n  escalate:\n    notify: [d| ]', ['default']],
  ['what is about runs', '- { tool: a, m|', ['marks', 'known']],
  ['what makes known', '- { tool: a, known: r| }', ['results']],
  [
    'the marks that the text names',
    `- { tool: a, marks: [private, "abroad"] }\n- { when: '"untrusted" in marks' }\n- { tool: b, marks: u| }`,
    ['private', 'abroad', 'untrusted'],
  ],
  ['marks on lines of their own', '- tool: a\n  marks: private\n- tool: b\n  marks: [x, p|]\n', ['private']],
  ['what a run knows', "- { when: '!k|' }", ['known', 'marks']],
  ['fields of a session', "- { when: 'session.|' }", ['label', 'attributes']],
  [
    'the fields of an entry',
    'results:\n  - { tool: a, w| }\n',
    ['tool', 'when', 'hide', 'withhold', 'atMost'],
  ],
  ['the same on a line of its own', 'rules: []\nresults:\n  - tool: a\n    hi|\n', ['hide', 'marks']],
  ['detectors', 'results:\n  - { tool: a, hide: s| }\n', ['secrets', 'email', 'ip']],
  ['detectors in a list', 'results:\n  - tool: a\n    hide: [iban, s| ]\n', ['secrets', 'email']],
  ['detectors on lines of their own', 'results:\n  - tool: a\n    hide:\n      - s|\n', ['secrets']],
  ['the fields of a pattern', 'results: [{ tool: a, hide: { p| } }]', ['pattern', 'as']],
  ['the same in a list', 'results: [{ tool: a, hide: [iban, { p| }] }]', ['pattern', 'as']],
  [
    'the same in a block',
    'results:\n  - tool: a\n    hide:\n      - pattern: x\n        a|\n',
    ['pattern', 'as'],
  ],
  ['what an entry sees', "results: [{ tool: a, when: 'r|' }]", ['result', 'args', 'marks']],
  ['fields of a result', "results: [{ tool: a, when: 'result.|' }]", ['text', 'isError', 'bytes', 'found']],
  [
    'what can be found',
    'results:\n  - { tool: a, hide: { pattern: K, as: customer } }\n  - tool: a\n    when: result.found.|\n',
    ['secrets', 'card', 'customer'],
  ],
  ['what a sum may be', 'limits:\n  a: { sum: ar| }\n', ['args', 'double']],
] as [string, string, string[]][])('completion offers %s', (_, text, wanted) => {
  expect(offered(text)).toEqual(expect.arrayContaining(wanted));
});

test.each([
  ['inside a string of a condition', `- { when: 'args.a == "a|"' }`],
  ['inside a tool’s name', '- { tool: a| }'],
  ['before anything is typed', '- { tool: a, | }'],
  ['inside a question', '- { tool: a, ask: Ref| }'],
  ['of a rule inside a part of it', '- { tool: a, notify: { x: { g| } } }'],
])('completion offers nothing %s', (_, text) => {
  expect(offered(text)).toEqual([]);
});

test('only entries of results see the result', () => {
  expect(offered("- { when: 'r|' }")).not.toContain('result');
  expect(offered("- { when: 'result.found.|' }")).not.toContain('secrets');
});

test('the mark that is being written is not offered', () => {
  expect(offered('- { tool: a, marks: priv| }\n- { tool: b, marks: private }')).toEqual(['private']);
});

test('on request, completion offers a value before anything is typed', () => {
  expect(offered('- { tool: a, action: |', true)).toContain('allow');
  expect(offered('- tool: a\n  when: |', true)).toContain('args');
});

test.each([
  [
    'a rule’s field',
    '- { to|ol: a }',
    /^A pattern for tool names; \* stands for .* For example: tool: "github__\*"$/,
  ],
  ['a field on a line of its own', 'rules:\n  - tool: a\n    ac|tion: deny\n', /^What the rule decides\./],
  ['a field of a field', '- tool: a\n  approvers:\n    |count: 2\n', /^How many different people/],
  ['a field of the same name, elsewhere', '- { notify: [a], escalate: { noti|fy: [b] } }', /then, too\./],
  ['a limit’s field', 'limits:\n  sends: { wi|thin: 1h }\n', /^A rolling window\./],
  ['a field of an entry', 'results:\n  - { tool: a, at|Most: 1KiB }\n', /^Longer texts are cut/],
  ['a field of a pattern', 'results: [{ hide: { pattern: x, a|s: y } }]', /^The name of its finds/],
  ['a field of the policy', 'na|me: a\n', /^The name of the policy/],
])('help is shown for %s', (_, text, wanted) => {
  expect(helpOn(text)).toMatch(wanted);
});

test.each([
  ['a value', '- { tool: a| }'],
  ['the name of a limit', 'limits:\n  when|: { calls: 1 }\n'],
  ['an unknown field', '- { tol|: a }'],
  ['a comment', '# to|ol: a\n- { tool: a }'],
])('no help is shown for %s', (_, text) => {
  expect(helpOn(text)).toBeUndefined();
});

function helpOn(text: string): string | undefined {
  const position = text.indexOf('|');
  return helpAt(stateOf(text.replace('|', '')), position)?.help;
}

/** The tokens of all conditions in a text, as `kind text`. */
function tokensIn(text: string): string[] {
  const state = stateOf(text);
  const found: string[] = [];
  syntaxTree(state).iterate({
    enter: ({ node }) => {
      if (!isCondition(state, node)) return;
      found.push(...tokensOf(state, node).map(({ kind, from, to }) => `${kind} ${state.sliceDoc(from, to)}`));
    },
  });
  return found;
}

test.each([
  [
    'single quotes',
    `- { when: 'args.a == "it''s" || x(1.5)' }`,
    ['string "it\'\'s"', 'call x', 'number 1.5'],
  ],
  ['strings in single quotes twice', `- { when: 'a == ''b c'' && d' }`, ["string ''b c''", 'name d']],
  ['double quotes', String.raw`- { when: "a == \"b c\" in d" }`, [String.raw`string \"b c\"`, 'keyword in']],
  ['no quotes', '- when: args.a == "b c" // why', ['string "b c"', 'operator ==']],
  ['a list', `- when:\n    - 'a > 1'\n    - "b"\n`, ['name a', 'operator >', 'number 1', 'name b']],
  ['a block', '- when: >\n    a &&\n    has(b)\n', ['operator &&', 'call has']],
  ['a sum', 'limits: { a: { sum: args.amount } }', ['name args', 'name amount']],
])('conditions in %s are cut into tokens', (_, text, wanted) => {
  expect(tokensIn(text)).toEqual(expect.arrayContaining(wanted));
});

test('other fields hold no conditions', () => {
  expect(tokensIn('- { tool: "a", reason: "when: b" }')).toEqual([]);
});
