// Our side of one tool server, for all keys that have it. The connection is opened when it is first needed, opened again
// after it broke (with growing pauses), and closed when it is idle. It decides nothing: a call reaches it only after a
// committed allow. negotiate.ts finds out the upstream's era, upstream-request.ts sends one request, upstream-health.ts
// keeps its health.

import type { JsonObject } from '../core/wire/json.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { ToolSource } from '../store/tool-servers.ts';
import { negotiate } from './negotiate.ts';
import { Closed, NotDeclared, StillStarting, tooSlow, waitFor } from './opening.ts';
import { MAX_REPEATED, type RpcResponse } from './protocol.ts';
import { type SignIn, SignInFirst } from './sign-in.ts';
import { after } from './time-limit.ts';
import { UnderWay } from './under-way.ts';
import { Health, type UpstreamCondition, type UpstreamHealth } from './upstream-health.ts';
import { ask, type RequestOptions } from './upstream-request.ts';
import { UpstreamError, type Wire } from './wire.ts';

export interface UpstreamLimits {
  /** The time to connect to a server on the network. */
  connectMs: number;
  /** The time for a command to start and say that it is ready. The first start may have to download it. */
  startMs: number;
  /** How long a call waits for a command that is still starting. */
  patienceMs: number;
}

/** Longer than a check may take. */
const RETIRE_MS = 5000;

type OpenWire = (source: ToolSource, signal: AbortSignal) => Promise<Wire>;

export class Upstream {
  #source: ToolSource;
  readonly #open: OpenWire;
  readonly #newRation: () => AnswerRation;
  readonly #now: () => number;
  readonly #onListChanged: () => void;
  readonly #limits: UpstreamLimits;
  readonly #signIn: SignIn | null;
  readonly #requests: UnderWay;
  #wire: Wire | null = null;
  #opening: Promise<Wire> | null = null;
  #modern = false;
  #underWay = 0;
  #retired = false;
  /** Aborts the opening that is under way. */
  #stopOpening: AbortController | null = null;
  #openingSince = 0;
  #usedAt: number;
  #capabilities: JsonObject = {};
  readonly #health: Health;
  /** Counts how often the upstream's offer may have changed: it said so, or a new connection was opened. */
  changes = 0;

  /** `newRation` makes a ration of whoever owns the server, for requests that are not made for one client. */
  constructor(
    source: ToolSource,
    open: OpenWire,
    newRation: () => AnswerRation,
    now: () => number,
    onListChanged: () => void,
    limits: UpstreamLimits,
    signIn: SignIn | null = null,
    requests: UnderWay = new UnderWay(),
  ) {
    this.#source = source;
    this.#open = open;
    this.#newRation = newRation;
    this.#now = now;
    this.#onListChanged = onListChanged;
    this.#limits = limits;
    this.#signIn = signIn;
    this.#requests = requests;
    this.#usedAt = now();
    this.#health = new Health(this.#isCommand, now);
  }

  /** The state of the server that this is the connection to. */
  get source(): ToolSource {
    return this.#source;
  }

  /** The server was changed in nothing that the connection depends on. */
  become(source: ToolSource): void {
    this.#source = source;
  }

  get health(): UpstreamHealth {
    return this.#health.shown;
  }

  get condition(): UpstreamCondition {
    return this.#health.condition;
  }

  /** What the upstream says it offers; known once connected. */
  offers(capability: string): boolean {
    return this.#capabilities[capability] !== undefined;
  }

  /** Whether somebody has to sign in before anything can be sent. Other failures show when something is. */
  async needsSignIn(): Promise<boolean> {
    if (this.#signIn === null) return false;
    return this.#signIn.header().then(
      () => false,
      error => error instanceof SignInFirst,
    );
  }

  /**
   * The error for a request of our own that the upstream refused. It reaches logs and operators, so a server to which we
   * sign in is not quoted: it may repeat the token that it was sent. No other is quoted at length: every list of servers
   * shows its words.
   */
  refusal(what: string, error: RpcResponse['error']): UpstreamError {
    const said = this.#signIn === null ? error?.message : `error ${error?.code}`;
    return new UpstreamError(`the upstream refused ${what}: ${said?.slice(0, MAX_REPEATED) ?? 'no reason'}`);
  }

  /** Waits until the upstream is connected. Throws if that fails. */
  async connect(): Promise<void> {
    if (!this.#retired) await this.#connected();
  }

  /** Does the same, but does not wait as long as a command may take to start. */
  async reach(signal: AbortSignal, patienceMs = this.#limits.patienceMs): Promise<void> {
    this.#underWay++;
    try {
      await this.#soon(signal, patienceMs);
    } finally {
      this.#ended();
    }
  }

  /**
   * Sends a request, and sends it once more if the upstream cannot have executed it, for example because it had
   * forgotten our session.
   */
  async request(method: string, params: JsonObject, asking: RequestOptions): Promise<RpcResponse> {
    this.#requests.begin(asking.cancel);
    this.#underWay++;
    try {
      const { signal } = asking.cancel;
      const wire = this.#wire ?? (await this.#soon(signal));
      try {
        return await this.#ask(wire, method, params, asking);
      } catch (error) {
        if (!(error instanceof UpstreamError && error.unsent) || signal.aborted) throw error;
        this.#drop(wire);
        return await this.#ask(await this.#soon(signal), method, params, asking);
      }
    } finally {
      this.#requests.end(asking.cancel);
      this.#ended();
      this.#usedAt = this.#now();
    }
  }

  #ask(wire: Wire, method: string, params: JsonObject, asking: RequestOptions): Promise<RpcResponse> {
    const { changes } = this;
    const send = () =>
      ask({ wire, modern: this.#modern, changes, newRation: this.#newRation }, method, params, asking);
    return asking.beforeSent === undefined ? send() : asking.beforeSent().then(send);
  }

  #ended(): void {
    this.#underWay--;
    if (this.#retired && this.#underWay === 0) this.close();
  }

  /** Its health says so at once, since nobody has to try a command that does not exist. */
  notDeclared(): void {
    this.#health.cannotBegin(new NotDeclared(this.#source.target).message);
  }

  /** Skips the pause after the last failure, for an operator who tests the upstream. */
  retryNow(): void {
    this.#health.retryNow();
  }

  /** Closes it if nobody has used it since. Returns whether it is closed and unused. */
  closeIfIdle(before: number): boolean {
    if (this.#underWay > 0 || this.#usedAt >= before || this.#opening !== null) return false;
    if (this.#wire !== null) this.close();
    return true;
  }

  /** As `retire`, but a call that has found this upstream and is being checked can still be sent through it. */
  retireLater(): void {
    setTimeout(() => this.retire(), RETIRE_MS).unref();
  }

  /** Closes it for good, once the requests under way have ended: it is not the upstream of anybody any more. */
  retire(): void {
    this.#retired = true;
    if (this.#underWay === 0) this.close();
  }

  close(): void {
    const wire = this.#wire;
    this.#wire = null;
    this.#stopOpening?.abort(new Closed('the connection was closed'));
    wire?.close();
    this.#health.closed(wire !== null);
  }

  #connected(): Promise<Wire> {
    if (this.#wire !== null) return Promise.resolve(this.#wire);
    this.#opening ??= this.#connectOnce().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** The connection, for a call. If a command is slow to start, the call is told so and does not wait longer. */
  #soon(signal: AbortSignal, patienceMs = this.#limits.patienceMs): Promise<Wire> {
    if (this.#wire !== null) return Promise.resolve(this.#wire);
    const late = () => new StillStarting(this.#now() - this.#openingSince, this.#limits.startMs);
    return waitFor(this.#connected(), signal, this.#isCommand ? { ms: patienceMs, late } : null);
  }

  get #isCommand(): boolean {
    return this.#source.transport === 'stdio';
  }

  async #connectOnce(): Promise<Wire> {
    if (this.#health.isPausing) {
      throw new UpstreamError(this.health.error ?? 'the upstream is down', { unsent: false });
    }
    const stop = new AbortController();
    this.#stopOpening = stop;
    this.#openingSince = this.#now();
    const timer = after(this.#openingMs, () => stop.abort(tooSlow(this.#isCommand, this.#openingMs)));
    let wire: Wire | null = null;
    try {
      wire = await this.#open(this.#source, stop.signal);
      const { modern, capabilities } = await this.#negotiated(wire, stop.signal);
      if (stop.signal.aborted) throw stop.signal.reason;
      this.#modern = modern;
      this.#capabilities = capabilities;
      this.#wire = wire;
      this.changes++;
      this.#health.opened();
      this.#follow(wire);
      return wire;
    } catch (error) {
      wire?.close();
      throw this.#notOpened(stop.signal.aborted ? stop.signal.reason : error);
    } finally {
      clearTimeout(timer);
      this.#stopOpening = null;
    }
  }

  async #negotiated(wire: Wire, signal: AbortSignal): ReturnType<typeof negotiate> {
    const ration = this.#newRation();
    try {
      const hooks = { signal, ration, onNotification: () => {} };
      return await negotiate(wire, hooks, (what, error) => this.refusal(what, error));
    } finally {
      ration.free();
    }
  }

  #notOpened(error: unknown): UpstreamError {
    if (error instanceof Closed) return error;
    if (error instanceof SignInFirst) {
      this.#health.needsSignIn(error.message);
      return error;
    }
    if (error instanceof NotDeclared) {
      this.notDeclared();
      return error;
    }
    const message = error instanceof UpstreamError ? error.message : 'the upstream failed';
    this.#health.failed(message);
    return new UpstreamError(message, { cause: error });
  }

  get #openingMs(): number {
    return this.#isCommand ? this.#limits.startMs : this.#limits.connectMs;
  }

  #follow(wire: Wire): void {
    wire.onNotification = ({ method }) => {
      if (method !== 'notifications/tools/list_changed') return;
      this.changes++;
      this.#onListChanged();
    };
    wire.onClosed = reason => {
      if (this.#wire !== wire) return;
      this.#wire = null;
      this.#health.broke(reason);
    };
    if (!this.#modern) wire.listen();
  }

  #drop(wire: Wire): void {
    if (this.#wire === wire) this.#wire = null;
    wire.close();
  }
}
