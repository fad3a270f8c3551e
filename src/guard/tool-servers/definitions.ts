// The definitions of tools as servers show them: what is new is recorded with what is known of it, and compared with what was
// accepted. accept.ts accepts them, and looks.ts knows what to look for.

import { LOOK_VERSION, readLook } from '../../core/definitions/look.ts';
import { GuardError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/wire/canonical.ts';
import { type Json, writeJson } from '../../core/wire/json.ts';
import { keepLook, type Looked } from '../../store/definition-reviews.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { listPins, markDrift, type Pin, pinDefinitions } from '../../store/tool-definitions.ts';
import type { SourceRef } from '../../store/tool-servers.ts';
import type { Deps } from '../deps.ts';
import { hashToken } from '../secrets.ts';
import { lookedAt } from './looks.ts';
import { changeSource } from './sources.ts';

/** A tool's definition as an upstream showed it. */
interface SeenDefinition {
  toolName: string;
  definition: Json;
}

/** The most characters that a definition may have as canonical JSON. Real ones have a few thousand. */
const MAX_DEFINITION = 256 * 1024;
/**
 * The limits on what the store keeps of one Connected Tool: all names that it has ever shown, and their definitions.
 */
const MAX_PINNED = 5000;
const MAX_PINNED_CHARACTERS = 16 * 1024 * 1024;

/**
 * Pins definitions that are seen for the first time, and marks those that differ from the pinned ones. Once this has
 * returned, every call on every replica is decided by the result. The lock of the source is taken only if something is
 * new. The pins are then read again under the lock, because another replica or an operator may have changed them
 * meanwhile. A source that was removed meanwhile keeps none.
 */
export async function compareDefinitions(
  deps: Deps,
  source: SourceRef,
  seen: readonly SeenDefinition[],
): Promise<void> {
  const digested = firsts(seen).map(digestOf);
  const expected = news(digested, await listPins(deps.db, source.sourceId));
  if (expected.length === 0) return;
  // It takes its time for large definitions, and nobody has to wait for that.
  const looks = new Map<string, Looked>();
  for (const each of expected) {
    looks.set(each.digest, lookedAt(each));
    await new Promise(setImmediate);
  }
  await changeSource(deps, source, async (tx, now) => {
    if (now === null) return;
    const id = now.sourceId;
    const at = deps.now();
    const pins = await listPins(tx, id);
    const found = news(digested, pins);
    requireRoom(pins, found);
    record(
      tx,
      id,
      at,
      found.map(each => ({ ...each, ...(looks.get(each.digest) ?? lookedAt(each)) })),
    );
  });
}

function record(tx: Transaction, sourceId: string, at: number, found: readonly (News & Looked)[]): void {
  const written = found.map(each => ({
    ...each,
    sourceId,
    definition: writeJson(each.definition),
    seenAt: at,
  }));
  pinDefinitions(
    tx,
    written.filter(each => each.is === 'first'),
  );
  for (const each of written) {
    const { is, toolName, digest, definition } = each;
    if (is === 'first') continue;
    if (is !== 'unlooked')
      markDrift(tx, sourceId, toolName, is === 'changed' ? { digest, definition, at } : null);
    keepLook(tx, each, each);
  }
}

/** If a server lists a name twice, the first definition counts, as it does for clients. */
function firsts(seen: readonly SeenDefinition[]): SeenDefinition[] {
  const names = new Set<string>();
  return seen.filter(({ toolName }) => !names.has(toolName) && names.add(toolName));
}

interface DigestedDefinition extends SeenDefinition {
  digest: string;
  size: number;
}

export function definitionDigest(definition: Json): string {
  return hashToken(canonicalJson(definition));
}

/** The digest is made from canonical JSON: a server that only reorders the members of an object has changed nothing. */
function digestOf(seen: SeenDefinition): DigestedDefinition {
  const text = canonicalJson(seen.definition);
  if (text.length > MAX_DEFINITION) {
    const what = `the definition of "${seen.toolName}" has more than ${MAX_DEFINITION} characters`;
    throw new GuardError('too_large', `${what}, so no tool of this server is taken`);
  }
  return { ...seen, digest: hashToken(text), size: text.length };
}

/**
 * A server must not fill the store. Old pins are not dropped to make room: the server could then show another
 * definition unnoticed.
 */
function requireRoom(pins: readonly Pin[], found: readonly News[]): void {
  const names = pins.length + found.filter(each => each.is === 'first').length;
  const added = found.filter(each => each.is !== 'unlooked');
  const size = [...pins, ...added].reduce((sum, each) => sum + each.size, 0);
  if (names <= MAX_PINNED && size <= MAX_PINNED_CHARACTERS) return;
  const what =
    names > MAX_PINNED ? `${MAX_PINNED} tools` : `${MAX_PINNED_CHARACTERS} characters of definitions`;
  throw new GuardError(
    'too_large',
    `this server has shown more than ${what} in all; to forget those before, remove it and register it again`,
  );
}

interface News extends DigestedDefinition {
  /** `unlooked`: its look is missing, because a replica of an older version has recorded it. */
  is: 'first' | 'changed' | 'restored' | 'unlooked';
}

/** The definitions that differ from what the store knows. */
function news(seen: readonly DigestedDefinition[], rows: readonly Pin[]): News[] {
  const pinned = new Map(rows.map(row => [row.toolName, row]));
  return seen.flatMap((each): News | [] => {
    const pin = pinned.get(each.toolName);
    if (pin === undefined) return { ...each, is: 'first' };
    if (each.digest !== (pin.changedDigest ?? pin.digest))
      return { ...each, is: each.digest === pin.digest ? 'restored' : 'changed' };
    return isLookedAt(pin, each.digest) ? [] : { ...each, is: 'unlooked' };
  });
}

function isLookedAt({ look, looked }: Pin, digest: string): boolean {
  return looked >= LOOK_VERSION && readLook(look, digest) !== null;
}
