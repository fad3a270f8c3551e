// What has to change in which files, to connect a client or to take it back. Nothing is written here.

import type { Client, ConfigFile, Entry, Format, Scope, Setup } from '../../core/clients/client.ts';
import { CliError, EXIT } from '../exit.ts';
import type { IO } from '../io.ts';
import { dropEntries, presence, putEntries } from './edit.ts';
import type { Edit } from './editor.ts';
import { Fault, placeOf } from './fault.ts';
import { type ReadFile, readConfig, requireWritable } from './files.ts';
import type { Memory } from './memory.ts';
import { pathOf } from './paths.ts';

export type Part = 'hooks' | 'mcp';
/** Of hooks, those for calls, and those that tell what the person wrote and what calls returned. */
export type Connected = Part | NonNullable<Entry['tells']>;

export interface Change extends Target {
  read: ReadFile;
  /** The new text; null if the file goes. */
  text: string | null;
  edits: Edit[];
}

export interface Target {
  path: string;
  format: Format;
  entries: Entry[];
}

/** The files of a client, each once, also if hooks and MCP servers are in the same. */
export function targetsOf(
  io: IO,
  client: Client,
  scope: Scope,
  parts: readonly Part[],
  setup: Setup,
): Target[] {
  const targets = new Map<string, Target>();
  for (const part of parts) {
    const file: ConfigFile | null = client[part];
    const path = file === null ? null : pathOf(io, client, file, scope);
    if (file === null || path === null) continue;
    const entries = file.entries(setup, scope);
    const there = targets.get(path);
    if (there === undefined) targets.set(path, { path, format: file.format, entries });
    else there.entries.push(...entries);
  }
  return [...targets.values()];
}

export function connectPlan(targets: readonly Target[], memory: Memory): Change[] {
  return targets.flatMap(target => {
    const { path, format, entries } = target;
    const read = readConfig(path);
    const written = memory.files[read.path]?.edits;
    const { text, edits } = inFile(path, read, () => putEntries(read.text, format, entries, written));
    return edits.length === 0 ? [] : [writable({ ...target, read, text, edits })];
  });
}

export function removalPlan(targets: readonly Target[], memory: Memory): Change[] {
  return targets.flatMap(target => {
    const { path, format, entries } = target;
    const read = readConfig(path);
    if (!read.exists) return [];
    const written = memory.files[read.path];
    const text = inFile(path, read, () => dropEntries(read.text, format, entries, written?.edits ?? []));
    if (text === read.text) return [];
    const isGone = text === '' && written?.created === true;
    return [writable({ ...target, read, text: isGone ? null : text, edits: [] })];
  });
}

/** Where entries are depends on none of these. */
export const ANY_SETUP: Setup = { baseUrl: 'http://127.0.0.1', key: '', command: '', telling: '' };

/** Which parts of the client are in the files. A file that cannot be read says why instead. */
export function connectedParts(io: IO, client: Client, scope: Scope): Connected[] | string {
  const found: Connected[] = [];
  for (const part of ['hooks', 'mcp'] as const) {
    for (const { path, format, entries } of targetsOf(io, client, scope, [part], ANY_SETUP)) {
      try {
        const read = readConfig(path);
        for (const [name, some] of Map.groupBy(entries, ({ tells }): Connected => tells ?? part))
          if (inFile(path, read, () => presence(read.text, format, some)) === 'all') found.push(name);
      } catch (error) {
        if (error instanceof CliError) return error.message;
        throw error;
      }
    }
  }
  return found;
}

/** What the hooks of a client do not tell, although it could: they are of an earlier version. */
export function untold(client: Client, parts: readonly Connected[]): Connected[] {
  if (!parts.includes('hooks')) return [];
  const told = client.hooks?.entries(ANY_SETUP, 'user').flatMap(({ tells }) => tells ?? []) ?? [];
  return [...new Set(told)].filter(each => !parts.includes(each));
}

function writable(change: Change): Change {
  requireWritable(change.read);
  return change;
}

function inFile<T>(path: string, read: ReadFile, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const place = placeOf(read.text, error.offset);
    throw new CliError(EXIT.noAnswer, `${path}, ${place}: ${error.message}. Nothing was changed.`);
  }
}
