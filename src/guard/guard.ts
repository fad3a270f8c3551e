// What every operation of the guard is given: the store, the secrets, the clock and the settings it needs.
// Operations are functions over it, one transaction each.

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

export interface Guard {
  db: Db;
  vault: Vault;
  settings: GuardSettings;
  now: () => number;
}

/** Who changes something through the administration, as its log names them. */
export type Actor = 'admin' | 'system' | `operator:${string}`;

/** A UUID of version 7: sorts by time, and within this process by order of making. */
export function newId(): string {
  return Bun.randomUUIDv7();
}

/** Milliseconds since 1970 in which a UUID of version 7 was made. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

// Locks are taken in the order of their names, so the leading digit is a rank.

/** One lock for all policies: they change rarely, and a check then need not know which one is a key's. */
export const POLICIES_LOCK = '1 policies';
/** The lock on a key, its sessions, its grants and the definitions of its tools. */
export const keyLock = (keyId: string): string => `2 key ${keyId}`;
/** The lock on the opening and spending of a key's approvals. */
export const approvalsLock = (keyId: string): string => `3 approvals ${keyId}`;
/** The lock on a webhook's row, which is read, changed and written whole. */
export const webhookLock = (webhookId: string): string => `4 webhook ${webhookId}`;
/** The lock on the statistics that are kept, and on how far back the audit log may be counted. */
export const ROLLUPS_LOCK = '5 rollups';
/** The lock on how many MCP connections the credentials of a key have. */
export const connectionsLock = (keyId: string): string => `6 connections ${keyId}`;
