// Records that the server file was read again, before what it declares is taken in. process/server-file.ts reads it.

import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';

/** What was read again: the names of commands, and of settings that differ but need a restart. */
export interface Reloaded {
  path: string;
  added: string[];
  changed: string[];
  removed: string[];
  ignored: string[];
}

export async function recordReload(deps: Deps, actor: Actor, { path, ...names }: Reloaded): Promise<void> {
  await deps.db.transaction({}, tx => recordChange(tx, deps, actor, 'server-file.reload', path, names));
}
