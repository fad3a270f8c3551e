// A guard on a store that was opened directly, with time in the test's hands.

import { HeldDetails } from '../../src/guard/approvals/details.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { Vault } from '../../src/guard/secrets.ts';
import { HeldResults } from '../../src/guard/tasks/held-results.ts';
import { isKnownCall } from '../../src/guard/tasks/known-calls.ts';
import type { Db } from '../../src/store/engine/db.ts';
import { NOW } from '../store/stores.ts';

const settings = {
  approvalTimeout: 60_000,
  approvedFor: 60_000,
  toolDrift: 'allow' as const,
  toolsLock: null,
  maxOpenApprovalsPerSession: 20,
  maxOpenApprovalsPerKey: 100,
  maxSessionsPerKey: 10_000,
  runRest: 3_600_000,
  resultsFor: 600_000,
  defaultChannels: [],
  channels: {},
  oidcIssuer: null,
  oidcGroupsClaim: null,
};

const HELD_BYTES = 1 << 20;

export function depsAt(db: Db, now = () => NOW): Deps {
  const vault = new Vault(new Uint8Array(32).fill(7));
  return {
    processId: newId(),
    executing: new Set(),
    db,
    vault,
    settings,
    now,
    details: new HeldDetails({ db, vault, now }, HELD_BYTES),
    results: new HeldResults({ db, vault, now, mayGive: id => isKnownCall(db, id, now()) }, HELD_BYTES),
  };
}
