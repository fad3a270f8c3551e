// The stream on which an upstream of the older era sends notifications of its own. It is opened beside the calls and
// again after it ended, unless this process has many of them open. It only carries hints: lists are read again when a
// client asks, so nothing waits for it.

import { parseJson } from '../core/wire/json.ts';
import { readEvents } from './event-stream.ts';
import { type RpcNotification, readMessage } from './protocol.ts';

/** How many streams all upstreams of this process may have together. */
const MAX_STREAMS = 256;
/** The largest event. Each stream may hold one that is not complete yet. */
const MAX_EVENT_BYTES = 256 * 1024;
/** The pauses before each further attempt. They begin again after a stream that lasted. */
const PAUSES_MS = [1000, 5000, 15_000, 60_000];
const LASTED_MS = 60_000;

/** The parts of an answer that are used here. */
interface Heard {
  ok: boolean;
  status: number;
  body: (AsyncIterable<Uint8Array> & { cancel(): Promise<void> }) | null;
}

let streams = 0;

export class Listening {
  readonly #open: (signal: AbortSignal) => Promise<Heard>;
  readonly #onNotification: (notification: RpcNotification) => void;
  readonly #stop = new AbortController();

  constructor(
    open: (signal: AbortSignal) => Promise<Heard>,
    onNotification: (notification: RpcNotification) => void,
  ) {
    this.#open = open;
    this.#onNotification = onNotification;
  }

  /** Listens until it is stopped, or the upstream says that it offers no such stream. */
  async run(): Promise<void> {
    for (let tries = 0; !this.#stop.signal.aborted; ) {
      const since = performance.now();
      if ((await this.#listen()) === 'not offered') return;
      tries = performance.now() - since > LASTED_MS ? 0 : tries;
      await this.#pause(PAUSES_MS[Math.min(tries++, PAUSES_MS.length - 1)] as number);
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  async #listen(): Promise<'ended' | 'not offered'> {
    if (streams >= MAX_STREAMS) return 'ended';
    streams++;
    try {
      return await this.#hear(await this.#open(this.#stop.signal));
    } catch {
      return 'ended';
    } finally {
      streams--;
    }
  }

  async #hear(response: Heard): Promise<'ended' | 'not offered'> {
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      return response.status < 500 ? 'not offered' : 'ended';
    }
    for await (const { data } of readEvents(response.body, MAX_EVENT_BYTES)) {
      const message = readMessage(parseJson(data));
      if (message.kind === 'notification') this.#onNotification(message);
    }
    return 'ended';
  }

  #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#stop.signal.addEventListener('abort', () => resolve(), { once: true });
    return promise.finally(() => clearTimeout(timer));
  }
}
