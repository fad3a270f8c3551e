// Connected Tools: the MCP servers of a key, registered by operators. A stdio command never comes through
// here: a Connected Tool names one that the operator declared in the server file. Credentials are sealed.

import { canonicalJson } from '../core/canonical.ts';
import { GuardError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import {
  acceptDefinition,
  type ConnectedTool,
  findConnectedTool,
  insertConnectedTool,
  listDefinitions,
  markDrift,
  pinDefinition,
  removeConnectedTool,
  type TransportKind,
} from '../store/connected-tools.ts';
import { UniqueViolation } from '../store/db.ts';
import { findKey } from '../store/keys.ts';
import { type TargetRules, wantTarget } from './addresses.ts';
import { recordChange } from './changes.ts';
import { type Actor, type Guard, newId } from './guard.ts';
import { giveHint } from './hints.ts';
import { noSuchKey } from './keys.ts';
import { hashToken, type Vault } from './secrets.ts';

export interface ConnectedToolInput {
  name: string;
  transport: TransportKind;
  target: string;
  headers: Record<string, string> | null;
}

export async function connectTool(
  guard: Guard,
  actor: Actor,
  rules: TargetRules,
  keyId: string,
  input: ConnectedToolInput,
): Promise<ConnectedTool> {
  if (input.transport !== 'stdio') await wantTarget(input.target, rules);
  const id = newId();
  const { headers, ...rest } = input;
  const headersSealed = headers === null ? null : guard.vault.seal(JSON.stringify(headers), about(id));
  const tool: ConnectedTool = { ...rest, id, keyId, headersSealed, createdAt: guard.now() };
  try {
    await guard.db.transaction({}, async tx => {
      if ((await findKey(tx, keyId)) === null) throw noSuchKey();
      await insertConnectedTool(tx, tool);
      await recordChange(tx, guard, actor, 'connected-tool.create', id, { keyId, name: tool.name });
    });
    giveHint(guard.db, 'tools', keyId);
    return tool;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new GuardError('conflict', `This key has a Connected Tool named "${tool.name}" already.`);
  }
}

export async function disconnectTool(guard: Guard, actor: Actor, keyId: string, id: string): Promise<void> {
  await guard.db.transaction({}, async tx => {
    const tool = await findConnectedTool(tx, keyId, id);
    if (tool === null) throw noSuchTool();
    await removeConnectedTool(tx, id);
    await recordChange(tx, guard, actor, 'connected-tool.delete', id, { keyId, name: tool.name });
  });
  giveHint(guard.db, 'tools', keyId);
}

export function openHeaders(vault: Vault, tool: ConnectedTool): Record<string, string> {
  return tool.headersSealed === null ? {} : JSON.parse(vault.open(tool.headersSealed, about(tool.id)));
}

/** A tool's definition as an upstream showed it: its name, and the whole as JSON text. */
export interface SeenDefinition {
  toolName: string;
  definition: string;
}

/**
 * Pins what is seen for the first time and marks what differs from what was pinned. Answers the names of the
 * tools that differ. Writes only when something is new.
 */
export async function compareDefinitions(
  guard: Guard,
  connectedToolId: string,
  seen: readonly SeenDefinition[],
): Promise<Set<string>> {
  const pinned = new Map(
    (await listDefinitions(guard.db, connectedToolId)).map(each => [each.toolName, each]),
  );
  const drifted = new Set<string>();
  const writes: ((tx: Parameters<typeof pinDefinition>[0]) => void)[] = [];
  for (const { toolName, definition } of seen) {
    // Of one spelling: a server that writes its keys in another order has changed nothing.
    const digest = hashToken(canonicalJson(parseJson(definition)));
    const pin = pinned.get(toolName);
    const now = guard.now();
    if (pin === undefined) {
      writes.push(tx => pinDefinition(tx, { connectedToolId, toolName, digest, definition, seenAt: now }));
    } else if (pin.digest !== digest) {
      drifted.add(toolName);
      if (pin.changedDigest !== digest) {
        writes.push(tx => markDrift(tx, connectedToolId, toolName, { digest, definition, at: now }));
      }
    } else if (pin.changedDigest !== null) writes.push(tx => markDrift(tx, connectedToolId, toolName, null));
  }
  if (writes.length > 0) {
    await guard.db.transaction({}, async tx => {
      for (const write of writes) write(tx);
    });
  }
  return drifted;
}

/** The changed definition becomes the accepted one. */
export async function acceptDrift(
  guard: Guard,
  actor: Actor,
  keyId: string,
  id: string,
  toolName: string,
): Promise<void> {
  await guard.db.transaction({}, async tx => {
    if ((await findConnectedTool(tx, keyId, id)) === null) throw noSuchTool();
    if (!(await acceptDefinition(tx, id, toolName))) {
      throw new GuardError(
        'conflict',
        'This tool shows the definition that was accepted; there is nothing to accept.',
      );
    }
    await recordChange(tx, guard, actor, 'connected-tool.accept', id, { toolName });
  });
}

export function noSuchTool(): GuardError {
  return new GuardError('not_found', 'This key has no Connected Tool with this id.');
}

const about = (id: string): string => `connected tool ${id} headers`;
