// Remembers which calls counted against a limit when they were last decided, so that the next ones join the groups of
// metered calls at once. It is only a guess: whichever group a call joins, the transaction finds out what applies to it.

import type { CheckRequest } from './request.ts';

const MOST_KEPT = 10_000;

export class MeteredCalls {
  readonly #known = new Set<string>();

  has(request: CheckRequest): boolean {
    return this.#known.size > 0 && this.#known.has(nameOf(request));
  }

  note(request: CheckRequest, metered: boolean): void {
    if (!metered) {
      if (this.#known.size > 0) this.#known.delete(nameOf(request));
      return;
    }
    if (this.#known.size >= MOST_KEPT) this.#known.clear();
    this.#known.add(nameOf(request));
  }
}

function nameOf({ principal, call }: CheckRequest): string {
  return `${principal.keyId} ${call.serverName}\n${call.toolName}`;
}
