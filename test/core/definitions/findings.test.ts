import { expect, test } from 'bun:test';
import { findingsOf } from '../../../src/core/definitions/findings.ts';
import { hidesText } from '../../../src/core/definitions/hidden.ts';
import { neighboursOf } from '../../../src/core/definitions/neighbours.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';

const kindsOf = (definition: JsonObject) => findingsOf(definition).map(each => each.kind);
const describing = (description: string): JsonObject => ({ name: 'tool', description });

test('honest characters are not hidden ones', () => {
  for (const text of [
    'Two lines\nand\ttabs\r\nof Windows',
    'Families 👩‍👩‍👧‍👦, professions 👩🏽‍⚕️, ❤️, ❤︎, keycaps 1️⃣ and #️⃣, flags 🇩🇪',
    'no-break\u00A0spaces, thin\u2009ones and 漢字\u3000between ideographs',
    'a standard variation of an ideograph 葛\uFE00 and of a sign ≨\uFE00',
    'the Arabic number sign \u0600 and the end of a verse \u06DD are seen',
    'ñ as n\u0303, नमस्ते, ไทย, 한국어',
    '',
  ])
    expect([text, hidesText(describing(text)), kindsOf(describing(text))]).toEqual([text, false, []]);
});

test('what is not seen is told by its code point, and how often', () => {
  const [finding] = findingsOf(describing('a\u200Bb\u200Bc\u202E'));
  expect(finding).toEqual({
    kind: 'hidden',
    where: '/description',
    text: 'The description contains 3 characters that are not shown: U+200B (2 times), U+202E.',
  });
  const tags = Array.from('obey', letter => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('');
  expect(findingsOf(describing(tags))[0]!.text).toEndWith('In tag characters it says "obey".');
});

test('names of members, schemas, enum values and annotations are looked at, too', () => {
  const definition: JsonObject = {
    name: 'tool',
    inputSchema: { properties: { 'a/b~\u200B': { enum: ['x', 'y\u2060'] } } },
    annotations: { title: 'z\u00AD' },
  };
  expect(findingsOf(definition).map(each => each.where)).toEqual([
    '/inputSchema/properties/a~1b~0\u200B',
    '/inputSchema/properties/a~1b~0\u200B/enum/1',
    '/annotations/title',
  ]);
  expect(hidesText(definition)).toBe(true);
});

test('of many places ten are told, and how many more there are; a long pointer ends at what contains the place', () => {
  const many = findingsOf({
    name: 'tool',
    inputSchema: { enum: Array.from({ length: 13 }, () => '\u200B') },
  });
  expect(many.length).toBe(11);
  expect(many[10]).toEqual({ kind: 'hidden', where: '', text: 'The same is found at 3 further places.' });
  const deep = findingsOf({ name: 'tool', inputSchema: { ['k'.repeat(1000)]: '\u200B' } });
  expect(deep.map(each => each.where)).toEqual(['/inputSchema']);
});

test('equal names never shadow, nor do names that merely differ', () => {
  const beside = neighboursOf([{ serverName: 'github', toolNames: ['search', 'list_issues'] }]);
  for (const name of ['search', 'Search', 'search2', 'list_issue'])
    expect(findingsOf({ name }, beside)).toEqual([]);
  expect(findingsOf({ name: 'Iist_issues' }, beside)[0]).toEqual({
    kind: 'shadows',
    where: '/name',
    text: 'The name "Iist_issues" looks like "list_issues" of the server "github", but is spelled differently: character 1 is I (U+0049) and not l (U+006C).',
  });
});

test('a full name shadows only if the server has that tool, and not within a longer name', () => {
  const beside = neighboursOf([{ serverName: 'github', toolNames: ['search', 'search_code'] }]);
  const shadows = (text: string) => findingsOf(describing(text), beside).map(each => each.text);
  expect(shadows('as my-github__search does, or mygithub__search, or github__other')).toEqual([]);
  expect(shadows('see github__search_code')).toEqual([
    'The description has "github__search_code", the name of a tool of another server.',
  ]);
  expect(shadows('(mcp__github__search)').length).toBe(1);
});

test('words of several scripts are told, and words that are usually written so are not', () => {
  for (const text of [
    'Tシャツ',
    'KTV唱歌',
    'APIไทย',
    '3μs, 10kΩ, Δt',
    'naïve',
    'user_имя',
    'перевод',
    'α-helix',
    'Straße',
    '한국어API',
  ])
    expect([text, kindsOf(describing(text))]).toEqual([text, []]);
  for (const text of ['аdmin', 'gοοgle', 'перeвод', 'а\u0301bс', 'ԁata', 'ᎪPI'])
    expect([text, kindsOf(describing(text))]).toEqual([text, ['mixed-script']]);
});

test('annotations lie when the name says another thing', () => {
  const lies = (name: string, annotations: JsonObject) => kindsOf({ name, annotations }).length > 0;
  for (const name of ['delete_file', 'deleteFile', 'files.delete', 'github-create-issue', 'update'])
    expect([name, lies(name, { readOnlyHint: true })]).toEqual([name, true]);
  for (const name of ['get_deleted_items', 'list_delete_markers', 'search', 'file_info', 'checkUpdates'])
    expect([name, lies(name, { readOnlyHint: true })]).toEqual([name, false]);
  expect(lies('delete_file', { readOnlyHint: false, destructiveHint: true })).toBe(false);
  expect(lies('delete_file', { destructiveHint: false })).toBe(true);
  expect(lies('create_file', { destructiveHint: false })).toBe(false);
});

test('addresses are told, and names of schemas are not', () => {
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'https://a.example/s' };
  expect(kindsOf({ name: 'tool', inputSchema: schema })).toEqual([]);
  expect(findingsOf(describing('See https://a.example/x?y=1, and http://b.example.'))).toEqual([
    {
      kind: 'url',
      where: '/description',
      text: 'The description has the address "https://a.example/x?y=1,", and 1 more.',
    },
  ]);
});

test('long texts are told', () => {
  expect(kindsOf(describing('word '.repeat(500)))).toEqual([]);
  expect(kindsOf(describing('word '.repeat(700)))).toEqual(['long']);
});
