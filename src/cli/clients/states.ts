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
  const root = rootOf(path);
  const places = entries.flatMap(entry => placesOf(root, entry));
  const paths = places.length === 0 ? [] : [...new Set([path, realpathSync(path)])];
  return paths.flatMap(each =>
    places.map(place => ({ at: ['hooks', 'state', `${each}:${place}`], how: 'drop' as const, value: {} })),
  );
}

/** The places of our hooks for one event, as Codex names them: `pre_tool_use:0:0`. */
function placesOf(root: Json, { at, mark }: Entry): string[] {
  if (mark === undefined) return [];
  const event = (at.at(-1) ?? '').replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
  const groups = valueAt(root, { at, how: 'set', value: null });
  return (Array.isArray(groups) ? groups : []).flatMap((group, index) =>
    hooksOf(group).flatMap((hook, inner) => (isMarked(hook, mark) ? [`${event}:${index}:${inner}`] : [])),
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
