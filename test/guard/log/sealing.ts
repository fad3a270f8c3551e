// A store with a sealer on it whose clock the test holds, entries to seal, and the log read back whole.

import { type Checkpoint, isSignedBy, parseCheckpoint } from '../../../src/core/log/checkpoint.ts';
import { entryLeaf, shownEntry } from '../../../src/core/log/entry.ts';
import { Tree } from '../../../src/core/log/merkle.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { type Lag, logKey, SealedLog } from '../../../src/guard/log/sealed-log.ts';
import { Sealer, type SealerObserver, type SealerOptions } from '../../../src/guard/log/sealer.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { type CheckpointRecord, listCheckpoints } from '../../../src/store/log/checkpoints.ts';
import { listSealed } from '../../../src/store/log/seals.ts';
import { auditEntry, idAt, NOW } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

export const MINUTE = 60_000;

export class Clock {
  now = NOW;
}

export interface TestSealer {
  deps: Deps;
  log: SealedLog;
  sealer: Sealer;
  notes: string[];
  failures: unknown[];
  /** Everything else that its observer was told, in order. */
  lags: Lag[];
  checkpointed: number[];
  sent: [number, unknown][];
  /** Ticks until a tick finds nothing more to seal. */
  settle: () => Promise<void>;
}

export interface SealerParts {
  retention?: number | null;
  send?: SealerOptions['send'];
  /** Called with each signed note, and whenever the lag is told. */
  keep?: SealerOptions['keep'];
  lag?: (lag: Lag) => void;
  /** The project's own, or a mutant's. */
  make?: typeof SealedLog;
}

export async function sealerOn(
  db: Db,
  clock: Clock,
  { retention = null, send = null, keep, lag, make = SealedLog }: SealerParts = {},
): Promise<TestSealer> {
  const deps = depsAt(db, () => clock.now);
  const log = new make(deps, await logKey(deps), retention);
  const notes: string[] = [];
  const failures: unknown[] = [];
  const lags: Lag[] = [];
  const checkpointed: number[] = [];
  const sent: [number, unknown][] = [];
  const keeping = async (note: string) => {
    notes.push(note);
    await keep?.(note);
  };
  const observer: SealerObserver = {
    lag: told => {
      lags.push(told);
      lag?.(told);
    },
    checkpointed: ({ number }) => checkpointed.push(number),
    sent: ({ number }, error) => sent.push([number, error]),
    failed: error => failures.push(error),
  };
  const sealer = new Sealer(deps, log, { checkpointInterval: MINUTE, keep: keeping, send }, observer);
  const settle = async () => {
    let before = -1;
    for (let size = 0; size !== before; size = (await log.lag()).size) {
      before = size;
      await sealer.tick();
    }
  };
  return { deps, log, sealer, notes, failures, lags, checkpointed, sent, settle };
}

/** So many entries, a millisecond apart, from `at` on. */
export function entries(count: number, at = NOW, more: Partial<AuditEntry> = {}): AuditEntry[] {
  return Array.from({ length: count }, (_, n) =>
    auditEntry({ id: idAt(at + n, n), at: at + n, toolName: `tool_${n}`, ...more }),
  );
}

export async function write(db: Db, rows: readonly AuditEntry[]): Promise<void> {
  await db.transaction({}, async tx => insertAudit(tx, rows));
}

export interface Found {
  ids: string[];
  checkpoints: Checkpoint[];
}

/** The sealed log, after holding it against its own rules: places without gaps, leaves as their entries, roots. */
export async function sealedLog(db: Db, deps: Deps): Promise<Found> {
  const key = await logKey(deps);
  const records = (await listCheckpoints(db, 10_000, Number.MAX_SAFE_INTEGER)).reverse();
  const rows = await listSealed(db, 0, 1_000_000);
  const tree = new Tree();
  let at = 0;
  const checkpoints: Checkpoint[] = [];
  const read = async (record: CheckpointRecord) => {
    const found = parseCheckpoint(record.note);
    if (found === null || !(await isSignedBy(record.note, key))) throw new Error('an invalid note');
    checkpoints.push(found);
    return found;
  };
  for (const record of records) {
    const checkpoint = await read(record);
    for (; tree.size < checkpoint.size; at++) {
      const row = rows[at];
      if (row === undefined || row.seq !== at || row.entry === null)
        throw new Error(`place ${at} is not filled`);
      const leaf = entryLeaf(shownEntry(row.entry));
      if (Buffer.from(leaf).toString('base64') !== row.leafHash) throw new Error(`leaf ${at} is another’s`);
      tree.append(leaf);
    }
    const root = Buffer.from(tree.root()).toString('base64');
    if (root !== checkpoint.root) throw new Error(`the root of ${checkpoint.size} is another`);
  }
  return { ids: rows.map(row => row.entryId), checkpoints };
}
