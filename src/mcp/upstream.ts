// Our connection to one Connected Tool: opened when first needed, in whichever era the upstream speaks, opened
// anew after it broke (with growing pauses), closed when idle. Judging is not its business: whoever calls it
// holds a committed allow. How long an answer may take is time-limit.ts's,
// which era it is negotiate.ts's.

import type { Json, JsonObject } from '../core/json.ts';
import type { ConnectedTool } from '../store/connected-tools.ts';
import { envelope, negotiate } from './negotiate.ts';
import { metaOf, type RpcNotification, type RpcResponse } from './protocol.ts';
import { after, inSeconds, TimeLimit } from './time-limit.ts';
import { UpstreamError, type Wire } from './wire.ts';

const BACKOFF_MS = [0, 1000, 2000, 5000, 10_000, 30_000, 60_000];
const CHANGED =
  'the upstream was connected anew or changed its tools meanwhile, so it was not sent: call again';

export interface UpstreamHealth {
  state: 'idle' | 'ready' | 'down';
  error: string | null;
  since: number;
}

export interface UpstreamLimits {
  /** For connecting to a server on the network. */
  connectMs: number;
  /** For a command to start and say that it is ready; the first start may have to download it. */
  startMs: number;
  /** For whoever has a call to make, while a command is still starting. */
  patienceMs: number;
}

export interface Asking {
  /** Aborted by whoever asks, and when the upstream takes too long; the reason says why where it is an UpstreamError. */
  cancel: AbortController;
  /** Milliseconds without a sign of life after which the request is given up. */
  timeoutMs: number;
  /** Milliseconds after which it is given up whatever the upstream says; as long as `timeoutMs` if left out. */
  maxMs?: number;
  onNotification?: (notification: RpcNotification) => void;
  /** Capabilities of the client behind us, for upstreams of the newer era. */
  capabilities?: Json;
  /** The count of changes by which the request was checked: it is not sent by any other. Null: by whichever. */
  changes?: number | null;
  /** Header values that the newer era wants beside the body; made only for it. */
  headers?: () => Record<string, string>;
}

/** A command takes its time; it is waited for behind the scenes. */
export class StillStarting extends UpstreamError {}

type OpenWire = (tool: ConnectedTool, signal: AbortSignal) => Promise<Wire>;

export class Upstream {
  readonly tool: ConnectedTool;
  readonly #open: OpenWire;
  readonly #now: () => number;
  readonly #onListChanged: () => void;
  readonly #limits: UpstreamLimits;
  #wire: Wire | null = null;
  #opening: Promise<Wire> | null = null;
  #modern = false;
  #failures = 0;
  #retryAt = 0;
  #underWay = 0;
  /** Ends the opening that is under way. */
  #stopOpening: AbortController | null = null;
  #openingSince = 0;
  #usedAt: number;
  #capabilities: JsonObject = {};
  health: UpstreamHealth;
  /** Counts up whenever what it offers may have changed: it said so, or it was connected anew. */
  changes = 0;

  constructor(
    tool: ConnectedTool,
    open: OpenWire,
    now: () => number,
    onListChanged: () => void,
    limits: UpstreamLimits,
  ) {
    this.tool = tool;
    this.#open = open;
    this.#now = now;
    this.#onListChanged = onListChanged;
    this.#limits = limits;
    this.#usedAt = now();
    this.health = { state: 'idle', error: null, since: now() };
  }

  /** What the upstream says it offers; known once connected. */
  offers(capability: string): boolean {
    return this.#capabilities[capability] !== undefined;
  }

  /** Waits until it is connected, or has failed to be. */
  async connect(): Promise<void> {
    await this.#connected();
  }

  /** Waits for the same, but not for as long as a command may take to start. */
  async reach(signal: AbortSignal, patienceMs = this.#limits.patienceMs): Promise<void> {
    await this.#soon(signal, patienceMs);
  }

  /** Sends a request; once more when the upstream surely never saw it (it had forgotten our session). */
  async request(method: string, params: JsonObject, asking: Asking): Promise<RpcResponse> {
    this.#underWay++;
    try {
      const { signal } = asking.cancel;
      const wire = await this.#soon(signal);
      return await this.#ask(wire, method, params, asking).catch(async error => {
        if (!(error instanceof UpstreamError && error.unsent) || signal.aborted) throw error;
        this.#drop(wire);
        return this.#ask(await this.#soon(signal), method, params, asking);
      });
    } finally {
      this.#underWay--;
      this.#usedAt = this.#now();
    }
  }

  /** An operator wants to know now, whatever the pause after the last failure. */
  retryNow(): void {
    this.#retryAt = 0;
  }

  /** Says whether it is closed and nobody is about to use it. */
  closeIfIdle(before: number): boolean {
    if (this.#underWay > 0 || this.#usedAt >= before || this.#opening !== null) return false;
    if (this.#wire !== null) this.close();
    return true;
  }

  close(): void {
    const wire = this.#wire;
    this.#wire = null;
    this.#stopOpening?.abort(new Closed('the connection was closed'));
    wire?.close();
    this.#mark('idle', null);
  }

  async #ask(wire: Wire, method: string, params: JsonObject, asking: Asking): Promise<RpcResponse> {
    const { cancel, timeoutMs, maxMs = timeoutMs, changes = null } = asking;
    if (changes !== null && changes !== this.changes) throw new UpstreamError(CHANGED);
    const limit = new TimeLimit(cancel, timeoutMs, maxMs);
    const token = metaOf(params)['progressToken'];
    const onNotification = (notification: RpcNotification) => {
      // Only progress of this very call is a sign of its life; a chatty upstream may have forgotten it.
      if (token !== undefined && notification.params['progressToken'] === token) limit.renew();
      asking.onNotification?.(notification);
    };
    try {
      const headers = this.#modern ? { ...asking.headers?.(), 'Mcp-Method': method } : {};
      return await wire.request(
        method,
        this.#dressed(params, asking),
        { signal: cancel.signal, onNotification },
        headers,
      );
    } catch (error) {
      if (cancel.signal.aborted) throw whyEnded(cancel.signal);
      if (error instanceof UpstreamError) throw error;
      throw new UpstreamError('the upstream failed', { cause: error });
    } finally {
      limit.stop();
    }
  }

  /** The newer era carries its envelope in every request. */
  #dressed(params: JsonObject, { capabilities }: Asking): JsonObject {
    if (!this.#modern) return params;
    return { ...params, _meta: { ...metaOf(params), ...envelope(capabilities ?? {}) } };
  }

  #connected(): Promise<Wire> {
    if (this.#wire !== null) return Promise.resolve(this.#wire);
    this.#opening ??= this.#connectOnce().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** The connection, for somebody who has a call to make: a command that takes its time is said to do so. */
  #soon(signal: AbortSignal, patienceMs = this.#limits.patienceMs): Promise<Wire> {
    if (this.#wire !== null) return Promise.resolve(this.#wire);
    const { promise, resolve, reject } = Promise.withResolvers<Wire>();
    const cancelled = () => reject(whyEnded(signal));
    const timer = this.#isCommand ? setTimeout(() => reject(this.#stillStarting()), patienceMs) : undefined;
    signal.addEventListener('abort', cancelled);
    this.#connected()
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal.removeEventListener('abort', cancelled);
      });
    return promise;
  }

  get #isCommand(): boolean {
    return this.tool.transport === 'stdio';
  }

  #stillStarting(): StillStarting {
    const soFar = inSeconds(Math.round((this.#now() - this.#openingSince) / 1000) * 1000);
    return new StillStarting(
      `the command is still starting: it has taken ${soFar} of the ${inSeconds(this.#limits.startMs)} that ` +
        'TOOLGATE_UPSTREAM_START gives it (a first start may have to download it); call again in a moment',
    );
  }

  async #connectOnce(): Promise<Wire> {
    if (this.#now() < this.#retryAt) {
      throw new UpstreamError(this.health.error ?? 'the upstream is down', { unsent: false });
    }
    const stop = new AbortController();
    this.#stopOpening = stop;
    this.#openingSince = this.#now();
    const timer = after(this.#openingMs, () => stop.abort(this.#tooSlow()));
    let wire: Wire | null = null;
    try {
      wire = await this.#open(this.tool, stop.signal);
      const { modern, capabilities } = await negotiate(wire, stop.signal);
      if (stop.signal.aborted) throw stop.signal.reason;
      this.#modern = modern;
      this.#capabilities = capabilities;
      this.#wire = wire;
      this.#failures = 0;
      this.changes++;
      this.#mark('ready', null);
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

  #notOpened(error: unknown): UpstreamError {
    if (error instanceof Closed) return error;
    this.#failures++;
    this.#retryAt = this.#now() + (BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] as number);
    const message = error instanceof UpstreamError ? error.message : 'the upstream failed';
    this.#mark('down', message);
    return new UpstreamError(message, { cause: error });
  }

  get #openingMs(): number {
    return this.#isCommand ? this.#limits.startMs : this.#limits.connectMs;
  }

  #tooSlow(): UpstreamError {
    const within = inSeconds(this.#openingMs);
    if (!this.#isCommand) return new UpstreamError(`the upstream did not answer within ${within}`);
    return new UpstreamError(
      `the command did not say that it is ready within ${within} of its start; TOOLGATE_STDIO_STDERR=inherit shows ` +
        'its output, TOOLGATE_UPSTREAM_START gives it more time',
    );
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
      this.#mark('down', reason);
    };
    if (!this.#modern) wire.listen();
  }

  #drop(wire: Wire): void {
    if (this.#wire === wire) this.#wire = null;
    wire.close();
  }

  #mark(state: UpstreamHealth['state'], error: string | null): void {
    this.health = { state, error, since: this.#now() };
  }
}

/** An opening that was ended by ourselves: no failure of the upstream. */
class Closed extends UpstreamError {}

/** Why a request was given up: the time was up, or nobody wants the answer. */
function whyEnded({ reason }: AbortSignal): UpstreamError {
  return reason instanceof UpstreamError ? reason : new UpstreamError('the call was cancelled');
}
