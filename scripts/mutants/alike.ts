// Reads the list of changes that make no difference (alike.yaml). They are not survivors, which a better test would
// notice. An entry that fits no change of its file is refused, because it could hide another change one day.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Change, changesIn } from './changes.ts';

interface Alike {
  line: string;
  was?: string;
  why: string;
}

const ROOT = join(import.meta.dir, '../..');
const ALIKE: Record<string, Alike[]> = parse(readFileSync(join(import.meta.dir, 'alike.yaml'), 'utf8'));

/** Why a change makes no difference; null when it is not listed. `text` is the source of its file. */
export function alike(change: Change, text: string): string | null {
  return ALIKE[change.file]?.find(each => fits(each, change, text))?.why ?? null;
}

function fits({ line, was }: Alike, change: Change, text: string): boolean {
  return line === lineAt(text, change.from) && (was ?? change.was) === change.was;
}

function lineAt(text: string, at: number): string {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, text.indexOf('\n', at)).trim();
}

/** What is wrong with the list, in sentences: its entries that fit no change, and files that are not there. */
export function faultsOfAlike(): string[] {
  return Object.entries(ALIKE).flatMap(([file, entries]) => {
    const path = join(ROOT, file);
    if (!existsSync(path)) return [`alike.yaml names ${file}, which is not there${movedTo(file, entries)}`];
    const text = readFileSync(path, 'utf8');
    const changes = changesIn(file, text);
    return entries
      .filter(entry => !changes.some(change => fits(entry, change, text)))
      .map(
        ({ line, was }) => `alike.yaml: ${file} has no change of ${was ?? 'anything'} in the line "${line}"`,
      );
  });
}

/** The file of the same name that has the lines of these entries. */
function movedTo(file: string, entries: readonly Alike[]): string {
  const name = file.slice(file.lastIndexOf('/') + 1);
  const found = [...new Bun.Glob(`src/**/${name}`).scanSync({ cwd: ROOT })].find(other => {
    const lines = new Set(
      readFileSync(join(ROOT, other), 'utf8')
        .split('\n')
        .map(each => each.trim()),
    );
    return entries.every(({ line }) => lines.has(line));
  });
  return found === undefined ? '' : `; its lines are in ${found}`;
}
