// What this process holds in memory under ids, as bytes with a bound that are overwritten when they are let go, and what
// it got from other replicas. exchange.ts asks them. Until when something is held is decided by those who use this.

import { Exchange, type Exchanging } from './exchange.ts';
import type { Kind } from './kinds.ts';
import { Owners } from './owners.ts';

/** What an entry takes besides its bytes: two strings' worth of names, an object and its place in a map. */
const ENTRY_BYTES = 400;
const MOST_MISSING = 10_000;
/** How often what has expired is looked for. */
const TEND_MS = 1000;

export interface Entry {
  bytes: Uint8Array;
  /** Further bytes that only this process makes of them. */
  beside: Uint8Array | null;
  until: number;
  /** Whose it is: what belongs to others does not make room for it, unless they take more. */
  owner: string;
}

/** What metrics show of what is held. */
export interface RoomFigures {
  held: number;
  bytes: number;
  /** Let go for want of room, before their time was over. */
  evicted: number;
}

/** The same, where other replicas are asked too. */
export interface HeldFigures extends RoomFigures {
  /** Questions of other replicas that were answered. */
  answered: number;
  /** Look-ups by where something was found. */
  found: { here: number; elsewhere: number; nowhere: number };
}

interface Options<E extends Entry, V> {
  /** In bytes. With 0, this process holds nothing, but still asks others. */
  limit: number;
  /**
   * How long what came from another replica is kept, at most, and then it is not given on: with every step it would live for longer. Null:
   * as long as the store says, and it is given on, since whoever gave it may be gone.
   */
  copyMs: number | null;
  /** How long it is believed that nobody holds something. */
  missingMs: number;
  read: (bytes: Uint8Array) => V;
  entryOf: (value: V, bytes: Uint8Array, until: number) => E;
}

export class Holding<E extends Entry, V> {
  readonly #options: Options<E, V>;
  readonly #now: () => number;
  readonly #exchange: Exchange;
  /** What this process was given to hold; the oldest come first. */
  readonly #own = new Map<string, E>();
  /** What another replica holds. It makes room for what only this process holds. */
  readonly #copies = new Map<string, E>();
  /** What no replica had, with the time until which that is believed. */
  readonly #missing = new Map<string, number>();
  /** Look-ups under way. One that is forgotten meanwhile is taken out, and finds nothing. */
  readonly #lookUps = new Map<string, Promise<V | null>>();
  readonly #figures = { evicted: 0, answered: 0, found: { here: 0, elsewhere: 0, nowhere: 0 } };
  readonly #owners = new Owners();
  #bytes = 0;
  #tendedAt = 0;

  constructor(kind: Kind, exchanging: Omit<Exchanging, 'held' | 'answered'>, options: Options<E, V>) {
    this.#options = options;
    this.#now = exchanging.now;
    this.#exchange = new Exchange(kind, {
      ...exchanging,
      held: id => (options.copyMs === null ? this.here(id) : this.#current(this.#own, id))?.bytes ?? null,
      answered: () => this.#figures.answered++,
    });
  }

  get figures(): HeldFigures {
    return { ...this.#figures, held: this.#own.size + this.#copies.size, bytes: this.#bytes };
  }

  get ids(): string[] {
    return [...this.#own.keys(), ...this.#copies.keys()];
  }

  /** Holds it in place of what is held under this id. Returns whether there is room for it at all. */
  hold(id: string, entry: E): boolean {
    this.forget(id);
    const size = sizeOf(entry);
    if (size > this.#options.limit) {
      this.#figures.evicted++;
      overwrite(entry);
      return false;
    }
    this.#makeRoomOfCopies(size);
    while (this.#bytes + size > this.#options.limit) this.#evict(this.#owners.largest(entry.owner, size));
    this.#own.set(id, entry);
    this.#owners.add(entry.owner, size);
    this.#bytes += size;
    return true;
  }

  /** What this process has, as it is held. */
  here(id: string): E | null {
    return this.#current(this.#own, id) ?? this.#current(this.#copies, id);
  }

  /** Null if no replica holds it. What comes from another replica is not kept beyond `until`. It is looked up for `owner`. */
  async find(id: string, until: number, owner: string | null = null): Promise<V | null> {
    const here = this.#readHere(id);
    if (here === null && this.isMissing(id)) return null;
    // It may have come to be held here meanwhile.
    const value = here ?? (await this.#lookUp(id, until, owner)) ?? this.#readHere(id);
    this.#figures.found[here !== null ? 'here' : value !== null ? 'elsewhere' : 'nowhere']++;
    return value;
  }

  isMissing(id: string): boolean {
    return (this.#missing.get(id) ?? 0) > this.#now();
  }

  forget(id: string): void {
    this.#remove(this.#own, id);
    this.#remove(this.#copies, id);
    this.#missing.delete(id);
    this.#lookUps.delete(id);
  }

  /** Lets go what has expired. It may be called at any time. */
  tend(): void {
    const now = this.#now();
    if (now - this.#tendedAt < TEND_MS) return;
    this.#tendedAt = now;
    for (const entries of [this.#own, this.#copies])
      for (const [id, { until }] of entries) if (until <= now) this.#remove(entries, id);
    for (const [id, until] of this.#missing) if (until <= now) this.#missing.delete(id);
  }

  /** Lets everything go. */
  close(): void {
    for (const entries of [this.#own, this.#copies])
      for (const id of entries.keys()) this.#remove(entries, id);
  }

  #readHere(id: string): V | null {
    const entry = this.here(id);
    return entry === null ? null : this.#options.read(entry.bytes);
  }

  /** Several people who look at the same time ask once. */
  #lookUp(id: string, until: number, owner: string | null): Promise<V | null> {
    const underWay = this.#lookUps.get(id);
    if (underWay !== undefined) return underWay;
    const lookUp = this.#ask(id, until, owner, () => this.#lookUps.get(id) === lookUp);
    this.#lookUps.set(id, lookUp);
    return lookUp;
  }

  async #ask(id: string, until: number, owner: string | null, isWanted: () => boolean): Promise<V | null> {
    try {
      const bytes = await this.#exchange.ask(id, owner);
      if (bytes === null) {
        this.#noteMissing(id);
        return null;
      }
      if (!isWanted()) {
        bytes.fill(0);
        return null;
      }
      const value = this.#options.read(bytes);
      this.#keepCopy(id, this.#options.entryOf(value, bytes, until));
      return value;
    } finally {
      if (isWanted()) this.#lookUps.delete(id);
    }
  }

  #keepCopy(id: string, entry: E): void {
    const size = sizeOf(entry);
    this.#makeRoomOfCopies(size);
    if (this.#bytes + size > this.#options.limit || this.#own.has(id)) {
      overwrite(entry);
      return;
    }
    const { copyMs } = this.#options;
    const keptUntil = copyMs === null ? entry.until : Math.min(this.#now() + copyMs, entry.until);
    this.#copies.set(id, { ...entry, until: keptUntil });
    this.#bytes += size;
  }

  #noteMissing(id: string): void {
    if (this.#missing.size >= MOST_MISSING) this.#missing.delete(this.#missing.keys().next().value as string);
    this.#missing.set(id, this.#now() + this.#options.missingMs);
  }

  /** Lets the oldest copies go, until there is room for so many bytes. */
  #makeRoomOfCopies(size: number): void {
    for (const id of this.#copies.keys()) {
      if (this.#bytes + size <= this.#options.limit) return;
      this.#remove(this.#copies, id);
    }
  }

  /** Lets the oldest of an owner go. */
  #evict(from: string): void {
    for (const [id, { owner }] of this.#own) {
      if (owner !== from) continue;
      this.#remove(this.#own, id);
      this.#figures.evicted++;
      return;
    }
    throw new Error('what is held does not add up');
  }

  #current(entries: Map<string, E>, id: string): E | null {
    const entry = entries.get(id);
    return entry === undefined || entry.until <= this.#now() ? null : entry;
  }

  #remove(entries: Map<string, E>, id: string): void {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entries.delete(id);
    const size = sizeOf(entry);
    this.#bytes -= size;
    if (entries === this.#own) this.#owners.add(entry.owner, -size);
    overwrite(entry);
  }
}

const sizeOf = ({ bytes, beside }: Entry): number => bytes.length + (beside?.length ?? 0) + ENTRY_BYTES;

function overwrite({ bytes, beside }: Entry): void {
  bytes.fill(0);
  beside?.fill(0);
}
