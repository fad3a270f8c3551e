// What every operation of the guard depends on: the store, the secrets, the clock and the settings. Operations are
// functions that take it as their first argument, and each is one transaction.

import type { Channels } from '../core/channels/channels.ts';
import type { Drift } from '../core/decision/decide.ts';
import type { ToolsLock } from '../core/definitions/lock-file.ts';
import type { Db } from '../store/engine/db.ts';
import type { ChannelKind } from '../store/notifications.ts';
import type { HeldDetails } from './approvals/details.ts';
import type { Vault } from './secrets.ts';
import type { HeldResults } from './tasks/held-results.ts';

export interface GuardSettings {
  approvalTimeout: number;
  /** How long an approval can be spent after it was given. */
  approvedFor: number;
  /** What happens to a call of a tool whose definition differs from the accepted one. */
  toolDrift: 'allow' | Drift;
  /** The definitions that are accepted, if a file says it. */
  toolsLock: ToolsLock | null;
  maxOpenApprovalsPerSession: number;
  maxOpenApprovalsPerKey: number;
  maxSessionsPerKey: number;
  /** How long a run of a key or of a connection is remembered after its last call. */
  runRest: number;
  /** How long results of tasks are held after the end. */
  resultsFor: number;
  /** What the channel `default` consists of: it carries approval links unless a rule or a key names others. */
  defaultChannels: readonly ChannelKind[];
  /** The named channels of the server file. */
  channels: Channels;
  /** The provider of single sign-on; null if there is none. */
  oidcIssuer: string | null;
  /** The provider's claim that decides about the groups of people; null if admins do. */
  oidcGroupsClaim: string | null;
}

export interface Deps {
  /** Names this process until it ends; another one has another id. */
  processId: string;
  /** The calls of which it is recorded that this process forwards them, until their end is recorded. */
  executing: Set<string>;
  db: Db;
  vault: Vault;
  settings: GuardSettings;
  now: () => number;
  /** What approvers are shown of held calls. */
  details: HeldDetails;
  /** What calls of tasks answered. */
  results: HeldResults;
}

/** Who made a change, as the log of changes names them. */
export type Actor = 'admin' | 'system' | `operator:${string}`;
