// What of a definition reaches for a tool of another server of the same key: a name that looks like its name, or a text
// that has its full name. Equal names never shadow, because a full name also says the server.

import { SEPARATOR } from '../text/name.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Finding } from './finding.ts';
import { type Place, placeName, placesIn, pointerTo } from './places.ts';
import { quoted, quotedAscii, spelledOut } from './quoted.ts';
import { skeletonOf } from './skeleton.ts';

/** A tool server, with the names of its tools. */
export interface ToolNames {
  serverName: string;
  toolNames: readonly string[];
}

/** The other tool servers of a key, as definitions are compared with them. */
export interface Neighbours {
  bySkeleton: ReadonlyMap<string, readonly { serverName: string; toolName: string }[]>;
  servers: readonly NamedServer[];
}

interface NamedServer {
  serverName: string;
  /** Its name and the separator, in lower case. */
  prefix: string;
  /** The names of its tools in lower case, and how long they are. */
  names: ReadonlySet<string>;
  lengths: readonly number[];
}

export const NO_NEIGHBOURS: Neighbours = { bySkeleton: new Map(), servers: [] };

/** The servers, made ready for many definitions: a skeleton takes about a microsecond. */
export function neighboursOf(servers: readonly ToolNames[]): Neighbours {
  const bySkeleton = new Map<string, { serverName: string; toolName: string }[]>();
  for (const { serverName, toolNames } of servers)
    for (const toolName of toolNames) {
      const skeleton = skeletonOf(toolName);
      const alike = bySkeleton.get(skeleton);
      if (alike === undefined) bySkeleton.set(skeleton, [{ serverName, toolName }]);
      else alike.push({ serverName, toolName });
    }
  return { bySkeleton, servers: servers.map(named) };
}

function named({ serverName, toolNames }: ToolNames): NamedServer {
  const names = new Set(toolNames.map(name => name.toLowerCase()));
  const lengths = [...new Set([...names].map(name => name.length))];
  return { serverName, prefix: (serverName + SEPARATOR).toLowerCase(), names, lengths };
}

/** Whether a text of it may have a full name. Most definitions have none, and need not be compared with other servers. */
export function mayNameTools(definition: JsonObject): boolean {
  for (const { text } of placesIn(definition)) if (text.includes(SEPARATOR)) return true;
  return false;
}

export function* shadowsIn(definition: JsonObject, neighbours: Neighbours): Generator<Finding> {
  const name = definition['name'];
  if (typeof name === 'string') yield* lookAlikes(name, neighbours);
  yield* fullNames(definition, neighbours);
}

function* lookAlikes(name: string, { bySkeleton }: Neighbours): Generator<Finding> {
  if (bySkeleton.size === 0) return;
  for (const { serverName, toolName } of bySkeleton.get(skeletonOf(name)) ?? []) {
    if (toolName === name) continue;
    const whose = `${quotedAscii(toolName)} of the server ${quoted(serverName)}`;
    const text = `The name ${quotedAscii(name)} looks like ${whose}, but is spelled differently: ${difference(name, toolName)}.`;
    yield { kind: 'shadows', where: '/name', text };
  }
}

/** Where two names begin to differ. */
function difference(name: string, other: string): string {
  const [ours, theirs] = [[...name], [...other]];
  const at = ours.findIndex((character, index) => character !== theirs[index]);
  const place = at < 0 ? ours.length : at;
  return `character ${place + 1} is ${spelledOut(ours[place])} and not ${spelledOut(theirs[place])}`;
}

/** How often a definition may name the same server before nobody counts any more. Honest ones do so a few times at most. */
const MAX_NAMED = 1000;

function* fullNames(definition: JsonObject, { servers }: Neighbours): Generator<Finding> {
  if (servers.length === 0 || !mayNameTools(definition)) return;
  const texts = new JoinedTexts(definition);
  for (const server of servers) {
    let times = 0;
    const told = new Set<string>();
    for (const at of texts.places(server.prefix)) {
      if (++times > MAX_NAMED) {
        const text = `It speaks of tools of the server ${quoted(server.serverName)} more than ${MAX_NAMED} times.`;
        yield { kind: 'shadows', where: '', text };
        break;
      }
      const toolName = texts.nameAt(at + server.prefix.length, server);
      const place = texts.placeAt(at);
      const where = pointerTo(place.path);
      if (toolName === null || told.has(`${where} ${toolName}`)) continue;
      told.add(`${where} ${toolName}`);
      const text = `${placeName(place)} has ${quoted(server.prefix + toolName)}, the name of a tool of another server.`;
      yield { kind: 'shadows', where, text };
    }
  }
}

/** All texts of a definition that may have full names, as one text, so that each server is searched for once. */
class JoinedTexts {
  readonly #text: string;
  readonly #places: { from: number; place: Place }[] = [];

  constructor(definition: JsonObject) {
    const texts: string[] = [];
    let from = 0;
    for (const { text, isName, path } of placesIn(definition)) {
      if (!text.includes(SEPARATOR)) continue;
      const lower = text.toLowerCase();
      this.#places.push({ from, place: { text, isName, path: [...path] } });
      texts.push(lower);
      from += lower.length + 1;
    }
    // No name has a line break, so none is found across two texts.
    this.#text = texts.join('\n');
  }

  /** Where the prefix begins, without places within a longer name: `my-github__` is not `github__`. */
  *places(prefix: string): Generator<number> {
    for (let at = this.#text.indexOf(prefix); at >= 0; at = this.#text.indexOf(prefix, at + 1))
      if (!/[a-z0-9][-._]?$/.test(this.#text.slice(Math.max(0, at - 2), at))) yield at;
  }

  /** The longest name of a tool that stands there, or null. */
  nameAt(at: number, { names, lengths }: NamedServer): string | null {
    let longest: string | null = null;
    for (const length of lengths) {
      const name = this.#text.slice(at, at + length);
      if (length > (longest?.length ?? 0) && names.has(name)) longest = name;
    }
    return longest;
  }

  placeAt(at: number): Place {
    let low = 0;
    let high = this.#places.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#places[middle]!.from <= at) low = middle;
      else high = middle - 1;
    }
    return this.#places[low]!.place;
  }
}
