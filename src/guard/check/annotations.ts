// What tools say about themselves (MCP's annotations), for conditions that read it. It is taken from the accepted
// definition, of which the transaction reads the digest; the text of a digest never changes, so it is remembered.

import { isObject, type JsonObject } from '../../core/json.ts';
import { acceptedDefinitions } from '../../store/connected-tools.ts';
import type { Transaction } from '../../store/db.ts';
import { DefinitionFacts } from './facts.ts';
import type { CheckRequest } from './request.ts';

const MOST_KEPT = 10_000;

export class Annotations {
  /** By the digest of the definition. */
  readonly #kept = new Map<string, JsonObject | null>();
  readonly #digests = new WeakMap<CheckRequest, string>();

  /** Must be called, in the transaction that decides them, before these requests are asked about. */
  async load(tx: Transaction, requests: readonly CheckRequest[]): Promise<void> {
    const definitions = await DefinitionFacts.read(tx, requests);
    const unknown: CheckRequest[] = [];
    for (const request of requests) {
      const digest = definitions.acceptedDigest(request);
      if (digest === null) continue;
      this.#digests.set(request, digest);
      if (!this.#kept.has(digest)) unknown.push(request);
    }
    if (unknown.length === 0) return;
    if (this.#kept.size > MOST_KEPT) this.#kept.clear();
    const ids = unknown.flatMap(each => each.connectedToolId ?? []);
    const names = unknown.map(each => each.call.toolName);
    for (const { digest, definition } of await acceptedDefinitions(
      tx,
      [...new Set(ids)],
      [...new Set(names)],
    ))
      this.#kept.set(digest, annotationsIn(definition));
  }

  /** Null where no definition is known, or where it has no annotations. */
  of(request: CheckRequest): JsonObject | null {
    return this.#kept.get(this.#digests.get(request) ?? '') ?? null;
  }
}

function annotationsIn(definition: string): JsonObject | null {
  const { annotations } = JSON.parse(definition);
  return isObject(annotations) ? annotations : null;
}
