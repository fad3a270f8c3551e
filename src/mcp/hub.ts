// Which Connected Tools the keys in use on this replica have, and who listens for changes of them. The store says which
// there are; upstreams.ts has the connections to their servers, of which keys that share a server share one.

import type { Deps } from '../guard/deps.ts';
import { onHint } from '../guard/hints.ts';
import { type ConnectedTool, listConnectedTools } from '../store/connected-tools.ts';
import { findToolServer, type ToolServer } from '../store/tool-servers.ts';
import { isPersonal } from './sign-in.ts';
import { UnderWay } from './under-way.ts';
import type { Upstream } from './upstream.ts';
import { UPSTREAM_CONDITIONS, type UpstreamCondition } from './upstream-health.ts';
import { type UpstreamSettings, Upstreams } from './upstreams.ts';

/** How long the list of a key's Connected Tools is used without asking the store again. */
const BELIEVED_MS = 2000;
const IDLE_MS = 10 * 60_000;
const IDLE_CHECK_MS = 30_000;
const LONG_AGO = Number.NEGATIVE_INFINITY;

/** A Connected Tool of a key, and the upstream of its server, which other keys may have too. */
export interface Connected<Tool = ConnectedTool> {
  tool: Tool;
  upstream: Upstream;
}

interface KeyTools {
  tools: ConnectedTool[];
  /** When the store was asked for them; before all time if they are not believed any more. */
  readAt: number;
  usedAt: number;
}

export class Hub {
  readonly #deps: Deps;
  readonly #upstreams: Upstreams;
  readonly #keys = new Map<string, KeyTools>();
  /** The keys in memory that have a server, by the id of the source. */
  readonly #having = new Map<string, Set<string>>();
  readonly #reading = new Map<string, Promise<KeyTools>>();
  /** How often something was doubted. */
  #doubts = 0;
  /** By key, and by key and person. */
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #requests = new UnderWay();
  readonly #idle: Timer;

  constructor(deps: Deps, settings: UpstreamSettings) {
    this.#deps = deps;
    const changed = (sourceId: string, personId: string | null) => this.#tellAll(sourceId, personId);
    this.#upstreams = new Upstreams(deps, settings, this.#requests, changed);
    this.#idle = setInterval(() => this.closeIdle(), IDLE_CHECK_MS);
    onHint(deps.db, 'tools', keyId => this.#changed(keyId));
    onHint(deps.db, 'tool-server', id => this.#serverChanged(id));
    onHint(deps.db, 'sign-in', about => this.#signedIn(about));
  }

  /**
   * The Connected Tools of a key, for one person or for a credential without a person, in the order of their names. For a
   * server to which everybody signs in for themselves, the upstream is that of the person.
   */
  async of(keyId: string, personId: string | null = null): Promise<Connected[]> {
    let known = this.#keys.get(keyId);
    if (known === undefined || performance.now() - known.readAt >= BELIEVED_MS)
      known = await this.#readForAll(keyId);
    else known.usedAt = this.#deps.now();
    return known.tools.map(tool => {
      const own = personId !== null && isPersonal(tool);
      return { tool, upstream: own ? this.#upstreams.ofPerson(tool, personId) : this.#upstreams.of(tool) };
    });
  }

  /** Asks the store now for one of them. */
  async find(keyId: string, toolId: string): Promise<Connected | null> {
    const { tools } = await this.#read(keyId);
    const tool = tools.find(each => each.id === toolId);
    return tool === undefined ? null : { tool, upstream: this.#upstreams.of(tool) };
  }

  /** Asks the store now for a tool server that keys share. */
  async findServer(id: string): Promise<Connected<ToolServer> | null> {
    const tool = await findToolServer(this.#deps.db, id);
    return tool === null ? null : { tool, upstream: this.#upstreams.of(tool) };
  }

  /** What is known of a key's Connected Tools is not believed any more: whoever wants them next asks the store. */
  doubt(keyId: string): void {
    this.#doubts++;
    this.#reading.delete(keyId);
    const doubted = this.#keys.get(keyId);
    if (doubted !== undefined) doubted.readAt = LONG_AGO;
  }

  /**
   * Calls `listener` when the tools that this person, or a credential without one, can see may have changed. Returns the
   * function that stops it.
   */
  onListChanged(keyId: string, listener: () => void, personId: string | null = null): () => void {
    const names = personId === null ? [keyId] : [keyId, `${keyId} ${personId}`];
    for (const name of names)
      this.#listeners.set(name, (this.#listeners.get(name) ?? new Set()).add(listener));
    return () => {
      for (const name of names) {
        const listeners = this.#listeners.get(name);
        listeners?.delete(listener);
        if (listeners?.size === 0) this.#listeners.delete(name);
      }
    };
  }

  #tell(keyId: string, personId: string | null): void {
    const name = personId === null ? keyId : `${keyId} ${personId}`;
    for (const listener of this.#listeners.get(name) ?? []) listener();
  }

  /** Tells all keys that have this server. */
  #tellAll(sourceId: string, personId: string | null): void {
    for (const keyId of this.#having.get(sourceId) ?? []) this.#tell(keyId, personId);
  }

  /** Gives up the requests under way, and further ones: the service stops, and waits for none of them any longer. */
  giveUp(): void {
    this.#requests.giveUp();
    // This wakes the calls that wait until somebody signs in, so that they notice the stop.
    for (const listeners of this.#listeners.values()) for (const listener of [...listeners]) listener();
  }

  close(): void {
    clearInterval(this.#idle);
    this.#upstreams.close();
    this.#keys.clear();
    this.#having.clear();
  }

  /** One reading serves all who ask while it is under way: the members of a batch ask at once. */
  #readForAll(keyId: string): Promise<KeyTools> {
    const underWay = this.#reading.get(keyId);
    if (underWay !== undefined) return underWay;
    const reading = this.#read(keyId).finally(() => {
      if (this.#reading.get(keyId) === reading) this.#reading.delete(keyId);
    });
    this.#reading.set(keyId, reading);
    return reading;
  }

  async #read(keyId: string): Promise<KeyTools> {
    const doubts = this.#doubts;
    const begunAt = performance.now();
    const tools = await listConnectedTools(this.#deps.db, keyId);
    const known = this.#keys.get(keyId);
    // Another reading began later and has ended sooner.
    if (known !== undefined && known.readAt > begunAt) return known;
    const read = { tools, readAt: doubts === this.#doubts ? begunAt : LONG_AGO, usedAt: this.#deps.now() };
    this.#keys.set(keyId, read);
    for (const tool of tools) {
      this.#having.set(tool.sourceId, (this.#having.get(tool.sourceId) ?? new Set()).add(keyId));
      // The connection to a server that was changed is closed at once.
      this.#upstreams.of(tool);
    }
    for (const gone of known?.tools ?? []) {
      if (tools.some(each => each.sourceId === gone.sourceId)) continue;
      this.#hasNot(keyId, gone.sourceId);
      if (gone.toolServerId === null) this.#upstreams.forget(gone.sourceId);
    }
    return read;
  }

  #hasNot(keyId: string, sourceId: string): void {
    const having = this.#having.get(sourceId);
    having?.delete(keyId);
    if (having?.size === 0) this.#having.delete(sourceId);
  }

  /** Reads a key's Connected Tools again at once, so that no connection to a changed one stays open. */
  #changed(keyId: string): void {
    if (!this.#keys.has(keyId)) return;
    this.doubt(keyId);
    // If the store cannot be read now, the next request reads it.
    this.#read(keyId).then(
      () => this.#tell(keyId, null),
      () => {},
    );
  }

  /** A tool server that keys share was changed or removed. It is read once, and each key reads when it is next used. */
  #serverChanged(id: string): void {
    for (const keyId of this.#having.get(id) ?? []) this.doubt(keyId);
    if (!this.#upstreams.has(id)) return;
    this.findServer(id).then(
      found => {
        if (found === null) this.#upstreams.forget(id);
        this.#tellAll(id, null);
      },
      () => {},
    );
  }

  /** Somebody has signed in to a server, or out, so clients that see other tools now are notified. */
  #signedIn(about: string): void {
    const [keyId = '', sourceId = '', person = ''] = about.split(' ');
    const personId = person === '' ? null : person;
    this.#upstreams.signedIn(sourceId, personId);
    for (const each of new Set([keyId, ...(this.#having.get(sourceId) ?? [])])) this.#tell(each, personId);
  }

  /**
   * The server file declares these commands differently now. New calls use what it says; the connections of before are
   * closed.
   */
  redeclared(names: readonly string[]): void {
    for (const sourceId of this.#upstreams.redeclared(names)) this.#tellAll(sourceId, null);
  }

  /** How many keys are kept in memory. */
  get size(): number {
    return this.#keys.size;
  }

  /** How many upstreams of single people are kept in memory. */
  get personal(): number {
    return this.#upstreams.personal;
  }

  /** How many upstreams of this replica are in each condition, those of single people included. */
  conditions(): Record<UpstreamCondition, number> {
    const counts = Object.fromEntries(UPSTREAM_CONDITIONS.map(each => [each, 0]));
    for (const { condition } of this.#upstreams.all) counts[condition]!++;
    return counts as Record<UpstreamCondition, number>;
  }

  /**
   * Closes upstreams that nobody has used for a while, and forgets keys that have none open of their own, and no client
   * that listens.
   */
  closeIdle(): void {
    const before = this.#deps.now() - IDLE_MS;
    const inUse = this.#upstreams.closeIdle(before);
    for (const [keyId, { tools, usedAt }] of this.#keys) {
      const isUsed = tools.some(each => each.toolServerId === null && inUse.has(each.sourceId));
      if (usedAt >= before || isUsed || this.#listeners.has(keyId)) continue;
      this.#keys.delete(keyId);
      for (const { sourceId } of tools) this.#hasNot(keyId, sourceId);
    }
    this.#upstreams.keep(sourceId => inUse.has(sourceId) || this.#having.has(sourceId));
  }
}
