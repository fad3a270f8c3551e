// `path.within`: a table of tricks, then random paths against Node's normalisation and against a real folder.

import { describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { pathJoin, pathWithin } from '../../../src/core/condition/path.ts';
import { seeded } from '../oracle.ts';

const ROOT = '/srv/documents';

const WITHIN = [
  '/srv/documents',
  '/srv/documents/',
  '//srv///documents//a',
  '/srv/documents/a/../b',
  '/srv/documents/./a/.',
  '/srv/x/../documents/a',
  '/../../srv/documents/a',
  '/srv/documents/a/../../documents/b',
  '/srv/documents/...',
  '/srv/documents/..a',
  '/srv/documents/~/a',
  '/srv/documents/ a b',
  '/srv/documents/a\\b',
  '/srv/documents/100%',
  '/srv/documents/a%20b%2Fc',
  '/srv/documents/Übung/😀',
];

const OUTSIDE = [
  '/',
  '/srv',
  '/srv/documents2',
  '/srv/documents.old/a',
  '/srv/documents/..',
  '/srv/documents/../documents2',
  '/srv/documents/../../etc/passwd',
  '/srv/documents/a/../../../etc/passwd',
  '/srv/documents/.//..//./secret',
  '/srv/Documents/a',
  '/srv\\documents2',
  '/etc/passwd/srv/documents',
  '/srv/documents/../..',
  '/srv/ documents',
];

const FAILS = [
  '',
  '.',
  '..',
  'a',
  'srv/documents/a',
  './srv/documents',
  '~',
  '~/documents',
  '~root/a',
  ' /srv/documents/a',
  '/srv/documents/a\0',
  '/srv/documents/a\0/../../../etc/passwd',
  '/srv/documents/a%00.txt',
  '/srv/documents/..\n',
  '/srv/documents/.. ',
  '/srv/documents/..\u00a0',
  '/srv/documents/..\ufeff',
  '/srv/documents/a\tb',
  '/srv/documents/a\x7f',
  '/srv/documents/\u0085',
  '/srv/documents/\ud800',
  '/srv/documents/\udc00a',
  '\\srv\\documents\\a',
  'C:/srv/documents',
  'C:\\srv\\documents',
  'file:///srv/documents/a',
  '$HOME/documents',
  '/srv/documents/..\\..\\etc',
  '/srv/documents\\..\\..\\etc\\..\\srv\\documents',
  '/srv\\documents',
  '/srv/documents\\a',
  '/srv/documents/%2e%2e/secret',
  '/srv/documents/%2E./secret',
  '/srv/documents/..%2fsecret',
  '/srv/documents/..%5Csecret',
  '/srv/documents/%252e%252e/secret',
  '/srv/documents/%25252e%25252e%25252fsecret',
  // Within if both a backslash and a code are read, and outside if only the code is.
  '/srv/documents/x\\y\\z/%2e%2e/%2e%2e/secret',
];

test('a path is within a folder, is not, or the condition fails', () => {
  const table = [WITHIN, OUTSIDE, FAILS].flatMap((paths, i) =>
    paths.map(path => [path, [true, false, null][i]]),
  );
  expect(table.map(([path]) => [path, pathWithin(path as string, ROOT)])).toEqual(table);
});

test('the root is read like the path', () => {
  for (const root of FAILS.slice(0, 21)) expect([root, pathWithin(`${ROOT}/a`, root)]).toEqual([root, null]);
  for (const root of ['/', '//', '/..', '/srv/', '/srv/./documents/a/..', '/srv//documents/']) {
    expect([root, pathWithin(`${ROOT}/a`, root)]).toEqual([root, true]);
  }
  expect(pathWithin(`${ROOT}/${'a'.repeat(4_081)}`, ROOT)).toBe(true);
  expect(pathWithin(`${ROOT}/${'a'.repeat(4_082)}`, ROOT)).toBe(null);
  expect(pathWithin('/srv/a\\b/c', '/srv/a\\b')).toBe(true);
  expect(pathWithin('/srv/a%2Fb/c', '/srv/a%2Fb')).toBe(true);
});

test('random paths agree with normalize, and in a real folder with realpath', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'within-')));
  for (const a of ['a', 'b', 'ab'])
    for (const b of ['a', 'b', '...']) mkdirSync(join(folder, a, b, 'a'), { recursive: true });
  const random = seeded(31);
  const pieces = ['a', 'b', 'ab', '/a/', '/b', '/', '//', '.', '..', '/..', '/../', '/./', '...'];
  const rest = () => Array.from({ length: random(7) }, () => pieces[random(pieces.length)]).join('');
  const inside = (path: string, root: string) =>
    path === root || path.startsWith(root === '/' ? '/' : `${root}/`);
  const normal = (path: string) => posix.normalize(path).replace(/(?<=.)\/$/, '');
  let existing = 0;
  for (let run = 0; run < 5_000; run++) {
    const [path, root] = [`${folder}/${rest()}`, `${folder}/${rest()}`];
    const got = pathWithin(path, root);
    expect([path, root, got]).toEqual([path, root, inside(normal(path), normal(root))]);
    const real = [path, root].map(each => realOf(each));
    if (real[0] === null || real[1] === null) continue;
    existing++;
    expect([path, root, got]).toEqual([path, root, inside(real[0] as string, real[1] as string)]);
  }
  rmSync(folder, { recursive: true });
  expect(existing).toBeGreaterThan(500);
});

function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

describe('pathJoin', () => {
  test.each([
    ['/srv/project', 'src/a.ts', '/srv/project/src/a.ts'],
    ['/srv/project/', './/src/../a.ts', '/srv/project/a.ts'],
    ['/srv/project', '/etc//passwd', '/etc/passwd'],
    ['/srv/project', '../../../../home/ann/.bashrc', '/home/ann/.bashrc'],
    ['/srv/project', '.env/x/..', '/srv/project/.env'],
    ['/srv/project', '.', '/srv/project'],
    ['/srv/project', '100%.md', '/srv/project/100%.md'],
    ['/srv/project', 'a@b/~c', '/srv/project/a@b/~c'],
  ])('%s and %s', (base, path, joined) => expect(pathJoin(base, path)).toBe(joined));

  const fails = [
    '',
    '~/.bashrc',
    '~ann/x',
    ' /etc/passwd',
    '\u00a0~/x',
    'a ',
    '@.env',
    'file:///etc/passwd',
    'C:\\x',
    'a\\..\\b',
    'a%2e%2e/b',
    'a\0b',
    'a\nb',
  ];
  test.each(fails)('%j fails', path => expect(pathJoin('/srv/project', path)).toBe(null));
  test.each(['', 'srv', '~', '/srv\0', '/srv '])('nothing is in the folder %j', base =>
    expect(pathJoin(base, 'a')).toBe(null),
  );
});
