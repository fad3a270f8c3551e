// The details of calls that wait for approval: what an approver is shown of their arguments. They are held in memory
// only, as bytes with a bound, and are not stored. They are let go, and overwritten, when the approval ends.
// exchange/exchange.ts gets them from the replica that judged the call. Who may see them is not decided here.

import { beginningOf, type Details } from '../../core/approvals/details.ts';
import { type ApprovalRecord, findApproval, findPending } from '../../store/approvals.ts';
import type { Db } from '../../store/engine/db.ts';
import { Exchange } from '../exchange/exchange.ts';
import { DETAILS } from '../exchange/kinds.ts';
import { endedMessage, readEnded } from '../exchange/messages.ts';
import { giveHint, onHint } from '../hints.ts';
import type { Vault } from '../secrets.ts';
import { bytesOf, readDetails } from './details-bytes.ts';

/** What an entry takes besides its bytes: two strings' worth of names, an object and its place in a map. */
const ENTRY_BYTES = 400;
/** How long details of another replica are remembered, and how long it is remembered that nobody has them. */
const COPY_MS = 60_000;
const MISSING_MS = 3000;
const MOST_MISSING = 10_000;
/** How often what has expired is looked for. */
const TEND_MS = 1000;
/** How often the store is asked which approvals have ended, in case a hint was lost; and how many at a time. */
const LOOK_MS = 60_000;
const LOOK_BATCH = 1024;

interface Entry {
  bytes: Uint8Array;
  /** What lists give of them; null if that is everything. */
  beginning: Uint8Array | null;
  /** Whether they are complete where all that is held is given. */
  complete: boolean;
  until: number;
}

/** The beginning of details, and whether they are complete where all that is held of them is given. */
export interface Beginning {
  details: Details;
  wholeIsComplete: boolean;
}

/** What metrics show. */
export interface DetailsFigures {
  held: number;
  bytes: number;
  /** Let go for want of room, before their approval ended. */
  evicted: number;
  /** Questions of other replicas that were answered. */
  answered: number;
  /** Look-ups by where the details were found. */
  found: { here: number; elsewhere: number; nowhere: number };
}

export class HeldDetails {
  readonly #db: Db;
  readonly #vault: Vault;
  readonly #now: () => number;
  readonly #limit: number;
  /** Details of calls that this process judged, by the approval's id; the oldest come first. */
  readonly #own = new Map<string, Entry>();
  /** Details that another replica holds. They make room for those that only this process holds. */
  readonly #copies = new Map<string, Entry>();
  /** Approvals whose details no replica had, with the time until which that is believed. */
  readonly #missing = new Map<string, number>();
  /** Look-ups under way. One whose approval ends meanwhile is taken out, and finds nothing. */
  readonly #lookUps = new Map<string, Promise<Details | null>>();
  readonly #exchange: Exchange;
  readonly #figures: DetailsFigures = {
    held: 0,
    bytes: 0,
    evicted: 0,
    answered: 0,
    found: { here: 0, elsewhere: 0, nowhere: 0 },
  };
  #bytes = 0;
  #tendedAt = 0;
  #lookedAt = 0;

  /** `limit` is in bytes. With 0, this process holds nothing, but still asks others. */
  constructor({ db, vault, now }: { db: Db; vault: Vault; now: () => number }, limit: number) {
    this.#db = db;
    this.#vault = vault;
    this.#now = now;
    this.#limit = limit;
    this.#exchange = new Exchange(DETAILS, {
      db,
      vault,
      now,
      // A copy is not given on: with every step it would live for another minute.
      held: referenceId => this.#current(this.#own, referenceId)?.bytes ?? null,
      mayGive: async referenceId => isOpen(await findApproval(db, referenceId), now()),
      answered: () => this.#figures.answered++,
    });
    onHint(db, 'details-ended', text => {
      const referenceId = readEnded(vault, DETAILS, text);
      if (referenceId !== null) this.#forget(referenceId);
    });
  }

  get figures(): DetailsFigures {
    return { ...this.#figures, held: this.#own.size + this.#copies.size, bytes: this.#bytes };
  }

  /**
   * Holds the details of a call whose approval is committed. If the same call is judged again, they replace those that
   * are held for it.
   */
  hold(referenceId: string, details: Details, expiresAt: number): void {
    this.#forget(referenceId);
    const entry = entryOf(details, bytesOf(details), expiresAt);
    const size = sizeOf(entry);
    if (size > this.#limit) {
      this.#figures.evicted++;
      overwrite(entry);
      return;
    }
    this.#makeRoom(size, [this.#copies, this.#own]);
    this.#own.set(referenceId, entry);
    this.#bytes += size;
  }

  /** The details of an approval as it was just read. Null once it has ended, or if no replica holds them. */
  async find(approval: ApprovalRecord): Promise<Details | null> {
    if (!isOpen(approval, this.#now())) return null;
    const { id, expiresAt } = approval;
    const here = this.#here(id);
    if (here === null && (this.#missing.get(id) ?? 0) > this.#now()) return null;
    // They may have come to be held here meanwhile.
    const details = here ?? (await this.#lookUp(id, expiresAt)) ?? this.#here(id);
    this.#figures.found[here !== null ? 'here' : details !== null ? 'elsewhere' : 'nowhere']++;
    return details;
  }

  /** For lists, which ask nobody: what this process holds. `elsewhere` if only another replica can have them. */
  beginning(approval: ApprovalRecord): Beginning | 'elsewhere' | null {
    const now = this.#now();
    if (!isOpen(approval, now)) return null;
    const { id } = approval;
    const entry = this.#current(this.#own, id) ?? this.#current(this.#copies, id);
    if (entry === null) {
      const isMissing = (this.#missing.get(id) ?? 0) > now;
      return this.#db.hintsReachReplicas && !isMissing ? 'elsewhere' : null;
    }
    const details = readDetails(entry.beginning ?? entry.bytes);
    return { details, wholeIsComplete: entry.complete };
  }

  /** Lets the details go because the approval has ended, here and on all replicas. */
  drop(referenceId: string): void {
    this.#forget(referenceId);
    giveHint(this.#db, 'details-ended', endedMessage(this.#vault, DETAILS, referenceId));
  }

  /** Lets go what has expired and, now and then, what has ended without a hint. It may be called at any time. */
  async tend(): Promise<void> {
    const now = this.#now();
    if (now - this.#tendedAt < TEND_MS) return;
    this.#tendedAt = now;
    for (const entries of [this.#own, this.#copies])
      for (const [id, { until }] of entries) if (until <= now) this.#remove(entries, id);
    for (const [id, until] of this.#missing) if (until <= now) this.#missing.delete(id);
    if (now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const ids = [...this.#own.keys(), ...this.#copies.keys()];
    for (let at = 0; at < ids.length; at += LOOK_BATCH) {
      const batch = ids.slice(at, at + LOOK_BATCH);
      const pending = new Set(await findPending(this.#db, batch));
      for (const id of batch) if (!pending.has(id)) this.#forget(id);
    }
  }

  /** Lets everything go, when the service stops. */
  close(): void {
    for (const entries of [this.#own, this.#copies])
      for (const id of entries.keys()) this.#remove(entries, id);
  }

  #here(id: string): Details | null {
    const entry = this.#current(this.#own, id) ?? this.#current(this.#copies, id);
    return entry === null ? null : readDetails(entry.bytes);
  }

  /** Several people who open the same page ask once. */
  #lookUp(id: string, expiresAt: number): Promise<Details | null> {
    const underWay = this.#lookUps.get(id);
    if (underWay !== undefined) return underWay;
    const lookUp = this.#ask(id, expiresAt, () => this.#lookUps.get(id) === lookUp);
    this.#lookUps.set(id, lookUp);
    return lookUp;
  }

  async #ask(id: string, expiresAt: number, isWanted: () => boolean): Promise<Details | null> {
    try {
      const bytes = await this.#exchange.ask(id);
      if (bytes === null) {
        this.#noteMissing(id);
        return null;
      }
      if (!isWanted()) {
        bytes.fill(0);
        return null;
      }
      const details = readDetails(bytes);
      this.#keepCopy(id, entryOf(details, bytes, expiresAt));
      return details;
    } finally {
      if (isWanted()) this.#lookUps.delete(id);
    }
  }

  #keepCopy(id: string, entry: Entry): void {
    const size = sizeOf(entry);
    this.#makeRoom(size, [this.#copies]);
    if (this.#bytes + size > this.#limit || this.#own.has(id)) {
      overwrite(entry);
      return;
    }
    this.#copies.set(id, { ...entry, until: Math.min(this.#now() + COPY_MS, entry.until) });
    this.#bytes += size;
  }

  #noteMissing(id: string): void {
    if (this.#missing.size >= MOST_MISSING) this.#missing.delete(this.#missing.keys().next().value as string);
    this.#missing.set(id, this.#now() + MISSING_MS);
  }

  /** Lets the oldest go, first of the first map, until there is room for so many bytes. */
  #makeRoom(size: number, maps: readonly Map<string, Entry>[]): void {
    for (const entries of maps) {
      for (const id of entries.keys()) {
        if (this.#bytes + size <= this.#limit) return;
        this.#remove(entries, id);
        if (entries === this.#own) this.#figures.evicted++;
      }
    }
  }

  #current(entries: Map<string, Entry>, id: string): Entry | null {
    const entry = entries.get(id);
    return entry === undefined || entry.until <= this.#now() ? null : entry;
  }

  #forget(id: string): void {
    this.#remove(this.#own, id);
    this.#remove(this.#copies, id);
    this.#missing.delete(id);
    this.#lookUps.delete(id);
  }

  #remove(entries: Map<string, Entry>, id: string): void {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entries.delete(id);
    this.#bytes -= sizeOf(entry);
    overwrite(entry);
  }
}

const sizeOf = ({ bytes, beginning }: Entry): number => bytes.length + (beginning?.length ?? 0) + ENTRY_BYTES;

function overwrite({ bytes, beginning }: Entry): void {
  bytes.fill(0);
  beginning?.fill(0);
}

function isOpen(approval: ApprovalRecord | null, now: number): boolean {
  return approval !== null && approval.status === 'pending' && approval.expiresAt > now;
}

function entryOf(details: Details, bytes: Uint8Array, until: number): Entry {
  const beginning = beginningOf(details);
  return {
    bytes,
    beginning: beginning.complete ? null : bytesOf(beginning),
    complete: details.complete,
    until,
  };
}
