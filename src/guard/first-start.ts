// What a new store is given: the policy `default`, one key, and the master key's fingerprint. Of several
// replicas that start at once on the same store, one does it.

import type { Rule } from '../core/policy.ts';
import { keepSetting, readSetting } from '../store/settings.ts';
import { type Guard, POLICIES_LOCK } from './guard.ts';
import { addKey } from './keys.ts';
import { addPolicy } from './policies.ts';

const SET_UP = 'set_up';
const SET_UP_LOCK = '0 set-up';
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
    reason: 'The default policy asks a human for whatever may change something.',
  },
];

/** A store belongs to one master key: with another, nothing sealed in it could be opened. */
export async function claimStore(guard: Guard): Promise<void> {
  const known = await keepSetting(guard.db, FINGERPRINT, guard.vault.fingerprint);
  if (known !== guard.vault.fingerprint) {
    throw new Error(
      'The master key is not the one this store was made with. Set TOOLGATE_MASTER_KEY to that one; every replica needs the same.',
    );
  }
}

/** The first key of a new store, or null when the store was set up before. All of it happens, or nothing. */
export function setUpStore(guard: Guard): Promise<string | null> {
  return guard.db.transaction({ exclusive: [SET_UP_LOCK, POLICIES_LOCK] }, async tx => {
    if ((await readSetting(tx, SET_UP)) !== null) return null;
    const policy = await addPolicy(tx, guard, 'system', {
      name: 'default',
      description: 'Made at the first start: reading is allowed, deleting is not, the rest asks a human.',
      rules: DEFAULT_RULES,
    });
    const { token } = await addKey(tx, guard, 'system', {
      name: 'default',
      policyId: policy.id,
      requireSignInToApprove: false,
      expiresAt: null,
      notify: null,
      forward: [],
    });
    await keepSetting(tx, SET_UP, policy.id);
    return token;
  });
}
