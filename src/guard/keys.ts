// Creates and changes keys; approvals/end-key.ts revokes them. A key is shown once, when it is created. Its own notification
// targets may contain secrets, so they are encrypted at rest.

import { GuardError, invalidInput } from '../core/errors.ts';
import { isKnownChannel, unknownChannel } from '../core/policy/channel.ts';
import type { Transaction } from '../store/engine/db.ts';
import { type Forward, findKey, insertKey, type KeyRecord, updateKey } from '../store/keys.ts';
import { findPolicy } from '../store/policies.ts';
import { shortenSessions } from '../store/sessions.ts';
import { recordChange } from './changes.ts';
import type { Actor, Deps } from './deps.ts';
import { newId } from './ids.ts';
import { keyLock, PEOPLE_LOCK, POLICIES_LOCK } from './locks.ts';
import { mintToken, type Vault } from './secrets.ts';
import { endClosed } from './sessions.ts';

/** Where a key's questions go: targets of its own, or channels by their names. They replace those of the service. */
export type KeyNotify = NotifyTargets | string[];

export interface NotifyTargets {
  emails?: string[] | undefined;
  slackWebhookUrl?: string | undefined;
  url?: string | undefined;
}

export interface KeyInput {
  name: string;
  policyId: string;
  requireSignInToApprove: boolean;
  expiresAt: number | null;
  notify: KeyNotify | null;
  forward: Forward[];
  /** The policy that judges its calls without any effect; without it, none. */
  shadowPolicyId?: string | null | undefined;
  /** The groups and people to whom it is open; without it, nobody. */
  openTo?: string[] | undefined;
  /** Whether clients that know tasks get them; without it, yes. */
  tasks?: boolean | undefined;
  /** Whether people at their client are sent to the approval's page; without it, no. */
  approveHere?: boolean | undefined;
}

export interface CreatedKey {
  key: KeyRecord;
  /** The token is in this answer and nowhere else. */
  token: string;
}

/** `also` is done with the new key in the same transaction, which takes its locks too. */
export function createKey(
  deps: Deps,
  actor: Actor,
  input: KeyInput,
  also?: { shared: readonly string[]; work: (tx: Transaction, keyId: string) => Promise<void> },
): Promise<CreatedKey> {
  return deps.db.transaction({ shared: [POLICIES_LOCK, ...(also?.shared ?? [])] }, async tx => {
    const created = await addKey(tx, deps, actor, input);
    await also?.work(tx, created.key.id);
    return created;
  });
}

export async function addKey(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  input: KeyInput,
): Promise<CreatedKey> {
  const { token, hash, prefix } = mintToken('key');
  const { notify, ...rest } = input;
  requireChannels(deps, notify);
  const id = newId();
  const notifyEncrypted = encryptNotify(deps.vault, id, notify);
  const openTo = input.openTo ?? [];
  const shadowPolicyId = input.shadowPolicyId ?? null;
  const key: KeyRecord = {
    ...rest,
    id,
    prefix,
    openTo,
    shadowPolicyId,
    tasks: input.tasks ?? true,
    approveHere: input.approveHere ?? false,
    notifyEncrypted,
    createdAt: deps.now(),
    revokedAt: null,
  };
  await requirePolicy(tx, key.policyId);
  await requireShadow(tx, key);
  await insertKey(tx, key, hash);
  await recordChange(tx, deps, actor, 'key.create', id, {
    name: key.name,
    policyId: key.policyId,
    ...(openTo.length > 0 && { openTo }),
    ...(shadowPolicyId !== null && { shadowPolicyId }),
  });
  return { key, token };
}

export async function changeKey(
  deps: Deps,
  actor: Actor,
  id: string,
  input: Partial<KeyInput>,
): Promise<KeyRecord> {
  const locks = { shared: [PEOPLE_LOCK, POLICIES_LOCK], exclusive: [keyLock(id)] };
  return deps.db.transaction(locks, async tx => {
    const current = await requireKey(tx, id);
    if (current.revokedAt !== null)
      throw new GuardError('conflict', 'This key is revoked and cannot be changed.');
    const { notify, ...rest } = input;
    const key: KeyRecord = {
      ...current,
      ...rest,
      openTo: rest.openTo ?? current.openTo,
      shadowPolicyId: rest.shadowPolicyId === undefined ? remaining(current, rest) : rest.shadowPolicyId,
      tasks: rest.tasks ?? current.tasks,
      approveHere: rest.approveHere ?? current.approveHere,
    };
    requireChannels(deps, notify ?? null);
    if (notify !== undefined) key.notifyEncrypted = encryptNotify(deps.vault, id, notify);
    if (rest.policyId !== undefined) await requirePolicy(tx, rest.policyId);
    if (rest.shadowPolicyId !== undefined) await requireShadow(tx, key);
    await updateKey(tx, key);
    if (key.expiresAt !== null) await shortenSessions(tx, id, key.expiresAt);
    const { openTo } = rest;
    if (openTo !== undefined) await endClosed(tx, deps, { keyId: id });
    const { shadowPolicyId } = key;
    const detail = {
      changed: Object.keys(input),
      ...(openTo !== undefined && { openTo }),
      ...(shadowPolicyId !== current.shadowPolicyId && { shadowPolicyId }),
    };
    await recordChange(tx, deps, actor, 'key.update', id, detail);
    return key;
  });
}

const about = (keyId: string): string => `key ${keyId} notify`;

function encryptNotify(vault: Vault, keyId: string, notify: KeyNotify | null): string | null {
  return notify === null ? null : vault.encrypt(JSON.stringify(notify), about(keyId));
}

export function decryptNotify(vault: Vault, keyId: string, encrypted: string | null): KeyNotify | null {
  return encrypted === null ? null : JSON.parse(vault.decrypt(encrypted, about(keyId)));
}

export function noSuchKey(): GuardError {
  return new GuardError('not_found', 'There is no key with this id.');
}

export async function requireKey(tx: Transaction, id: string): Promise<KeyRecord> {
  const key = await findKey(tx, id);
  if (key === null) throw noSuchKey();
  return key;
}

/** A shadow that becomes the policy of its key has done its work. */
function remaining({ shadowPolicyId }: KeyRecord, { policyId }: Partial<KeyInput>): string | null {
  return policyId === shadowPolicyId ? null : shadowPolicyId;
}

export async function requirePolicy(tx: Transaction, id: string, path = '/policyId'): Promise<void> {
  if ((await findPolicy(tx, id)) === null)
    throw invalidInput([{ path, message: 'there is no policy with this id' }]);
}

async function requireShadow(tx: Transaction, { policyId, shadowPolicyId }: KeyRecord): Promise<void> {
  if (shadowPolicyId === null) return;
  const path = '/shadowPolicyId';
  if (shadowPolicyId === policyId) {
    const message = 'the key uses this policy already: a shadow is another policy, which is compared with it';
    throw invalidInput([{ path, message }]);
  }
  await requirePolicy(tx, shadowPolicyId, path);
}

/** A question by a channel that does not exist would reach nobody. */
function requireChannels({ settings: { channels } }: Deps, notify: KeyNotify | null): void {
  if (!Array.isArray(notify)) return;
  const at = notify.findIndex(name => !isKnownChannel(channels, name));
  const name = notify[at];
  if (name === undefined) return;
  const message = unknownChannel(channels, name);
  throw new GuardError('invalid_input', `/notify/${at}: ${message}`, {
    errors: [{ path: `/notify/${at}`, message }],
  });
}
