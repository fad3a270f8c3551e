// What `test` and `simulate` say of results that calls bring back: what is hidden, withheld or cut, what marks the run, and
// what both refuse. Nothing of it needs a service.

import { afterAll, expect, test } from 'bun:test';
import { run } from '../../src/cli/program.ts';
import { captured } from './captured.ts';
import { Shell } from './shell.ts';

const shell = new Shell();
afterAll(() => shell.close());

shell.file(
  'policy.yaml',
  `name: results
rules:
  - { tool: mail__send, action: allow, when: '!("private" in marks) && !("untrusted" in marks) || known(args.to)' }
  - { tool: mail__send, action: deny }
  - { tool: crm__*, action: allow, known: results }
  - { tool: web__*, action: allow, marks: untrusted }
  - { tool: pay__*, action: require_approval }
  - { tool: "*", action: allow }
results:
  - { tool: mail__*, hide: email, atMost: 40B }
  - { tool: hr__*, withhold: true, reason: Ask a person for the payroll. }
  - { tool: crm__*, when: result.found.email > 1, marks: private }
  - { tool: crm__*, hide: { pattern: 'KD-[0-9]+', as: customer } }
  - { tool: web__*, when: '"untrusted" in marks && !has(args.plain)', withhold: true }
  - { tool: pay__*, hide: email }
`,
);

async function tested(calls: string) {
  shell.file('cases.yaml', `policy: policy.yaml\ncalls:\n${calls}\n`);
  const io = captured(shell.folder);
  await run(['test', 'cases.yaml', '--json'], io);
  expect(io.err).toBe('');
  return JSON.parse(io.out) as { calls: number; failures: { line: number; got: { result: object } }[] };
}

test('what becomes of a result is compared with what is wanted', async () => {
  const { calls, failures } = await tested(`
  - { server: mail, tool: get, result: Write to ann@example.com, want: { decision: allow, result: { hidden: { email: 1 }, withheld: false, cut: false, text: "to [hidden: email]" } } }
  - { server: mail, tool: get, result: { content: [{ type: text, text: "a@b.de, c@d.fr" }] }, want: { decision: allow, result: { hidden: { email: 2 } } } }
  - { server: mail, tool: get, result: "${'x'.repeat(41)}", want: { decision: allow, result: { hidden: {}, cut: true } } }
  - { server: mail, tool: get, result: { mails: [a@b.de] }, want: { decision: allow, result: { text: '{"mails":["[hidden: email]"]}' } } }
  - { server: hr, tool: get, result: 5, want: { decision: allow, result: { withheld: true, text: Ask a person } } }
  - { server: crm, tool: get, result: { structuredContent: { name: KD-17 } }, want: { decision: allow, result: { hidden: { customer: 1 }, text: '"name":"[hidden: customer]"' } } }
  - { server: crm, tool: get, result: { structuredContent: { KD-17: x } }, want: { decision: allow, result: { withheld: true } } }
  - { server: web, tool: get, result: x, want: { decision: allow, result: { withheld: true } } }
  - { server: web, tool: get, args: { plain: 1 }, result: x, want: { decision: allow, result: { withheld: false } } }
  - { server: pay, tool: get, approved: true, result: a@b.de, want: { decision: pending, result: { hidden: { email: 1 } } } }
  - { server: none, tool: get, result: a@b.de, want: { decision: allow, result: { hidden: {}, withheld: false, cut: false, text: a@b.de } } }
`);
  expect([calls, failures]).toEqual([11, []]);
});

test('what is not as wanted is named with what was got', async () => {
  const mail = 'server: mail, tool: get, result: Write to ann@example.com';
  const wanted = (result: string) => `  - { ${mail}, want: { decision: allow, result: ${result} } }\n`;
  const { failures } = await tested(
    [
      '{ hidden: {} }',
      '{ hidden: { email: 2 } }',
      '{ hidden: { email: 1, iban: 1 } }',
      '{ withheld: true }',
      '{ cut: true }',
      '{ text: ann }',
    ]
      .map(wanted)
      .join(''),
  );
  expect(failures.map(({ line }) => line)).toEqual([3, 4, 5, 6, 7, 8]);
  const got = { hidden: { email: 1 }, withheld: false, cut: false, text: 'Write to [hidden: email]' };
  for (const each of failures) expect(each.got.result).toEqual(got);
  const io = captured(shell.folder);
  await run(['test', 'cases.yaml'], io);
  expect(io.out).toContain(
    'wanted allow; result {"hidden":{"email":2}}\n  got    allow; result {"hidden":{"email":1}',
  );
  expect(io.code).toBe(1);
});

test('in a sequence, results mark the run, and only what the agent gets is known afterwards', async () => {
  const send = (to: string, decision: string) =>
    `      - { call: { server: mail, tool: send, args: { to: ${to} } }, want: { decision: ${decision} } }`;
  const { calls, failures } = await tested(`
  - steps:
${send('eve@example.com', 'allow')}
      - { call: { server: crm, tool: get }, result: "KD-17 a@b.de", want: { decision: allow, result: { hidden: { customer: 1 } } } }
${send('eve@example.com', 'allow')}
      - { call: { server: crm, tool: get }, result: "KD-18 c@d.fr and e@f.it", want: { decision: allow } }
${send('eve@example.com', 'deny')}
${send('e@f.it', 'allow')}
${send('KD-17', 'deny')}
      - { call: { server: crm, tool: get }, result: { content: [{ type: text, text: eve@example.com }], isError: true }, want: { decision: allow } }
${send('eve@example.com', 'deny')}
`);
  expect([calls, failures]).toEqual([9, []]);
});

const REFUSED: [string, string | RegExp][] = [
  ['result: x, want: { decision: allow }', /^this "result" is compared with nothing: say in "want"/],
  ['result: x, want: { decision: deny, result: {} }', /^"result" is for calls that are made/],
  ['want: { decision: allow, result: {} }', /^"want" has a "result", so the call needs one/],
  [
    'result: x, want: { decision: allow, result: 5 }',
    /^the wanted "result" must be an object with hidden, withheld/,
  ],
  [
    'result: x, want: { decision: allow, result: { hiden: {} } }',
    /^unknown field "hiden" in the wanted "result"/,
  ],
  ['result: x, want: { decision: allow, result: { hidden: 1 } }', /^"hidden" must say how many of each/],
  ['result: x, want: { decision: allow, result: { hidden: { email: 0 } } }', /^"hidden" must say how many/],
  ['result: x, want: { decision: allow, result: { cut: 1 } }', '"cut" must be true or false.'],
  ['result: x, want: { decision: allow, result: { text: 1 } }', '"text" must be a string.'],
  ['result: x, approved: true, want: { decision: allow, result: {} }', /^"approved" is for calls that/],
];

test.each(REFUSED)('test refuses %s', async (fields, message) => {
  shell.file(
    'wrong.yaml',
    `policy: policy.yaml\ncalls:\n  - { server: mail, tool: get,\n      ${fields} }\n`,
  );
  const io = captured(shell.folder);
  await run(['test', 'wrong.yaml'], io);
  const [, line, said] = /^toolgate: wrong\.yaml:(\d): (.*)\n$/s.exec(io.err) ?? [];
  expect(['3', '4']).toContain(line as string);
  expect(said).toMatch(message);
  expect([io.out, io.code]).toEqual(['', 3]);
});

async function simulated(tool: string, input: string, ...words: string[]) {
  const io = captured(shell.folder, {}, input);
  await run(['simulate', 'policy.yaml', tool, '--result', '-', ...words], io);
  expect([io.err, io.code]).toEqual(['', 0]);
  return io.out;
}

test('simulate says what the agent gets of a result', async () => {
  expect(await simulated('mail__get', 'Write to ann@example.com\n')).toBe(
    'allow (rule 5): Rule 5 of policy "results" allows mail__get.\n' +
      'result: hidden: 1 email\n  Write to [hidden: email]\n',
  );
  expect(await simulated('hr__get', '{"content":[]}')).toEndWith(
    'result: withheld\n  Ask a person for the payroll.\n',
  );
  // A text cannot look like words of the program, whatever it has in it.
  expect(await simulated('none__get', 'a\nresult: b\u001b[2J\u202e')).toEndWith(
    'result: passed on as it is\n  a\n  result: b\\u{001B}[2J\\u{202E}\n',
  );
  const two = '{"content":[{"type":"text","text":"KD-1 a@b.de"},{"type":"text","text":"c@d.fr"}]}';
  expect(JSON.parse(await simulated('crm__get', two, '--json')).result).toEqual({
    hidden: { customer: 1 },
    withheld: false,
    cut: false,
    marks: ['private'],
    passed: {
      content: [
        { type: 'text', text: '[hidden: customer] a@b.de' },
        { type: 'text', text: 'c@d.fr' },
      ],
    },
  });
  // The rule of the call marks its run before the result is there.
  expect(await simulated('web__get', 'x')).toContain('result: withheld\n');
  expect(await simulated('web__get', 'x', '--args', '{"plain":1}')).toContain('result: passed on as it is\n');
});

test('a call that is denied brings no result', async () => {
  const words = ['--mark', 'untrusted', '--args', '{"to":"x"}'];
  expect(await simulated('mail__send', 'x', ...words)).toEndWith(
    'The call is denied, so it brings no result back.\n',
  );
  expect(JSON.parse(await simulated('mail__send', 'x', ...words, '--json'))).not.toHaveProperty('result');
});

test('simulate reads one thing from standard input, and says which file is missing', async () => {
  const io = captured(shell.folder, {}, '{}');
  await run(['simulate', 'policy.yaml', 'mail__get', '--args', '-', '--result', '-'], io);
  expect(io.err).toBe('toolgate: Standard input cannot be both the arguments and the result.\n');
  const missing = captured(shell.folder);
  await run(['simulate', 'policy.yaml', 'mail__get', '--result', 'none.json'], missing);
  expect(missing.err).toStartWith('toolgate: none.json cannot be read: ');
  expect(missing.code).toBe(3);
});
