// Sets up a new store: writes the master key's fingerprint and, once the service listens, the policy `default` and one
// key. If several replicas start at once on the same store, one of them does it. If the process ended before the key
// was shown, the next start replaces it by a new one.

import type { Rule } from '../core/policy/policy.ts';
import type { Db, Queries, Transaction } from '../store/engine/db.ts';
import { isNewStore, type Progress } from '../store/engine/migrate.ts';
import { findKey, revokeKey } from '../store/keys.ts';
import { keepSetting, readSetting, removeSetting } from '../store/settings.ts';
import { recordChange } from './changes.ts';
import { addPolicy } from './check/policies.ts';
import type { Deps } from './deps.ts';
import { addKey } from './keys.ts';
import { keyLock, POLICIES_LOCK, SET_UP_LOCK } from './locks.ts';

const SET_UP = 'set_up';
/** The setting that holds the id of the first key until the key was shown. */
const UNSEEN_KEY = 'unseen_first_key';
const FINGERPRINT = 'master_key_fingerprint';

const DEFAULT_RULES: Rule[] = [
  { tool: 'get_*', action: 'allow' },
  { tool: 'list_*', action: 'allow' },
  { tool: 'read_*', action: 'allow' },
  { tool: 'search_*', action: 'allow' },
  { tool: 'delete_*', action: 'deny', reason: 'The default policy does not let agents delete.' },
  {
    tool: '*',
    action: 'require_approval',
    show: 'all',
    reason: 'The default policy asks a human for whatever may change something.',
  },
];

/** The fingerprint of the master key that a store was made with; null if it has none yet. This only reads. */
export async function knownFingerprint(db: Db, progress?: Progress): Promise<string | null> {
  return (await isNewStore(db, progress)) ? null : storedFingerprint(db);
}

/** The same, without a look at whether the store is new. */
export function storedFingerprint(db: Queries): Promise<string | null> {
  return readSetting(db, FINGERPRINT);
}

/** A store belongs to one master key: with another one, none of its secrets could be decrypted. */
export async function claimStore(deps: Deps, from: string): Promise<void> {
  const known = await keepSetting(deps.db, FINGERPRINT, deps.vault.fingerprint);
  if (known !== deps.vault.fingerprint) throw wrongMasterKey(from);
}

/** `from` says where the wrong master key was read. */
export function wrongMasterKey(from: string): Error {
  return new Error(
    `The master key is not the one this store was made with. It was read from ${from}: put the right one there, ` +
      'or set TOOLGATE_MASTER_KEY to it; every replica needs the same.',
  );
}

/**
 * Calls `show` with the first key of a new store, or with null if it was shown before. Replicas do so one after the
 * other, and one of them shows the key.
 */
export async function showFirstKey(deps: Deps, show: (key: string | null) => Promise<void>): Promise<void> {
  // Other replicas wait until the key is shown and that is recorded. The lock of a process that is killed ends with it.
  await deps.db.exclusively(async lane => {
    const key = (await wasShown(lane)) ? null : await lane.transaction(LOCKS, tx => firstKey(tx, deps));
    await show(key);
    await removeSetting(lane, UNSEEN_KEY);
  });
}

/** The first key of a new store, for a caller that shows it at once; null if the store was set up before. */
export function setUpStore(deps: Deps): Promise<string | null> {
  return deps.db.transaction(LOCKS, async tx => {
    const key = await firstKey(tx, deps);
    await removeSetting(tx, UNSEEN_KEY);
    return key;
  });
}

const LOCKS = { exclusive: [SET_UP_LOCK, POLICIES_LOCK] };

async function wasShown(db: Queries): Promise<boolean> {
  return (await readSetting(db, SET_UP)) !== null && (await readSetting(db, UNSEEN_KEY)) === null;
}

async function firstKey(tx: Transaction, deps: Deps): Promise<string | null> {
  if ((await readSetting(tx, SET_UP)) !== null) return replaceUnseen(tx, deps);
  const policy = await addPolicy(tx, deps, 'system', {
    name: 'default',
    description: 'Made at the first start: reading is allowed, deleting is not, the rest asks a human.',
    rules: DEFAULT_RULES,
  });
  await keepSetting(tx, SET_UP, policy.id);
  return addFirstKey(tx, deps, policy.id);
}

/** A key that was never shown is of no use to anybody: a new one replaces it, unless somebody has revoked it. */
async function replaceUnseen(tx: Transaction, deps: Deps): Promise<string | null> {
  const id = await readSetting(tx, UNSEEN_KEY);
  if (id === null) return null;
  await tx.lock({ exclusive: [keyLock(id)] });
  const unseen = await findKey(tx, id);
  await removeSetting(tx, UNSEEN_KEY);
  if (unseen === null || !(await revokeKey(tx, id, deps.now()))) return null;
  await recordChange(tx, deps, 'system', 'key.revoke', id, { name: unseen.name });
  return addFirstKey(tx, deps, unseen.policyId);
}

async function addFirstKey(tx: Transaction, deps: Deps, policyId: string): Promise<string> {
  const { key, token } = await addKey(tx, deps, 'system', {
    name: 'default',
    policyId,
    requireSignInToApprove: false,
    expiresAt: null,
    notify: null,
    forward: [],
  });
  await keepSetting(tx, UNSEEN_KEY, key.id);
  return token;
}
