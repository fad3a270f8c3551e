// Reads the list of changes that make no difference (alike.yaml). They are not survivors, which a better test would
// notice. An entry that no longer fits the source is refused, because it would hide another change.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Change } from './changes.ts';

interface Alike {
  line: string;
  was?: string;
  why: string;
}

const ALIKE: Record<string, Alike[]> = parse(readFileSync(join(import.meta.dir, 'alike.yaml'), 'utf8'));

/** Why a change makes no difference; null when it is not listed. `text` is the source of its file. */
export function alike({ file, from, was }: Change, text: string): string | null {
  const line = lineAt(text, from);
  const found = ALIKE[file]?.find(each => each.line === line && (each.was ?? was) === was);
  return found?.why ?? null;
}

function lineAt(text: string, at: number): string {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, text.indexOf('\n', at)).trim();
}

/** The listed lines that are not in their files. */
export function strangers(read: (file: string) => string): { file: string; line: string }[] {
  return Object.entries(ALIKE).flatMap(([file, entries]) => {
    const lines = new Set(
      read(file)
        .split('\n')
        .map(each => each.trim()),
    );
    return entries.filter(({ line }) => !lines.has(line)).map(({ line }) => ({ file, line }));
  });
}
