// What the report of a replay says, for answers that a small service does not give: hostile names, long lists, and lists
// that are not complete. transcripts/replay.txt has the command against a real service.

import { expect, test } from 'bun:test';
import { codeOf } from '../../src/cli/markdown.ts';
import {
  failsOn,
  firstWhole,
  readFailing,
  remarksOf,
  replayMarkdown,
  replaySummary,
  unlisted,
} from '../../src/cli/replay-report.ts';
import type { Replay } from '../../src/core/api/resources.ts';

const SPAN = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-16T12:00:00.000Z' };

function answer(names: readonly string[], more: Partial<Replay> = {}): Replay {
  const changes = names.map(toolName => ({
    serverName: 's',
    toolName,
    keyId: 'k',
    from: 'deny' as const,
    to: 'allow' as const,
    calls: 1,
    examples: [],
  }));
  return { ...SPAN, calls: 1200, changed: changes.length, depends: 0, earlier: 0, changes, ...more };
}

const HOSTILE = [
  'a|b',
  'a`b',
  '``` x',
  '@everyone',
  '<img src=x onerror=alert(1)>',
  '</code></td></table>',
  '[x](https://example.com)',
  '![x](https://example.com/a.png)',
  'a\nb | c',
  'a\r\n\r\n# Approved',
  '\u202Eevil',
  '&lt;b&gt;',
  '**bold** _x_ ~~y~~',
  '#1 GH-2 x/y#3',
  '\\|',
  'é😀',
];

test('no name is read as Markdown, as HTML, as a mention or as a link', () => {
  for (const name of HOSTILE) {
    const code = codeOf(name);
    // All that is left between the tags are letters, digits, blanks and characters by number.
    expect(code).toMatch(/^<code>(?:[A-Za-z0-9 ]|&#[0-9]+;)*<\/code>$/);
    const read = code
      .slice('<code>'.length, -'</code>'.length)
      .replace(/&#([0-9]+);/g, (_, at) => String.fromCodePoint(Number(at)));
    expect(
      read.replace(/\\u\{([0-9A-F]+)\}/g, (_, hex) => String.fromCodePoint(Number.parseInt(hex, 16))),
    ).toBe(name);
  }
  expect(codeOf('github__get_issue')).toBe('`github__get_issue`');
  expect(codeOf('x'.repeat(500)).length).toBeLessThan(1000);
});

test('each change is one line of the table, whatever it is called', () => {
  const about = { draft: 'a|b.yaml', policy: '@all', remarks: [] };
  const text = replayMarkdown(about, answer(HOSTILE), new Map([['k', 'key | @here']]), readFailing('any'));
  const rows = text.split('\n').filter(line => line.startsWith('|'));
  expect(rows.length).toBe(HOSTILE.length + 2);
  for (const row of rows) expect(row.split('|').length).toBe(6);
  expect(text).not.toContain('@');
});

test('a comment stays below the size that a comment may have', () => {
  const names = Array.from({ length: 1000 }, (_, at) => `${'@'.repeat(120)}${at}`);
  const text = replayMarkdown(
    { draft: 'd', policy: 'p', remarks: [] },
    answer(names),
    new Map([['k', '|'.repeat(120)]]),
    [],
  );
  expect(text).toContain('and 950 more lines.');
  expect(text.length).toBeLessThan(65_536);
});

test('what fails is read as it is written', () => {
  const [change] = answer(['t']).changes;
  const fails = (text: string) => failsOn(change as Replay['changes'][number], readFailing(text));
  for (const text of ['deny->allow', ' deny -> allow ', 'any->allow', 'deny->any', 'any', 'any->any'])
    expect([text, fails(text)]).toEqual([text, true]);
  for (const text of ['allow->deny', 'pending->allow', 'any->deny'])
    expect([text, fails(text)]).toEqual([text, false]);
  for (const text of [
    '',
    'deny',
    'allow',
    'deny->',
    '->allow',
    'deny->allow->deny',
    'deny=>allow',
    'DENY->ALLOW',
    'depends',
  ])
    expect(() => readFailing(text)).toThrow('It must be any, or a change such as deny->allow');
});

test('a list that is not complete is said to be so', () => {
  const cut = answer(['t'], { changed: 31, depends: 1 });
  expect(unlisted(cut)).toBe(30);
  expect(replaySummary(cut)).toBe(
    'Of 1,200 calls from 2026-11-01T00:00:00Z to 2026-11-16T12:00:00Z, 31 would change: 1 deny -> allow, 30 that are not listed.',
  );
  expect(replaySummary(answer([], { calls: 1 }))).toContain('Of 1 call from');
});

const LATER = { version: 2, updatedAt: '2026-11-02T00:00:00.000Z' };

test('the remarks say what is not known, and when earlier versions decided', () => {
  const one = answer(['t'], { depends: 1 });
  const depends =
    'Whether 1 call would change depends on arguments, times or people, which the log does not keep.';
  expect(remarksOf(one, { version: 3, updatedAt: SPAN.from })).toEqual([depends, 'Limits are left out.']);
  expect(remarksOf(one, null)).toEqual([depends, 'Limits are left out.']);
  expect(remarksOf(answer(['t']), LATER)).toEqual([
    'Limits are left out.',
    'Calls before 2026-11-02T00:00:00Z were decided by earlier versions of the policy; --since current leaves them out.',
  ]);
  expect(remarksOf(answer([]), LATER)).toEqual(['Limits are left out.']);
  expect(remarksOf(answer(['t']), { ...LATER, version: 1 })).toEqual(['Limits are left out.']);
  expect(remarksOf(answer([], { calls: 0 }), null)).toEqual([]);
});

test('the calls of the current version begin after it was saved', () => {
  const now = Date.parse('2026-11-16T12:00:30Z');
  expect(firstWhole('2026-11-16T11:30:10.500Z', now)).toBe('2026-11-16T11:31:00.000Z');
  // Of older calls only hours and days are counted.
  expect(firstWhole('2026-11-10T11:30:10.500Z', now)).toBe('2026-11-10T12:00:00.000Z');
  expect(firstWhole('2026-03-10T11:30:10.500Z', now)).toBe('2026-03-11T00:00:00.000Z');
  expect(firstWhole('2026-11-16T12:00:10.500Z', now)).toBe('2026-11-16T12:00:10.500Z');
});
