// What one upstream offers: asked once for all who wait, remembered in the store, so that a tool stays known while
// its upstream is down. A reading that failed is remembered too, for some seconds, so that an upstream which hangs
// is not waited for again and again. Who may wait for whom is listing.ts's.

import { createHash } from 'node:crypto';
import { GuardError } from '../core/errors.ts';
import { type JsonObject, parseJson } from '../core/json.ts';
import { joinName, toolNameFault } from '../core/name.ts';
import { compareDefinitions } from '../guard/connected-tools.ts';
import type { Deps } from '../guard/deps.ts';
import { listDefinitions } from '../store/connected-tools.ts';
import { listAll } from './pages.ts';
import { UpstreamTimeout } from './time-limit.ts';
import type { Upstream } from './upstream.ts';
import { UpstreamError } from './wire.ts';

/** For all pages together. */
const LIST_MS = 10_000;
const TOO_SLOW = 'the upstream did not list its tools within 10 s';
/** An upstream that says nothing of a change is not asked again within this time. */
const AGAIN_MS = 5000;

export interface KnownTool {
  exposedName: string;
  serverName: string;
  toolName: string;
  upstream: Upstream;
  /** As the upstream shows it. */
  definition: JsonObject;
}

/** The last time that an upstream was asked, and what came of it. */
interface Reading {
  at: number;
  /** The upstream's own count of changes before it answered. */
  changes: number;
  error: Error | null;
}

export class Offered {
  readonly #deps: Deps;
  readonly #upstream: Upstream;
  readonly #onError: (upstream: Upstream, error: unknown) => void;
  /** By the name that clients see; null before the store was asked. Replaced whole by every reading. */
  #tools: Map<string, KnownTool> | null = null;
  #reading: Promise<void> | null = null;
  #last: Reading | null = null;

  constructor(deps: Deps, upstream: Upstream, onError: (upstream: Upstream, error: unknown) => void) {
    this.#deps = deps;
    this.#upstream = upstream;
    this.#onError = onError;
  }

  get tools(): KnownTool[] {
    return [...(this.#tools?.values() ?? [])];
  }

  /** Why it could not be read when it was last asked, for people. */
  get fault(): string | null {
    const error = this.#last?.error ?? null;
    if (error === null) return null;
    const told = error instanceof UpstreamError || error instanceof GuardError;
    return told ? error.message : 'the list of its tools could not be taken in';
  }

  /** The upstream's own count of changes when it was last asked; calls may depend on it. */
  get changes(): number | null {
    return this.#last?.changes ?? null;
  }

  /** It was read, and has not said since that anything changed. */
  get current(): boolean {
    return this.#last !== null && this.#last.error === null && this.#last.changes === this.#upstream.changes;
  }

  /** By what is known here, or what it offered when any replica last asked it: waits for the store at most. */
  async find(exposedName: string): Promise<KnownTool | null> {
    if (this.#tools === null) await this.#recall();
    return this.#tools?.get(exposedName) ?? null;
  }

  /** Asks now, or waits with whoever asks already. Never rejects: `fault` says what went wrong. */
  read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** Asks, unless it was asked a moment ago and has not said since that anything changed. */
  async refresh(): Promise<void> {
    const last = this.#last;
    const lately = last !== null && performance.now() - last.at < AGAIN_MS;
    if (!lately || last.changes !== this.#upstream.changes) await this.read();
  }

  /** Leaves it either current or with a fault: also where it was connected anew, or what was read had begun before. */
  async confirm(): Promise<void> {
    await this.#upstream.reach(AbortSignal.timeout(LIST_MS)).catch(() => {});
    for (let tries = 0; tries < 2 && !this.current; tries++) await this.refresh();
  }

  async #readOnce(): Promise<void> {
    const cancel = new AbortController();
    const timer = setTimeout(() => cancel.abort(new UpstreamTimeout(TOO_SLOW)), LIST_MS);
    let { changes } = this.#upstream;
    let error: Error | null = null;
    try {
      await this.#upstream.reach(cancel.signal);
      changes = this.#upstream.changes;
      const items = await listAll(this.#upstream, 'tools/list', 'tools', { cancel, timeoutMs: LIST_MS });
      this.#keep(await this.#recorded(items));
    } catch (thrown) {
      error = thrown as Error;
      this.#onError(this.#upstream, error);
    } finally {
      clearTimeout(timer);
      this.#last = { at: performance.now(), changes, error };
    }
  }

  /** The tools among the items, written down as seen. */
  async #recorded(items: JsonObject[]): Promise<KnownTool[]> {
    const definitions = items.filter(
      each => typeof each['name'] === 'string' && toolNameFault(each['name']) === null,
    );
    const seen = definitions.map(each => ({ toolName: each['name'] as string, definition: each }));
    await compareDefinitions(this.#deps, this.#upstream.tool, seen);
    return definitions.map(each => this.#known(each));
  }

  async #recall(): Promise<void> {
    const rows = await listDefinitions(this.#deps.db, this.#upstream.tool.id);
    const tools = rows.map(row =>
      this.#known(parseJson(row.changedDefinition ?? row.definition) as JsonObject),
    );
    // What was read meanwhile is newer.
    if (this.#tools === null) this.#keep(tools);
  }

  /** An upstream may list a name twice: the first stands. */
  #keep(tools: readonly KnownTool[]): void {
    const kept = new Map<string, KnownTool>();
    for (const tool of tools) if (!kept.has(tool.exposedName)) kept.set(tool.exposedName, tool);
    this.#tools = kept;
  }

  #known(definition: JsonObject): KnownTool {
    const upstream = this.#upstream;
    const serverName = upstream.tool.name;
    const toolName = definition['name'] as string;
    const name = exposedName(joinName(serverName, toolName));
    return { exposedName: name, serverName, toolName, upstream, definition };
  }
}

const MAX_NAME = 64;
const HASH_CHARS = 10;

/**
 * The full name; only where model APIs would refuse it (a character outside `[A-Za-z0-9_-]`, more than 64 in
 * all) is it adapted, with a hash of the whole, so that it stays the same and no two tools share it.
 */
function exposedName(fullName: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(fullName)) return fullName;
  const hash = createHash('sha256').update(fullName).digest('hex').slice(0, HASH_CHARS);
  const plain = fullName.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, MAX_NAME - HASH_CHARS - 1);
  return `${plain}_${hash}`;
}
