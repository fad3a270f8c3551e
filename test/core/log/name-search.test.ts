// What a text finds that somebody searches tools by: against a plain description of globs and parts, for random names
// and texts of few characters, and for single cases.

import { describe, expect, test } from 'bun:test';
import {
  bestNames,
  exactName,
  isExactly,
  nameMatcher,
  type ToolName,
} from '../../../src/core/log/name-search.ts';
import { splitName } from '../../../src/core/text/name.ts';
import { random, SEED } from '../../support/faults.ts';

const named = (full: string): ToolName => splitName(full) as ToolName;

/** A glob, character by character, with every way to stretch a star. */
function globs(glob: string, name: string): boolean {
  if (glob === '') return name === '';
  if (glob[0] === '*') return globs(glob.slice(1), name) || (name !== '' && globs(glob, name.slice(1)));
  return name[0] === glob[0] && globs(glob.slice(1), name.slice(1));
}

function wanted(text: string, { serverName, toolName }: ToolName): boolean {
  const [low, full, bare] = [text, `${serverName}__${toolName}`, toolName].map(each =>
    each.toLowerCase(),
  ) as [string, string, string];
  if (!low.includes('*')) return globs(`*${low}*`, full);
  return globs(low, full) || (!low.includes('__') && globs(low, bare));
}

test('random texts find the names that the description says', () => {
  const chance = random(SEED);
  const some = (letters: string, most: number) =>
    Array.from(
      { length: 1 + Math.floor(chance() * most) },
      () => letters[Math.floor(chance() * letters.length)],
    ).join('');
  let found = 0;
  for (let round = 0; round < 20_000; round++) {
    const name = { serverName: some('aB%', 3), toolName: some('aB_%\\*', 5) };
    const text = some('aAb_%\\*', 5);
    const is = nameMatcher(text)(name);
    expect([text, name, is]).toEqual([text, name, wanted(text, name)]);
    if (is) found++;
  }
  expect(found).toBeGreaterThan(1000);
});

describe('a text finds', () => {
  const tools = ['github__merge_pull_request', 'github__get_issue', 'Git-Hub__MERGE', 'mail__send_100%'].map(
    named,
  );
  const cases: [string, number[]][] = [
    ['merge', [0, 2]],
    ['github', [0, 1]],
    ['GITHUB__*', [0, 1]],
    ['*merge*', [0, 2]],
    ['merge*', [0, 2]],
    ['*__merge', [2]],
    ['%', [3]],
    ['_', [0, 1, 2, 3]],
    ['100_', []],
    ['hub__m', [0, 2]],
    ['*', [0, 1, 2, 3]],
    ['.', []],
  ];
  for (const [text, wants] of cases) {
    test(`${text}: ${wants.length} of them`, () => {
      expect(tools.filter(nameMatcher(text))).toEqual(wants.map(index => tools[index] as ToolName));
    });
  }
});

test('a pattern with __ is for full names, as in a rule', () => {
  const evil = { serverName: 'evil', toolName: 'github__get' };
  expect(nameMatcher('github__*')(evil)).toBe(false);
  expect(nameMatcher('*github__*')(evil)).toBe(true);
  expect(nameMatcher('github*')(evil)).toBe(true);
});

test('a name means exactly a tool, with its case; a text with a star never does', () => {
  expect(exactName('github__a__b')).toEqual({ serverName: 'github', toolName: 'a__b' });
  expect(exactName('merge')).toEqual({ serverName: null, toolName: 'merge' });
  expect(exactName('*merge*')).toBeNull();
  expect(isExactly('merge', named('github__merge'))).toBe(true);
  expect(isExactly('Merge', named('github__merge'))).toBe(false);
  expect(isExactly('gitlab__merge', named('github__merge'))).toBe(false);
  expect(isExactly('*', named('github__*'))).toBe(false);
});

test('the best names come first: the exact one, those that begin with the text, then the others', () => {
  const tools = ['a__remerge', 'b__merged', 'merger__x', 'z__merge', 'c__unmerged'].map(named);
  expect(bestNames('merge', tools, 4)).toEqual(['z__merge', 'b__merged', 'merger__x', 'a__remerge']);
});

test('a text of many stars is matched in an instant', () => {
  expect(nameMatcher('*a'.repeat(150))(named(`s__${'a'.repeat(127)}b`))).toBe(false);
});
