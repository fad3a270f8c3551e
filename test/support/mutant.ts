// A mutant: a copy of the source with one deliberate break. A promise test must go red on its mutant, or it
// proves nothing. A patch that no longer applies ends the whole run: as an error it could be taken for the failure
// that a test waits for, or for a test that noticed a change of the source.

import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PASSWORDS, withCheapPasswords } from './cheap-passwords.ts';
import { PROGRAM } from './need.ts';
import { ROOT } from './service.ts';

export interface Patch {
  /** Relative to the project's root. */
  file: string;
  find: string;
  replace: string;
}

export interface Mutant {
  root: string;
  remove: () => void;
}

/** `npm run mutants` changes the tree that tests run in: a mutant of theirs is made from the unchanged one. */
const SOURCE = process.env['TOOLGATE_TEST_UNCHANGED'] ?? ROOT;

/** What a patch may change; the rest is linked. */
const COPIED = ['src', 'dashboard'];

export function mutant(...patches: Patch[]): Mutant {
  const root = mkdtempSync(join(tmpdir(), 'toolgate-mutant-'));
  for (const folder of COPIED) cpSync(join(SOURCE, folder), join(root, folder), { recursive: true });
  // The source also takes in what lies beside it: guides, the package's name and version.
  for (const beside of readdirSync(SOURCE)) {
    if (beside !== '.git' && !COPIED.includes(beside)) symlinkSync(join(SOURCE, beside), join(root, beside));
  }
  for (const patch of patches) apply(root, patch);
  // As those of the program that `npm test` has made. A mutation of the hashes themselves is measured as it is.
  if (process.env[PROGRAM] !== undefined && !patches.some(({ file }) => file === PASSWORDS)) {
    const file = join(root, PASSWORDS);
    writeFileSync(file, withCheapPasswords(readFileSync(file, 'utf8')));
  }
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** No test fails with this code: it says nothing about the source. */
const NOT_APPLIED = 86;
const STDERR = 2;

function apply(root: string, { file, find, replace }: Patch): void {
  const path = join(root, file);
  const isCopied = COPIED.includes(file.split('/')[0] as string);
  const text = isCopied ? readFileSync(path, 'utf8') : '';
  const places = text.split(find).length - 1;
  if (places !== 1) {
    rmSync(root, { recursive: true, force: true });
    const where = isCopied ? `applies ${places} times, not once` : "is not in the mutant's copy";
    writeSync(STDERR, `\nNO RESULT: the mutation of ${file} ${where}: ${find}\nMake it follow the source.\n`);
    process.exit(NOT_APPLIED);
  }
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
}
