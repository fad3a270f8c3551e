// The wire over the older HTTP transport: the upstream keeps one stream of events open, whose first event names the
// address to which messages are posted. That address has to be on the same origin.

import { PinnedFetch } from '../guard/outgoing/pinned-fetch.ts';
import { Duplex } from './duplex.ts';
import { readEvents } from './event-stream.ts';
import { authorized } from './sign-in.ts';
import { HttpStatusError, MAX_MESSAGE_BYTES, UpstreamError } from './wire.ts';
import type { HttpTarget } from './wire-http.ts';

const POST_MS = 15_000;

export class SseWire extends Duplex {
  readonly #target: HttpTarget;
  readonly #http: PinnedFetch;
  readonly #stop = new AbortController();
  #endpoint: string | null = null;

  private constructor(target: HttpTarget) {
    super();
    this.#target = target;
    this.#http = new PinnedFetch(target.rules);
  }

  /** Resolves once the upstream has named its endpoint. */
  static async open(target: HttpTarget, signal: AbortSignal): Promise<SseWire> {
    const wire = new SseWire(target);
    const named = Promise.withResolvers<void>();
    const late = () => {
      named.reject(new UpstreamError('the upstream did not answer in time', { unsent: true }));
      wire.#stop.abort();
    };
    signal.addEventListener('abort', late);
    wire.#read(named.resolve, named.reject);
    try {
      await named.promise;
      return wire;
    } finally {
      // The signal limits only the opening. An open wire stays.
      signal.removeEventListener('abort', late);
    }
  }

  protected async write(text: string): Promise<void> {
    const response = await this.#fetch(this.#endpoint ?? this.#target.url, {
      method: 'POST',
      body: text,
      headers: { ...this.#target.headers, 'Content-Type': 'application/json' },
      signal: AbortSignal.timeout(POST_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new HttpStatusError(response.status);
  }

  #fetch(
    url: string,
    init: RequestInit & { headers: Record<string, string>; signal: AbortSignal },
  ): Promise<Response> {
    const { signIn } = this.#target;
    if (!signIn) return this.#http.fetch(url, init);
    const headers: Record<string, string> = init.headers;
    return authorized(signIn, init.signal, Authorization =>
      this.#http.fetch(url, { ...init, headers: { ...headers, Authorization } }),
    );
  }

  protected end(): void {
    this.#stop.abort();
  }

  async #read(named: () => void, failed: (error: Error) => void): Promise<void> {
    try {
      const headers = { ...this.#target.headers, Accept: 'text/event-stream' };
      const response = await this.#fetch(this.#target.url, { headers, signal: this.#stop.signal });
      if (!response.ok || response.body === null) {
        await response.body?.cancel();
        throw new HttpStatusError(response.status, { unsent: true });
      }
      for await (const { event, data } of readEvents(response.body, MAX_MESSAGE_BYTES)) {
        if (event === 'endpoint') {
          this.#endpoint = this.#sameOrigin(data);
          named();
        } else if (event === 'message') this.take(data);
      }
      this.broken('the upstream closed its stream');
    } catch (error) {
      const known = error instanceof UpstreamError;
      const failure = known ? error : new UpstreamError('the upstream cannot be reached', { unsent: true });
      failed(failure);
      this.broken(failure.message);
    }
  }

  #sameOrigin(path: string): string {
    const url = new URL(path, this.#target.url);
    if (url.origin !== new URL(this.#target.url).origin)
      throw new UpstreamError('the upstream named a foreign endpoint');
    return url.href;
  }
}
