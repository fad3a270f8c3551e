// What every operation of the guard depends on: the store, the secrets, the clock and the settings it needs.
// Operations are functions that are given it first, and each is one transaction.

import type { Drift } from '../core/decide.ts';
import type { Db } from '../store/db.ts';
import type { ChannelKind } from '../store/notifications.ts';
import type { Vault } from './secrets.ts';

export interface GuardSettings {
  approvalTimeout: number;
  /** How long an approval that was given can be spent. */
  approvedFor: number;
  /** What a call gets whose tool shows another definition than the accepted one. */
  toolDrift: 'allow' | Drift;
  maxOpenApprovalsPerSession: number;
  maxOpenApprovalsPerKey: number;
  maxSessionsPerKey: number;
  /** Channels that carry approval links when a key names none of its own. */
  channels: readonly ChannelKind[];
}

export interface Deps {
  db: Db;
  vault: Vault;
  settings: GuardSettings;
  now: () => number;
}

/** Who changes something through the administration, as its log names them. */
export type Actor = 'admin' | 'system' | `operator:${string}`;
