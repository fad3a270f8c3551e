// `toolgate connect <client> --managed`: keeps the hook on by a file of the whole machine, which no project can overrule.
// It holds no key; each person connects the client for themselves.

import { accessSync, chmodSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Client, ManagedFile } from '../../core/clients/client.ts';
import { hookCommand, tellingCommand } from '../../core/clients/command.ts';
import { EXIT } from '../exit.ts';
import { type IO, say } from '../io.ts';
import { deleteConfig, removeFolders, writeConfig } from './files.ts';
import { readMemory, updateMemory } from './memory.ts';
import type { Options } from './options.ts';
import { onMachine, ourProgram, ownFolder, shellOf } from './paths.ts';
import { type Change, connectPlan, removalPlan } from './plan.ts';
import { confirmed, printPlan, show } from './report.ts';
import { isProtected } from './switches.ts';

export async function manage(io: IO, client: Client, managed: ManagedFile, options: Options): Promise<void> {
  const folder = ownFolder(io);
  const memory = readMemory(folder);
  const path = onMachine(io, managed.file);
  const command = hookCommand(ourProgram(), client.id, shellOf(client), options.pending);
  const telling = tellingCommand(ourProgram(), client.id, shellOf(client));
  const entries = managed.entries({ baseUrl: '', key: '', command, telling });
  const targets = [{ path, format: managed.file.format, entries }];
  const plan = options.remove ? removalPlan(targets, memory) : connectPlan(targets, memory);
  const [change] = plan;
  if (change === undefined)
    return tell(
      io,
      options,
      plan,
      false,
      `${path} ${options.remove ? 'has nothing of Toolgate' : IS_THERE}.`,
    );
  show(io, { options, plan });
  if (!options.dryRun && !isWritable(path)) return tooLow(io, client, managed, options, plan);
  if (!(await confirmed(io, options))) return tell(io, options, plan, false, 'Nothing was changed.');
  if (options.remove) takeBack(folder, change);
  else write(folder, client, change);
  const done = `${path} is ${options.remove ? 'what it was' : 'written: the switches of a project no longer turn the hook off'}.`;
  tell(io, options, plan, true, done);
  if (!options.remove && !isProtected(io, path))
    say(io, `But others than root can write ${path}, or a folder above it. ${OPEN}`);
}

const OPEN = 'Gemini CLI skips such a file, and an agent could change it: correct its owner and its mode.';
const IS_THERE = 'keeps the hook on already';

function tell(io: IO, options: Options, plan: readonly Change[], changed: boolean, text: string): void {
  if (options.json) printPlan(io, plan, changed);
  else say(io, text);
}

function isWritable(path: string): boolean {
  let at = path;
  while (!existsSync(at)) at = dirname(at);
  try {
    accessSync(at, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function tooLow(
  io: IO,
  client: Client,
  { open }: ManagedFile,
  options: Options,
  plan: readonly Change[],
): void {
  const command = managedCommand(client, options);
  const rest = options.remove ? '' : ` Until then it stays open: ${open}.`;
  tell(io, options, plan, false, `You may not write this file. Nothing was changed. Run: ${command}${rest}`);
  io.exit(EXIT.failed);
}

/** The command for somebody who may write the file of the machine. */
export function managedCommand({ id }: Client, { remove, pending }: Options): string {
  const words = [...ourProgram(), 'connect', id, '--managed', remove ? '--remove' : ''];
  return ['sudo', ...words, pending ? `--pending ${pending}` : ''].filter(word => word !== '').join(' ');
}

/** Everybody's agent has to read it, and nobody else may write it, whatever the umask is. */
function write(folder: string, client: Client, { read, text, edits }: Change): void {
  const folders = writeConfig({ ...read, mode: read.mode ?? 0o644 }, text ?? '', false);
  for (const each of folders) chmodSync(each, 0o755);
  updateMemory(folder, ({ files }) => {
    const before = files[read.path];
    files[read.path] = {
      client: client.id,
      scope: 'managed',
      edits: [...(before?.edits ?? []), ...edits],
      created: before?.created ?? !read.exists,
      folders: [...(before?.folders ?? []), ...folders],
    };
  });
}

function takeBack(folder: string, { read, text }: Change): void {
  if (text === null) deleteConfig(read);
  else writeConfig(read, text, false);
  updateMemory(folder, ({ files }) => {
    removeFolders(files[read.path]?.folders ?? []);
    delete files[read.path];
  });
}
