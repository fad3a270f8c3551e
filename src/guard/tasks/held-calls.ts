// The calls of tasks that wait for approval: what is needed to make them once they are approved. They are held in memory
// only, as bytes with a bound, and are not stored. They are overwritten when they are let go. A call that is let go before
// its question has ended is gone: its row says so, and the client has to call again.

import { type JsonObject, parseJsonBytes, writeJson } from '../../core/wire/json.ts';
import { loseTask } from '../../store/tasks.ts';
import type { Deps } from '../deps.ts';
import type { RoomFigures } from '../exchange/holding.ts';
import { Owners } from '../exchange/owners.ts';
import { giveHint } from '../hints.ts';

/** What an entry takes besides its bytes: names, an object with who calls, and its place in a map. */
const ENTRY_BYTES = 1000;

interface Entry<About> {
  bytes: Uint8Array;
  about: About;
  keyId: string;
  until: number;
}

/** A call as it is held: what its client sent, and what is known beside it, in which there are no arguments. */
export interface HeldCall<About> {
  sent: JsonObject;
  about: About;
}

export class HeldCalls<About> {
  readonly #deps: Pick<Deps, 'db' | 'processId' | 'now'>;
  readonly #limit: number;
  readonly #failed: (error: unknown) => void;
  /** By the id of the task; the oldest come first. */
  readonly #entries = new Map<string, Entry<About>>();
  /** What each key takes of the memory. */
  readonly #perKey = new Owners();
  #bytes = 0;
  #evicted = 0;

  /** `limit` is in bytes. With 0, nothing is held. `failed` is told if a row could not be changed. */
  constructor(deps: Pick<Deps, 'db' | 'processId' | 'now'>, limit: number, failed: (error: unknown) => void) {
    this.#deps = deps;
    this.#limit = limit;
    this.#failed = failed;
  }

  get figures(): RoomFigures {
    return { held: this.#entries.size, bytes: this.#bytes, evicted: this.#evicted };
  }

  /** Holds the call of a task, in place of what is held for it. Returns whether there is room for it. */
  hold(id: string, keyId: string, { sent, about }: HeldCall<About>, until: number): boolean {
    this.letGo(id);
    const bytes = new TextEncoder().encode(writeJson(sent));
    const size = bytes.length + ENTRY_BYTES;
    if (size > this.#limit) {
      bytes.fill(0);
      this.#evict(id);
      return false;
    }
    while (this.#bytes + size > this.#limit) this.#evict(this.#oldestOf(this.#perKey.largest(keyId, size)));
    this.#entries.set(id, { bytes, about, keyId, until });
    this.#count(keyId, size);
    return true;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  get ids(): string[] {
    return [...this.#entries.keys()];
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** What is known beside what the client sent; null if it is not held here. */
  about(id: string): About | null {
    return this.#entries.get(id)?.about ?? null;
  }

  /** Null if it is not held here. It stays held. */
  find(id: string): HeldCall<About> | null {
    const entry = this.#entries.get(id);
    if (entry === undefined) return null;
    return { sent: parseJsonBytes(entry.bytes) as JsonObject, about: entry.about };
  }

  /** Its question has ended, or another process holds the call now. */
  letGo(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#count(entry.keyId, -entry.bytes.length - ENTRY_BYTES);
    entry.bytes.fill(0);
  }

  /** The call will not be made here: it is let go, and its task is gone if it still waits for this process. */
  lose(id: string): void {
    this.letGo(id);
    const { db, processId, now } = this.#deps;
    loseTask(db, id, processId, now()).then(() => giveHint(db, 'task', id), this.#failed);
  }

  /** Lets go what nobody can ask for any more. It may be called at any time. */
  tend(): void {
    const now = this.#deps.now();
    for (const [id, { until }] of this.#entries) if (until <= now) this.letGo(id);
  }

  /** Lets everything go, when the service stops. */
  close(): void {
    for (const id of [...this.#entries.keys()]) this.letGo(id);
  }

  #oldestOf(keyId: string): string {
    for (const [id, entry] of this.#entries) if (entry.keyId === keyId) return id;
    throw new Error(`no call of key ${keyId} is held`);
  }

  #evict(id: string): void {
    this.#evicted++;
    this.lose(id);
  }

  #count(keyId: string, change: number): void {
    this.#bytes += change;
    this.#perKey.add(keyId, change);
  }
}
