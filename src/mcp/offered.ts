// What one upstream offers. The upstream is asked once for all who wait, and its answer is remembered in the store, so
// that a tool stays known while its upstream is down. A failed reading is remembered for some seconds too, so that an
// upstream that hangs is not waited for again and again. listing.ts says which request waits for which upstream, and under
// which names a key sees the tools.

import { lookAt } from '../core/definitions/look.ts';
import { GuardError } from '../core/errors.ts';
import { toolNameFault } from '../core/text/name.ts';
import { type JsonObject, parseJson } from '../core/wire/json.ts';
import type { Deps } from '../guard/deps.ts';
import { compareDefinitions, definitionDigest } from '../guard/tool-servers/definitions.ts';
import { listDefinitions } from '../store/tool-definitions.ts';
import { NamedTools, type OfferedTool } from './named-tools.ts';
import { listAll } from './pages.ts';
import { isPersonal, SignInFirst } from './sign-in.ts';
import { UpstreamTimeout } from './time-limit.ts';
import type { Upstream } from './upstream.ts';
import { UpstreamError } from './wire.ts';

/** The time for all pages together. */
const LIST_MS = 10_000;
const TOO_SLOW = 'the upstream did not list its tools within 10 s';
/** An upstream that reports no change is not asked again within this time. */
const AGAIN_MS = 5000;

/** When an upstream was last asked, and with what result. */
interface Reading {
  at: number;
  /** The upstream's count of changes before it answered. */
  changes: number;
  error: Error | null;
}

export class Offered {
  readonly #deps: Deps;
  readonly #upstream: Upstream;
  readonly #onError: (upstream: Upstream, error: unknown) => void;
  /** The tools by the names that clients see; null before the store was asked. Every reading replaces them all. */
  #tools: NamedTools | null = null;
  /** The length of their definitions, as JSON. */
  bytes = 0;
  #reading: Promise<void> | null = null;
  #last: Reading | null = null;

  constructor(deps: Deps, upstream: Upstream, onError: (upstream: Upstream, error: unknown) => void) {
    this.#deps = deps;
    this.#upstream = upstream;
    this.#onError = onError;
  }

  /** The tools with their names for clients that know the upstream as `serverName`. */
  tools(serverName: string): [exposedName: string, OfferedTool][] {
    return [...(this.#tools?.under(serverName) ?? [])];
  }

  /** Whether the last reading failed because somebody has to sign in first. */
  get unsigned(): boolean {
    return this.#last?.error instanceof SignInFirst;
  }

  /** Why the last reading failed, in words for people; null when it did not. */
  get fault(): string | null {
    const error = this.#last?.error ?? null;
    if (error === null) return null;
    const forPeople = error instanceof UpstreamError || error instanceof GuardError;
    return forPeople ? error.message : 'the list of its tools could not be taken in';
  }

  /** The upstream's count of changes at the last reading; calls may depend on it. */
  get changes(): number | null {
    return this.#last?.changes ?? null;
  }

  /** Whether the last reading succeeded and the upstream has reported no change since. */
  get current(): boolean {
    return this.#last !== null && this.#last.error === null && this.#last.changes === this.#upstream.changes;
  }

  /** Looks in memory, or in the store for what any replica read last. It never waits for the upstream. */
  async find(serverName: string, exposedName: string): Promise<OfferedTool | null> {
    if (this.#tools === null) await this.#recall();
    return this.#tools?.under(serverName).get(exposedName) ?? null;
  }

  /** Asks the upstream now, or joins a reading that is under way. It never rejects: `fault` says what went wrong. */
  read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** Asks the upstream, unless it was asked within the last seconds and has reported no change since. */
  async refresh(): Promise<void> {
    const last = this.#last;
    // Somebody may have signed in since; as long as nobody has, the upstream is not asked.
    const lately = last !== null && !this.unsigned && performance.now() - last.at < AGAIN_MS;
    if (!lately || last.changes !== this.#upstream.changes) await this.read();
  }

  /** Makes it current or gives it a fault, also after a reconnection, or if the reading under way began too early. */
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
      const asking = { cancel, timeoutMs: LIST_MS };
      const { items, bytes } = await listAll(this.#upstream, 'tools/list', 'tools', asking);
      this.#keep(await this.#recorded(items), bytes);
    } catch (thrown) {
      error = thrown as Error;
      if (!(error instanceof SignInFirst)) this.#onError(this.#upstream, error);
    } finally {
      clearTimeout(timer);
      this.#last = { at: performance.now(), changes, error };
    }
  }

  /** Records the tools among the items in the store, as they were seen. */
  async #recorded(items: JsonObject[]): Promise<OfferedTool[]> {
    const definitions = items.filter(
      each => typeof each['name'] === 'string' && toolNameFault(each['name']) === null,
    );
    const seen = definitions.map(each => ({ toolName: each['name'] as string, definition: each }));
    await compareDefinitions(this.#deps, this.#upstream.source, seen);
    return definitions.map(each => this.#known(each));
  }

  /**
   * The store has what anybody was shown, so for a person's own connection nothing is recalled: a server may show other
   * tools to other people.
   */
  async #recall(): Promise<void> {
    if (isPersonal(this.#upstream.source)) return;
    const rows = await listDefinitions(this.#deps.db, this.#upstream.source.sourceId);
    const texts = rows.map(row => row.changedDefinition ?? row.definition);
    const tools = texts.map(text => this.#known(parseJson(text) as JsonObject));
    const bytes = texts.reduce((sum, text) => sum + text.length, 0);
    // A reading that ended meanwhile is newer.
    if (this.#tools === null) this.#keep(tools, bytes);
  }

  #keep(tools: readonly OfferedTool[], bytes: number): void {
    this.bytes = bytes;
    this.#tools = new NamedTools(tools);
  }

  #known(definition: JsonObject): OfferedTool {
    const known = { toolName: definition['name'] as string, definition };
    if (!isPersonal(this.#upstream.source)) return known;
    return { ...known, shownDigest: definitionDigest(definition), shownLook: lookAt(definition) };
  }
}
