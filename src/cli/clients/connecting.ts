// Connects a client: finds the key, shows the change, and writes it.

import { join } from 'node:path';
import type { Client } from '../../core/clients/client.ts';
import { hookCommand } from '../../core/clients/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { type IO, say } from '../io.ts';
import { baseUrl } from '../service-options.ts';
import { isUndoable } from './edit.ts';
import { writeConfig } from './files.ts';
import { keyNameOf, knownKey, NEW_KEY, newKey, policyNameOf } from './key.ts';
import { managedCommand } from './managing.ts';
import { readMemory, updateMemory } from './memory.ts';
import { type Options, partsOf, scopeOf } from './options.ts';
import { ourProgram, ownFolder, shellOf } from './places.ts';
import { type Change, connectPlan, targetsOf } from './plan.ts';
import { mayProjectDecide, type TurnedOff, turnedOff } from './switches.ts';
import { confirmed, report, show } from './told.ts';

export async function connect(io: IO, client: Client, options: Options): Promise<void> {
  const folder = ownFolder(io);
  const memory = readMemory(folder);
  const address = baseUrl(io, options);
  const key = knownKey(io, options, client, memory, address);
  const command = hookCommand(ourProgram(), client.id, shellOf(client), options.pending);
  const planWith = (secret: string) => {
    const setup = { baseUrl: address, key: secret, command };
    return connectPlan(targetsOf(io, client, scopeOf(options), partsOf(options), setup), memory);
  };

  const off = options.mcpOnly ? [] : turnedOff(io, client);
  wantOn(client, options, off);
  const plan = planWith(key ?? NEW_KEY);
  const stored = memory.clients[client.id];
  const isStored = stored !== undefined && stored.key === key && stored.baseUrl === address;
  const advice = options.mcpOnly || !mayProjectDecide(io, client) ? {} : adviceFor(client, options);
  const told = { client, options, plan, off, ...advice };
  if (plan.length === 0 && (isStored || !needsKey(options)))
    return report(io, { ...told, outcome: 'unchanged' });
  show(io, told);
  const isNew = key === null && needsKey(options);
  if (isNew) {
    const [name, policy] = [keyNameOf(client), policyNameOf(options)];
    say(io, `The change includes a new key "${name}" with the policy "${policy}".`);
    if (policy === 'default' && client.hooks !== null && !options.mcpOnly) say(io, CODING);
  } else if (needsKey(options) && !options.key && key === io.env['TOOLGATE_API_KEY'])
    say(io, 'Its key is the one in TOOLGATE_API_KEY.');
  if (!(await confirmed(io, options))) return report(io, { ...told, outcome: 'shown' });

  // A key that could not be kept would be lost, and stay valid.
  if (isNew) updateMemory(folder, () => {});
  const made = isNew ? await newKey(io, options, client) : null;
  const secret = made?.key ?? key ?? '';
  const former = memory.keys[client.id];
  updateMemory(folder, ({ clients, keys }) => {
    if (needsKey(options)) clients[client.id] = { baseUrl: address, key: secret };
    if (made !== null) keys[client.id] = { id: made.id, name: made.name };
  });
  const changes = isNew ? planWith(secret) : plan;
  for (const change of changes) write(folder, client, options, change, isNarrowed(change, secret));
  report(io, { ...told, outcome: 'done' });
  for (const { path, read } of changes.filter(change => isNarrowed(change, secret)))
    say(
      io,
      `Other users of this machine could read ${path} (mode ${modeText(read)}). It holds the key now, so its mode is 600.`,
    );
  const also = options.project || options.hooksOnly ? '' : `, and in the configuration of ${client.name}`;
  if (needsKey(options))
    say(io, `The key is in ${join(folder, 'clients.json')}, which only you can read${also}.`);
  if (made !== null && former !== undefined)
    say(io, `Its former key was not revoked. To revoke it: toolgate keys revoke ${former.id}`);
}

/** Where nothing would ever be judged, nothing is written. A project's own files may do it in that project only. */
function wantOn(client: Client, options: Options, off: readonly TurnedOff[]): void {
  const everywhere = off.filter(({ of }) => of !== 'project' || options.project);
  if (everywhere.length === 0) return;
  const where = everywhere.map(({ path, key }) => `${path} turns hooks off, by "${key}"`).join('; ');
  const what = `${where}, so that no call of ${client.name} would be judged.`;
  throw new CliError(EXIT.failed, `${what} Nothing was changed. Take that setting out, and run this again.`);
}

function adviceFor(client: Client, options: Options): { advice?: string } {
  if (client.managed === undefined) return {};
  const command = managedCommand(client, { ...options, remove: false });
  return { advice: `Still open: ${client.managed.open}. To prevent it: ${command}` };
}

const CODING =
  'That policy asks a person about nearly every call of a coding agent. packs/coding.yaml is made for them: apply it, and give --policy coding.';

/** Whether others could use a file that holds the key from now on. Its mode is narrowed, until the key is taken out. */
function isNarrowed({ read, text }: Change, secret: string): boolean {
  const mayOthers = process.platform !== 'win32' && ((read.mode ?? 0) & 0o077) !== 0;
  return mayOthers && secret !== '' && text?.includes(secret) === true;
}

function modeText({ mode }: Change['read']): string {
  return (mode ?? 0).toString(8).padStart(3, '0');
}

/** The MCP entry of a project names a variable instead. */
function needsKey({ project, mcpOnly }: Options): boolean {
  return !(project && mcpOnly);
}

/** What is written is remembered first: a file that we do not know about could not be taken back to the byte. */
function write(
  folder: string,
  client: Client,
  options: Options,
  { read, text, edits }: Change,
  narrow: boolean,
): void {
  const { files } = updateMemory(folder, memory => {
    const known = memory.files[read.path];
    // Somebody may have changed or deleted what was written before.
    const before = known !== undefined && isUndoable(read.text, known.edits) ? known : null;
    memory.files[read.path] = {
      client: client.id,
      scope: scopeOf(options),
      edits: [...(before?.edits ?? []), ...edits],
      created: before?.created ?? !read.exists,
      folders: before?.folders ?? [],
      mode: known?.mode ?? (narrow ? read.mode : null),
    };
  });
  const kept = narrow ? { ...read, mode: 0o600 } : read;
  const folders = writeConfig(kept, text ?? '', scopeOf(options) === 'user');
  const entry = files[read.path];
  if (folders.length === 0 || entry === undefined) return;
  updateMemory(folder, memory => {
    memory.files[read.path] = { ...entry, folders };
  });
}
