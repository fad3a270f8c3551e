// A mutant: a copy of the source with one deliberate break. A promise test must go red on its mutant, or it
// proves nothing. A patch that no longer applies is an error, so that mutants follow the code.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

export function mutant(...patches: Patch[]): Mutant {
  const root = mkdtempSync(join(tmpdir(), 'toolgate-mutant-'));
  cpSync(join(ROOT, 'src'), join(root, 'src'), { recursive: true });
  cpSync(join(ROOT, 'dashboard'), join(root, 'dashboard'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(root, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  for (const { file, find, replace } of patches) {
    const path = join(root, file);
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
