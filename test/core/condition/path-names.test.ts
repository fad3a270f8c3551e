// `path.secret`, `path.decidesLater` and `path.join`: what is on the lists, in every spelling, and what is not.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAGE } from '../../../scripts/path-lists.ts';
import { pathJoin } from '../../../src/core/condition/path.ts';
import { DECIDES_LATER, entriesOf, SECRET } from '../../../src/core/condition/path-lists.ts';
import { pathDecidesLater, pathSecret } from '../../../src/core/condition/path-names.ts';
import { ROOT } from '../../support/service.ts';

const LISTS = [
  ['secret', SECRET, pathSecret],
  ['decidesLater', DECIDES_LATER, pathDecidesLater],
] as const;

/** A path for an entry, with something for its wildcards. */
const example = (entry: string) =>
  `/srv/project/${entry.replaceAll('**', 'a/b').replaceAll('*', 'xy')}${entry.endsWith('/') ? 'deep/file' : ''}`;

const SPELLINGS: ((path: string) => string)[] = [
  path => path,
  path => path.toUpperCase(),
  path => `${path}/`,
  path => `${path}.`,
  path => `${path} `,
  path => `${path}/.`,
  path => `${path}/x/..`,
  path => path.replaceAll('/', '//'),
  path => path.replaceAll('/', '/./'),
  path => path.replaceAll('/', '\\'),
  path => path.replaceAll('.', '%2e'),
  path => path.replaceAll('.', '%252E'),
  path => path.replaceAll('/', '%2f'),
  path => path.slice(1),
  path => `file://${path}`,
  path => `C:${path.replaceAll('/', '\\')}`,
  path => `${path}::$DATA`,
  path => `--file=${path}`,
  path => `HEAD:${path.slice(1)}`,
  path => `"${path}"`,
  path => path.replaceAll('s', 'ſ').replaceAll('k', '\u212a'),
];

test.each(LISTS)('every entry of %s is found in every spelling', (_, list, holds) => {
  for (const entry of entriesOf(list)) {
    for (const spelling of SPELLINGS) {
      const path = spelling(example(entry));
      expect([entry, path, holds(path)]).toEqual([entry, path, true]);
    }
  }
});

test.each(LISTS)('no entry of %s is written twice', (_, list) => {
  const entries = entriesOf(list);
  expect(entries.filter((entry, at) => entries.indexOf(entry) !== at)).toEqual([]);
});

test.each(LISTS)('what cannot be seen or is too long fails in %s', (_, __, holds) => {
  const unclear = [
    '',
    '/a/.e\u200bnv',
    '/a/.g\u200cit/x',
    '/a\0',
    '/a%00',
    '/a\n',
    '/a/\u{e0041}',
    '/\ud800',
    '/a\u00adb',
  ];
  for (const path of [
    ...unclear,
    `/${'a'.repeat(4_096)}`,
    '/a'.repeat(65),
    '/a:'.repeat(65),
    '/a~1'.repeat(9),
  ]) {
    expect([path, holds(path)]).toEqual([path, null]);
  }
});

const SHORT_NAMES = [
  'GIT~1',
  'git~1',
  'ENV~1',
  'ENV~2.LOC',
  'CREDEN~1.JSO',
  'CR3F2A~1.JSO',
  'SERVER~1.PEM',
  'x/SSH~1/id',
  'NPMRC~1',
];
test('short names of Windows are the long ones', () => {
  for (const path of SHORT_NAMES) expect([path, pathSecret(path)]).toEqual([path, true]);
  for (const path of ['git~1/hooks/x', 'GITHUB~1/a', 'GITIGN~1', 'CLAUDE~1/a', 'HUSKY~1/x'])
    expect([path, pathDecidesLater(path)]).toEqual([path, true]);
});

const NEITHER = [
  '/',
  '.',
  '/srv/project',
  '/srv/project/src/a.ts',
  'src/credentials.ts',
  'src/environment.ts',
  'src/env.ts',
  'test/secrets.test.ts',
  'docs/keys.md',
  'package.json',
  'Makefile',
  'conftest.py',
  'Dockerfile',
  'README.md',
  'src/head.tsx',
  'src/[id]/(group)/@modal/page.tsx',
  'HEAD~1',
  'main~3',
  'main..feature',
  'v1.2.3',
  'a~',
  'Übung/😀.md',
  '../other/a.ts',
  'src/git/index.ts',
  'environments/prod.ts',
  '.github.md',
  '.gitkeep',
  'tokens.css',
  'src/toolgate.ts',
  'gradlew',
  'tsconfig.json',
  '.prettierrc',
  '.eslintrc.json',
];
test('ordinary files and revisions are on neither list', () => {
  for (const path of NEITHER)
    expect([path, pathSecret(path), pathDecidesLater(path)]).toEqual([path, false, false]);
});

test('examples of environments are meant to be read, in this spelling only', () => {
  for (const name of SECRET.except) {
    expect([name, pathSecret(`/srv/project/${name}`), pathSecret(`HEAD:${name}`)]).toEqual([
      name,
      false,
      false,
    ]);
    expect([
      name,
      pathSecret(`/home/ann/.ssh/${name}`),
      pathSecret(`${name}.`),
      pathSecret(`${name}::$DATA`),
    ]).toEqual([name, true, true, true]);
  }
});

test('the page is made from the lists; npx bun scripts/path-lists.ts writes it', () => {
  expect(readFileSync(join(ROOT, 'docs/path-lists.md'), 'utf8')).toBe(PAGE);
});

const JOINED: [string, string, string | null][] = [
  ['/srv/project', 'a.ts', '/srv/project/a.ts'],
  ['/srv/project', './a/../b', '/srv/project/b'],
  ['/srv/project', '../../../../home/ann/.bashrc', '/home/ann/.bashrc'],
  ['/srv/project', '/etc//hosts', '/etc/hosts'],
  ['/srv/project/', '.', '/srv/project'],
  ['/', 'a', '/a'],
  ['/srv/project', 'a\\b', null],
  ['/srv/project', 'a%2Fb', null],
  ['/srv/project', '100%', '/srv/project/100%'],
  ['/srv/project', '@a', null],
  ['/srv/project', 'file:a', null],
  ['/srv/project', 'a\\..\\..\\..\\etc/../passwd', null],
  ['/srv/project', 'a%2f..%2f..%2f..%2fetc/../passwd', null],
  ['/srv/project', '', null],
  ['/srv/project', '~/a', null],
  ['/srv/project', 'a ', null],
  ['/srv/project', 'a\0', null],
  ['/srv/project', 'a%00', null],
  ['project', 'a', null],
  ['project', '/a', null],
  ['~', 'a', null],
  ['/srv/project ', 'a', null],
];
test('paths are joined, or the condition fails', () => {
  for (const [base, path, wanted] of JOINED)
    expect([base, path, pathJoin(base, path)]).toEqual([base, path, wanted]);
  expect(pathJoin('/a', 'b'.repeat(4_094))).toBe(null);
});
