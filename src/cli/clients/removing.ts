// Takes the configuration of a client back, and forgets or revokes its key.

import type { Client } from '../../core/clients/client.ts';
import { type IO, say } from '../io.ts';
import { deleteConfig, readConfig, removeFolders, writeConfig } from './files.ts';
import { revokeKey } from './key.ts';
import { readMemory, updateMemory } from './memory.ts';
import { type Options, scopeOf } from './options.ts';
import { ownFolder } from './paths.ts';
import { ANY_SETUP, type Change, removalPlan, targetsOf } from './plan.ts';
import { confirmed, report, show } from './report.ts';
import { addStates } from './states.ts';

export async function remove(io: IO, client: Client, options: Options): Promise<void> {
  const folder = ownFolder(io);
  const memory = readMemory(folder);
  const stored = memory.clients[client.id];
  const made = memory.keys[client.id];
  const targets = targetsOf(io, client, scopeOf(options), ['hooks', 'mcp'], ANY_SETUP);
  addStates(io, client, targets);
  const plan = removalPlan(targets, memory);
  const here = targets.map(({ path }) => readConfig(path).path);
  const other = Object.entries(memory.files).find(
    ([path, file]) => file.client === client.id && file.scope !== 'managed' && !here.includes(path),
  )?.[0];
  const hasKey = other === undefined && (stored !== undefined || (options.revoke && made !== undefined));
  const facts = { client, options, plan };
  if (plan.length === 0 && !hasKey) return report(io, { ...facts, outcome: 'unchanged' });
  show(io, facts);
  if (!(await confirmed(io, options))) return report(io, { ...facts, outcome: 'shown' });

  for (const change of plan) takeBack(change, memory.files[change.read.path]?.mode ?? null);
  // Folders are removed last, because several files may be in a folder that was made for the first of them.
  for (const path of here) removeFolders(memory.files[path]?.folders ?? []);
  updateMemory(folder, ({ files, clients }) => {
    for (const path of here) delete files[path];
    if (other === undefined) delete clients[client.id];
  });
  const revokes = options.revoke === true && made !== undefined && other === undefined;
  if (revokes) {
    const baseUrl = options.baseUrl ?? stored?.baseUrl;
    await revokeKey(io, baseUrl === undefined ? options : { ...options, baseUrl }, made.id);
  }
  if (other === undefined) updateMemory(folder, ({ keys }) => delete keys[client.id]);
  report(io, { ...facts, outcome: 'done' });
  if (other !== undefined) say(io, `Its key stays, because ${other} needs it.`);
  else if (revokes) say(io, `The key "${made.name}" is revoked.`);
  else if (made !== undefined)
    say(io, `Its key "${made.name}" was not revoked. To revoke it: toolgate keys revoke ${made.id}`);
  else if (options.revoke) say(io, 'Its key was not made by this command, so it is not revoked.');
}

/** Permissions that were narrowed for the key become what they were, unless somebody has changed them meanwhile. */
function takeBack({ read, text }: Change, former: number | null): void {
  const mode = read.mode === 0o600 && former !== null ? former : read.mode;
  if (text === null) deleteConfig(read);
  else writeConfig({ ...read, mode }, text, false);
}
