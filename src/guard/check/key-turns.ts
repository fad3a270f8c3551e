// In which order a group works on calls when it may not get to all of them: first on one call of each key, then on the
// second ones. Keys whose turn is longest ago come first, so that no key waits for the calls of another, however many
// groups that takes.

import type { CheckRequest } from './request.ts';

export class KeyTurns {
  /** The keys that had their turn while calls of others were left for a later group, the longest ago first. */
  readonly #had = new Set<string>();

  /** The places of the requests in the order of their turns. The calls of one key stay in their order. */
  order(requests: readonly CheckRequest[]): readonly number[] {
    const turns: number[][] = [];
    const seen = new Map<string, number>();
    requests.forEach(({ principal: { keyId } }, index) => {
      const turn = seen.get(keyId) ?? 0;
      seen.set(keyId, turn + 1);
      turns[turn] ??= [];
      turns[turn].push(index);
    });
    if (this.#had.size === 0) return turns.flat();
    const ranks = new Map(Array.from(this.#had, (keyId, rank) => [keyId, rank]));
    const rankOf = (index: number) => ranks.get(requests[index]?.principal.keyId ?? '') ?? -1;
    return turns.flatMap(turn => turn.sort((a, b) => rankOf(a) - rankOf(b)));
  }

  /** Remembers whose calls were worked on, in that order, if others were left for a later group. */
  took(worked: readonly CheckRequest[], othersWait: boolean): void {
    if (!othersWait) {
      this.#had.clear();
      return;
    }
    for (const { principal } of worked) {
      this.#had.delete(principal.keyId);
      this.#had.add(principal.keyId);
    }
  }
}
