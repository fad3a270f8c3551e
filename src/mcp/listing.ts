// The tools of a key: the union of what its Connected Tools offer, in a stable order, each under a name that
// model APIs take. A call's name is looked up in this table, never taken apart. What an upstream offered before
// is remembered in the store, so that a tool stays known while its upstream is down.

import { createHash } from 'node:crypto';
import { type Json, parseJson, writeJson } from '../core/json.ts';
import { joinName, toolNameFault } from '../core/name.ts';
import { compareDefinitions } from '../guard/connected-tools.ts';
import type { Guard } from '../guard/guard.ts';
import { listDefinitions } from '../store/connected-tools.ts';
import type { Hub } from './hub.ts';
import type { JsonObject } from './protocol.ts';
import { exposedDefinition } from './schema.ts';
import type { Upstream } from './upstream.ts';

const LIST_MS = 10_000;

export interface KnownTool {
  exposedName: string;
  serverName: string;
  toolName: string;
  upstream: Upstream;
  /** As the upstream shows it. */
  definition: JsonObject;
}

interface Known {
  tools: KnownTool[];
  /** The upstream's own count when they were listed. */
  changes: number;
}

export class Listing {
  readonly #guard: Guard;
  readonly #hub: Hub;
  readonly #onError: (upstream: Upstream, error: unknown) => void;
  readonly #strict: boolean;
  /** Per upstream; replaced whole by every listing. */
  readonly #tools = new WeakMap<Upstream, Known>();
  #tables = new WeakMap<Upstream[], Map<string, KnownTool>>();

  /** `strict`: calls depend on whether definitions changed, so none is made by what was remembered. */
  constructor(
    guard: Guard,
    hub: Hub,
    strict: boolean,
    onError: (upstream: Upstream, error: unknown) => void,
  ) {
    this.#guard = guard;
    this.#hub = hub;
    this.#strict = strict;
    this.#onError = onError;
  }

  /** Asks all upstreams at once; one that fails is left out and fails no other. */
  async list(keyId: string): Promise<KnownTool[]> {
    const upstreams = await this.#hub.of(keyId);
    const lists = await Promise.all(upstreams.map(each => this.#read(each)));
    return distinct(lists.flat());
  }

  /** The tool behind a name that clients see; null when no Connected Tool of the key has it. */
  async find(keyId: string, exposedName: string): Promise<KnownTool | null> {
    const upstreams = await this.#hub.of(keyId);
    for (const each of upstreams) await this.#refresh(each);
    const found = this.#table(upstreams).get(exposedName);
    if (found !== undefined) return found;
    return (await this.list(keyId)).find(each => each.exposedName === exposedName) ?? null;
  }

  /** Asks an upstream that may offer something else by now; one that cannot be asked keeps what is known of it. */
  async #refresh(upstream: Upstream): Promise<void> {
    const known = this.#tools.get(upstream);
    if (known !== undefined && known.changes === upstream.changes) return;
    if (known === undefined) await this.#recall(upstream);
    if (known !== undefined || this.#strict) await this.#read(upstream);
  }

  /** Made anew when the key's upstreams or what they offer has changed. */
  #table(upstreams: Upstream[]): Map<string, KnownTool> {
    const kept = this.#tables.get(upstreams);
    if (kept !== undefined) return kept;
    const tools = distinct(upstreams.flatMap(each => this.#tools.get(each)?.tools ?? []));
    const table = new Map(tools.map(each => [each.exposedName, each]));
    this.#tables.set(upstreams, table);
    return table;
  }

  /** Asks one upstream now; for operators. */
  async test(upstream: Upstream): Promise<{ ok: boolean; error: string | null; tools: string[] }> {
    upstream.retryNow();
    const tools = await this.#read(upstream);
    const { state, error } = upstream.health;
    return { ok: state === 'ready', error, tools: tools.map(each => each.exposedName) };
  }

  async #read(upstream: Upstream): Promise<KnownTool[]> {
    const cancel = new AbortController();
    // For all pages together.
    const timer = setTimeout(() => cancel.abort(), LIST_MS);
    try {
      const definitions = (await upstream.list('tools/list', 'tools', { cancel, timeoutMs: LIST_MS })).filter(
        each => typeof each['name'] === 'string' && toolNameFault(each['name']) === null,
      );
      const seen = definitions.map(each => ({
        toolName: each['name'] as string,
        definition: writeJson(each),
      }));
      await compareDefinitions(this.#guard, upstream.tool, seen);
      const tools = definitions.map(each => known(upstream, each));
      this.#remember(upstream, tools);
      return tools;
    } catch (error) {
      this.#onError(upstream, error);
      return [];
    } finally {
      clearTimeout(timer);
    }
  }

  /** What the upstream offered when it was last asked, by any replica. */
  async #recall(upstream: Upstream): Promise<void> {
    const rows = await listDefinitions(this.#guard.db, upstream.tool.id);
    const tools = rows.map(row =>
      known(upstream, parseJson(row.changedDefinition ?? row.definition) as JsonObject),
    );
    this.#remember(upstream, tools);
  }

  #remember(upstream: Upstream, tools: KnownTool[]): void {
    this.#tools.set(upstream, { tools, changes: upstream.changes });
    this.#tables = new WeakMap();
  }
}

function known(upstream: Upstream, definition: JsonObject): KnownTool {
  const serverName = upstream.tool.name;
  const toolName = definition['name'] as string;
  return {
    exposedName: exposedName(joinName(serverName, toolName)),
    serverName,
    toolName,
    upstream,
    definition,
  };
}

const MAX_NAME = 64;
const HASH_CHARS = 10;

/**
 * The full name; only where model APIs would refuse it (a character outside `[A-Za-z0-9_-]`, more than 64 in
 * all) is it adapted, with a hash of the whole, so that it stays the same and no two tools share it.
 */
export function exposedName(fullName: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(fullName)) return fullName;
  const hash = createHash('sha256').update(fullName).digest('hex').slice(0, HASH_CHARS);
  const plain = fullName.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, MAX_NAME - HASH_CHARS - 1);
  return `${plain}_${hash}`;
}

/** An upstream may list a name twice: the first stands. */
function distinct(tools: readonly KnownTool[]): KnownTool[] {
  const seen = new Set<string>();
  return tools.filter(({ exposedName }) => !seen.has(exposedName) && seen.add(exposedName));
}

/** A tool as clients see it. */
export function shown(tool: KnownTool): Json {
  return exposedDefinition(tool.definition, tool.exposedName);
}
