// Reads and writes configuration files of other programs. A file is replaced in one step, by a new one beside it that
// takes its name, so that its program never reads half of it; a symbolic link stays one. Modes are kept, and owners, for
// root in the home of somebody else.

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CliError, EXIT } from '../exit.ts';

const BOM = '\ufeff';
/** Far more than any configuration; the histories that Claude Code keeps in its file have some megabytes. */
const MAX_BYTES = 64 * 1024 * 1024;

export interface ReadFile {
  /** Where it really is, if the path is a symbolic link. */
  path: string;
  exists: boolean;
  /** Without the byte order mark. */
  text: string;
  bom: string;
  /** Its permissions; null for a file that does not exist. */
  mode: number | null;
}

export function readConfig(file: string): ReadFile {
  const path = targetOf(file);
  try {
    const about = statSync(path);
    // A pipe or a device might never end.
    if (!about.isFile() && !about.isDirectory())
      throw new CliError(EXIT.noAnswer, `${file} is not a file. Nothing was changed.`);
    if (about.size > MAX_BYTES) throw new CliError(EXIT.noAnswer, `${file} is too large.`);
    const whole = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
    const bom = whole.startsWith(BOM) ? BOM : '';
    return { path, exists: true, text: whole.slice(bom.length), bom, mode: about.mode & 0o7777 };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return { path, exists: false, text: '', bom: '', mode: null };
    if (error instanceof CliError) throw error;
    const why = error instanceof TypeError ? 'it is not UTF-8 text' : reasonOf(error);
    throw new CliError(EXIT.noAnswer, `${file} cannot be read: ${why}. Nothing was changed.`, {
      cause: error,
    });
  }
}

/** Where a path leads, also if the file that a link names does not exist. */
function targetOf(path: string, links = 0): string {
  try {
    return realpathSync(path);
  } catch {
    if (!isLink(path) || links > 40) return path;
    return targetOf(resolve(dirname(path), readlinkSync(path)), links + 1);
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Throws if the file may not be changed. */
export function requireWritable({ path, exists, mode }: ReadFile): void {
  if (!exists) return;
  // For root every file is writable; one that is marked read-only is left alone all the same.
  const isMarked = ((mode ?? 0) & 0o222) === 0;
  try {
    accessSync(path, constants.W_OK);
    if (!isMarked) return;
  } catch {
    // The error is thrown below.
  }
  throw new CliError(EXIT.noAnswer, `${path} is read-only. Nothing was changed.`);
}

/** Writes the text, unless the file has changed since it was read. Returns the folders that had to be made. */
export function writeConfig(read: ReadFile, text: string, isPrivate: boolean): string[] {
  const folders = makeFolders(dirname(read.path), isPrivate ? 0o700 : 0o777);
  try {
    replace(read, read.bom + text, read.mode ?? (isPrivate ? 0o600 : 0o666 & ~umask()));
  } catch (error) {
    removeFolders(folders);
    if (error instanceof CliError) throw error;
    throw new CliError(EXIT.noAnswer, `${read.path} cannot be written: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
  return folders;
}

export function deleteConfig(read: ReadFile): void {
  requireUnchanged(read);
  rmSync(read.path);
}

function requireUnchanged({ path, exists, text }: ReadFile): void {
  const now = readConfig(path);
  if (now.exists === exists && now.text === text) return;
  throw new CliError(EXIT.failed, `${path} was changed by another program just now. Run this again.`);
}

function replace(read: ReadFile, text: string, mode: number): void {
  const { path } = read;
  const draft = join(dirname(path), `.${basename(path)}.${crypto.randomUUID().slice(0, 8)}.toolgate`);
  const handle = openSync(draft, 'wx', 0o600);
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
    const { uid, gid } = statSync(existsSync(path) ? path : dirname(path));
    if (isRoot()) fchownSync(handle, uid, gid);
    fchmodSync(handle, mode);
    fsyncSync(handle);
    // This is compared at the last moment, because the program may write its file often.
    requireUnchanged(read);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(handle);
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function umask(): number {
  return process.umask();
}

/** Makes the folders that are missing, and returns them, the innermost first. */
export function makeFolders(folder: string, mode: number): string[] {
  const missing: string[] = [];
  for (let each = folder; !existsSync(each); each = dirname(each)) missing.push(each);
  for (const each of missing.toReversed()) {
    mkdirSync(each, { recursive: true, mode });
    const { uid, gid } = statSync(dirname(each));
    if (isRoot()) lchownSync(each, uid, gid);
  }
  return missing;
}

/** Removes the folders that are empty, the innermost first. */
export function removeFolders(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      rmdirSync(folder);
    } catch {
      return;
    }
  }
}

const REASONS: Record<string, string> = {
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a folder',
};

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
