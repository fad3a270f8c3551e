// What Codex writes itself about a hook that a person has trusted: a table for each, named after the file of the hook and
// its place there (`hooks.state`). It goes with the hook.

import { realpathSync } from 'node:fs';
import type { Client, Entry } from '../../core/clients/client.ts';
import type { Json } from '../../core/wire/json.ts';
import type { IO } from '../io.ts';
import { readConfig } from './files.ts';
import { parseJsonc } from './jsonc.ts';
import { pathOf } from './paths.ts';
import type { Target } from './plan.ts';
import { isMarked, valueAt } from './values.ts';

/** Adds those of our hooks to the files that are taken back. They are in the person's own file, also for a project. */
export function addStates(io: IO, client: Client, targets: Target[]): void {
  const path = client.id === 'codex' ? pathOf(io, client, client.mcp, 'user') : null;
  if (path === null) return;
  const entries = targets.flatMap(statesOf);
  const there = targets.find(target => target.path === path);
  if (there !== undefined) there.entries.push(...entries);
  else if (entries.length > 0) targets.push({ path, format: client.mcp.format, entries });
}

function statesOf({ path, entries }: Target): Entry[] {
  const [entry] = entries;
  if (entry?.mark === undefined) return [];
  const { mark, at } = entry;
  const groups = valueAt(rootOf(path), { at, how: 'set', value: null });
  const places = (Array.isArray(groups) ? groups : []).flatMap((group, index) =>
    hooksOf(group).flatMap((hook, inner) => (isMarked(hook, mark) ? [`pre_tool_use:${index}:${inner}`] : [])),
  );
  const paths = places.length === 0 ? [] : [...new Set([path, realpathSync(path)])];
  return paths.flatMap(each =>
    places.map(place => ({ at: ['hooks', 'state', `${each}:${place}`], how: 'drop' as const, value: {} })),
  );
}

/** A file that is not JSON counts as empty here; the change of that file reports the fault. */
function rootOf(path: string): Json {
  try {
    return parseJsonc(readConfig(path).text)?.value ?? {};
  } catch {
    return {};
  }
}

function hooksOf(group: Json): Json[] {
  const hooks = valueAt(group, { at: ['hooks'], how: 'set', value: null });
  return Array.isArray(hooks) ? hooks : [];
}
