// The file for secrets that are not printed: who can read it, what leaves it, and that several processes can write it.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type PrintedSecret, SecretFile } from '../../src/process/printed-secrets.ts';
import { newDataDir } from '../support/faults.ts';

let folder: string;
let file: SecretFile;
beforeEach(() => {
  folder = newDataDir();
  file = new SecretFile(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const LATER = new Date(Date.now() + 3_600_000).toISOString();
const link = (name: string, until = LATER): PrintedSecret => ({
  name,
  text: `  Approve https://${name}\n`,
  until,
});
const headings = () =>
  [...readFileSync(file.path, 'utf8').matchAll(/^## (.*?)(?:,|$)/gm)].map(found => found[1]);

test('only its owner can read it', async () => {
  writeFileSync(file.path, '', { mode: 0o644 });
  await file.keep([{ name: 'First key', text: 'tg_key_x', until: null }]);
  expect(statSync(file.path).mode & 0o777).toBe(0o600);
  expect(readFileSync(file.path, 'utf8')).toContain('## First key\n  tg_key_x\n');
  expect(existsSync(`${file.path}.new`)).toBe(false);
});

test('what lapsed, what is replaced and what is named as gone leave it', async () => {
  await file.keep([
    link('a', new Date(Date.now() - 1).toISOString()),
    link('b'),
    { ...link('key'), until: null },
  ]);
  await file.keep([link('b')], []);
  expect(headings()).toEqual(['key', 'b']);
  await file.keep([link('c')], ['b']);
  expect(headings()).toEqual(['key', 'c']);
});

test('a link or a folder in place of its draft delays nothing, and what the link leads to stays', async () => {
  const draft = `${file.path}.new`;
  symlinkSync('nowhere', draft);
  await file.keep([link('a')]);
  mkdirSync(join(draft, 'full'), { recursive: true });
  await file.keep([link('b')]);
  expect(headings()).toEqual(['a', 'b']);
  expect(existsSync(join(folder, 'nowhere'))).toBe(false);
});

test('a text cannot pass for an entry', async () => {
  await file.keep([{ name: 'a', text: '## First key\n  tg_key_forged', until: null }]);
  await file.keep([], []);
  expect(headings()).toEqual(['a']);
});

test('beyond its size the oldest links leave it, and the key stays', async () => {
  await file.keep([{ name: 'First key', text: 'tg_key_x', until: null }]);
  const text = 'x'.repeat(50_000);
  for (const name of ['1', '2', '3', '4', '5', '6', '7']) await file.keep([{ name, text, until: LATER }]);
  expect(headings()).toEqual(['First key', '3', '4', '5', '6', '7']);
  expect(statSync(file.path).size).toBeLessThanOrEqual(256 * 1024);
});

test('several processes lose nothing of each other', async () => {
  const names = Array.from({ length: 30 }, (_, at) => `link ${at}`);
  await Promise.all(names.map(name => new SecretFile(folder).keep([link(name)])));
  expect(headings().sort()).toEqual(names.sort());
});

test('a process that was killed while it wrote blocks nobody', async () => {
  writeFileSync(`${file.path}.new`, 'half');
  const before = (Date.now() - 60_000) / 1000;
  utimesSync(`${file.path}.new`, before, before);
  await file.keep([link('a')]);
  expect(headings()).toEqual(['a']);
});

test('a symbolic link in its place, or in that of its draft, is not followed', async () => {
  const victim = join(folder, 'victim');
  writeFileSync(victim, '## First key\n  of somebody else\n');
  symlinkSync(victim, file.path);
  await file.keep([link('a')]);
  expect(headings()).toEqual(['a']);
  expect(readFileSync(victim, 'utf8')).toContain('of somebody else');
});

test('where it cannot be written, a sentence says so', async () => {
  mkdirSync(file.path);
  expect(file.keep([link('a')])).rejects.toThrow(
    /printed-secrets\.txt, .* cannot be written: .*TOOLGATE_PRINT_SECRETS=always/,
  );
});
