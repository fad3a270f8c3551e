// What is known of a definition without its text: enough to decide whether a call of the tool is held. It is found once, when
// the definition is recorded, and is kept as a short text beside its digest, so that what was known of another definition is
// never taken for it.

import { SEPARATOR } from '../text/name.ts';
import type { JsonObject } from '../wire/json.ts';
import { UNICODE_VERSION } from './confusables.ts';
import { hidesIn } from './hidden.ts';
import { placesOf } from './places.ts';

export interface Look {
  /** Whether it has hidden characters. */
  hidden: boolean;
  /** The names before each `__` in its texts, of which servers may be; null if there are too many to be kept. */
  servers: readonly string[] | null;
}

/** It grows when a look would find something else: with Unicode's lists, or with the code here. */
const REVISION = 2;
export const LOOK_VERSION = Number.parseInt(UNICODE_VERSION, 10) * 100 + REVISION;

export const NOTHING: Look = { hidden: false, servers: [] };
const MOST_SERVERS = 30;
const MOST_NAME = 32;
const MAY_END_NAME = /[a-z0-9-]/;

export function lookAt(definition: JsonObject): Look {
  const servers = new Set<string>();
  const places = placesOf(definition);
  for (const { text } of places) {
    if (servers.size > MOST_SERVERS) break;
    if (text.includes(SEPARATOR)) for (const each of serversIn(text.toLowerCase())) servers.add(each);
  }
  return { hidden: hidesIn(places), servers: servers.size > MOST_SERVERS ? null : [...servers] };
}

/** Every name that a server could have and that ends before a separator. A hyphen may belong to it, or stand before it. */
function* serversIn(text: string): Generator<string> {
  let found = 0;
  for (
    let at = text.indexOf(SEPARATOR);
    at >= 0 && found <= MOST_SERVERS;
    at = text.indexOf(SEPARATOR, at + 1)
  ) {
    // A long row of separators has none of the work that follows.
    if (!MAY_END_NAME.test(text[at - 1] ?? '')) continue;
    const [run = ''] = /[a-z0-9-]*$/.exec(text.slice(Math.max(0, at - MOST_NAME), at)) ?? [];
    for (const { index } of run.matchAll(/(?<![a-z0-9])[a-z0-9]/g)) {
      found++;
      yield run.slice(index);
    }
  }
}

/** Most definitions have nothing that is remarkable, and then the text is the digest alone. */
export function writeLook(digest: string, { hidden, servers }: Look): string {
  if (!hidden && servers?.length === 0) return digest;
  return `${digest} ${JSON.stringify({ hidden, servers })}`;
}

/** Null if it is about another definition. */
export function readLook(text: string | null, digest: string): Look | null {
  if (text === digest) return NOTHING;
  return text?.startsWith(`${digest} `) ? JSON.parse(text.slice(digest.length)) : null;
}
