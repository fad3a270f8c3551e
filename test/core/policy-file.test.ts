// Policy files, YAML and JSON: what is read, and every problem with its line and column.

import { describe, expect, test } from 'bun:test';
import { MAX_RULES } from '../../src/core/policy.ts';
import { parsePolicy } from '../../src/core/policy-file.ts';

/** Problems as `line:column severity message`. */
function problems(text: string): string[] {
  return parsePolicy(text).problems.map(
    ({ line, column, severity, message }) => `${line}:${column} ${severity} ${message}`,
  );
}

const RULE = "  - { tool: 'a*', action: allow }";

describe('reads', () => {
  const rules = [
    { tool: 'github__*', action: 'allow' },
    { tool: '*', action: 'deny', reason: 'No.' },
  ];

  test('YAML with a name', () => {
    const text =
      "name: prod\ndescription: For agents.\nrules:\n  - tool: github__*\n    action: allow\n  - tool: '*'\n    action: deny\n    reason: No.\n";
    expect(parsePolicy(text)).toMatchObject({
      policy: { name: 'prod', rules: rules as never },
      problems: [],
    });
  });

  test('JSON, with and without a name, and a bare list in both', () => {
    const list = JSON.stringify(rules, null, 2);
    expect(parsePolicy(`{"name":"prod","rules":${list}}`).policy).toEqual({
      name: 'prod',
      rules: rules as never,
    });
    expect(parsePolicy(`{"rules":${list}}`).policy).toEqual({ name: null, rules: rules as never });
    expect(parsePolicy(list).policy).toEqual({ name: null, rules: rules as never });
    expect(parsePolicy(`{\n\t"rules": [\n\t\t{"tool": "a", "action": "deny"}\n\t]\n}`).problems).toEqual([]);
    expect(parsePolicy('- tool: a\n  action: deny\n\n- {tool: b, action: deny}').lines).toEqual([1, 4]);
    expect(parsePolicy(`- tool: a\n  action: deny\n`).policy?.rules).toEqual([{ tool: 'a', action: 'deny' }]);
  });

  test('an empty list of rules, which denies everything', () => {
    const { policy, lines } = parsePolicy('rules: []');
    expect({ policy, lines }).toEqual({ policy: { name: null, rules: [] }, lines: [] });
    const warning = 'warning the policy has no rules, so it denies every call';
    expect(problems('name: x\nrules: []')).toEqual([`2:8 ${warning}`]);
    expect(problems('[]')).toEqual([`1:1 ${warning}`]);
  });
});

describe('reports, where it stands,', () => {
  const wrong: Record<string, [text: string, ...problems: (string | RegExp)[]]> = {
    'an empty file': ['', /^1:1 error a policy is/],
    'a scalar': ['hello', /^1:1 error a policy is/],
    'no rules': ['name: x\n', /^1:1 error "rules" must be a list/],
    'rules that are no list': ['name: x\nrules: yes please\n', /^2:8 error "rules" must be a list/],
    'an unknown field of the policy': [
      `rules:\n${RULE}\nowner: me\n`,
      '3:1 error unknown field "owner" in policy; known: name, description, rules',
    ],
    'an unknown field of a rule': [
      'rules:\n  - tool: a\n    action: deny\n    resaon: x\n',
      '4:5 error unknown field "resaon" in rule 0; known: tool, action, reason',
    ],
    'a rule that is no object': [`rules:\n${RULE}\n  - deny\n`, /^3:5 error rule 1 must be an object/],
    'a rule without a tool': ['rules:\n  - action: deny\n', '2:5 error rule 0 lacks "tool"'],
    'a rule without an action': ['rules:\n  - tool: a\n', '2:5 error rule 0 lacks "action"'],
    'an unknown action': [
      'rules:\n  - tool: a\n    action: permit\n',
      '3:13 error "action" must be one of allow, deny, require_approval',
    ],
    'an action in capitals': ['- { tool: a, action: Allow }', /^1:22 error "action" must be one of/],
    'a tool that is a number': [
      'rules:\n  - tool: 5\n    action: deny\n',
      '2:11 error "tool" must be a string',
    ],
    'a tool that is null': ['- tool:\n  action: deny\n', /^1:\d+ error "tool" must be a string/],
    'an empty tool': ["- tool: ''\n  action: deny\n", '1:9 error "tool" must have 1 to 512 characters'],
    'a control character in a tool': [
      '- tool: "a\\tb"\n  action: deny\n',
      /^1:9 error "tool" must not contain control/,
    ],
    'a reason that is a list': [
      '- tool: a\n  action: deny\n  reason: [x]\n',
      '3:11 error "reason" must be a string',
    ],
    'a name that is a number': [`name: 5\nrules:\n${RULE}\n`, '1:7 error "name" must be a string'],
    'a description that is a list': [
      `description: [x]\nrules:\n${RULE}\n`,
      '1:14 error "description" must be a string',
    ],
    'an empty name': [`name: ''\nrules:\n${RULE}\n`, '1:7 error "name" must not be empty'],
    'a duplicate key': ['- tool: a\n  tool: b\n  action: deny\n', /^2:3 error .*unique/i],
    'a second document': [`rules:\n${RULE}\n---\nrules: []\n`, /error .*document/i],
    'broken JSON': ['{\n  "rules": [\n    {"tool": "a" "action": "deny"}\n  ]\n}', /^3:\d+ error /],
    'a duplicate key in JSON': ['[{"tool":"a","action":"allow","action":"deny"}]', /^1:31 error .*unique/i],
  };
  for (const [what, [text, ...wanted]] of Object.entries(wrong)) {
    test(what, () => {
      const { policy } = parsePolicy(text);
      const found = problems(text);
      expect(policy).toBeNull();
      for (const [index, want] of wanted.entries()) {
        if (typeof want === 'string') expect(found[index]).toBe(want);
        else expect(found[index]).toMatch(want);
      }
    });
  }

  test('all problems of a file, in the order of the text', () => {
    const text =
      'rules:\n  - tool: 1\n    action: maybe\n  - action: deny\n  - tool: a\n    action: deny\n    when: now\n';
    expect(problems(text)).toEqual([
      '2:11 error "tool" must be a string',
      '3:13 error "action" must be one of allow, deny, require_approval',
      '4:5 error rule 1 lacks "tool"',
      '7:5 error unknown field "when" in rule 2; known: tool, action, reason',
    ]);
    // Only what could be read as a rule has a line.
    expect(parsePolicy(`${text}  - { tool: b, action: deny }`).lines).toEqual([5, 8]);
    expect(problems('[{"tool":5,"actio":"x","action":"no"}]')).toEqual([
      '1:10 error "tool" must be a string',
      '1:12 error unknown field "actio" in rule 0; known: tool, action, reason',
      '1:33 error "action" must be one of allow, deny, require_approval',
    ]);
  });

  test('a star without quotes, with the advice to quote it', () => {
    for (const star of ['*', '*_delete', '*__get', '*a*']) {
      const [found] = problems(`rules:\n  - tool: ${star}\n    action: deny\n`);
      expect(found).toMatch(/^2:\d+ error /);
      expect(found).toContain('must be in quotes');
    }
  });

  test('shadowed rules as warnings that leave the policy usable', () => {
    const text =
      "rules:\n  - { tool: 'a*', action: allow }\n  - { tool: ab, action: deny }\n  - tool: b\n    action: deny\n";
    expect(problems(text)).toEqual(['3:5 warning rule 1 (ab) can never match: rule 0 (a*) covers it']);
    expect(parsePolicy(text).policy?.rules).toHaveLength(3);
    const json = '[\n  {"tool":"*","action":"deny"},\n  {"tool":"x","action":"allow"}\n]';
    expect(problems(json)).toEqual(['3:3 warning rule 1 (x) can never match: rule 0 (*) covers it']);
  });
});

test('a file of ten thousand rules is read', () => {
  const rules = Array.from({ length: 10_000 }, (_, i) => ({ tool: `tool_${i}`, action: 'allow' }));
  expect(parsePolicy(JSON.stringify(rules)).policy?.rules).toHaveLength(10_000);
});

test('more rules than a policy may have are refused', () => {
  // What is no rule is read in less time than a rule.
  const first = (count: number) => problems(`[${'0,'.repeat(count)}]`)[0];
  expect(first(MAX_RULES)).toStartWith('1:2 error rule 0 must be an object');
  expect(first(MAX_RULES + 1)).toBe('1:1 error a policy has at most 100000 rules');
}, 60_000);
