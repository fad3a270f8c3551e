// Where the files of clients are on this machine, and whether a client is here at all.

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { Client, ConfigFile, Platform, Scope, SettingsFile, Shell } from '../../core/clients/client.ts';
import type { IO } from '../io.ts';
import { ourselves } from '../outbound.ts';

export const PLATFORM: Platform =
  process.platform === 'win32' ? 'windows' : process.platform === 'darwin' ? 'macos' : 'linux';

/** The path of a file of a client, or null if it has none in a project. */
export function pathOf(io: IO, client: Client, file: ConfigFile, scope: Scope): string | null {
  if (scope === 'project') return file.project === null ? null : join(io.cwd, file.project);
  return expanded(io, client, file.user[PLATFORM]);
}

/** A path of the person, whose folders variables may have moved. */
export function pathOfUser(io: IO, client: Client, path: string): string {
  return expanded(io, client, path);
}

/** The path of a file of the whole machine. */
export function onMachine(io: IO, { path, variable }: Pick<SettingsFile, 'path' | 'variable'>): string {
  const given = variable === undefined ? undefined : io.env[variable];
  return given && isAbsolute(given) ? given : join(io.root, path[PLATFORM]);
}

/** The root of the repository that a folder is in; null if it is in none. */
export function projectAt(folder: string): string | null {
  for (let each = folder; ; each = dirname(each)) {
    if (existsSync(join(each, '.git'))) return each;
    if (each === dirname(each)) return null;
  }
}

function expanded(io: IO, { moved }: Client, path: string): string {
  for (const { variable, from, to } of moved) {
    const folder = io.env[variable];
    if (folder && isAbsolute(folder) && path.startsWith(from))
      return join(folder, to, path.slice(from.length));
  }
  if (path.startsWith('%APPDATA%/')) {
    const data = io.env['APPDATA'] ?? join(homeOf(io), 'AppData/Roaming');
    return join(data, path.slice('%APPDATA%/'.length));
  }
  return join(homeOf(io), path.slice('~/'.length));
}

function homeOf({ env }: IO): string {
  return env['HOME'] || env['USERPROFILE'] || homedir();
}

/** Our own folder. By the XDG specification a relative path does not count. */
export function ownFolder(io: IO): string {
  const given = io.env['XDG_CONFIG_HOME'];
  return join(given && isAbsolute(given) ? given : join(homeOf(io), '.config'), 'toolgate');
}

/** How the client was found, or null. */
export function foundBy(io: IO, client: Client): string | null {
  const folder = expanded(io, client, `${client.folder[PLATFORM]}/`);
  if (existsSync(folder)) return folder;
  const endings = PLATFORM === 'windows' ? ['.exe', '.cmd'] : [''];
  const folders = (io.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const programs = folders.flatMap(each =>
    client.programs.flatMap(name => endings.map(ending => join(each, name + ending))),
  );
  return programs.find(existsSync) ?? null;
}

/**
 * The command that starts this program, as a hook needs it: one executable, or bin/toolgate. That is a script of the
 * shell, so on Windows it is the runtime with our entry file.
 */
export function ourProgram(): string[] {
  const words = ourselves();
  if (words.length === 1 || PLATFORM === 'windows') return words;
  for (let folder = import.meta.dir; folder !== join(folder, '..'); folder = join(folder, '..')) {
    const launcher = join(folder, 'bin/toolgate');
    if (existsSync(launcher)) return [launcher];
  }
  return words;
}

export function shellOf(client: Client): Shell {
  return PLATFORM === 'windows' ? client.windowsShell : 'sh';
}
