// The packs as data: all files of the folder are there, with what they say about themselves, and their texts can be given
// other names for servers and for the policy.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EXAMPLE_FOLDER,
  folderFault,
  folderMissing,
  wantsFolder,
  withFolder,
} from '../../../src/core/policy-file/pack-folder.ts';
import { PACKS, serversIn, withName, withServers } from '../../../src/core/policy-file/packs.ts';
import { parsePolicy } from '../../../src/core/policy-file/policy-file.ts';
import { ROOT } from '../../support/service.ts';

const policyOf = (text: string) => {
  const { policy } = parsePolicy(text);
  if (policy === null) throw new Error('the text is no policy');
  return policy;
};

test('every policy of the folder is a pack, word by word', () => {
  const files = readdirSync(join(ROOT, 'packs')).filter(name => /^[a-z-]+\.yaml$/.test(name));
  expect(PACKS.map(pack => `${pack.name}.yaml`)).toEqual(files.sort());
  for (const { name, text } of PACKS)
    expect(text).toBe(readFileSync(join(ROOT, 'packs', `${name}.yaml`), 'utf8'));
});

test('a pack says in one line and in one paragraph what it is for', () => {
  for (const { name, title, description, text } of PACKS) {
    expect([name, policyOf(text).name]).toEqual([name, name]);
    expect([name, policyOf(text).description]).toEqual([name, title]);
    expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z][^#]{80,500}\.$/)]);
  }
});

test('a server gets another name in every rule, and other servers keep theirs', () => {
  for (const { name, text } of PACKS) {
    for (const server of serversIn(text)) {
      const before = policyOf(text).rules;
      const after = policyOf(withServers(text, new Map([[server, 'my.own-1']]))).rules;
      const own = (tool: string) => tool.replace(new RegExp(`^${server}__`), 'my.own-1__');
      expect([name, after.map(rule => rule.tool)]).toEqual([name, before.map(rule => own(rule.tool))]);
    }
  }
  const mail = PACKS.find(pack => pack.name === 'mail')?.text ?? '';
  const swapped = withServers(
    mail,
    new Map([
      ['gmail', 'email'],
      ['email', 'gmail'],
    ]),
  );
  expect(serversIn(swapped)).toEqual(['email', 'gmail']);
  expect(swapped).toContain('email__create_filter');
  expect(withServers('my-email__x, email__y', new Map([['email', 'a']]))).toBe('my-email__x, a__y');
});

test('the policy gets another name, whatever its characters', () => {
  for (const { name: usual, text } of PACKS) {
    expect(withName(text, usual)).toBe(text);
    for (const name of ['prod', 'a: "b" # $& c', "it's"]) {
      const policy = policyOf(withName(text, name));
      expect({ ...policy, name: null }).toEqual({ ...policyOf(text), name: null });
      expect(policy.name).toBe(name);
    }
  }
});

test('a pack about files gets a folder, and nothing of the example is left', () => {
  for (const { name, text } of PACKS) {
    expect([name, wantsFolder(text)]).toEqual([name, text.includes(EXAMPLE_FOLDER)]);
    if (!wantsFolder(text)) continue;
    const mine = withFolder(text, '/home/ann/my projects/');
    expect([name, wantsFolder(mine), mine.includes(EXAMPLE_FOLDER)]).toEqual([name, false, false]);
    expect(policyOf(mine).rules.length).toBe(policyOf(text).rules.length);
    expect(mine).toContain('"/home/ann/my projects"');
    // Somebody's folder may be the one of the example.
    const same = withFolder(text, EXAMPLE_FOLDER);
    expect([name, wantsFolder(same), policyOf(same).rules]).toEqual([name, false, policyOf(text).rules]);
    expect([name, folderMissing(text), folderMissing(same)]).toEqual([
      name,
      expect.stringContaining('--folder'),
      null,
    ]);
  }
});

const coding = PACKS.find(({ name }) => name === 'coding')?.text ?? '';

test('a comment alone is no folder that is missing', () => {
  const [comments = '', rules = ''] = coding.split(/(?=^name:)/m);
  expect(folderMissing(comments + rules.replaceAll(EXAMPLE_FOLDER, '/home/ann'))).toBe(null);
});

test('a folder is an absolute path that can stand in a condition', () => {
  for (const folder of ['/home/ann', '/home/ann/', '/home/ann/my projects', '/a#b', '/a:b', '/Users/Zoë/x']) {
    expect([folder, folderFault(folder)]).toEqual([folder, null]);
    const conditions = String(policyOf(withFolder(coding, folder)).rules[4]?.when);
    expect(conditions).toContain(`"${folder.replace(/\/$/, '')}"`);
  }
  for (const folder of [
    '/',
    '',
    '.',
    'a',
    '~/a',
    '$HOME',
    '/a/../b',
    '/a//b',
    '/a\\b',
    '/a"b',
    "/a'b",
    '/a\n',
    'C:/a',
    '/a: b',
    '/a #b',
  ])
    expect([folder, folderFault(folder)]).toEqual([folder, expect.any(String)]);
});
