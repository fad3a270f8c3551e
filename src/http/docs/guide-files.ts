// Reads the documentation from the project: llms.txt and the pages in docs/. `npm run build` replaces this module by
// one that contains them (scripts/build/carried.ts).

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../../..');

export interface Guides {
  llms: string;
  /** The pages by name, such as quick-start.md. */
  pages: Record<string, string>;
}

export function readGuides(): Guides {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
  const names = readdirSync(join(ROOT, 'docs')).filter(name => name.endsWith('.md'));
  return {
    llms: read('llms.txt'),
    pages: Object.fromEntries(names.map(name => [name, read(`docs/${name}`)])),
  };
}
