// Looks for settings that turn an agent's hooks off: of the machine, of the person, and of the project at hand, from the
// working folder up to the root of its repository.

import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Client, Format, SettingsFile } from '../../core/clients/client.ts';
import type { Json } from '../../core/wire/json.ts';
import type { IO } from '../io.ts';
import { readConfig } from './files.ts';
import { parseJsonc } from './jsonc.ts';
import { onMachine, PLATFORM, pathOfUser, projectAt } from './paths.ts';

export interface TurnedOff {
  path: string;
  /** Null for a file that we cannot read. The agent may be more lenient, so it may say anything. */
  key: string | null;
  of: SettingsFile['of'];
}

/** What turns the hooks of this client off here. */
export function turnedOff(io: IO, client: Client): TurnedOff[] {
  const { switches } = client;
  if (switches === undefined) return [];
  const seen = new Set<string>();
  const found: TurnedOff[] = [];
  let decided: string[] = [];
  for (const { file, path } of switches.files.flatMap(each => placesOf(io, client, each))) {
    const settings = seen.has(path) ? null : settingsIn(path, file.format);
    seen.add(path);
    if (settings === UNREADABLE && file.of === 'project') found.push({ path, key: null, of: file.of });
    if (settings === null || settings === UNREADABLE) continue;
    const keys = switches.off(settings, file.of);
    found.push(...keys.filter(key => !decided.includes(key)).map(key => ({ path, key, of: file.of })));
    if (file.of === 'machine' && isProtected(io, path)) decided = switches.decided(settings);
  }
  return found;
}

/** Whether a project's own settings could turn the hooks off: nothing of the machine decides it. */
export function mayProjectDecide(io: IO, client: Client): boolean {
  const { switches } = client;
  if (switches === undefined) return false;
  const files = switches.files.filter(({ of }) => of === 'machine');
  return !files.some(file => {
    const path = onMachine(io, file);
    const settings = settingsIn(path, file.format);
    if (settings === null || settings === UNREADABLE) return false;
    return switches.decided(settings).length > 0 && isProtected(io, path);
  });
}

/**
 * Whether only the owner of the machine can write a file and the folders above it. Gemini CLI skips any other file of the
 * machine, and the others would be worth little.
 */
export function isProtected(io: IO, path: string): boolean {
  if (PLATFORM === 'windows') return true;
  const top = io.root === '' ? '/' : io.root;
  const uid = statSync(top, { throwIfNoEntry: false })?.uid ?? 0;
  for (let at = path; at !== top && at !== dirname(at); at = dirname(at)) {
    const about = statSync(at, { throwIfNoEntry: false });
    if (about === undefined || about.uid !== uid || (about.mode & 0o022) !== 0) return false;
  }
  return true;
}

function placesOf(io: IO, client: Client, file: SettingsFile): { file: SettingsFile; path: string }[] {
  const path = file.path[PLATFORM];
  if (file.of === 'project') return projectFolders(io.cwd).map(each => ({ file, path: join(each, path) }));
  return [{ file, path: path.startsWith('~/') ? pathOfUser(io, client, path) : onMachine(io, file) }];
}

/** The folder and those above it, up to the root of the repository; without a repository the folder alone. */
function projectFolders(folder: string): string[] {
  const top = projectAt(folder) ?? folder;
  const folders = [folder];
  for (let each = folder; each !== top; folders.push(each)) each = dirname(each);
  return folders;
}

const UNREADABLE = Symbol('unreadable');

/** Null if there is no such file. */
function settingsIn(path: string, format: Format): Json | null | typeof UNREADABLE {
  try {
    const { text, exists } = readConfig(path);
    if (!exists) return null;
    return format === 'toml' ? (Bun.TOML.parse(text) as Json) : (parseJsonc(text)?.value ?? null);
  } catch {
    return UNREADABLE;
  }
}

export function offLine({ path, key }: Pick<TurnedOff, 'path' | 'key'>): string {
  return key === null
    ? `PERHAPS NO CALL IS JUDGED: ${path} cannot be read, and may turn hooks off.`
    : `NO CALL IS JUDGED: ${path} turns hooks off, by "${key}".`;
}
