// The requests that wait for the answer of any upstream, so that a stop of the service can give them up. Upstreams that
// were replaced while one of their requests was under way are included.

import { Stopping, UpstreamError } from './wire.ts';

export class UnderWay {
  readonly #cancels = new Set<AbortController>();
  #isOver = false;

  /** Throws once the service has given up waiting. */
  begin(cancel: AbortController): void {
    if (this.#isOver) throw new UpstreamError('the service is stopping, so it was not sent');
    this.#cancels.add(cancel);
  }

  end(cancel: AbortController): void {
    this.#cancels.delete(cancel);
  }

  giveUp(): void {
    this.#isOver = true;
    for (const cancel of this.#cancels) cancel.abort(new Stopping());
  }
}
