// Removes what is older than the operator wants to keep: audit entries once they are counted (and sealed, where the
// log is sealed), and with them what belongs to calls of that age and is long over. Policies, keys, operators and the
// log of changes stay. docs/decisions/0006-retention.md says why.

import { DAY, floorTo, MINUTE } from '../../core/buckets.ts';
import type { VerifierKey } from '../../core/checkpoint.ts';
import { oldestPending } from '../../store/deliveries.ts';
import { readMark, writeMark } from '../../store/marks.ts';
import {
  BATCH,
  deleteAudit,
  deleteDeliveries,
  deleteEnded,
  deleteMcpSessions,
  ENDED,
} from '../../store/retention.ts';
import { entryIdAt } from '../../store/seals.ts';
import { firstIdFrom } from '../../store/slots.ts';
import type { Chore } from '../chores.ts';
import type { Deps } from '../deps.ts';
import { timeOfId } from '../ids.ts';
import { ROLLUPS_LOCK } from '../locks.ts';
import { KEPT_FROM, ROLLED_UP } from './rollups.ts';
import { newestSigned } from './signed-checkpoints.ts';

const EVERY_MS = MINUTE;
/** Up to here a pass has deleted; the next begins a little before, for what became visible late. */
const DELETED = 'audit deleted';
const LOOK_BACK_MS = 2 * DAY;
/** Retries of a delivery end within four days: until then its event is needed, whatever the setting says. */
const DELIVERY_MS = 5 * DAY;
/** An MCP session lapses after a day without use. */
const MCP_SESSION_MS = 7 * DAY;

interface RetentionOptions {
  /** Null: everything is kept. */
  retention: number | null;
  /** Who signs the checkpoints of the sealed log; null: the log is not sealed. */
  sealedBy: VerifierKey | null;
  /** After a pass that removed something: how many rows of each table. */
  removed: (counts: Record<string, number>) => void;
}

/** One pass a minute, in steps of one statement each. */
export function retire(options: RetentionOptions): Chore {
  let next = 0;
  let counts: Record<string, number> = {};
  return async deps => {
    if (deps.now() < next && deps.now() > next - EVERY_MS) return false;
    const step = await firstFull(deps, options, (table, count) => {
      if (count > 0) counts[table] = (counts[table] ?? 0) + count;
    });
    if (step) return true;
    if (Object.keys(counts).length > 0) options.removed(counts);
    counts = {};
    next = deps.now() + EVERY_MS;
    return false;
  };
}

/** Goes through the tables until one has more to delete. */
async function firstFull(
  deps: Deps,
  { retention, sealedBy }: RetentionOptions,
  note: (table: string, count: number) => void,
): Promise<boolean> {
  const now = deps.now();
  const done = (table: string, count: number) => {
    note(table, count);
    return count >= BATCH;
  };
  if (done('connections', await deleteMcpSessions(deps.db, now - MCP_SESSION_MS))) return true;
  if (retention === null) return false;
  const before = now - retention;
  const audit = await retireAudit(deps, sealedBy, before);
  note('audit', audit.count);
  if (audit.more) return true;
  const sent = Math.min(before, now - DELIVERY_MS);
  const deliveries = await deps.db.transaction({}, tx => deleteDeliveries(tx, sent));
  if (done('deliveries', deliveries)) return true;
  for (const table of ENDED) {
    const until = table === 'events' ? await eventsUntil(deps, sent) : before;
    if (done(table, await deleteEnded(deps.db, table, until))) return true;
  }
  return false;
}

async function retireAudit(
  deps: Deps,
  sealedBy: VerifierKey | null,
  before: number,
): Promise<{ count: number; more: boolean }> {
  const { db } = deps;
  const places = sealedBy === null ? null : await givenUp(deps, sealedBy);
  if (places === 0) return { count: 0, more: false };
  const until = floorTo(await deletableUntil(deps, places, before), MINUTE);
  await keepFrom(deps, until);
  return db.transaction({}, async tx => {
    const from = (await readMark(tx, DELETED)) ?? 0;
    const { count, until: reached } = await deleteAudit(tx, from, until, places);
    // Begins where the last step ended: PostgreSQL would walk over all that it has deleted and not yet vacuumed.
    await writeMark(tx, DELETED, reached === null ? until - LOOK_BACK_MS : timeOfId(firstIdFrom(reached)));
    return { count, more: reached !== null };
  });
}

/**
 * Entries before this time may be deleted, if they are as old as `before` says: what is not counted yet stays, and
 * of a sealed log what lies behind the places that a checkpoint gave up. (The statement that deletes asks for each
 * entry's place as well: one that was sealed late waits its turn.)
 */
async function deletableUntil({ db }: Deps, places: number | null, before: number): Promise<number> {
  const counted = (await readMark(db, ROLLED_UP)) ?? 0;
  if (places === null) return Math.min(before, counted);
  const next = await entryIdAt(db, places);
  return Math.min(before, counted, next === null ? before : timeOfId(next));
}

/**
 * Signed before anything is deleted, so that verifying never takes retention for tampering. A checkpoint of an older
 * program does not say by what right entries may go; the next one will.
 */
async function givenUp({ db }: Deps, key: VerifierKey): Promise<number> {
  const newest = await newestSigned(db, key);
  return newest === null || newest.givenUp === null ? 0 : newest.pruned;
}

/** Says first what will be gone, under the lock of whoever might count it again. */
async function keepFrom({ db }: Deps, until: number): Promise<void> {
  if (((await readMark(db, KEPT_FROM)) ?? 0) >= until) return;
  await db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    if (((await readMark(tx, KEPT_FROM)) ?? 0) < until) await writeMark(tx, KEPT_FROM, until);
  });
}

/** An event is made a moment before its deliveries: those of deliveries that still wait are needed. */
async function eventsUntil({ db }: Deps, before: number): Promise<number> {
  const oldest = await oldestPending(db);
  return oldest === null ? before : Math.min(before, oldest - MINUTE);
}
