// Streams verdicts and approvals to watchers as they happen. They are read from the store, so that a watcher sees what
// any replica has committed: once a second while somebody watches, and at once when this replica committed something.
// http/admin/events.ts has the route and decides who may watch.

import type { Event } from '../../core/approvals/event.ts';
import { GuardError } from '../../core/errors.ts';
import { shownEntry } from '../../core/log/entry.ts';
import { newId, timeOfId } from '../../guard/ids.ts';
import { EventWriter } from '../../guard/rations/event-writer.ts';
import { listEventsSince } from '../../store/deliveries.ts';
import type { Queries } from '../../store/engine/db.ts';
import { firstIdAt, listAuditSince } from '../../store/log/audit.ts';

const POLL_MS = 1000;
/** The shortest time between two reads of the store, however much is committed. */
const REST_MS = 100;
/** The clocks of replicas differ, and a smaller id may be committed later, so rows this young are read again. */
const LOOK_BACK_MS = 60_000;
/** How many verdicts, and how many approvals, one read returns: more than a person can follow. */
const PAGE = 256;
/** How many verdicts, and how many approvals, a watcher that reconnects gets. */
const CATCH_UP = 1000;
const RETRY_MS = 1000;
/** The limit on watchers, because the sign-in of each is looked up every second. */
const MOST_WATCHERS = 500;
/** The limit for one operator, so that one operator cannot use up the limit for all. */
const MOST_OF_ONE = 50;

interface Item {
  id: string;
  event: 'verdict' | 'approval';
  data: unknown;
}

interface Found {
  /** Oldest first. */
  items: Item[];
  /** Whether there was more than `items` contains. */
  gap: boolean;
}

export class Feed {
  readonly #db: Queries;
  readonly #failed: (error: unknown) => void;
  readonly #watchers = new Set<Watcher>();
  #seen = new Set<string>();
  #running: Promise<void> | null = null;
  #poked = false;
  #wake: () => void = () => {};
  #closed = false;

  constructor(db: Queries, failed: (error: unknown) => void) {
    this.#db = db;
    this.#failed = failed;
  }

  /** Called when this replica has committed something. */
  poke(): void {
    this.#poked = true;
    this.#wake();
  }

  /** Streams what happens from now on, or since the last id that the watcher has seen, while its sign-in is valid. */
  async watch(
    since: string | null,
    who: string,
    holds: () => Promise<boolean>,
  ): Promise<ReadableStream<Uint8Array>> {
    this.#refuseTooMany(who);
    const watcher = new Watcher(who, holds, () => this.#leave(watcher));
    this.#watchers.add(watcher);
    if (this.#closed) watcher.writer.close();
    else this.#running ??= this.#run();
    try {
      const from = lookBack();
      const known = await readSince(this.#db, since !== null && since < from ? since : from, CATCH_UP);
      watcher.begin(since, known);
    } catch (error) {
      watcher.writer.close();
      throw error;
    }
    return watcher.writer.body;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { writer } of this.#watchers) writer.close();
    await this.#running;
  }

  #refuseTooMany(who: string): void {
    const own = Array.from(this.#watchers).filter(each => each.who === who).length;
    if (this.#watchers.size < MOST_WATCHERS && own < MOST_OF_ONE) return;
    throw new GuardError('overloaded', 'Too many pages are watching. Close some, or reload this one later.', {
      retryAfter: 10,
    });
  }

  #leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size === 0) this.#wake();
  }

  async #run(): Promise<void> {
    for (;;) {
      await this.#pause();
      if (this.#watchers.size === 0) break;
      this.#poked = false;
      try {
        await this.#dismiss();
        const found = await this.#look();
        for (const watcher of this.#watchers) watcher.take(found);
      } catch (error) {
        this.#failed(error);
      }
      if (!this.#closed) await Bun.sleep(REST_MS);
    }
    this.#seen.clear();
    this.#running = null;
  }

  async #pause(): Promise<void> {
    if (this.#poked || this.#closed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, POLL_MS);
    await promise;
    clearTimeout(timer);
  }

  /** Closes the streams of watchers whose sign-in has ended, before anything more is sent. */
  async #dismiss(): Promise<void> {
    const each = async (watcher: Watcher) => {
      if (!(await watcher.holds())) watcher.writer.close();
    };
    await Promise.all(Array.from(this.#watchers, each));
  }

  /** Reads what has been committed since the last read. */
  async #look(): Promise<Found> {
    const { items, gap } = await readSince(this.#db, lookBack(), PAGE);
    const fresh = items.filter(item => !this.#seen.has(item.id));
    const missed = gap && fresh.length === items.length && this.#seen.size > 0;
    this.#seen = new Set(items.map(item => item.id));
    return { items: fresh, gap: missed };
  }
}

/** One stream, and what was sent on it. */
class Watcher {
  readonly writer: EventWriter;
  readonly who: string;
  readonly holds: () => Promise<boolean>;
  /** What was in the store when the stream began: it was sent then, or the watcher has seen it before. */
  readonly #known = new Set<string>();
  /** What happens while `begin` has not been called yet; null afterwards. */
  #waiting: Found[] | null = [];
  /** The greatest id that was sent. A watcher that reconnects continues from it. */
  #place = newId();

  constructor(who: string, holds: () => Promise<boolean>, left: () => void) {
    this.who = who;
    this.holds = holds;
    this.writer = new EventWriter(left);
  }

  begin(since: string | null, known: Found): void {
    for (const { id } of known.items) this.#known.add(id);
    this.#place = since ?? known.items.at(-1)?.id ?? this.#place;
    this.writer.place(this.#place, RETRY_MS);
    const missed = known.items.filter(item => since !== null && item.id > since);
    this.#tell({ items: missed, gap: known.gap && missed.length === known.items.length });
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const found of waiting) this.take(found);
  }

  take(found: Found): void {
    if (this.#waiting !== null) this.#waiting.push(found);
    else this.#tell({ ...found, items: found.items.filter(item => !this.#known.has(item.id)) });
  }

  #tell({ items, gap }: Found): void {
    if (gap) this.writer.tell('gap', {}, this.#place);
    for (const { id, event, data } of items) {
      if (id > this.#place) this.#place = id;
      this.writer.tell(event, data, this.#place);
    }
  }
}

const lookBack = (): string => firstIdAt(timeOfId(newId()) - LOOK_BACK_MS);

async function readSince(db: Queries, after: string, limit: number): Promise<Found> {
  const [entries, events] = await Promise.all([
    listAuditSince(db, after, limit),
    listEventsSince(db, after, limit),
  ]);
  const verdicts = entries.map(
    (entry): Item => ({ id: entry.id, event: 'verdict', data: shownEntry(entry) }),
  );
  const approvals = events.map(({ id, body }): Item => {
    const { data } = JSON.parse(body) as Event;
    return { id, event: 'approval', data };
  });
  const items = [...verdicts, ...approvals].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { items, gap: entries.length === limit || events.length === limit };
}
