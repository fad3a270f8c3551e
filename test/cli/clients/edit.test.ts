// Entries in the text of configuration files: nothing else moves, and taking them out restores every byte. The random
// documents are made from a seed that a failure prints; TOOLGATE_TEST_RUNS asks for more of them.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { dropEntries, presence, putEntries } from '../../../src/cli/clients/edit.ts';
import { Fault, placeOf } from '../../../src/cli/clients/fault.ts';
import type { Entry, Format } from '../../../src/core/clients/client.ts';
import { CLIENTS } from '../../../src/core/clients/clients.ts';
import { hookCommand, tellingCommand } from '../../../src/core/clients/command.ts';

const numRuns = Number(process.env['TOOLGATE_TEST_RUNS'] ?? 150);

function entriesOf(id: string, baseUrl = 'http://127.0.0.1:8787'): Entry[] {
  const client = CLIENTS.find(each => each.id === id);
  if (client === undefined) throw new Error(id);
  const program = ['/opt/toolgate'];
  const setup = {
    baseUrl,
    key: 'tg_key_example',
    command: hookCommand(program, client.id, 'sh'),
    telling: tellingCommand(program, client.id, 'sh'),
  };
  return [...(client.hooks?.entries(setup, 'user') ?? []), ...client.mcp.entries(setup, 'user')];
}
const both = entriesOf('gemini-cli');
const cursorHooks = entriesOf('cursor').filter(({ at }) => at[0] !== 'mcpServers');
const [server] = entriesOf('windsurf') as [Entry];
const toml = entriesOf('codex').filter(({ at }) => at[0] === 'mcp_servers');
const goose = entriesOf('goose');

/** Puts the entries in, twice, and takes them out. */
function there(text: string, format: Format, entries: readonly Entry[]): string {
  const { text: put, edits } = putEntries(text, format, entries);
  expect(presence(put, format, entries)).toBe('all');
  expect(putEntries(put, format, entries)).toEqual({ text: put, edits: [] });
  expect(dropEntries(put, format, entries, edits)).toBe(text);
  return put;
}

function faultOf(text: string, format: Format, entries: readonly Entry[]): string {
  try {
    putEntries(text, format, entries);
  } catch (error) {
    if (error instanceof Fault) return `${placeOf(text, error.offset)}: ${error.message}`;
    throw error;
  }
  return 'none';
}

const ours =
  '{\n      "serverUrl": "http://127.0.0.1:8787/mcp",\n      "headers": {\n        "Authorization": "Bearer tg_key_example"\n      }\n    }';

describe('JSON', () => {
  test.each([
    ['nothing', '', `{\n  "mcpServers": {\n    "toolgate": ${ours}\n  }\n}\n`],
    ['an empty object', '{}', `{\n  "mcpServers": {\n    "toolgate": ${ours}\n  }\n}`],
    [
      'others, and comments',
      '// mine\n{\n  "mcpServers": {\n    // the first\n    "a": {} // behind it\n    /* last */\n  }, // after\n  "x": 1,\n}\n',
      `// mine\n{\n  "mcpServers": {\n    // the first\n    "a": {}, // behind it\n    "toolgate": ${ours}\n    /* last */\n  }, // after\n  "x": 1,\n}\n`,
    ],
    [
      'a comma at the end',
      '{\n  "mcpServers": {\n    "a": {},\n  },\n}',
      `{\n  "mcpServers": {\n    "a": {},\n    "toolgate": ${ours},\n  },\n}`,
    ],
    [
      'one line',
      '{ "mcpServers": { "a": 1 } }',
      '{ "mcpServers": { "a": 1, "toolgate": { "serverUrl": "http://127.0.0.1:8787/mcp", "headers": { "Authorization": "Bearer tg_key_example" } } } }',
    ],
    [
      'no white space',
      '{"mcpServers":{},"b":[1]}',
      '{"mcpServers":{"toolgate":{"serverUrl":"http://127.0.0.1:8787/mcp","headers":{"Authorization":"Bearer tg_key_example"}}},"b":[1]}',
    ],
  ])('%s', (_, before, after) => {
    expect(there(before, 'json', [server])).toBe(after);
  });

  test('line ends and tabs are those of the file', () => {
    const put = there('{\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}\r\n', 'json', [server]);
    expect(put).not.toMatch(/[^\r]\n|\n {2}/);
    expect(put).toContain('\r\n\t"mcpServers": {\r\n\t\t"toolgate": {\r\n\t\t\t"serverUrl"');
  });

  test('hooks of others stay, also those that were added to our group', () => {
    const theirs =
      '{\n  "hooks": {\n    "BeforeTool": [\n      { "hooks": [{ "command": "theirs" }] }\n    ]\n  }\n}\n';
    const { text, edits } = putEntries(theirs, 'json', both);
    expect(JSON.parse(text).hooks.BeforeTool).toHaveLength(2);
    const touched = text.replace(/("name": "toolgate-exampl",)/, '"x": 1 }, { $1');
    expect(putEntries(touched, 'json', both).edits).toEqual([]);
    const left = JSON.parse(dropEntries(touched, 'json', both, edits));
    expect(left.hooks.BeforeTool).toEqual([
      { hooks: [{ command: 'theirs' }] },
      { matcher: '*', hooks: [{ x: 1 }] },
    ]);
  });

  test('our hook in a group for some calls only does not count as there', () => {
    const { text } = putEntries('{}', 'json', both);
    const touched = text.replace(/("name": "toolgate-exampl",)/, '"x": 1 }, { $1');
    for (const matcher of ['*', '', '.*']) {
      const all = touched.replace('"*"', JSON.stringify(matcher));
      expect([presence(all, 'json', both), faultOf(all, 'json', both)]).toEqual(['all', 'none']);
    }
    const some = touched.replace('"*"', '"no_such_tool"');
    expect(presence(some, 'json', both)).toBe('some');
    expect(faultOf(some, 'json', both)).toContain('only some calls are judged');
    expect(JSON.parse(dropEntries(some, 'json', both, [])).hooks.BeforeTool[0].hooks).toEqual([{ x: 1 }]);
  });

  test('an entry with another address is replaced where it is, and comes back', () => {
    const mine = '{\n  "mcpServers": { "toolgate": { "url": "mine", "key": "tg_key_mine" }, "b": 2 }\n}\n';
    expect(there(mine, 'json', [server])).toContain('"toolgate": { "serverUrl"');
    const first = there('{\n  "mcpServers": {\n    "a": 1\n  }\n}', 'json', [server]);
    const other = entriesOf('windsurf', 'https://gate.example');
    const { text } = putEntries(first, 'json', other);
    expect(text).toBe(first.replace('http://127.0.0.1:8787', 'https://gate.example'));
  });

  test('an entry of the same name that somebody else wrote stays', () => {
    const theirs = '{\n  "mcpServers": { "toolgate": { "command": "my-own-toolgate" } }\n}\n';
    expect(faultOf(theirs, 'json', [server])).toContain('"mcpServers.toolgate" was not written by Toolgate');
    expect(presence(theirs, 'json', [server])).toBe('none');
    expect(dropEntries(theirs, 'json', [server], [])).toBe(theirs);
    const hook = '{"hooks":{"BeforeTool":[{"hooks":[{"command":"notify toolgate; x hook gemini-cli"}]}]}}';
    expect(dropEntries(hook, 'json', both, [])).toBe(hook);
  });

  test('after changes elsewhere the rest is restored to the byte', () => {
    const before = '{\n  "hooks": {},\n  "a": [ 1,2 ],\n  "z": {   }\n}\n';
    const { text, edits } = putEntries(before, 'json', both);
    const changed = (each: string) =>
      `// new\n${each.replace('[ 1,2 ]', '[ 1,   2, 3 ]').replace('{   }', '{ "y": null }')}`;
    expect(dropEntries(changed(text), 'json', both, edits)).toBe(changed(before));
  });

  test('a copy of our lines in a comment is not taken for them', () => {
    const { text, edits } = putEntries('{\n  "a": 1\n}\n', 'json', [server]);
    const copied = `/*${edits[0]?.inserted}*/\n${text}`;
    expect(presence(dropEntries(copied, 'json', [server], edits), 'json', [server])).toBe('none');
  });

  test('what somebody wrote behind our entry stays, where a comment would have swallowed its comma', () => {
    const before = '{\n  "mcpServers": {\n    "a": {} // note\n  }\n}\n';
    const { text, edits } = putEntries(before, 'json', [server]);
    const touched = text.replace(/\n {4}\}\n {2}\}/, '\n    },\n    "x": 1\n  }');
    expect(dropEntries(touched, 'json', [server], edits)).toBe(
      '{\n  "mcpServers": {\n    "a": {}, // note\n    "x": 1\n  }\n}\n',
    );
    expect(dropEntries('{"mcpServers":{ // l\n"toolgate":"tg_key_x"}}', 'json', [server], [])).toBe(
      '{"mcpServers":{ // l\n}}',
    );
  });

  test('after changes of our entries, or without a record, only they go', () => {
    const { text, edits } = putEntries('{\n  "version": 2\n}\n', 'json', cursorHooks);
    const touched = text
      .replace('"timeout": 30', '"timeout": 3')
      .replace(/\]\n {2}\}/, '],\n    "stop": [1]\n  }');
    for (const known of [edits, []])
      expect(JSON.parse(dropEntries(touched, 'json', cursorHooks, known))).toEqual({
        version: 2,
        hooks: {
          beforeShellExecution: [],
          beforeMCPExecution: [],
          preToolUse: [],
          beforeSubmitPrompt: [],
          afterShellExecution: [],
          afterMCPExecution: [],
          postToolUse: [],
          stop: [1],
        },
      });
  });

  test.each([
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: a comma or } should be here'],
    ['{\n  "a": ,\n}', 'line 2, column 8: a value should be here'],
    ['{ "a": 1', 'line 1, column 9: the text ends where a comma or } should be'],
    ['{} x', 'line 1, column 4: unexpected text after the end'],
    ['{ /* }', 'line 1, column 3: this comment does not end'],
    ["{ 'a': 1 }", 'line 1, column 3: a name in double quotes or } should be here'],
    ['{ "a": nul }', 'line 1, column 8: this is not JSON'],
    ['[]', 'line 1, column 1: the file is not an object'],
    ['{ "mcpServers": [] }', 'line 1, column 17: "mcpServers" is not an object'],
    ['// nothing', 'line 1, column 11: the text ends where a value should be'],
  ])('%p is refused', (text, why) => {
    expect(faultOf(text, 'json', [server])).toBe(why);
  });

  test('random documents', () => {
    const document = fc.oneof({ maxDepth: 4 }, jsonObject('mcpServers', 'hooks', 'BeforeTool'));
    let tried = 0;
    fc.assert(
      fc.property(document, fc.constantFrom('', '\n', '// end\n'), fc.boolean(), (root, end, crlf) => {
        const lf = `${root}${end}`;
        const text = crlf ? lf.replaceAll('\n', '\r\n') : lf;
        for (const entries of [both, cursorHooks]) {
          if (faultOf(text, 'json', entries) !== 'none') continue;
          tried++;
          const put = there(text, 'json', entries);
          const { edits } = putEntries(text, 'json', entries);
          expect(dropEntries(`/* a */${put} // b`, 'json', entries, edits)).toBe(`/* a */${text} // b`);
          expect(presence(dropEntries(put, 'json', entries, []), 'json', entries)).toBe('none');
        }
      }),
      { numRuns },
    );
    expect(tried).toBeGreaterThan(numRuns);
  });
});

/** Objects as text, with white space, comments and commas wherever they may be. */
function jsonObject(...names: string[]): fc.Arbitrary<string> {
  const blank = fc.constantFrom('', '', ' ', '\n', '\n  ', '\n\t', ' /* c */ ', ' // l\n', '\n\n    ');
  const { value } = fc.letrec<{ value: string; object: string }>(tie => {
    const list = (open: string, close: string, item: fc.Arbitrary<string>) =>
      fc
        .tuple(fc.array(fc.tuple(blank, item, blank), { maxLength: 3 }), fc.boolean(), blank)
        .map(([items, comma, inner]) => {
          const inside = items.map(parts => parts.join('')).join(',');
          return `${open}${inside}${comma && items.length > 0 ? ',' : ''}${inner}${close}`;
        });
    const key = fc.constantFrom(...names, 'toolgate', 'a', 'b', 'ä"\\').map(name => JSON.stringify(name));
    const member = fc
      .tuple(key, blank, blank, tie('value'))
      .map(([name, a, b, each]) => `${name}${a}:${b}${each}`);
    const scalar = fc.constantFrom(
      '1',
      'null',
      '"// no"',
      '"}"',
      'true',
      '-1.5e3',
      '"/opt/toolgate hook gemini-cli"',
    );
    const object = list('{', '}', member);
    return {
      object,
      value: fc.oneof({ depthSize: 'small' }, scalar, object, list('[', ']', tie('value'))),
    };
  });
  return value.filter(text => text.startsWith('{'));
}

describe('TOML', () => {
  const table =
    '[mcp_servers.toolgate]\nurl = "http://127.0.0.1:8787/mcp"\nhttp_headers = { Authorization = "Bearer tg_key_example" }\n';

  test.each([
    ['nothing', '', table],
    [
      'others',
      '# mine\nmodel = "x" # here\n\n[mcp_servers.a]\nurl = "u"\n',
      `# mine\nmodel = "x" # here\n\n[mcp_servers.a]\nurl = "u"\n\n${table}`,
    ],
    ['no last line end', 'a = 1', `a = 1\n\n${table}`],
    ['a blank last line', 'a = 1\n\n', `a = 1\n\n${table}`],
    ['CRLF', 'a = 1\r\n', `a = 1\n\n${table}`.replaceAll('\n', '\r\n')],
    ['dotted names', 'mcp_servers.a.url = "u"\n', `mcp_servers.a.url = "u"\n\n${table}`],
  ])('%s', (_, before, after) => {
    expect(there(before, 'toml', toml)).toBe(after);
  });

  test('after other tables were added behind ours, the rest is restored to the byte', () => {
    const { text, edits } = putEntries('a = 1', 'toml', toml);
    expect(dropEntries(`# new\n${text}\n[b]\nc = 2\n`, 'toml', toml, edits)).toBe(
      '# new\na = 1\n[b]\nc = 2\n',
    );
  });

  test('a table with others below it goes whole', () => {
    const text =
      '[mcp_servers.toolgate]\nurl = "u"\n\n[mcp_servers.toolgate.http_headers]\nA = "tg_key_b"\n[c]\nd = 2\n';
    expect(dropEntries(text, 'toml', toml, [])).toBe('\n[c]\nd = 2\n');
    expect(faultOf(text, 'toml', toml)).toBe(
      'line 1, column 1: this file cannot be changed safely; make the change by hand',
    );
  });

  test('a changed table goes, and nothing else', () => {
    const { text, edits } = putEntries('[a]\nb = 1\n', 'toml', toml);
    const touched = `${text.replace('url =', 'enabled = true\nurl =')}# mine\n[c]\nd = 2\n`;
    expect(dropEntries(touched, 'toml', toml, edits)).toBe('[a]\nb = 1\n\n# mine\n[c]\nd = 2\n');
  });

  test.each([
    ['a = 1\n[b\nc = 2\n', 'line 2, column 1: Expected'],
    ['a = 1\nb = """x\ny"""\n  c = \n', 'line 4, column 3: Missing value'],
    ['b = 1\nmcp_servers = { a = { url = "u" } }\n', 'line 2, column 1: "mcp_servers" is not written'],
    ['mcp_servers.toolgate.url = "tg_key_u"\n', 'line 1, column 1: "mcp_servers" is not written'],
  ])('%p is refused', (text, why) => {
    expect(faultOf(text, 'toml', toml)).toStartWith(why);
  });
});

describe('YAML', () => {
  const block = (indent: string) =>
    putEntries('', 'yaml', goose).text.slice('extensions:\n'.length).replaceAll(/^ {2}/gm, indent);

  test.each([
    ['nothing', '', `extensions:\n${block('  ')}`],
    ['only comments', '# mine\n', `# mine\nextensions:\n${block('  ')}`],
    ['no extensions', 'A: "b" # c\nD:\n- e', `A: "b" # c\nD:\n- e\nextensions:\n${block('  ')}`],
    [
      'others, and comments',
      '# top\nextensions: # here\n    # built in\n    developer:\n        enabled: true\n\n# next\nA: b\n',
      `# top\nextensions: # here\n${block('    ')}    # built in\n    developer:\n        enabled: true\n\n# next\nA: b\n`,
    ],
    ['an empty name', 'extensions:\nA: b\n', `extensions:\n${block('  ')}A: b\n`],
    ['an empty name at the end', 'A: b\nextensions:', `A: b\nextensions:\n${block('  ').trimEnd()}`],
    ['empty braces', 'extensions: {}  # none\nA: b\n', `extensions:  # none\n${block('  ')}A: b\n`],
    ['CRLF', 'extensions:\r\n  a: 1\r\n', `extensions:\n${block('  ')}  a: 1\n`.replaceAll('\n', '\r\n')],
  ])('%s', (_, before, after) => {
    expect(there(before, 'yaml', goose)).toBe(after);
  });

  test('after changes elsewhere the rest is restored to the byte', () => {
    const { text, edits } = putEntries('extensions:\n  a: 1\nB: "c"\n', 'yaml', goose);
    expect(dropEntries(`# new\n${text}D: e\n`, 'yaml', goose, edits)).toBe(
      '# new\nextensions:\n  a: 1\nB: "c"\nD: e\n',
    );
  });

  test('an entry with another address is replaced where it is, and comes back', () => {
    const mine = 'extensions:\n  a: 1\n  toolgate:\n    uri: tg_key_mine # c\n\n  # next\n  b: 2\n';
    expect(there(mine, 'yaml', goose)).toBe(`extensions:\n  a: 1\n${block('  ')}\n  # next\n  b: 2\n`);
  });

  test('a changed entry goes, and nothing else', () => {
    const { text, edits } = putEntries('extensions:\n  a: 1\n', 'yaml', goose);
    const touched = text.replace('timeout: 300', 'timeout: 5 # mine');
    expect(dropEntries(touched, 'yaml', goose, edits)).toBe('extensions:\n  a: 1\n');
  });

  test.each([
    ['a: "b\nc: d\n', 'line '],
    ['a: 1\n---\nb: 2\n', 'line '],
    ['{ a: 1 }\n', 'line 1, column 1: the file is not a mapping'],
    ['extensions: { a: 1 }\n', 'line 1, column 1: "extensions" is not a mapping'],
    ['a: &x\n  b: 1\nextensions: *x\n', 'line 3, column 1: "extensions" is not a mapping'],
    ['a: 1\n...\n', 'line '],
    ['extensions:\n- a\n', 'line 1, column 1: "extensions" is not a mapping'],
  ])('%p is refused', (text, why) => {
    expect(faultOf(text, 'yaml', goose)).toStartWith(why);
  });

  test('random documents', () => {
    const line = fc.constantFrom(
      'A: b',
      'extensions:',
      '  x: 1',
      '  y: |',
      '    text',
      '  # c',
      '',
      '# d',
      'L: [1, 2]',
      'M: >-',
      '  folded',
      'extensions: {}',
      '  - 1',
    );
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 8 }),
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        (lines, eol, last) => {
          const text = lines.join(eol) + (last ? eol : '');
          if (faultOf(text, 'yaml', goose) !== 'none') return;
          there(text, 'yaml', goose);
        },
      ),
      { numRuns: numRuns * 2 },
    );
  });
});
