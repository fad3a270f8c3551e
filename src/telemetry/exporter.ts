// Sends one signal to the collector, in batches, one request at a time. What waits is bounded: while the collector is
// away or slow, further items are dropped and counted. No request waits for it; only a stop of the service does, for at
// most a few seconds.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface ExporterOptions<Item> {
  url: string;
  headers: Record<string, string>;
  /** Items that may wait, those of the request under way included. */
  queueSize: number;
  batchSize: number;
  /** How long items are collected before they are sent. */
  delayMs: number;
  timeoutMs: number;
  compress: boolean;
  /** The body of a request. */
  encode: (items: readonly Item[]) => Uint8Array<ArrayBuffer>;
  /** Called when items were given up, because there was no room for them or the collector did not take them. */
  dropped: (count: number) => void;
  /** Called with the reason when the collector begins to refuse what is sent, and with null when it takes it again. */
  failing: (reason: string | null) => void;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
/** After that many attempts a batch is given up, so that one which cannot be sent does not hold up the others. */
const ATTEMPTS = 6;
/** How long a stop may wait for the collector. */
const STOP_MS = 2000;
/** Answers after which OTLP says that the same request may be sent again. */
const AGAIN = new Set([429, 502, 503, 504]);

const compressed = promisify(gzip);

export class Exporter<Item> {
  readonly #options: ExporterOptions<Item>;
  readonly #queue: Item[] = [];
  readonly #stopped = new AbortController();
  #timer: Timer | null = null;
  /** The work under way, if there is any. */
  #sending: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  #stopping = false;
  #failing = false;

  constructor(options: ExporterOptions<Item>) {
    this.#options = options;
  }

  add(item: Item): void {
    const { queueSize, batchSize, delayMs, dropped } = this.#options;
    if (this.#queue.length >= queueSize || this.#stopping) {
      dropped(1);
      return;
    }
    this.#queue.push(item);
    if (this.#sending !== null) return;
    if (this.#queue.length >= batchSize) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), delayMs).unref();
  }

  /** Sends what waits, unless the collector takes too long for that. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const limit = setTimeout(() => this.#stopped.abort(), STOP_MS);
    this.#wake?.();
    await this.#sending;
    if (this.#queue.length > 0) await this.#send();
    clearTimeout(limit);
  }

  #send(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
      if (this.#queue.length > 0) this.#timer = setTimeout(() => this.#send(), this.#options.delayMs).unref();
    });
    return this.#sending;
  }

  /** Sends what waits, batch by batch. While the service runs, a last batch that is not full waits for more. */
  async #sendAll(): Promise<void> {
    const { batchSize, dropped } = this.#options;
    do {
      const batch = this.#queue.slice(0, batchSize);
      const taken = await this.#deliver(batch).catch(() => false);
      // Items stay in the queue until their request has ended, so that the bound counts them too.
      this.#queue.splice(0, batch.length);
      if (!taken) dropped(batch.length);
    } while (this.#queue.length >= (this.#stopping ? 1 : batchSize));
  }

  /** Whether the collector has taken the batch, perhaps after several attempts. */
  async #deliver(batch: readonly Item[]): Promise<boolean> {
    const body = this.#options.encode(batch);
    const sent = this.#options.compress ? await compressed(body) : body;
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#attempt(sent);
      this.#report(answer.reason);
      if (answer.reason === null) return true;
      if (!answer.again || attempt === ATTEMPTS || this.#stopping) return false;
      const pause = FIRST_PAUSE_MS * 2 ** (attempt - 1);
      await this.#pause(Math.min(LONGEST_PAUSE_MS, answer.waitMs ?? jittered(pause)));
    }
  }

  async #attempt(body: Uint8Array<ArrayBuffer>): Promise<Attempt> {
    const { url, headers, timeoutMs } = this.#options;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body,
        // The operator chose this address. A redirect could lead to one that the operator did not choose.
        redirect: 'manual',
        // A compressed answer may be small on the way and fill the memory here.
        decompress: false,
        // This is set explicitly, because an environment variable could turn it off.
        tls: { rejectUnauthorized: true },
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#stopped.signal]),
      });
      // Nothing in the body matters, and it may be of any size.
      response.body?.cancel().catch(() => {});
      if (response.ok) return { reason: null };
      const again = AGAIN.has(response.status);
      return { reason: `it answered ${response.status}`, again, waitMs: retryAfter(response) };
    } catch (error) {
      const slow = error instanceof Error && error.name === 'TimeoutError';
      return {
        reason: slow ? 'it did not answer in time' : 'it cannot be reached',
        again: true,
        waitMs: null,
      };
    }
  }

  #report(reason: string | null): void {
    if ((reason !== null) === this.#failing) return;
    this.#failing = reason !== null;
    this.#options.failing(reason);
  }

  /** Waits, unless the service stops. */
  async #pause(ms: number): Promise<void> {
    if (this.#stopping) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms).unref();
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
    this.#wake = null;
  }
}

type Attempt = { reason: null } | { reason: string; again: boolean; waitMs: number | null };

/** Replicas that fail together must not come back together. */
function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

/** What the header `retry-after` asks for, in seconds or as a date. */
function retryAfter(response: Response): number | null {
  const given = response.headers.get('retry-after');
  if (given === null) return null;
  const ms = /^\d{1,9}$/.test(given) ? Number(given) * 1000 : Date.parse(given) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
