// What tools say about themselves (MCP's annotations), for conditions that read it. It is taken from the accepted
// definition, of which the transaction reads the digest; the text of a digest never changes, so it is remembered.

import { isObject, type JsonObject } from '../../core/wire/json.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { bothDefinitions } from '../../store/tool-definitions.ts';
import type { DefinitionFacts } from './facts.ts';
import type { CheckRequest } from './request.ts';

const MOST_KEPT = 10_000;

export class Annotations {
  /** By the digest of the definition. Groups share it, and each may empty it while another waits for the store. */
  readonly #kept = new Map<string, JsonObject | null>();
  readonly #found = new WeakMap<CheckRequest, JsonObject | null>();
  readonly #mostKept: number;

  constructor(mostKept = MOST_KEPT) {
    this.#mostKept = mostKept;
  }

  /** Must be called, in the transaction that decides them, before these requests are asked about. */
  async load(
    tx: Transaction,
    requests: readonly CheckRequest[],
    definitions: DefinitionFacts,
  ): Promise<void> {
    const unknown = new Map<CheckRequest, string>();
    for (const request of requests) {
      const digest = definitions.acceptedDigest(request);
      const kept = this.#kept.get(digest ?? '');
      if (kept !== undefined) this.#found.set(request, kept);
      else if (digest !== null) unknown.set(request, digest);
    }
    if (unknown.size === 0) return;
    const read = await readAnnotations(tx, [...unknown.keys()]);
    for (const [request, digest] of unknown) this.#found.set(request, read.get(digest) ?? null);
    if (this.#kept.size > this.#mostKept) this.#kept.clear();
    for (const [digest, annotations] of read) this.#kept.set(digest, annotations);
  }

  /** Null where no definition is known, or where it has no annotations. */
  of(request: CheckRequest): JsonObject | null {
    return this.#found.get(request) ?? null;
  }
}

/** By the digest of the definition. */
async function readAnnotations(
  tx: Transaction,
  requests: readonly CheckRequest[],
): Promise<Map<string, JsonObject | null>> {
  const ids = new Set(requests.flatMap(each => each.connectedTool?.id ?? []));
  const names = new Set(requests.map(each => each.call.toolName));
  const read = new Map<string, JsonObject | null>();
  for (const row of await bothDefinitions(tx, [...ids], [...names])) {
    read.set(row.digest, annotationsIn(row.definition));
    if (row.changedDigest !== null && row.changedDefinition !== null)
      read.set(row.changedDigest, annotationsIn(row.changedDefinition));
  }
  return read;
}

function annotationsIn(definition: string): JsonObject | null {
  const { annotations } = JSON.parse(definition);
  return isObject(annotations) ? annotations : null;
}
