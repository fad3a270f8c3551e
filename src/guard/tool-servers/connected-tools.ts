// Connected Tools: the MCP servers of a key, registered by operators. Nobody can set a stdio command through here: a
// Connected Tool can only name one that is declared in the server file. Credentials are encrypted.

import { GuardError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/wire/canonical.ts';
import { type Json, writeJson } from '../../core/wire/json.ts';
import {
  acceptDefinition,
  type ConnectedTool,
  findConnectedTool,
  insertConnectedTool,
  listPins,
  markDrift,
  type Pin,
  pinDefinition,
  removeConnectedTool,
  type TransportKind,
} from '../../store/connected-tools.ts';
import { UniqueViolation } from '../../store/engine/db.ts';
import { findKey } from '../../store/keys.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { newId } from '../ids.ts';
import { noSuchKey } from '../keys.ts';
import { keyLock } from '../locks.ts';
import { requireTarget, type TargetRules } from '../outgoing/addresses.ts';
import { hashToken, type Vault } from '../secrets.ts';

/** How we sign in to a server that wants OAuth. */
export interface OAuthSettings {
  /** Whether an admin signs in once for the key, or everybody for themselves. */
  as: 'key' | 'person';
  /** A client that was made at the server beforehand. */
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  /** All scopes to ask for; otherwise the server says which. */
  scopes?: string[] | undefined;
  /** Hosts besides the issuer's own on which endpoints of its authorization server may be. */
  trustedHosts?: string[] | undefined;
}

interface ConnectedToolInput {
  name: string;
  transport: TransportKind;
  target: string;
  headers: Record<string, string> | null;
  oauth?: OAuthSettings | null;
}

export async function connectTool(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  keyId: string,
  input: ConnectedToolInput,
): Promise<ConnectedTool> {
  if (input.transport !== 'stdio') await requireTarget(input.target, rules);
  const id = newId();
  const { headers, oauth = null, ...rest } = input;
  const headersEncrypted = encryptHeaders(deps.vault, id, headers);
  const signIn = encryptOAuth(deps.vault, id, oauth);
  const times = { createdAt: deps.now(), updatedAt: null };
  const tool: ConnectedTool = {
    ...rest,
    id,
    keyId,
    headersEncrypted,
    ...signIn,
    authorizationServer: null,
    ...times,
  };
  try {
    await deps.db.transaction({}, async tx => {
      if ((await findKey(tx, keyId)) === null) throw noSuchKey();
      await insertConnectedTool(tx, tool);
      await recordChange(tx, deps, actor, 'connected-tool.create', id, { keyId, name: tool.name });
    });
    giveHint(deps.db, 'tools', keyId);
    return tool;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw nameTaken(tool.name);
  }
}

export function nameTaken(name: string): GuardError {
  return new GuardError('conflict', `This key has a Connected Tool named "${name}" already.`);
}

export async function disconnectTool(deps: Deps, actor: Actor, keyId: string, id: string): Promise<void> {
  await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
    const tool = await findConnectedTool(tx, keyId, id);
    if (tool === null) throw noSuchTool();
    await removeConnectedTool(tx, id);
    await recordChange(tx, deps, actor, 'connected-tool.delete', id, { keyId, name: tool.name });
  });
  giveHint(deps.db, 'tools', keyId);
}

export function encryptHeaders(
  vault: Vault,
  id: string,
  headers: Record<string, string> | null,
): string | null {
  return headers === null ? null : vault.encrypt(JSON.stringify(headers), about(id));
}

export function decryptHeaders(vault: Vault, tool: ConnectedTool): Record<string, string> {
  return tool.headersEncrypted === null
    ? {}
    : JSON.parse(vault.decrypt(tool.headersEncrypted, about(tool.id)));
}

export function encryptOAuth(
  vault: Vault,
  id: string,
  oauth: OAuthSettings | null,
): Pick<ConnectedTool, 'oauthEncrypted' | 'oauthAs'> {
  if (oauth === null) return { oauthEncrypted: null, oauthAs: null };
  return { oauthEncrypted: vault.encrypt(JSON.stringify(oauth), aboutOAuth(id)), oauthAs: oauth.as };
}

/** How we sign in to the server of a tool. It throws for a tool that wants no OAuth. */
export function decryptOAuth(vault: Vault, { id, oauthEncrypted }: ConnectedTool): OAuthSettings {
  if (oauthEncrypted === null) throw new GuardError('conflict', 'This Connected Tool does not use OAuth.');
  return JSON.parse(vault.decrypt(oauthEncrypted, aboutOAuth(id)));
}

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
 * returned, every call on every replica is decided by the result. The key's lock is taken only if something is new. The
 * pins are then read again under the lock, because another replica or an operator may have changed them meanwhile.
 */
export async function compareDefinitions(
  deps: Deps,
  { id, keyId }: Pick<ConnectedTool, 'id' | 'keyId'>,
  seen: readonly SeenDefinition[],
): Promise<void> {
  const digested = firsts(seen).map(digestOf);
  if (news(digested, await listPins(deps.db, id)).length === 0) return;
  await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
    const at = deps.now();
    const pins = await listPins(tx, id);
    const found = news(digested, pins);
    requireRoom(pins, found);
    for (const { is, toolName, digest, definition: value } of found) {
      const definition = writeJson(value);
      if (is === 'first')
        pinDefinition(tx, { connectedToolId: id, toolName, digest, definition, seenAt: at });
      else markDrift(tx, id, toolName, is === 'changed' ? { digest, definition, at } : null);
    }
  });
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
  const size = [...pins, ...found].reduce((sum, each) => sum + each.size, 0);
  if (names <= MAX_PINNED && size <= MAX_PINNED_CHARACTERS) return;
  const what =
    names > MAX_PINNED ? `${MAX_PINNED} tools` : `${MAX_PINNED_CHARACTERS} characters of definitions`;
  throw new GuardError(
    'too_large',
    `this server has shown more than ${what} in all; to forget those before, remove it and register it again`,
  );
}

interface News extends DigestedDefinition {
  is: 'first' | 'changed' | 'restored';
}

/** The definitions that differ from what the store knows. */
function news(seen: readonly DigestedDefinition[], rows: readonly Pin[]): News[] {
  const pinned = new Map(rows.map(row => [row.toolName, row]));
  return seen.flatMap((each): News | [] => {
    const pin = pinned.get(each.toolName);
    if (pin === undefined) return { ...each, is: 'first' };
    if (pin.digest === each.digest) return pin.changedDigest === null ? [] : { ...each, is: 'restored' };
    return pin.changedDigest === each.digest ? [] : { ...each, is: 'changed' };
  });
}

/** Accepts a changed definition, if it is still the one that the operator has seen. */
export async function acceptDrift(
  deps: Deps,
  actor: Actor,
  keyId: string,
  id: string,
  { toolName, digest }: { toolName: string; digest: string },
): Promise<void> {
  await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
    if ((await findConnectedTool(tx, keyId, id)) === null) throw noSuchTool();
    if (!(await acceptDefinition(tx, id, toolName, digest))) {
      throw new GuardError(
        'conflict',
        'This is not the digest of a changed definition of this tool: it has changed again, was accepted already, ' +
          'or shows the accepted one. Look at its definitions once more.',
      );
    }
    await recordChange(tx, deps, actor, 'connected-tool.accept', id, { toolName, digest });
  });
}

export function noSuchTool(): GuardError {
  return new GuardError('not_found', 'This key has no Connected Tool with this id.');
}

const about = (id: string): string => `connected tool ${id} headers`;
const aboutOAuth = (id: string): string => `connected tool ${id} oauth`;
