// The folder of a pack's example: it is asked for, put in safely, and never saved.

import { expect, test } from 'bun:test';
import { refuseExampleFolder } from '../../dashboard/src/pages/policies/draft.ts';
import { folderFault, withFolder } from '../../dashboard/src/pages/policies/pack-folder.ts';
import { PACKS } from '../../src/core/packs.ts';
import { parsePolicy } from '../../src/core/policy-file.ts';

const CODING = PACKS.find(({ name }) => name === 'coding')?.text ?? '';

test('a pack for any good folder has no problems, and is not refused', () => {
  for (const folder of [
    '/home/ann/app',
    '/home/ann/my app/',
    '/srv/project-2',
    '/srv/./project',
    '/Users/Zoë/x',
  ]) {
    const text = withFolder(CODING, folder);
    expect([folder, parsePolicy(text).policy === null]).toEqual([folder, false]);
    expect(() => refuseExampleFolder(text)).not.toThrow();
  }
});

test('what is no folder, or could end a quotation, is refused', () => {
  for (const folder of [
    '',
    'app',
    '~/app',
    '/',
    '/a"b',
    "/a'b",
    '/a\\b',
    '/a\nb',
    '/a#b',
    '/a: b',
    '/srv/project',
    '/srv/project/',
  ])
    expect([folder, folderFault(folder) !== null]).toEqual([folder, true]);
});

test('the packs as they are cannot be saved, except for their comments', () => {
  expect(() => refuseExampleFolder(CODING)).toThrow('/srv/project is only the example of the pack');
  expect(() =>
    refuseExampleFolder('# for /srv/project\nrules:\n  - { tool: a, action: allow }\n'),
  ).not.toThrow();
});
