// Policy files, YAML and JSON: what is read, and every problem with its line and column.

import { describe, expect, spyOn, test } from 'bun:test';
import { RE2JS } from '@bufbuild/re2';
import { Steps } from '../../../src/core/condition/condition.ts';
import { compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import { MAX_RULES } from '../../../src/core/policy/policy.ts';
import { policyFaults } from '../../../src/core/policy/rule-faults.ts';
import { parsePolicy } from '../../../src/core/policy-file/policy-file.ts';

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
    const unnamed = { name: null, description: null, rules: rules as never, limits: {}, results: [] };
    expect(parsePolicy(`{"name":"prod","description":"All.","rules":${list}}`).policy).toEqual({
      ...unnamed,
      name: 'prod',
      description: 'All.',
    });
    expect(parsePolicy(`{"rules":${list}}`).policy).toEqual(unnamed);
    expect(parsePolicy(list).policy).toEqual(unnamed);
    expect(parsePolicy(`{\n\t"rules": [\n\t\t{"tool": "a", "action": "deny"}\n\t]\n}`).problems).toEqual([]);
    expect(parsePolicy('- tool: a\n  action: deny\n\n- {tool: b, action: deny}').lines).toEqual([1, 4]);
    expect(parsePolicy(`- tool: a\n  action: deny\n`).policy?.rules).toEqual([{ tool: 'a', action: 'deny' }]);
  });

  test('conditions, hours, limits and questions', () => {
    const text = `limits:
  sends: { calls: 20, within: 1h, per: session }
  "1": { sum: args.amount, unit: 0.01, atMost: 5e2, each: day, zone: Europe/Berlin, beyond: require_approval }
rules:
  - { tool: a, action: allow, when: 'args.n > 0', during: mon-fri 08:00-18:00 Europe/Berlin, limit: sends }
  - tool: a
    action: allow
    when:
      - args.n > 0
      - >
        has(args.b) &&
        args.b == "x"
    limit: "1"
    ask: "Pay {amount}?"
  - { tool: a, action: require_approval, ask: Really? }
`;
    expect(parsePolicy(text)).toEqual({
      policy: {
        name: null,
        description: null,
        results: [],
        limits: {
          sends: { calls: 20, within: '1h', per: 'session' },
          '1': {
            sum: 'args.amount',
            unit: 0.01,
            atMost: 500,
            each: 'day',
            zone: 'Europe/Berlin',
            beyond: 'require_approval',
          },
        },
        rules: [
          {
            tool: 'a',
            action: 'allow',
            when: 'args.n > 0',
            during: 'mon-fri 08:00-18:00 Europe/Berlin',
            limit: 'sends',
          },
          {
            tool: 'a',
            action: 'allow',
            when: ['args.n > 0', 'has(args.b) && args.b == "x"\n'],
            limit: '1',
            ask: 'Pay {amount}?',
          },
          { tool: 'a', action: 'require_approval', ask: 'Really?' },
        ],
      },
      problems: [],
      lines: [5, 6, 15],
    });
  });

  test('the names of rules', () => {
    const text =
      '- { name: read files, tool: a, action: allow }\n- { tool: a, action: deny, name: Read files }\n';
    const { policy, problems } = parsePolicy(text);
    expect(problems.map(({ message }) => message)).toEqual([
      'rule 1 "Read files" (a) can never match: rule 0 "read files" (a) covers it',
    ]);
    expect(policy?.rules).toEqual([
      { name: 'read files', tool: 'a', action: 'allow' },
      { name: 'Read files', tool: 'a', action: 'deny' },
    ]);
  });

  test('what people see of a call, who may answer, and who is told', () => {
    const text = `rules:
  - tool: a
    action: require_approval
    show: [amount, 'items[0].sku', '["odd name"]']
    ask: Refund {amount} to {customer.name}?
    approvers: { group: Finance Team, count: 2 }
    timeout: 15m
    notify: [default, finance-mail]
    escalate:
      after: 10m
      notify:
        - on-call
  - { tool: b, action: require_approval, show: all, approvers: { group: "/ops" }, reason: R }
  - { tool: c, action: require_approval, show: all, approvers: { proof: passkey } }
`;
    const { policy, problems } = parsePolicy(text);
    expect(problems).toEqual([]);
    expect(policy?.rules).toEqual([
      {
        tool: 'a',
        action: 'require_approval',
        show: ['amount', 'items[0].sku', '["odd name"]'],
        ask: 'Refund {amount} to {customer.name}?',
        approvers: { group: 'Finance Team', count: 2 },
        timeout: '15m',
        notify: ['default', 'finance-mail'],
        escalate: { after: '10m', notify: ['on-call'] },
      },
      { tool: 'b', action: 'require_approval', show: 'all', approvers: { group: '/ops' }, reason: 'R' },
      { tool: 'c', action: 'require_approval', show: 'all', approvers: { proof: 'passkey' } },
    ]);
  });

  test('an empty list of rules, which denies everything', () => {
    const { policy, lines } = parsePolicy('rules: []');
    expect({ policy, lines }).toEqual({
      policy: { name: null, description: null, rules: [], limits: {}, results: [] },
      lines: [],
    });
    const warning = 'warning the policy has no rules, so it denies every call';
    expect(problems('name: x\nrules: []')).toEqual([`2:8 ${warning}`]);
    expect(problems('[]')).toEqual([`1:1 ${warning}`]);
  });
});

describe('reports, where it stands,', () => {
  test('a broken text without talking of conditions where there is none', () => {
    expect(problems('rules:\n  - { tool: "a" b, action: allow }')[0]).toEndWith(
      '(put the whole text in quotes)',
    );
  });

  test('a name that an earlier rule has, or that is none', () => {
    const long = 'x'.repeat(65);
    const text = `rules:
  - { tool: a, actio: allow, name: first }
  - { tool: b, action: allow, name: same }
  - { tool: c, action: allow, name: same }
  - { tool: d, action: allow, name: ${long} }
  - { tool: e, action: allow, name: "a\\tb" }
  - { tool: f, action: allow, name: 7 }
  - { tool: g, action: allow, name: "" }
`;
    expect(problems(text).slice(2)).toEqual([
      '4:37 error "name" must be unique in the policy, but an earlier rule has the same name',
      '5:37 error "name" must have 1 to 64 characters',
      '6:37 error "name" must not contain control characters',
      '7:37 error "name" must be a string',
      '8:37 error "name" must have 1 to 64 characters',
    ]);
  });

  const wrong: Record<string, [text: string, ...problems: (string | RegExp)[]]> = {
    'an empty file': ['', /^1:1 error a policy is/],
    'a scalar': ['hello', /^1:1 error a policy is/],
    'no rules': ['name: x\n', /^1:1 error "rules" must be a list/],
    'rules that are no list': ['name: x\nrules: yes please\n', /^2:8 error "rules" must be a list/],
    'an unknown field of the policy': [
      `rules:\n${RULE}\nowner: me\n`,
      '3:1 error unknown field "owner" in policy; known: name, description, limits, rules, results',
    ],
    'an unknown field of a rule': [
      'rules:\n  - tool: a\n    action: deny\n    resaon: x\n',
      '4:5 error unknown field "resaon" in rule 0; known: name, tool, action, when, during, limit, marks, known, show, ask, approvers, timeout, notify, escalate, reason. Did you mean "reason"?',
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
    'a duplicate limit': [
      'limits: { l: { calls: 1, within: 1h }, l: { calls: 2, within: 1h } }\nrules: []\n',
      '1:40 error Map keys must be unique',
    ],
    'a duplicate field of a limit and of the policy': [
      'limits: { l: { calls: 1, within: 1h, calls: 2 } }\nrules: []\nrules: []\n',
      '1:38 error Map keys must be unique',
      '3:1 error Map keys must be unique',
    ],
    'a second document': [`rules:\n${RULE}\n---\nrules: []\n`, /error .*document/i],
    'broken JSON': ['{\n  "rules": [\n    {"tool": "a" "action": "deny"}\n  ]\n}', /^3:\d+ error /],
    'a duplicate key in JSON': ['[{"tool":"a","action":"allow","action":"deny"}]', /^1:31 error .*unique/i],
  };
  const allow = (rest: string) =>
    `limits: { l: { calls: 1, within: 1h } }\nrules:\n- { tool: a, action: allow, ${rest} }\n`;
  const asks = (rest: string) => `rules:\n- tool: a\n  action: require_approval\n  ${rest}\n`;
  const numbered = Array.from({ length: 25 }, (_, at) => `limit${at}`);
  const limits = (text: string) => `limits: ${text}\nrules:\n- { tool: a, action: allow, limit: l }\n`;
  Object.assign(wrong, {
    'a typo in a condition': [
      "- { tool: a, action: deny, when: 'has(args.a) && arg.a == 1' }",
      '1:50 error condition 0 of rule 0: unknown variable "arg"; known: args, tool, key, session, person, surface, agent, marks. Did you mean "args"?',
    ],
    'a typo in a condition of a list': [
      '- tool: a\n  action: deny\n  when:\n    - has(args.a)\n    - "\\"x\\" == tool.nmae"\n',
      /^5:22 error condition 1 of rule 0: /,
    ],
    'a typo in a condition in JSON': [
      '[\n {"tool": "a", "action": "deny",\n  "when": ["\\"\\u00e9\\" == args.a", "size(args) = 1"]}\n]',
      /^3:48 error condition 1 of rule 0: /,
    ],
    'a typo on a later line of a block': [
      '- tool: a\n  action: deny\n  when: |\n    has(args.a)\n\n      && lenght(args.a) > 1\n',
      /^6:10 error condition 0 of rule 0: unknown function "lenght"/,
    ],
    'a typo on a later line of a folded block': [
      '- tool: a\n  action: deny\n  when: >-\n    has(args.a)\n    && lenght(args.a) > 1\n',
      /^5:8 error condition 0 of rule 0: unknown function "lenght"/,
    ],
    'a condition that ends too early': [
      '- tool: a\n  action: deny\n  when: args.a ==\n',
      /^3:\d+ error condition 0 of rule 0: /,
    ],
    'a condition that is no bool': [
      "- { tool: a, action: deny, when: '1 + 1' }",
      /^1:35 error condition 0 of rule 0: /,
    ],
    'an empty condition': ["- { tool: a, action: deny, when: '' }", /^1:34 error condition 0 of rule 0: /],
    'a condition that is too long': [
      `- { tool: a, action: deny, when: '${'true || '.repeat(600)}true' }`,
      /^1:\d+ error condition 0 of rule 0: a condition has at most 4096 characters/,
    ],
    'a condition that is a number': [
      '- { tool: a, action: deny, when: 5 }',
      '1:34 error "when" must be a condition or a list of conditions',
    ],
    'a condition of a list that is a number': [
      '- { tool: a, action: deny, when: [true, 5] }',
      '1:35 error each of "when" must be a condition, which is a string',
      '1:41 error each of "when" must be a condition, which is a string',
    ],
    'an empty list of conditions': [
      '- { tool: a, action: deny, when: [] }',
      '1:34 error "when" must not be an empty list',
    ],
    'hours that are none': [
      '- { tool: a, action: deny, during: noon }',
      /^1:36 error "during" must be days, hours/,
    ],
    'hours that are a list': [
      '- { tool: a, action: deny, during: [mon] }',
      '1:36 error "during" must be days, hours and a zone, such as mon-fri 08:00-18:00 Europe/Berlin',
    ],
    'a limit on another rule': [
      allow('limit: l').replace('allow', 'deny'),
      '3:35 error "limit" is only for allow rules',
    ],
    'an unknown limit': [allow('limit: m'), '3:36 error "limit" names no limit of this policy; known: l'],
    'a limit with a typo': [
      `limits: {${numbered.map(name => ` ${name}: { calls: 1, within: 1h }`)} }\nrules:\n- { tool: a, action: allow, limit: limits24 }`,
      `3:36 error "limit" names no limit of this policy; known: ${numbered.slice(0, 20).join(', ')}, …. Did you mean "limit24"?`,
    ],
    'a limit that only an object would have': [
      '- { tool: a, action: allow, limit: constructor }',
      '1:36 error "limit" names no limit of this policy, which has none',
    ],
    'a question where nobody is asked': [
      allow('limit: l, ask: Why?'),
      /^3:44 error "ask" is only for require_approval/,
    ],
    'a question without a limit': [allow('ask: Why?'), /^3:34 error "ask" is only for require_approval/],
    'a question of two lines': [
      '- { tool: a, action: require_approval, ask: "One\\nTwo" }',
      '1:45 error "ask" must not contain control characters',
    ],
    'a question that is too long': [
      `- { tool: a, action: require_approval, ask: ${'x'.repeat(301)} }`,
      '1:45 error "ask" must have 1 to 300 characters',
    ],
    'limits that are a list': [
      limits('[l]'),
      /^1:9 error "limits" must be an object of limits with their names, such as/,
    ],
    'limits that are nothing': [limits(''), /^1:\d+ error "limits" must be an object/],
    'a limit that is no object': [
      limits('{ l: 5 }'),
      '1:11 error limit "l": must be an object, such as { calls: 20, within: 1h }',
    ],
    'a name that no limit may have': [
      limits('{ l: { calls: 1, within: 1h }, "a b": { calls: 1, within: 1h } }'),
      /^1:40 error limit "a b": is no name for a limit: /,
    ],
    'the name __proto__': [
      limits('{ l: { calls: 1, within: 1h }, __proto__: { calls: 1, within: 1h } }'),
      /^1:40 error limit "__proto__": is no name for a limit: /,
    ],
    'a name of a limit that YAML takes for a number': [
      limits('{ l: { calls: 1, within: 1h }, 5: { calls: 1, within: 1h } }'),
      '1:40 error the name of a limit must be a string: put it in quotes',
    ],
    'an unknown field of a limit': [
      limits('{ l: { calls: 1, within: 1h, show: 1 } }'),
      '1:38 error unknown field "show" in limit "l"; known: calls, sum, atMost, unit, within, each, zone, per, beyond',
    ],
    'a wrong value in a limit': [
      limits('{ l: { calls: 0, within: 1h } }'),
      /^1:23 error limit "l": "calls" must be a whole number/,
    ],
    'a value in a limit that is nothing': [
      limits('{ l: { sum: args.a, atMost: 5, unit: , within: 1h } }'),
      /^1:\d+ error limit "l": "unit" must be a number greater than 0/,
    ],
    'a limit without a window': [
      limits('{ l: { calls: 1 } }'),
      '1:11 error limit "l": a limit has either "within" or "each"',
    ],
    'a typo in a sum': [
      limits("{ l: { sum: 'args.a + arg.b', atMost: 1, within: 1h } }"),
      /^1:31 error "sum" of limit "l": unknown variable "arg"/,
    ],
    'a sum that is no number': [
      limits('{ l: { sum: \'"a"\', atMost: 1, within: 1h } }'),
      /^1:22 error "sum" of limit "l": /,
    ],
    'a control character in a comment': [
      'rules:\n  # \x1b[2J\n  - { tool: a, action: deny }\n',
      '2:5 error a policy must not contain control characters',
    ],
    'an unknown field of who may answer': [
      asks('approvers: { group: finance, cuont: 2 }'),
      '4:32 error unknown field "cuont" in "approvers" of rule 0; known: group, count, proof. Did you mean "count"?',
    ],
    'a field of who may answer twice': [
      asks('approvers: { group: a, group: b }'),
      '4:26 error Map keys must be unique',
    ],
    'who may answer without a group': [
      asks('approvers: { count: 2 }'),
      '4:14 error "approvers" needs "group" or "proof"; it must be an object, such as { group: finance, count: 2 } or { proof: passkey }',
    ],
    'who may answer as a name': [
      asks('approvers: finance'),
      '4:14 error "approvers" must be an object, such as { group: finance, count: 2 } or { proof: passkey }',
    ],
    'a group that is a number, and too many of it': [
      asks('approvers: { group: 5, count: 6 }'),
      '4:23 error "approvers.group" must be a string',
      '4:33 error "approvers.count" must be a whole number from 1 to 5',
    ],
    'a proof that is not known': [
      asks('approvers: { proof: fingerprint }'),
      '4:23 error "approvers.proof" must be "passkey"',
    ],
    'an empty group and a part of a person': [
      asks('approvers: { group: "", count: 1.5 }'),
      '4:23 error "approvers.group" must have 1 to 128 characters',
      '4:34 error "approvers.count" must be a whole number from 1 to 5',
    ],
    'an argument to show that is in no list': [
      asks('show: amount'),
      '4:9 error "show" must be all, or a list of paths to arguments, such as [amount, customer.name]',
    ],
    'nothing to show': [asks('show:'), /^4:\d+ error "show" must be all, or a list/],
    'an empty list to show': [asks('show: []'), /^4:9 error "show" must be all, or a list/],
    'all in a list': [
      asks('show: [all]'),
      /^4:10 error "show\[0\]" means all arguments only outside of a list/,
    ],
    'paths to show that are none': [
      asks('show: [a, b..c, { d: e }, a]'),
      /^4:13 error "show\[1\]" is no path to an argument; /,
      '4:19 error "show[2]" must be a string',
      '4:29 error "show[3]" is in the list twice',
    ],
    'a control character in a path': [
      asks(String.raw`show: ["[\"a\x7f\"]"]`),
      '4:10 error "show[0]" must not contain control characters',
    ],
    'too many paths to show': [
      asks(`show: [${Array.from({ length: 51 }, (_, at) => `a${at}`)}]`),
      '4:9 error "show" must have at most 50 items',
    ],
    'a question with a brace that is not closed': [
      asks('ask: "Pay {amount?"'),
      '4:8 error "ask" has a "{" at character 5 that is not closed',
    ],
    'a question with braces around something else': [
      asks('ask: "Pay {the amount}?"'),
      /^4:8 error "ask" has a "\{" at character 5 that begins no path to an argument/,
    ],
    'a question that is a list': [asks('ask: [Why]'), '4:8 error "ask" must be a string'],
    'an unknown unit of time': [
      asks('timeout: 90s'),
      '4:12 error "timeout" must be 1m to 7d: a number of minutes (m), hours (h) or days (d)',
    ],
    'a time that is too long': [asks('timeout: 169h'), /^4:12 error "timeout" must be 1m to 7d/],
    'a time that is a number': [asks('timeout: 15'), /^4:12 error "timeout" must be 1m to 7d/],
    'a channel outside of a list': [
      asks('notify: on-call'),
      '4:11 error "notify" must be a list of names of channels, such as [finance-mail]',
    ],
    'channels with names that none has': [
      asks('notify: [a, -b, "c d"]'),
      /^4:15 error "notify\[1\]" is no name for a channel: /,
      /^4:19 error "notify\[2\]" is no name for a channel: /,
    ],
    'an escalation without a time': [
      asks('escalate: { notify: [a] }'),
      '4:13 error "escalate" needs "after"; it must be an object, such as { after: 10m, notify: [on-call] }',
    ],
    'an escalation that comes too late': [
      asks('timeout: 10m\n  escalate: { after: 10m, notify: [a, a] }'),
      '5:22 error "escalate.after" must be shorter than "timeout", 10m',
      '5:39 error "escalate.notify[1]" is in the list twice',
    ],
    'marks of a rule that denies': [
      '- { tool: a, action: deny, marks: untrusted, known: results }',
      '1:35 error "marks" is not for deny rules',
      '1:53 error "known" is not for deny rules',
    ],
    'marks with names that none has': [
      '- { tool: a, action: allow, marks: [ok, Untrusted, ok, 5, true] }',
      /^1:41 error "marks\[1\]" must /,
      '1:52 error "marks[2]" is in the list twice',
      '1:56 error "marks[3]" must be a string',
      '1:59 error "marks[4]" must be a string',
    ],
    'a mark with a name that none has': [asks('marks: a_b'), /^4:10 error "marks" must /],
    'marks that are none': [asks('marks: []'), /^4:10 error "marks" must be the name of a mark, or a list/],
    'marks that are an object': [
      asks('marks: { a: b }'),
      /^4:10 error "marks" must be the name of a mark, or/,
    ],
    'more marks than a policy may have': [
      `[${Array.from({ length: 18 }, (_, at) => `{ tool: a, action: allow, marks: m${at} }`).join(',\n')}]`,
      '17:34 error "marks" brings the marks of the policy to more than 16',
    ],
    'more marks than a rule may have': [
      asks(`marks: [${Array.from({ length: 17 }, (_, at) => `m${at}`)}]`),
      '4:10 error "marks" must have at most 16 items',
    ],
    'what makes nothing known': [asks('known: arguments'), '4:10 error "known" must be "results"'],
    'who may answer where nobody is asked': [
      '- { tool: a, action: deny, approvers: [x] }',
      /^1:39 error "approvers" is only for require_approval rules, and for allow rules whose limit/,
    ],
  } satisfies typeof wrong);
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
      'rules:\n  - tool: 1\n    action: maybe\n  - action: deny\n  - tool: a\n    action: deny\n    show: now\n';
    expect(problems(text)).toEqual([
      '2:11 error "tool" must be a string',
      '3:13 error "action" must be one of allow, deny, require_approval',
      '4:5 error rule 1 lacks "tool"',
      '7:11 error "show" is only for require_approval rules, and for allow rules whose limit has beyond: require_approval',
    ]);
    // What could not be read as a rule has a line too, so that the numbers of the others stay right.
    expect(parsePolicy(`${text}  - { tool: b, action: deny }`).lines).toEqual([2, 4, 5, 8]);
    expect(problems('[{"tool":5,"actio":"x","action":"no"}]')).toEqual([
      '1:10 error "tool" must be a string',
      '1:12 error unknown field "actio" in rule 0; known: name, tool, action, when, during, limit, marks, known, show, ask, approvers, timeout, notify, escalate, reason. Did you mean "action"?',
      '1:33 error "action" must be one of allow, deny, require_approval',
    ]);
  });

  test('faults of conditions beside others, with the number that the rule has in the file', () => {
    const text = 'rules:\n  - tool: 1\n    action: deny\n  - { tool: a, action: deny, when: arg.a }\n';
    expect(problems(text)).toEqual([
      '2:11 error "tool" must be a string',
      expect.stringMatching(/^4:36 error condition 0 of rule 1: unknown variable "arg"/),
    ]);
  });

  test('warnings about conditions and limits where those stand', () => {
    const text =
      "limits:\n  l: { calls: 1, within: 1h }\nrules:\n  - tool: a\n    action: deny\n    when:\n      - 'true'\n      - size(args) > 1 && args.a == 1\n";
    expect(problems(text)).toEqual([
      '2:3 warning limit "l" counts nothing, because no rule names it',
      '7:10 warning condition 0 of rule 0 (a) is always true; leave it out',
      '8:27 warning rule 0 (a) reads args.a without has(args.a), so it also denies calls that lack it',
    ]);
  });

  test('a star without quotes, with the advice to quote it', () => {
    for (const star of ['*', '*_delete', '*__get', '*a*']) {
      const [found] = problems(`rules:\n  - tool: ${star}\n    action: deny\n`);
      expect(found).toMatch(/^2:\d+ error /);
      expect(found).toContain('must be in quotes');
    }
  });

  test('an exclamation mark without quotes, which YAML would leave out of the condition', () => {
    const texts = [
      '! has(args.x)',
      '!has(args.x)',
      '!has(args.x) && args.y == 1',
      '!path.within(args.p, "/srv")',
    ];
    for (const text of texts)
      expect(problems(`rules:\n  - tool: a\n    action: deny\n    when: ${text}\n`)).toEqual([
        '4:11 error a text that begins with ! must be in quotes',
      ]);
    expect(problems("- { tool: a, action: deny, when: [!x, ! y], reason: ! 'No' }")).toEqual([
      '1:35 error a text that begins with ! must be in quotes',
    ]);
    expect(problems("- { tool: !!str a, action: deny, when: ['!has(args.x)'] }")).toEqual([]);
  });

  test('quotes and colons that YAML takes for its own, once and with advice', () => {
    const found = (when: string) => problems(`rules:\n  - tool: a\n    action: deny\n    when: ${when}\n`);
    const quote = ` (put the whole text in quotes, such as 'args.currency == "EUR"')`;
    expect(found('"args.x == "EUR""')).toEqual([`4:23 error Unexpected scalar at node end${quote}`]);
    expect(found('args.x ? true : false')).toEqual([
      '4:11 error Nested mappings are not allowed in compact mappings (a text with ": " in it must be in quotes; otherwise the indentation is wrong)',
    ]);
    expect(found('"args.x.matches(\'\\d\')"')).toEqual([
      '4:28 error Invalid escape sequence \\d (use single quotes, in which a backslash is a backslash)',
    ]);
    const rule = '  - { tool: a, action: deny, when: args.x in ["a", "b"] }\n';
    expect(problems(`rules:\n${rule}${rule}`)).toEqual([
      `2:46 error Unexpected flow-seq-start at node end${quote}`,
    ]);
    expect(problems(`[${rule.slice(4).trim()}, { tool: "*", action: deny }]`)[0]).toBe(
      `1:43 error Unexpected flow-seq-start at node end${quote}`,
    );
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

test('what is about people is checked in rules that come as data, too', () => {
  const faults = (part: object) =>
    policyFaults([{ tool: 'a', action: 'require_approval', ...part }], {}).map(
      ({ path, message }) => `${path.slice(2).join('.')} ${message}`,
    );
  const many = (count: number) => Array.from({ length: count }, (_, at) => `a${at}`);
  expect(
    faults({ show: many(50), notify: many(10), timeout: '7d', approvers: { group: 'g', count: 5 } }),
  ).toEqual([]);
  expect(faults({ show: many(51), notify: many(11) })).toEqual([
    'show must have at most 50 items',
    'notify must have at most 10 items',
  ]);
  expect(faults({ approvers: { group: 'a', cuont: 2 } })).toEqual([
    'approvers.cuont is an unknown field; known: group, count, proof. Did you mean "count"?',
  ]);
  expect(faults({ escalate: { after: '1m', notify: ['a'], to: 'x' } })).toEqual([
    'escalate.to is an unknown field; known: after, notify',
  ]);
  for (const approvers of [null, 5, 'finance', ['finance']])
    expect(faults({ approvers })).toEqual([
      'approvers must be an object, such as { group: finance, count: 2 } or { proof: passkey }',
    ]);
});

test('lists of more paths and channels than a policy may have are refused', () => {
  const rule = (length: number) => ({
    tool: 'a',
    action: 'require_approval' as const,
    show: Array.from({ length }, (_, at) => `a${at}`),
    escalate: { after: '1m', notify: ['a'] },
  });
  expect(
    policyFaults(
      Array.from({ length: 1000 }, () => rule(19)),
      {},
    ),
  ).toEqual([]);
  expect(
    policyFaults(
      Array.from({ length: 1000 }, () => rule(20)),
      {},
    ),
  ).toEqual([
    {
      path: ['rules'],
      offset: null,
      message: 'the lists "show", "notify" and "marks" of a policy have at most 20000 items together',
    },
  ]);
});

test('more limits and conditions than a policy may have are refused, and none of them is compiled', () => {
  const limit = '{ sum: args.a, atMost: 1, within: 1h }';
  const file = (limits: number, conditions: number) => {
    const written = Array.from({ length: limits }, (_, n) => `  l${n}: ${limit}\n`).join('');
    const list = Array.from({ length: conditions }, () => 'args.a').join(', ');
    return problems(`limits:\n${written}rules:\n  - { tool: a, action: deny, when: [${list}] }\n`);
  };
  const errors = (found: string[]) => found.filter(each => each.includes(' error '));
  expect(errors(file(1000, 1000))).toEqual([]);
  expect(errors(file(1000, 1001))).toEqual(['1003:3 error a policy has at most 2000 conditions']);
  expect(errors(file(1001, 1))).toEqual(['2:3 error a policy has at most 1000 limits']);
}, 60_000);

describe('the patterns of a policy', () => {
  /** Each has about 500 instructions. */
  const pattern = (n: number) => `^(foo${String(n).padStart(4, '0')}|bar|[a-z0-9_-]+|.*x{3,20}){1,9}$`;
  const when = (...numbers: number[]) =>
    numbers.map(n => `args.a.matches(${JSON.stringify(pattern(n))})`).join(' || ');
  const textOf = (rules: number, patterns: number) =>
    Array.from({ length: rules }, (_, rule) => {
      const some = Array.from({ length: 4 }, (_, at) => (rule * 4 + at) % patterns);
      return `- { tool: a, action: allow, when: '${when(...some)}' }`;
    }).join('\n');
  /** How many patterns are compiled meanwhile: that takes the time. */
  function compiled(work: () => void): number {
    const compile = spyOn(RE2JS, 'compile');
    try {
      work();
      return compile.mock.calls.length;
    } finally {
      compile.mockRestore();
    }
  }

  test('are bounded together: beyond that none is compiled, and the condition is named', () => {
    let found: string[] = [];
    const count = compiled(() => {
      found = problems(textOf(1000, 4000));
    });
    expect(found).toEqual([
      expect.stringMatching(
        /^25:\d+ error condition 0 of rule 24: with this condition, the patterns of the policy have more than 50000 instructions together/,
      ),
    ]);
    expect(count).toBe(25 * 4);
    // Those that are refused cost as much.
    const large = Array.from({ length: 100 }, (_, n) => `args.a.matches("(${n}[a-z]{9}){90}")`);
    const rules = large.map(each => ({ tool: 'a', action: 'allow' as const, when: each }));
    expect(compiled(() => policyFaults(rules, {}))).toBeLessThan(60);
  });

  test('are compiled once, however often they are used, and a policy that was saved only when it needs them', () => {
    const text = textOf(1000, 90).replaceAll('foo', 'fox');
    const count = compiled(() => {
      const { policy } = parsePolicy(text);
      expect(policy?.rules).toHaveLength(1000);
      expect(policyFaults(policy?.rules ?? [], {})).toEqual([]);
    });
    expect(count).toBe(90);
    const rules = [{ tool: 'a', action: 'allow' as const, when: when(7001, 7002) }];
    const load = () => compilePolicy({ id: 'p', name: 'p', version: 1, rules });
    expect(compiled(load)).toBe(0);
    const [condition] = load().compiled.get(0)?.conditions ?? [];
    expect(compiled(() => condition?.evaluate({ args: { a: 'bar' } }, new Steps()))).toBe(1);
  });
});
