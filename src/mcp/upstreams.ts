// The upstreams of this replica: one for each tool server, however many keys have it, and one for each person at a server
// to which everybody signs in for themselves, so that nobody uses, or learns anything of, the connection of another.
// hub.ts says which keys have which server.

import type { Deps } from '../guard/deps.ts';
import type { TargetRules } from '../guard/outgoing/addresses.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { Rations } from '../guard/rations/rations.ts';
import type { ServerSignIns } from '../guard/server-sign-ins/server-sign-ins.ts';
import { namesCalls, withoutCallHeader } from '../guard/tool-servers/call-header.ts';
import { decryptHeaders } from '../guard/tool-servers/source-secrets.ts';
import type { StdioServers } from '../settings/stdio-servers.ts';
import type { ToolSource } from '../store/tool-servers.ts';
import { NotDeclared } from './opening.ts';
import { type SignIn, signInTo } from './sign-in.ts';
import type { UnderWay } from './under-way.ts';
import { Upstream } from './upstream.ts';
import type { Wire } from './wire.ts';
import { HttpWire } from './wire-http.ts';
import { SseWire } from './wire-sse.ts';
import { StdioWire } from './wire-stdio.ts';

const CONNECT_MS = 10_000;
/** How long a call waits for a command that is still starting. Clients and listings wait longer than this. */
const PATIENCE_MS = 9000;
/** How many upstreams of single people are kept. Beyond it, those that are unused for the longest time are closed. */
const MAX_PERSONAL = 500;

export interface UpstreamSettings {
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

/** Whose a connection is. It may become shared while it is open. */
interface Owner {
  newRation: () => AnswerRation;
  isShared: () => boolean;
}

/** Called when the tools that an upstream offers may have changed; for that of a single person, with the person. */
type OnListChanged = (sourceId: string, personId: string | null) => void;

export class Upstreams {
  readonly #deps: Deps;
  readonly #settings: UpstreamSettings;
  readonly #requests: UnderWay;
  readonly #onListChanged: OnListChanged;
  /** By the id of the source. Of a server with personal sign-ins, it is that of credentials without a person. */
  readonly #upstreams = new Map<string, Upstream>();
  /** The upstreams of single people, by source and person, the most recently used last. */
  readonly #personal = new Map<string, Upstream>();

  constructor(deps: Deps, settings: UpstreamSettings, requests: UnderWay, onListChanged: OnListChanged) {
    this.#deps = deps;
    this.#settings = settings;
    this.#requests = requests;
    this.#onListChanged = onListChanged;
  }

  get all(): Upstream[] {
    return [...this.#upstreams.values(), ...this.#personal.values()];
  }

  /** How many there are of single people. */
  get personal(): number {
    return this.#personal.size;
  }

  has(sourceId: string): boolean {
    return this.#upstreams.has(sourceId);
  }

  /**
   * The upstream of a source. If the row is newer than what is known, the upstream follows it. A row may be older, because
   * it was read before: then what is known stays.
   */
  of(row: ToolSource): Upstream {
    const known = this.#upstreams.get(row.sourceId);
    if (known !== undefined && follows(known, row)) return known;
    if (known !== undefined) this.forget(row.sourceId);
    const made = this.#make(row, null);
    this.#upstreams.set(row.sourceId, made);
    return made;
  }

  ofPerson(row: ToolSource, personId: string): Upstream {
    const name = `${row.sourceId} ${personId}`;
    const known = this.#personal.get(name);
    const upstream = known !== undefined && follows(known, row) ? known : this.#make(row, personId);
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

  /** Closes the connections to a source that was changed or removed. */
  forget(sourceId: string): void {
    const gone = [...this.#personal].filter(([, { source }]) => source.sourceId === sourceId);
    for (const [name] of gone) this.#personal.delete(name);
    const shared = this.#upstreams.get(sourceId);
    this.#upstreams.delete(sourceId);
    for (const each of [...gone.map(([, upstream]) => upstream), ...(shared ? [shared] : [])]) {
      each.close();
      each.retire();
    }
  }

  /**
   * Somebody has signed in to a server, or out: what is open, and what is known of its tools, belongs to the account
   * before, so it is given up.
   */
  signedIn(sourceId: string, personId: string | null): void {
    if (personId !== null) {
      const name = `${sourceId} ${personId}`;
      this.#personal.get(name)?.retire();
      this.#personal.delete(name);
      return;
    }
    const known = this.#upstreams.get(sourceId);
    if (known === undefined) return;
    this.#upstreams.set(sourceId, this.#make(known.source, null));
    known.retire();
  }

  /** Gives those of these commands new upstreams. Returns the ids of their sources. */
  redeclared(names: readonly string[]): string[] {
    const ones = [...this.#upstreams].filter(
      ([, { source }]) => source.transport === 'stdio' && names.includes(source.target),
    );
    for (const [sourceId, gone] of ones) {
      this.#upstreams.set(sourceId, this.#make(gone.source, null));
      gone.retireLater();
    }
    return ones.map(([sourceId]) => sourceId);
  }

  /** Closes those that nobody has used since. Returns the ids of the sources that are in use. */
  closeIdle(before: number): Set<string> {
    for (const [name, each] of this.#personal) if (each.closeIfIdle(before)) this.#personal.delete(name);
    const inUse = [...this.#upstreams].filter(([, each]) => !each.closeIfIdle(before));
    return new Set(inUse.map(([sourceId]) => sourceId));
  }

  /** Forgets the other upstreams, which are closed. */
  keep(isKept: (sourceId: string) => boolean): void {
    for (const sourceId of this.#upstreams.keys()) if (!isKept(sourceId)) this.#upstreams.delete(sourceId);
  }

  close(): void {
    for (const each of this.all) each.close();
    this.#upstreams.clear();
    this.#personal.clear();
  }

  #make(row: ToolSource, personId: string | null): Upstream {
    const limits = { connectMs: CONNECT_MS, patienceMs: PATIENCE_MS, startMs: this.#settings.upstreamStart };
    const signIn = signInTo(this.#settings.serverSignIns, row, personId);
    const newRation = () => this.#rationOf(upstream.source);
    const open = (source: ToolSource, signal: AbortSignal) =>
      this.#open(source, signal, signIn, { newRation, isShared });
    const isShared = () => upstream.source.toolServerId !== null;
    const changed = () => this.#onListChanged(row.sourceId, personId);
    const { now } = this.#deps;
    const upstream = new Upstream(row, open, newRation, now, changed, limits, signIn, this.#requests);
    if (row.transport === 'stdio' && !this.#settings.stdioServers.has(row.target)) upstream.notDeclared();
    return upstream;
  }

  /** What the service itself asks of a server counts for the key that owns it, or for the server if keys share it. */
  #rationOf({ toolServerId, keyId }: ToolSource): AnswerRation {
    const { rations } = this.#settings;
    return toolServerId === null ? rations.answer(keyId ?? '') : rations.answerOfServer(toolServerId);
  }

  async #open(
    source: ToolSource,
    signal: AbortSignal,
    signIn: SignIn | null,
    { newRation, isShared }: Owner,
  ): Promise<Wire> {
    const { rules, stdioServers, stdioStderr, onStderrDropped } = this.#settings;
    const given = decryptHeaders(this.#deps.vault, source);
    const headers = withoutCallHeader(given);
    const target = { url: source.target, headers, namesCalls: namesCalls(given), rules, signIn };
    switch (source.transport) {
      case 'http':
        return new HttpWire(target);
      case 'sse':
        return SseWire.open(target, signal, newRation, isShared);
      case 'stdio': {
        const server = stdioServers.get(source.target);
        if (server === null) throw new NotDeclared(source.target);
        const options = { stderr: stdioStderr, onDropped: onStderrDropped, newRation, isShared };
        return StdioWire.open(server, options);
      }
    }
  }
}

/**
 * Whether an upstream can go on being used for this row. A server that is shared, or becomes it, keeps its connection if
 * nothing that the connection depends on has changed, because the calls of many keys may be under way on it.
 */
function follows(upstream: Upstream, row: ToolSource): boolean {
  const { source } = upstream;
  if (!isNewer(row, source)) return true;
  if (row.toolServerId === null || !isReachedAlike(row, source)) return false;
  upstream.become(row);
  return true;
}

function isNewer(row: ToolSource, known: ToolSource): boolean {
  // What was shared once stays shared.
  if (row.toolServerId !== known.toolServerId) return row.toolServerId !== null;
  return (row.updatedAt ?? 0) > (known.updatedAt ?? 0);
}

function isReachedAlike(one: ToolSource, other: ToolSource): boolean {
  return (
    one.target === other.target &&
    one.headersEncrypted === other.headersEncrypted &&
    one.oauthEncrypted === other.oauthEncrypted
  );
}
