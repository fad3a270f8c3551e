// A rule that is put into the text of a policy file: the text around it stays, and comments stay with their rules.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { insertRule } from '../../../src/core/policy-file/insert-rule.ts';
import { parsePolicy } from '../../../src/core/policy-file/policy-file.ts';

const NEW = { tool: 'new__tool', action: 'allow' } as const;

function inserted(text: string, above: number | null, rule: Parameters<typeof insertRule>[1] = NEW): string {
  const found = insertRule(text, rule, above);
  if (found === null) throw new Error(`No rule was put into ${text}`);
  return found.text;
}

describe('puts a rule', () => {
  const dashed = `name: prod # our policy
rules:
  # Reading is harmless.
  - tool: a__*
    action: allow
    # They asked for it.
  - { tool: b, action: deny } # never

  # All else.
  - tool: "*"
    action: deny
`;

  test('above a rule and the comments that belong to it', () => {
    const line = '  - tool: new__tool\n    action: allow\n';
    const braced = '  - { tool: new__tool, action: allow }\n';
    expect(inserted(dashed, 0)).toBe(dashed.replace('  # Reading', `${line}  # Reading`));
    expect(inserted(dashed, 1)).toBe(dashed.replace('  - { tool: b', `${braced}  - { tool: b`));
    expect(inserted(dashed, 2)).toBe(dashed.replace('  # All else', `${line}\n  # All else`));
  });

  test('and leaves the results that follow the rules', () => {
    const results = `# What comes back.
results:
  # Nobody needs addresses.
  - { tool: a__*, hide: [email, { pattern: "KD-[0-9]+", as: customer }] }
  - tool: b
    withhold: true
`;
    const text = `${dashed}\n${results}`;
    for (const above of [0, 1, 2, null])
      expect([above, inserted(text, above).endsWith(`\n${results}`)]).toEqual([above, true]);
    const rules = 'rules: [{ tool: a, action: deny }]';
    expect(inserted(`${rules}\n${results}`, null)).toEndWith(`\n${results}`);
    expect(inserted(`${results}rules: []\n`, null)).toStartWith(results);
    const json = '{"rules":[{"tool":"a","action":"deny"}],"results":[{"tool":"a","hide":"email"}]}';
    expect(JSON.parse(inserted(json, null)).results).toEqual([{ tool: 'a', hide: 'email' }]);
  });

  test('not twice: a rule that has a name as well says the same', () => {
    const text = 'rules:\n  - { name: mine, tool: new__tool, action: allow }\n';
    expect(insertRule(text, NEW, null)).toEqual({ text, index: 0, added: false });
  });

  test('at the end, also of a text without a last line break, and before what follows the rules', () => {
    expect(inserted(dashed, null)).toBe(`${dashed}\n  - tool: new__tool\n    action: allow\n`);
    expect(inserted(dashed, 99)).toBe(inserted(dashed, null));
    expect(inserted('- tool: a\n  action: deny', null)).toBe(
      '- tool: a\n  action: deny\n- tool: new__tool\n  action: allow',
    );
    expect(inserted('rules:\n-   {tool: a, action: deny} # a\n    # still a\n# end\nname: x', null)).toBe(
      'rules:\n-   {tool: a, action: deny} # a\n    # still a\n- {tool: new__tool, action: allow}\n# end\nname: x',
    );
  });

  test('between texts of several lines, whose blank lines are part of them', () => {
    const text = 'rules:\n  - tool: a\n    action: deny\n    when: |+\n      args.n > 1\n\n\nname: x\n';
    expect(inserted(text, null)).toBe(
      'rules:\n  - tool: a\n    action: deny\n    when: |+\n      args.n > 1\n\n\n  - tool: new__tool\n    action: allow\nname: x\n',
    );
  });

  test('with the line breaks of its neighbours', () => {
    expect(inserted('rules:\r\n  - tool: a\r\n    action: deny\r\n', 0)).toBe(
      'rules:\r\n  - tool: new__tool\r\n    action: allow\r\n  - tool: a\r\n    action: deny\r\n',
    );
  });

  test('into JSON, which stays JSON in the layout that it has', () => {
    const rules = [
      { tool: 'a', action: 'deny' },
      { tool: 'b', action: 'deny' },
    ];
    for (const indent of [undefined, 1, 2, '\t'])
      for (const whole of [rules, { name: 'x', rules }, rules.slice(1)])
        for (const above of [0, 1, null]) {
          const text = JSON.stringify(whole, null, indent);
          const list = Array.isArray(whole) ? whole : whole.rules;
          const all = list.toSpliced(above ?? list.length, 0, { ...NEW });
          const wanted = JSON.stringify(Array.isArray(whole) ? all : { ...whole, rules: all }, null, indent);
          expect(inserted(text, above)).toBe(wanted);
        }
  });

  test('into brackets, where comments stay on their lines', () => {
    const text = 'rules: [\n  # One.\n  { tool: a, action: deny }, # a\n  {tool: b, action: deny} # b\n]\n';
    expect(inserted(text, 0)).toBe(text.replace('  # One', '  { tool: new__tool, action: allow },\n  # One'));
    expect(inserted(text, 1)).toBe(
      text.replace('  {tool: b', '  {tool: new__tool, action: allow},\n  {tool: b'),
    );
    expect(inserted(text, null)).toBe(text.replace('} # b', '}, # b\n  {tool: new__tool, action: allow}'));
    expect(inserted('[{ tool: a, action: deny }]', 0)).toBe(
      '[{ tool: new__tool, action: allow }, { tool: a, action: deny }]',
    );
    expect(inserted('[\n  { tool: a, action: deny }, # a\n]', null)).toBe(
      '[\n  { tool: a, action: deny }, # a\n  { tool: new__tool, action: allow },\n]',
    );
  });

  test('into an empty list', () => {
    expect(inserted('name: x\nrules: [] # none\n', null)).toBe(
      'name: x\nrules: [{ tool: new__tool, action: allow }] # none\n',
    );
    expect(inserted('{"rules":[]}', 0)).toBe('{"rules":[{"tool": "new__tool", "action": "allow"}]}');
    expect(parsePolicy(inserted('[ # none\n]', null)).policy?.rules).toEqual([NEW]);
  });
});

test('matches only the tool that is named, however it is named', () => {
  const rulesFor = (tool: string) =>
    parsePolicy(inserted('rules: []', null, { tool, action: 'deny' })).policy?.rules;
  expect(rulesFor("s__it's: #1")).toEqual([{ tool: "s__it's: #1", action: 'deny' }]);
  expect(rulesFor('s__a"*')).toEqual([{ tool: 's__*', action: 'deny', when: 'tool.name == "a\\"*"' }]);
  expect(rulesFor('s*__list[0]')).toEqual([
    { tool: '*', action: 'deny', when: 'tool.server == "s*" && tool.name == "list[0]"' },
  ]);
});

test('says if the rule is there already, where it has an effect', () => {
  const text = 'rules:\n  - { tool: a, action: deny }\n  - { tool: new__tool, action: allow }\n';
  const there = { text, index: 1, added: false };
  expect(insertRule(text, NEW, null)).toEqual(there);
  expect(insertRule(text, NEW, 1)).toEqual(there);
  expect(insertRule(text, NEW, 0)).toMatchObject({ index: 0, added: true });
  expect(insertRule(text, { ...NEW, action: 'deny' }, null)).toMatchObject({ index: 2, added: true });
});

test('changes nothing in a text with errors, and for what is no full name', () => {
  expect(insertRule('rules: [', NEW, null)).toBeNull();
  expect(insertRule('rules: {}', NEW, null)).toBeNull();
  expect(insertRule('rules: []', { tool: 'bare', action: 'deny' }, null)).toBeNull();
});

// Random documents have rules in every layout, with comments, blank lines and texts of several lines in between.

const eol = fc.constantFrom('\n', '\r\n');
const blank = fc.constantFrom(
  '',
  '',
  '',
  '\n',
  '  # same\n',
  '# left\n',
  '\n  # apart\n\n',
  '      # deep\n',
);
const name = fc.constantFrom('a', 'b__c', '"*"', "'x y'", 'new__tool');
const extra = fc.constantFrom(
  '',
  '    when: |\n      args.n > 1\n',
  '    when: |+\n      args.n > 1\n\n',
  '    reason: "one\n      # two"\n',
  '    when:\n      - args.n > 1 # big\n      - args.m > 1\n',
);
const block = fc
  .tuple(name, extra, fc.constantFrom('- ', '-   ', '- &x\n    '))
  .map(([tool, more, dash]) =>
    dash === '-   '
      ? `  -   tool: ${tool}\n      action: deny\n${more.replaceAll(/^ {4}/gm, '      ')}`
      : `  ${dash}tool: ${tool} # t\n    action: deny\n${more}`,
  );
const braced = fc
  .tuple(name, fc.constantFrom(', ', ',\n      '), fc.constantFrom('', ' # c'))
  .map(([tool, comma, comment]) => `  - { tool: ${tool}${comma}action: deny }${comment}\n`);
const dashedText = fc
  .tuple(
    fc.constantFrom('', 'name: x\n', '# head\n\n', '---\n'),
    fc.array(fc.tuple(blank, fc.oneof(block, braced)), { minLength: 1, maxLength: 5 }),
    blank,
    fc.constantFrom('', 'description: >\n  d\n', '...\n'),
    fc.boolean(),
  )
  .map(([head, rules, gap, tail, cut]) => {
    const text = `${head}rules:\n${rules.flat().join('')}${gap}${tail}`;
    return cut ? text.replace(/\n$/, '') : text;
  });
const flowRule = fc
  .tuple(name, fc.constantFrom('{ ', '{', '{\n    '), fc.boolean())
  .map(([tool, open, quoted]) =>
    quoted
      ? `${open}"tool":${tool === 'a' ? ' a' : tool.startsWith('"') ? tool : '"q"'}, "action": "deny" }`
      : `${open}tool: ${tool}, action: deny }`,
  );
const between = fc.constantFrom('', ' ', '\n  ', '\n  # c\n  ', ' # d\n  ');
const flowText = fc
  .tuple(
    fc.array(fc.tuple(between, flowRule, between), { maxLength: 5 }),
    fc.constantFrom('', ','),
    fc.boolean(),
  )
  .map(([rules, trailing, bare]) => {
    const list = rules.map(parts => parts.join('')).join(',') + (rules.length > 0 ? trailing : '');
    return bare ? `[${list}\n ]` : `{ name: x, rules: [${list}\n ] }\n`;
  });
const documents = fc
  .tuple(fc.oneof(dashedText, flowText), eol)
  .map(([text, line]) => text.replaceAll('\n', line));

/** What was put in, if the first text is the second with one or two pieces in it, of which the other is a comma. */
function piece(after: string, before: string): string | null {
  for (const comma of [false, true]) {
    for (let at = 0; at <= before.length; at++) {
      if (!after.startsWith(before.slice(0, at))) break;
      const rest = comma ? after.slice(at).replace(/^,/, '') : after.slice(at);
      if (comma && rest.length === after.length - at) continue;
      const behind = comma ? (/^[ \t]*(?:#[^\r\n]*)?/.exec(before.slice(at))?.[0] ?? '') : '';
      const tail = before.slice(at + behind.length);
      if (
        rest.startsWith(behind) &&
        rest.slice(behind.length).endsWith(tail) &&
        rest.length >= behind.length + tail.length
      )
        return rest.slice(behind.length, rest.length - tail.length);
    }
  }
  return null;
}

test('in any document, the old rules stay around the new one, and so does every other character', () => {
  let added = 0;
  fc.assert(
    fc.property(
      documents,
      fc.option(fc.nat(6)),
      fc.constantFrom('new__tool', 'n__a"*', 'n__ü #'),
      (text, above, tool) => {
        const before = parsePolicy(text).policy?.rules;
        fc.pre(before !== undefined);
        const found = insertRule(text, { tool, action: 'allow' }, above);
        expect([text, found]).not.toEqual([text, null]);
        if (found === null || !found.added) return;
        added++;
        const after = parsePolicy(found.text).policy?.rules ?? [];
        expect(found.index).toBe(Math.min(above ?? 99, before?.length ?? 0));
        expect(after.toSpliced(found.index, 1)).toEqual(before ?? []);
        expect(after[found.index]).toMatchObject({ action: 'allow' });
        const put = piece(found.text, text);
        expect([text, found.text, put]).not.toEqual([text, found.text, null]);
        expect(put).not.toContain('deny');
      },
    ),
    { numRuns: 400, seed: 18 },
  );
  expect(added).toBeGreaterThan(200);
});
