// What one upstream offers. The upstream is asked once for all who wait, and its answer is remembered in the store, so
// that a tool stays known while its upstream is down. A failed reading is remembered for some seconds too, so that an
// upstream that hangs is not waited for again and again. listing.ts says which request waits for which upstream.

import { createHash } from 'node:crypto';
import { type Look, lookAt } from '../core/definitions/look.ts';
import { GuardError } from '../core/errors.ts';
import { joinName, toolNameFault } from '../core/text/name.ts';
import { type JsonObject, parseJson } from '../core/wire/json.ts';
import type { Deps } from '../guard/deps.ts';
import { compareDefinitions, definitionDigest } from '../guard/tool-servers/definitions.ts';
import { listDefinitions } from '../store/tool-definitions.ts';
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

export interface KnownTool {
  exposedName: string;
  serverName: string;
  toolName: string;
  upstream: Upstream;
  /** The definition as the upstream shows it. */
  definition: JsonObject;
  /** Its digest, where one person may be shown another definition than others. */
  shownDigest?: string;
  /** What is known of that definition. */
  shownLook?: Look;
  /**
   * Set if somebody has to sign in to the server before a call can be sent. The call is checked nevertheless. `unlisted`:
   * no list is known yet, so the name is taken as it is, and nothing is known about the tool.
   */
  unsigned?: 'listed' | 'unlisted';
}

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
  /** The tools by the name that clients see; null before the store was asked. Every reading replaces the whole map. */
  #tools: Map<string, KnownTool> | null = null;
  /** The length of their definitions, as JSON. */
  bytes = 0;
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
  async find(exposedName: string): Promise<KnownTool | null> {
    if (this.#tools === null) await this.#recall();
    return this.#tools?.get(exposedName) ?? null;
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
  async #recorded(items: JsonObject[]): Promise<KnownTool[]> {
    const definitions = items.filter(
      each => typeof each['name'] === 'string' && toolNameFault(each['name']) === null,
    );
    const seen = definitions.map(each => ({ toolName: each['name'] as string, definition: each }));
    await compareDefinitions(this.#deps, this.#upstream.tool, seen);
    return definitions.map(each => this.#known(each));
  }

  /**
   * The store has what anybody was shown, so for a person's own connection nothing is recalled: a server may show other
   * tools to other people.
   */
  async #recall(): Promise<void> {
    if (isPersonal(this.#upstream.tool)) return;
    const rows = await listDefinitions(this.#deps.db, this.#upstream.tool.id);
    const texts = rows.map(row => row.changedDefinition ?? row.definition);
    const tools = texts.map(text => this.#known(parseJson(text) as JsonObject));
    const bytes = texts.reduce((sum, text) => sum + text.length, 0);
    // A reading that ended meanwhile is newer.
    if (this.#tools === null) this.#keep(tools, bytes);
  }

  /** If an upstream lists a name twice, the first one counts. */
  #keep(tools: readonly KnownTool[], bytes: number): void {
    this.bytes = bytes;
    const kept = new Map<string, KnownTool>();
    for (const tool of tools) if (!kept.has(tool.exposedName)) kept.set(tool.exposedName, tool);
    this.#tools = kept;
  }

  #known(definition: JsonObject): KnownTool {
    const upstream = this.#upstream;
    const serverName = upstream.tool.name;
    const toolName = definition['name'] as string;
    const name = exposedName(joinName(serverName, toolName));
    const known = { exposedName: name, serverName, toolName, upstream, definition };
    if (!isPersonal(upstream.tool)) return known;
    return { ...known, shownDigest: definitionDigest(definition), shownLook: lookAt(definition) };
  }
}

/** The tool behind a name of which no list is known. Null if no tool can have this name. */
export function unlisted(upstream: Upstream, exposedName: string): KnownTool | null {
  const serverName = upstream.tool.name;
  const toolName = exposedName.slice(joinName(serverName, '').length);
  if (toolNameFault(toolName) !== null) return null;
  return { exposedName, serverName, toolName, upstream, definition: {}, unsigned: 'unlisted' };
}

const MAX_NAME = 64;
const HASH_CHARS = 10;

/**
 * The full name, as long as model APIs accept it. A name with a character outside `[A-Za-z0-9_-]`, or with more than 64
 * characters, is shortened and given a hash of the whole, so that it stays the same, and two tools do not get the same
 * name.
 */
function exposedName(fullName: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(fullName)) return fullName;
  const hash = createHash('sha256').update(fullName).digest('hex').slice(0, HASH_CHARS);
  const plain = fullName.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, MAX_NAME - HASH_CHARS - 1);
  return `${plain}_${hash}`;
}
