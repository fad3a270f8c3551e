// The details of calls that wait for approval: what an approver is shown of their arguments. They are held in memory
// only, as bytes with a bound, and are not stored. They are let go, and overwritten, when the approval ends.
// exchange/holding.ts gets them from the replica that judged the call. Who may see them is not decided here.

import { beginningOf, type Details } from '../../core/approvals/details.ts';
import { type ApprovalRecord, findApproval, findPending } from '../../store/approvals.ts';
import type { Db } from '../../store/engine/db.ts';
import { type Entry, type HeldFigures, Holding } from '../exchange/holding.ts';
import { DETAILS } from '../exchange/kinds.ts';
import { endedMessage, readEnded } from '../exchange/messages.ts';
import { giveHint, onHint } from '../hints.ts';
import type { Vault } from '../secrets.ts';
import { bytesOf, readDetails } from './details-bytes.ts';

/** How long details of another replica are remembered, and how long it is remembered that nobody has them. */
const COPY_MS = 60_000;
const MISSING_MS = 3000;
/** How often the store is asked which approvals have ended, in case a hint was lost; and how many at a time. */
const LOOK_MS = 60_000;
const LOOK_BATCH = 1024;

interface HeldDetail extends Entry {
  /** What lists give of them; null if that is everything. */
  beside: Uint8Array | null;
  /** Whether they are complete where all that is held is given. */
  complete: boolean;
}

/** The beginning of details, and whether they are complete where all that is held of them is given. */
export interface Beginning {
  details: Details;
  wholeIsComplete: boolean;
}

export class HeldDetails {
  readonly #db: Db;
  readonly #vault: Vault;
  readonly #now: () => number;
  /** By the approval's id. */
  readonly #holding: Holding<HeldDetail, Details>;
  #lookedAt = 0;

  /** `limit` is in bytes. With 0, this process holds nothing, but still asks others. */
  constructor({ db, vault, now }: { db: Db; vault: Vault; now: () => number }, limit: number) {
    this.#db = db;
    this.#vault = vault;
    this.#now = now;
    const mayGive = async (referenceId: string) => isOpen(await findApproval(db, referenceId), now());
    const options = { limit, copyMs: COPY_MS, missingMs: MISSING_MS, read: readDetails, entryOf };
    this.#holding = new Holding(DETAILS, { db, vault, now, mayGive }, options);
    onHint(db, 'details-ended', text => {
      const referenceId = readEnded(vault, DETAILS, text);
      if (referenceId !== null) this.#holding.forget(referenceId);
    });
  }

  get figures(): HeldFigures {
    return this.#holding.figures;
  }

  /**
   * Holds the details of a call whose approval is committed. If the same call is judged again, they replace those that
   * are held for it.
   */
  hold(referenceId: string, details: Details, expiresAt: number): void {
    this.#holding.hold(referenceId, entryOf(details, bytesOf(details), expiresAt));
  }

  /** The details of an approval as it was just read. Null once it has ended, or if no replica holds them. */
  async find(approval: ApprovalRecord): Promise<Details | null> {
    if (!isOpen(approval, this.#now())) return null;
    return this.#holding.find(approval.id, approval.expiresAt);
  }

  /** For lists, which ask nobody: what this process holds. `elsewhere` if only another replica can have them. */
  beginning(approval: ApprovalRecord): Beginning | 'elsewhere' | null {
    const now = this.#now();
    if (!isOpen(approval, now)) return null;
    const entry = this.#holding.here(approval.id);
    if (entry === null)
      return this.#db.hintsReachReplicas && !this.#holding.isMissing(approval.id) ? 'elsewhere' : null;
    const details = readDetails(entry.beside ?? entry.bytes);
    return { details, wholeIsComplete: entry.complete };
  }

  /** Lets the details go because the approval has ended, here and on all replicas. */
  drop(referenceId: string): void {
    this.#holding.forget(referenceId);
    giveHint(this.#db, 'details-ended', endedMessage(this.#vault, DETAILS, referenceId));
  }

  /** Lets go what has expired and, now and then, what has ended without a hint. It may be called at any time. */
  async tend(): Promise<void> {
    this.#holding.tend();
    const now = this.#now();
    if (now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const { ids } = this.#holding;
    for (let at = 0; at < ids.length; at += LOOK_BATCH) {
      const batch = ids.slice(at, at + LOOK_BATCH);
      const pending = new Set(await findPending(this.#db, batch));
      for (const id of batch) if (!pending.has(id)) this.#holding.forget(id);
    }
  }

  /** Lets everything go, when the service stops. */
  close(): void {
    this.#holding.close();
  }
}

function isOpen(approval: ApprovalRecord | null, now: number): boolean {
  return approval !== null && approval.status === 'pending' && approval.expiresAt > now;
}

function entryOf(details: Details, bytes: Uint8Array, until: number): HeldDetail {
  const beginning = beginningOf(details);
  const beside = beginning.complete ? null : bytesOf(beginning);
  // The oldest go first, whosever they are: what people are to answer is bounded for each key already.
  return { bytes, beside, complete: details.complete, until, owner: '' };
}
