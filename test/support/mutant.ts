// A mutant: a copy of the source with one deliberate break. A promise test must go red on its mutant, or it
// proves nothing. A patch that no longer applies is an error, so that mutants follow the code.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  for (const { file, find, replace } of patches) {
    const path = join(root, file);
    if (!COPIED.includes(file.split('/')[0] as string))
      throw new Error(`${file} is not in the mutant's copy`);
    const text = readFileSync(path, 'utf8');
    const places = text.split(find).length - 1;
    if (places !== 1) throw new Error(`the mutation of ${file} applies ${places} times, not once: ${find}`);
    writeFileSync(
      path,
      text.replace(find, () => replace),
    );
  }
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}
