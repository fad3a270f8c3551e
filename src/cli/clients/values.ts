// What a configuration file says, as values: finds our entry in them, and compares everything else.

import type { Entry } from '../../core/clients/client.ts';
import { type Json, textsIn } from '../../core/wire/json.ts';

type Tree = Record<string, Json>;

function isTree(value: Json | undefined): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Our entry, if it is there. Of a group to which somebody added hooks, our hook. */
export function valueAt(root: Json, { at, mark }: Entry): Json | undefined {
  let value: Json | undefined = root;
  for (const key of at) value = isTree(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  if (mark === undefined) return value;
  if (!Array.isArray(value)) return undefined;
  const item = value.find(each => isMarked(each, mark));
  if (item === undefined) return undefined;
  const hooks = sharedHooks(item);
  return hooks === null ? item : hooks.find(each => isMarked(each, mark));
}

/** Whether a text in the value, at any depth, matches. */
export function isMarked(value: Json, mark: RegExp): boolean {
  return textsIn(value).some(each => mark.test(each));
}

/** The hooks of a group that has more than one: then not the whole group is ours. */
export function sharedHooks(item: Json): Json[] | null {
  const hooks = isTree(item) ? item['hooks'] : undefined;
  return Array.isArray(hooks) && hooks.length > 1 ? hooks : null;
}

const EVERYTHING: readonly (Json | undefined)[] = [undefined, '', '*', '.*'];

/** Whether our hook is in a group of somebody else that is for some calls only: then the others are not judged. */
export function isNarrowed(root: Json, { at, mark }: Entry): boolean {
  const list = valueAt(root, { at, how: 'set', value: null });
  if (mark === undefined || !Array.isArray(list)) return false;
  const item = list.find(each => isMarked(each, mark));
  return item !== undefined && sharedHooks(item) !== null && !EVERYTHING.includes((item as Tree)['matcher']);
}

/** The values without our entry, and without the objects and lists that are empty then. */
export function without(root: Json, entry: Entry): Json {
  return pruned(root, entry.at, entry) ?? {};
}

function pruned(value: Json | undefined, path: readonly string[], entry: Entry): Json | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return lastPart(value, entry);
  if (!isTree(value) || !Object.hasOwn(value, key)) return isEmpty(value) ? undefined : value;
  const { [key]: inner, ...others } = value;
  const left = pruned(inner, rest, entry);
  if (left === undefined) return Object.keys(others).length === 0 ? undefined : others;
  return { ...value, [key]: left };
}

function lastPart(value: Json | undefined, { mark }: Entry): Json | undefined {
  if (mark === undefined) return undefined;
  if (!Array.isArray(value)) return isEmpty(value) ? undefined : value;
  const left = value.flatMap(item => {
    if (!isMarked(item, mark)) return [item];
    const hooks = sharedHooks(item);
    return hooks === null ? [] : [{ ...(item as Tree), hooks: hooks.filter(each => !isMarked(each, mark)) }];
  });
  return left.length === 0 ? undefined : left;
}

function isEmpty(value: Json | undefined): boolean {
  return (
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
  );
}

/** The order of keys does not matter. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return Object.is(one, other);
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [a, b] = [one as Tree, other as Tree];
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}
