// What of a definition reaches for a tool of another server of the same key: a name that looks like its name, or a text
// that has its full name. Equal names never shadow, because a full name also says the server.

import { SEPARATOR } from '../text/name.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Finder, Looked } from './finding.ts';
import { JoinedTexts } from './joined-texts.ts';
import { type NamedServer, NO_NEIGHBOURS, named, type ToolNames } from './neighbours.ts';
import { type Place, placeName, placesOf, pointerTo } from './places.ts';
import { quoted, quotedAscii, spelledOut } from './quoted.ts';
import { skeletonOf } from './skeleton.ts';

const hasSeparator = ({ text }: Place) => text.includes(SEPARATOR);

/** Whether a text of it has the full name of a tool of these servers. No skeletons are made for that. */
export function hasFullName(definition: JsonObject, servers: readonly ToolNames[]): boolean {
  const neighbours = { ...NO_NEIGHBOURS, servers: servers.map(named) };
  for (const _ of fullNames({ definition, places: placesOf(definition), neighbours })) return true;
  return false;
}

export const shadowsIn: Finder = function* (looked) {
  yield* lookAlikes(looked);
  yield* fullNames(looked);
};

function* lookAlikes({ definition: { name }, neighbours: { bySkeleton } }: Looked): ReturnType<Finder> {
  if (typeof name !== 'string' || bySkeleton.size === 0) return;
  for (const { serverName, toolName } of bySkeleton.get(skeletonOf(name)) ?? []) {
    if (toolName === name) continue;
    const whose = `${quotedAscii(toolName)} of the server ${quoted(serverName)}`;
    const text = `The name ${quotedAscii(name)} looks like ${whose}, but is spelled differently: ${difference(name, toolName)}.`;
    yield () => ({ where: '/name', text });
  }
}

/** Where two names begin to differ. */
function difference(name: string, other: string): string {
  const [ours, theirs] = [[...name], [...other]];
  const at = ours.findIndex((character, index) => character !== theirs[index]);
  const place = at < 0 ? ours.length : at;
  return `character ${place + 1} is ${spelledOut(ours[place])} and not ${spelledOut(theirs[place])}`;
}

/** How often a definition may name other servers before nobody looks any more. Honest ones do so a few times at most. */
const MAX_NAMED = 1000;

function* fullNames({ places, neighbours: { servers } }: Looked): ReturnType<Finder> {
  if (servers.length === 0) return;
  const texts = new JoinedTexts(places.filter(hasSeparator));
  let times = 0;
  for (const server of servers) {
    const told = new Set<string>();
    for (const at of prefixesIn(texts, server.prefix)) {
      if (++times > MAX_NAMED) {
        const text = `It speaks more than ${MAX_NAMED} times of tools of other servers, such as ${quoted(server.serverName)}.`;
        yield () => ({ where: '', text });
        return;
      }
      const toolName = nameAt(texts, at + server.prefix.length, server);
      const place = texts.placeAt(at);
      const where = pointerTo(place);
      if (toolName === null || told.has(`${where} ${toolName}`)) continue;
      told.add(`${where} ${toolName}`);
      const text = `${placeName(place)} has ${quoted(server.prefix + toolName)}, the name of a tool of another server.`;
      yield () => ({ where, text });
    }
  }
}

/** Where a server's name and the separator stand, without places within a longer name: `my-github__` is not `github__`. */
function* prefixesIn(texts: JoinedTexts, prefix: string): Generator<number> {
  for (const at of texts.find(prefix)) if (!/[a-z0-9][-._]?$/.test(texts.slice(at - 2, at))) yield at;
}

/** The longest name of a tool of the server that stands there, or null. */
function nameAt(texts: JoinedTexts, at: number, { names, lengths }: NamedServer): string | null {
  let longest: string | null = null;
  for (const length of lengths) {
    const name = texts.slice(at, at + length);
    if (length > (longest?.length ?? 0) && names.has(name)) longest = name;
  }
  return longest;
}
