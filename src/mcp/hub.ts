// The upstreams of every key that is in use on this replica. Only the open connections live here: the store says which
// Connected Tools a key has. A server to which everybody signs in for themselves has one upstream for each person, so
// that nobody uses, or learns anything of, the connection of another.

import type { Deps } from '../guard/deps.ts';
import { onHint } from '../guard/hints.ts';
import type { TargetRules } from '../guard/outgoing/addresses.ts';
import type { Rations } from '../guard/rations/rations.ts';
import type { ServerSignIns } from '../guard/server-sign-ins/server-sign-ins.ts';
import { decryptHeaders } from '../guard/tool-servers/source-secrets.ts';
import type { StdioServers } from '../settings/stdio-servers.ts';
import { type ConnectedTool, listConnectedTools } from '../store/connected-tools.ts';
import { findToolServer } from '../store/tool-servers.ts';
import { isPersonal, type SignIn, signInTo } from './sign-in.ts';
import { UnderWay } from './under-way.ts';
import { NotDeclared, Upstream } from './upstream.ts';
import { UPSTREAM_CONDITIONS, type UpstreamCondition } from './upstream-health.ts';
import type { Wire } from './wire.ts';
import { HttpWire } from './wire-http.ts';
import { SseWire } from './wire-sse.ts';
import { StdioWire } from './wire-stdio.ts';

/** How long the list of a key's Connected Tools is used without asking the store again. */
const BELIEVED_MS = 2000;
const CONNECT_MS = 10_000;
/** How long a call waits for a command that is still starting. Clients and listings wait longer than this. */
const PATIENCE_MS = 9000;
const IDLE_MS = 10 * 60_000;
const IDLE_CHECK_MS = 30_000;
/** How many upstreams of single people are kept. Beyond it, those that are unused for the longest time are closed. */
const MAX_PERSONAL = 500;

interface HubSettings {
  rules: TargetRules;
  rations: Rations;
  /** The commands that the server file declares now. */
  stdioServers: StdioServers;
  stdioStderr: 'drop' | 'inherit';
  onStderrDropped: (bytes: number) => void;
  /** How long a command may take to start. */
  upstreamStart: number;
  serverSignIns: Pick<ServerSignIns, 'authorization' | 'refused'>;
  /** How many upstreams of single people are kept. */
  maxPersonal?: number;
}

interface KeyUpstreams {
  /**
   * For a server to which everybody signs in for themselves, this list has the upstream of credentials without a
   * person.
   */
  upstreams: Upstream[];
  hasPersonal: boolean;
  readAt: number;
  usedAt: number;
}

export class Hub {
  readonly #deps: Deps;
  readonly #settings: HubSettings;
  readonly #keys = new Map<string, KeyUpstreams>();
  readonly #reading = new Map<string, Promise<KeyUpstreams>>();
  /** The upstreams of tool servers that operators have looked at, by the ids of the servers. */
  readonly #servers = new Map<string, Upstream>();
  /** The upstreams of single people, by tool and person, the most recently used last. */
  readonly #personal = new Map<string, Upstream>();
  /** By key, and by key and person. */
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #requests = new UnderWay();
  readonly #idle: Timer;

  constructor(deps: Deps, settings: HubSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#idle = setInterval(() => this.closeIdle(), IDLE_CHECK_MS);
    onHint(deps.db, 'tools', keyId => this.#changed(keyId));
    onHint(deps.db, 'tool-server', id => this.#serverChanged(id));
    onHint(deps.db, 'sign-in', about => this.#signedIn(about));
  }

  /** The upstreams of a key for one person, or for a credential without a person, in the order of their names. */
  async of(keyId: string, personId: string | null = null): Promise<Upstream[]> {
    let known = this.#keys.get(keyId);
    if (known === undefined || performance.now() - known.readAt >= BELIEVED_MS)
      known = await this.#readForAll(keyId);
    else known.usedAt = this.#deps.now();
    const { upstreams, hasPersonal } = known;
    if (!hasPersonal || personId === null) return upstreams;
    return upstreams.map(each => (isPersonal(each.tool) ? this.#ofPerson(each.tool, personId) : each));
  }

  /** Asks the store now for one of them. */
  async find(keyId: string, toolId: string): Promise<Upstream | null> {
    return (await this.#read(keyId)).upstreams.find(each => each.tool.id === toolId) ?? null;
  }

  /** Asks the store now for a tool server that keys share. */
  async findServer(id: string): Promise<Upstream | null> {
    const row = await findToolServer(this.#deps.db, id);
    const before = this.#servers.get(id);
    const now = row && { ...row, keyId: '' };
    if (now !== null && before !== undefined && isSame(before.tool, now)) return before;
    if (before !== undefined) this.#forget(before);
    this.#servers.delete(id);
    if (now === null) return null;
    const upstream = this.#upstream(now, null);
    this.#servers.set(id, upstream);
    return upstream;
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

  /** Gives up the requests under way, and further ones: the service stops, and waits for none of them any longer. */
  giveUp(): void {
    this.#requests.giveUp();
    // This wakes the calls that wait until somebody signs in, so that they notice the stop.
    for (const listeners of this.#listeners.values()) for (const listener of [...listeners]) listener();
  }

  #all(): Upstream[] {
    const ofKeys = [...this.#keys.values()].flatMap(({ upstreams }) => upstreams);
    return [...ofKeys, ...this.#servers.values(), ...this.#personal.values()];
  }

  close(): void {
    clearInterval(this.#idle);
    for (const each of this.#all()) each.close();
    this.#keys.clear();
    this.#servers.clear();
    this.#personal.clear();
  }

  /** One reading serves all who ask while it is under way: the members of a batch ask at once. */
  #readForAll(keyId: string): Promise<KeyUpstreams> {
    const underWay = this.#reading.get(keyId);
    if (underWay !== undefined) return underWay;
    const reading = this.#read(keyId).finally(() => this.#reading.delete(keyId));
    this.#reading.set(keyId, reading);
    return reading;
  }

  async #read(keyId: string): Promise<KeyUpstreams> {
    const rows = await listConnectedTools(this.#deps.db, keyId);
    const before = this.#keys.get(keyId)?.upstreams ?? [];
    const upstreams = rows.map(
      row => before.find(each => isSame(each.tool, row)) ?? this.#upstream(row, null),
    );
    for (const gone of before) if (!upstreams.includes(gone)) this.#forget(gone);
    const hasPersonal = rows.some(isPersonal);
    const read = { upstreams, hasPersonal, readAt: performance.now(), usedAt: this.#deps.now() };
    this.#keys.set(keyId, read);
    return read;
  }

  /** Closes the connections to a Connected Tool that was changed or removed. */
  #forget(gone: Upstream): void {
    const personal = [...this.#personal].filter(([, { tool }]) => tool.id === gone.tool.id);
    for (const [name] of personal) this.#personal.delete(name);
    for (const each of [gone, ...personal.map(([, upstream]) => upstream)]) {
      each.close();
      each.retire();
    }
  }

  #ofPerson(tool: ConnectedTool, personId: string): Upstream {
    const name = `${tool.id} ${personId}`;
    const known = this.#personal.get(name);
    const upstream = known !== undefined && isSame(known.tool, tool) ? known : this.#upstream(tool, personId);
    if (known !== upstream) known?.retire();
    this.#personal.delete(name);
    this.#personal.set(name, upstream);
    const [oldest] = this.#personal;
    if (oldest !== undefined && this.#personal.size > (this.#settings.maxPersonal ?? MAX_PERSONAL)) {
      this.#personal.delete(oldest[0]);
      oldest[1].retire();
    }
    return upstream;
  }

  #upstream(tool: ConnectedTool, personId: string | null): Upstream {
    const changed = () => this.#tell(tool.keyId, personId);
    const limits = { connectMs: CONNECT_MS, patienceMs: PATIENCE_MS, startMs: this.#settings.upstreamStart };
    const signIn = signInTo(this.#settings.serverSignIns, tool, personId);
    const open = (row: ConnectedTool, signal: AbortSignal) => this.#open(row, signal, signIn);
    const newRation = () => this.#settings.rations.answer(tool.keyId);
    const { now } = this.#deps;
    const upstream = new Upstream(tool, open, newRation, now, changed, limits, signIn, this.#requests);
    if (tool.transport === 'stdio' && !this.#settings.stdioServers.has(tool.target)) upstream.notDeclared();
    return upstream;
  }

  async #open(tool: ConnectedTool, signal: AbortSignal, signIn: SignIn | null): Promise<Wire> {
    const { rules, stdioServers, stdioStderr, onStderrDropped } = this.#settings;
    const newRation = () => this.#settings.rations.answer(tool.keyId);
    const target = { url: tool.target, headers: decryptHeaders(this.#deps.vault, tool), rules, signIn };
    switch (tool.transport) {
      case 'http':
        return new HttpWire(target);
      case 'sse':
        return SseWire.open(target, signal, newRation);
      case 'stdio': {
        const server = stdioServers.get(tool.target);
        if (server === null) throw new NotDeclared(tool.target);
        return StdioWire.open(server, { stderr: stdioStderr, onDropped: onStderrDropped, newRation });
      }
    }
  }

  /** Reads a key's Connected Tools again at once, so that no connection to a changed one stays open. */
  #changed(keyId: string): void {
    const doubted = this.#keys.get(keyId);
    if (doubted === undefined) return;
    doubted.readAt = Number.NEGATIVE_INFINITY;
    // If the store cannot be read now, the next request reads it.
    this.#read(keyId).then(
      () => this.#tell(keyId, null),
      () => {},
    );
  }

  /** The same for all keys that share a tool server. */
  #serverChanged(id: string): void {
    if (this.#servers.has(id)) this.findServer(id).catch(() => {});
    for (const [keyId, { upstreams }] of this.#keys)
      if (upstreams.some(({ tool }) => tool.toolServerId === id)) this.#changed(keyId);
  }

  /**
   * Somebody has signed in to a server, or out. What is open, and what is known of its tools, belongs to the account
   * before, so it is given up, and clients that see other tools now are notified.
   */
  #signedIn(about: string): void {
    const [keyId = '', sourceId = '', personId = ''] = about.split(' ');
    for (const [name, each] of [...this.#personal]) {
      if (each.tool.sourceId !== sourceId || name !== `${each.tool.id} ${personId}`) continue;
      each.retire();
      this.#personal.delete(name);
    }
    const of = keyId === '' ? [...this.#keys.keys()] : [keyId];
    for (const each of of) this.#signedInto(each, sourceId, personId);
  }

  #signedInto(keyId: string, sourceId: string, personId: string): void {
    const ofKey = this.#keys.get(keyId);
    const before = ofKey?.upstreams ?? [];
    const isOne = ({ tool }: Upstream) => tool.sourceId === sourceId;
    if (ofKey !== undefined && personId === '') {
      ofKey.upstreams = before.map(each => (isOne(each) ? this.#upstream(each.tool, null) : each));
      for (const gone of before) if (isOne(gone)) gone.retire();
    }
    this.#tell(keyId, personId === '' ? null : personId);
  }

  /**
   * The server file declares these commands differently now. New calls use what it says; the connections of before are
   * closed.
   */
  redeclared(names: readonly string[]): void {
    const isOne = ({ tool }: Upstream) => tool.transport === 'stdio' && names.includes(tool.target);
    for (const [keyId, ofKey] of this.#keys) {
      const before = ofKey.upstreams;
      if (!before.some(isOne)) continue;
      ofKey.upstreams = before.map(each => (isOne(each) ? this.#upstream(each.tool, null) : each));
      for (const gone of before) if (isOne(gone)) gone.retireLater();
      this.#tell(keyId, null);
    }
  }

  /** How many keys are kept in memory. */
  get size(): number {
    return this.#keys.size;
  }

  /** How many upstreams of single people are kept in memory. */
  get personal(): number {
    return this.#personal.size;
  }

  /** How many upstreams of this replica are in each condition, those of single people included. */
  conditions(): Record<UpstreamCondition, number> {
    const counts = Object.fromEntries(UPSTREAM_CONDITIONS.map(each => [each, 0]));
    for (const { condition } of this.#all()) counts[condition]!++;
    return counts as Record<UpstreamCondition, number>;
  }

  /** Closes upstreams that nobody has used for a while, and forgets keys that have none open. */
  closeIdle(): void {
    const before = this.#deps.now() - IDLE_MS;
    for (const [keyId, { upstreams, usedAt }] of this.#keys) {
      const open = upstreams.filter(each => !each.closeIfIdle(before));
      if (open.length === 0 && usedAt < before) this.#keys.delete(keyId);
    }
    for (const [name, each] of this.#personal) if (each.closeIfIdle(before)) this.#personal.delete(name);
    for (const [id, each] of this.#servers) if (each.closeIfIdle(before)) this.#servers.delete(id);
  }
}

function isSame(known: ConnectedTool, row: ConnectedTool): boolean {
  return known.id === row.id && known.updatedAt === row.updatedAt;
}
