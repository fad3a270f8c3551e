// Reads the documentation from the project: llms.txt, the pages in docs/ and their drawings. `npm run build` replaces this
// module by one that contains them (scripts/build/carried.ts).

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../../..');

export interface Guides {
  llms: string;
  /** The pages by name, such as quick-start.md. */
  pages: Record<string, string>;
  /** The drawings by their path, such as bench/field.svg. */
  drawings: Record<string, string>;
}

export function readGuides(): Guides {
  const docs = join(ROOT, 'docs');
  const read = (names: string[]) =>
    Object.fromEntries(names.map(name => [name, readFileSync(join(docs, name), 'utf8')]));
  const drawn = (folder: string) => readdirSync(join(docs, folder)).map(name => `${folder}/${name}`);
  return {
    llms: readFileSync(join(ROOT, 'llms.txt'), 'utf8'),
    pages: read(readdirSync(docs).filter(name => name.endsWith('.md'))),
    drawings: read([...drawn('bench'), ...drawn('pictures')].filter(name => name.endsWith('.svg'))),
  };
}
