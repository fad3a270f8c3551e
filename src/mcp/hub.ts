// The upstreams of every key that is in use on this replica. Only the open connections live here: the store says which
// Connected Tools a key has.

import { decryptHeaders } from '../guard/connected-tools.ts';
import type { Deps } from '../guard/deps.ts';
import { onHint } from '../guard/hints.ts';
import type { TargetRules } from '../guard/outgoing/addresses.ts';
import type { StdioServer } from '../server-file.ts';
import { type ConnectedTool, listConnectedTools } from '../store/connected-tools.ts';
import { Upstream } from './upstream.ts';
import { UpstreamError, type Wire } from './wire.ts';
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

interface HubSettings {
  rules: TargetRules;
  stdioServers: Record<string, StdioServer>;
  stdioStderr: 'drop' | 'inherit';
  onStderrDropped: (bytes: number) => void;
  /** How long a command may take to start. */
  upstreamStart: number;
}

interface KeyUpstreams {
  upstreams: Upstream[];
  readAt: number;
  usedAt: number;
}

export class Hub {
  readonly #deps: Deps;
  readonly #settings: HubSettings;
  readonly #keys = new Map<string, KeyUpstreams>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #idle: Timer;

  constructor(deps: Deps, settings: HubSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#idle = setInterval(() => this.closeIdle(), IDLE_CHECK_MS);
    onHint(deps.db, 'tools', keyId => this.#doubt(keyId));
  }

  /** The upstreams of a key, in the order of their names. */
  async of(keyId: string): Promise<Upstream[]> {
    const known = this.#keys.get(keyId);
    if (known === undefined || performance.now() - known.readAt >= BELIEVED_MS) return this.#read(keyId);
    known.usedAt = this.#deps.now();
    return known.upstreams;
  }

  /** Asks the store now for one of them. */
  async find(keyId: string, toolId: string): Promise<Upstream | null> {
    return (await this.#read(keyId)).find(each => each.tool.id === toolId) ?? null;
  }

  /** Calls `listener` when an upstream of the key says that its tools changed. Returns the function that stops it. */
  onListChanged(keyId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(keyId) ?? new Set();
    this.#listeners.set(keyId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(keyId);
    };
  }

  close(): void {
    clearInterval(this.#idle);
    for (const { upstreams } of this.#keys.values()) for (const each of upstreams) each.close();
    this.#keys.clear();
  }

  async #read(keyId: string): Promise<Upstream[]> {
    const rows = await listConnectedTools(this.#deps.db, keyId);
    const before = this.#keys.get(keyId)?.upstreams ?? [];
    const upstreams = rows.map(row => before.find(each => each.tool.id === row.id) ?? this.#upstream(row));
    for (const gone of before) if (!upstreams.includes(gone)) gone.close();
    this.#keys.set(keyId, { upstreams, readAt: performance.now(), usedAt: this.#deps.now() });
    return upstreams;
  }

  #upstream(tool: ConnectedTool): Upstream {
    const changed = () => {
      for (const listener of this.#listeners.get(tool.keyId) ?? []) listener();
    };
    const limits = { connectMs: CONNECT_MS, patienceMs: PATIENCE_MS, startMs: this.#settings.upstreamStart };
    return new Upstream(tool, (row, signal) => this.#open(row, signal), this.#deps.now, changed, limits);
  }

  async #open(tool: ConnectedTool, signal: AbortSignal): Promise<Wire> {
    const { rules, stdioServers, stdioStderr, onStderrDropped } = this.#settings;
    const target = { url: tool.target, headers: decryptHeaders(this.#deps.vault, tool), rules };
    switch (tool.transport) {
      case 'http':
        return new HttpWire(target);
      case 'sse':
        return SseWire.open(target, signal);
      case 'stdio': {
        const server = Object.hasOwn(stdioServers, tool.target) ? stdioServers[tool.target] : undefined;
        if (server === undefined) throw new UpstreamError(`no stdio server "${tool.target}" is declared`);
        return new StdioWire(server, stdioStderr, onStderrDropped);
      }
    }
  }

  /** Makes the next request of the key ask the store again. */
  #doubt(keyId: string): void {
    const doubted = this.#keys.get(keyId);
    if (doubted !== undefined) doubted.readAt = Number.NEGATIVE_INFINITY;
  }

  /** How many keys are kept in memory. */
  get size(): number {
    return this.#keys.size;
  }

  /** Closes upstreams that nobody has used for a while, and forgets keys that have none open. */
  closeIdle(): void {
    const before = this.#deps.now() - IDLE_MS;
    for (const [keyId, { upstreams, usedAt }] of this.#keys) {
      const open = upstreams.filter(each => !each.closeIfIdle(before));
      if (open.length === 0 && usedAt < before) this.#keys.delete(keyId);
    }
  }
}
