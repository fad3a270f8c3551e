// Connects a client: finds the key, shows the change, and writes it.

import { join } from 'node:path';
import type { Key, KeyWithSecret, WholePolicy } from '../../core/api/resources.ts';
import type { Client } from '../../core/clients/client.ts';
import { hookCommand, tellingCommand } from '../../core/clients/command.ts';
import { parsePolicy } from '../../core/policy-file/policy-file.ts';
import { allOf } from '../admin.ts';
import { CliError, EXIT } from '../exit.ts';
import { type IO, say } from '../io.ts';
import { asAdmin, baseUrl } from '../service-options.ts';
import { isUndoable } from './edit.ts';
import { writeConfig } from './files.ts';
import { keyNameOf, knownKey, NEW_KEY, newKey } from './key.ts';
import { guardedFiles, requireSafePlace } from './location.ts';
import { managedCommand } from './managing.ts';
import { readMemory, updateMemory } from './memory.ts';
import { type Options, partsOf, scopeOf } from './options.ts';
import { ourProgram, ownFolder, projectAt, shellOf } from './paths.ts';
import { type Change, connectPlan, targetsOf } from './plan.ts';
import { type Choice, choicePolicy, codingText, policyOf } from './policy.ts';
import { confirmed, report, show } from './report.ts';
import { mayProjectDecide, type TurnedOff, turnedOff } from './switches.ts';

export async function connect(io: IO, client: Client, options: Options): Promise<void> {
  const folder = ownFolder(io);
  const memory = readMemory(folder);
  const address = baseUrl(io, options);
  const key = knownKey(io, options, client, memory, address);
  const command = hookCommand(ourProgram(), client.id, shellOf(client), options.pending);
  const telling = tellingCommand(ourProgram(), client.id, shellOf(client));
  const targetsWith = (secret: string) =>
    targetsOf(io, client, scopeOf(options), partsOf(options), {
      baseUrl: address,
      key: secret,
      command,
      telling,
    });

  const off = options.mcpOnly ? [] : turnedOff(io, client);
  requireOn(client, options, off);
  const targets = targetsWith(key ?? NEW_KEY);
  const plan = connectPlan(targets, memory);
  const stored = memory.clients[client.id];
  const isStored = stored !== undefined && stored.key === key && stored.baseUrl === address;
  const advice = options.mcpOnly || !mayProjectDecide(io, client) ? {} : adviceFor(client, options);
  const facts = { client, options, plan, off, ...advice };
  if (plan.length === 0 && (isStored || !needsKey(options)))
    return report(io, { ...facts, outcome: 'unchanged' });
  const choice = key === null && needsKey(options) ? await choicePolicy(io, client, options) : null;
  const wanted = { client, options, choice, key, paths: targets.map(({ path }) => path) };
  if (!options.dryRun) await requireGuarded(io, wanted);
  show(io, facts);
  sayKey(io, wanted);
  if (!(await confirmed(io, options))) return report(io, { ...facts, outcome: 'shown' });

  // A key that could not be kept would be lost, and stay valid.
  if (choice !== null) updateMemory(folder, () => {});
  const made = choice === null ? null : await keyFor(io, client, options, choice);
  const secret = made?.key ?? key ?? '';
  const former = memory.keys[client.id];
  updateMemory(folder, ({ clients, keys }) => {
    if (needsKey(options)) clients[client.id] = { baseUrl: address, key: secret };
    if (made !== null) keys[client.id] = { id: made.id, name: made.name };
  });
  const changes = made === null ? plan : connectPlan(targetsWith(secret), memory);
  for (const change of changes) write(folder, client, options, change, isNarrowed(change, secret));
  report(io, { ...facts, outcome: 'done' });
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

interface Wanted {
  client: Client;
  options: Options;
  /** Null if there is a key already, or none is needed. */
  choice: Choice | null;
  key: string | null;
  /** The files that are written. */
  paths: readonly string[];
}

function sayKey(io: IO, { client, options, choice, key }: Wanted): void {
  if (choice === null) {
    if (needsKey(options) && !options.key && key === io.env['TOOLGATE_API_KEY'])
      say(io, 'Its key is the one in TOOLGATE_API_KEY.');
    return;
  }
  const policy =
    'name' in choice ? `the policy "${choice.name}"` : `a policy from the pack "coding" for ${choice.folder}`;
  say(io, `The change includes a new key "${keyNameOf(client)}" with ${policy}.`);
  const isAgent = client.hooks !== null && !options.mcpOnly;
  if ('name' in choice && choice.name === 'default' && isAgent) say(io, CODING);
}

async function keyFor(io: IO, client: Client, options: Options, choice: Choice): Promise<KeyWithSecret> {
  const http = asAdmin(io, options);
  return newKey(http, client, (await policyOf(http, choice)).id);
}

/** Refuses if the agent could replace its guard. Without a hook there is none to replace. */
async function requireGuarded(io: IO, { client, options, choice, key, paths }: Wanted): Promise<void> {
  if (client.hooks === null || options.mcpOnly || options.unsafeLocation) return;
  const guarded = guardedFiles(io, paths);
  if (choice !== null && 'folder' in choice) {
    const { policy } = parsePolicy(codingText(choice.folder, 'coding'));
    if (policy !== null) requireSafePlace(io, client, { ...policy, name: 'coding' }, guarded);
    return;
  }
  const rules = await rulesOf(io, options, choice?.name ?? null, key);
  if (rules !== null) requireSafePlace(io, client, rules, guarded);
  else if (guarded.some(({ path }) => path.startsWith(`${projectAt(io.cwd) ?? io.cwd}/`))) say(io, UNKNOWN);
}

const UNKNOWN =
  'Toolgate or its data is in the folder at hand. Whether the policy of the key lets the agent change it was not looked at, because there is no admin token, or no answer: move it elsewhere, or give --admin-token.';

/** What the policy of the key says; null if the service cannot be asked. For a new key it has to answer anyway. */
async function rulesOf(
  io: IO,
  options: Options,
  name: string | null,
  key: string | null,
): Promise<WholePolicy | null> {
  if (name !== null) return policyOf(asAdmin(io, options), { name });
  try {
    const http = asAdmin(io, options);
    const keys = await allOf<Key>(http, 'keys');
    const found = keys.find(each => key?.startsWith(each.prefix) && each.revokedAt === null);
    return found === undefined ? null : await http.get<WholePolicy>(`/policies/${found.policyId}`);
  } catch (error) {
    if (error instanceof CliError) return null;
    throw error;
  }
}

/** Nothing is written where no call would be judged. A project's own files may do it in that project only. */
function requireOn(client: Client, options: Options, off: readonly TurnedOff[]): void {
  const everywhere = off.filter(({ of, key }) => key !== null && (of !== 'project' || options.project));
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
  'With that policy nearly every call of a coding agent waits for a person, each file that it reads too. Give --folder in place of --policy: then it gets the policy of the pack "coding", for that folder.';

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
