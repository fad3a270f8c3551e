// The wire over the older HTTP transport: the upstream keeps one stream of events open, whose first event names the
// address to which messages are posted. That address has to be on the same origin.

import { HttpClient, headerLines, type Outgoing } from '../guard/outgoing/client/client.ts';
import type { IncomingResponse } from '../guard/outgoing/client/response.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import { Duplex } from './duplex.ts';
import { readEvents } from './event-stream.ts';
import { authorized } from './sign-in.ts';
import { type Hooks, HttpStatusError, MAX_MESSAGE_BYTES, UpstreamError } from './wire.ts';
import { callHeaders, type HttpTarget } from './wire-http.ts';

const POST_MS = 15_000;
const NOT_TAKEN = 'the upstream takes no messages';

export class SseWire extends Duplex {
  readonly #target: HttpTarget;
  readonly #http: HttpClient;
  readonly #stop = new AbortController();
  #endpoint: string | null = null;

  private constructor(target: HttpTarget, newRation: () => AnswerRation, isShared?: () => boolean) {
    super(newRation, isShared);
    this.#target = target;
    this.#http = new HttpClient(new URL(target.url).origin, target.rules);
  }

  /** Resolves once the upstream has named its endpoint. */
  static async open(
    target: HttpTarget,
    signal: AbortSignal,
    newRation: () => AnswerRation,
    isShared?: () => boolean,
  ): Promise<SseWire> {
    const wire = new SseWire(target, newRation, isShared);
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

  protected async write(text: string, hooks?: Hooks): Promise<void> {
    const own = hooks === undefined ? {} : callHeaders(this.#target, hooks);
    const headers = { ...this.#target.headers, ...own, 'Content-Type': 'application/json', Accept: '*/*' };
    const url = this.#endpoint ?? this.#target.url;
    const sending = this.#send('POST', url, headers, text, AbortSignal.timeout(POST_MS));
    const answer = await sending.catch(error => {
      throw error instanceof UpstreamError ? error : new UpstreamError(NOT_TAKEN, { cause: error });
    });
    await answer.body.cancel();
    if (!answer.ok) throw new HttpStatusError(answer.status);
  }

  #send(
    method: Outgoing['method'],
    url: string,
    headers: Record<string, string>,
    body: string | null,
    signal: AbortSignal,
  ): Promise<IncomingResponse> {
    const { pathname, search } = new URL(url);
    const path = pathname + search;
    const send = (all: Record<string, string>) =>
      this.#http.send({ method, path, headers: headerLines(all), body, signal });
    const { signIn } = this.#target;
    if (!signIn) return send(headers);
    return authorized(signIn, signal, Authorization => send({ ...headers, Authorization }));
  }

  protected end(): void {
    this.#stop.abort();
    this.#http.close();
  }

  async #read(named: () => void, failed: (error: Error) => void): Promise<void> {
    try {
      const headers = { ...this.#target.headers, Accept: 'text/event-stream' };
      const answer = await this.#send('GET', this.#target.url, headers, null, this.#stop.signal);
      if (!answer.ok) {
        answer.body.cancel();
        throw new HttpStatusError(answer.status, { unsent: true });
      }
      for await (const { event, data } of readEvents(answer.body, MAX_MESSAGE_BYTES)) {
        if (event === 'endpoint') {
          this.#endpoint = this.#sameOrigin(data);
          named();
        } else if (event === 'message') await this.take(data);
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
