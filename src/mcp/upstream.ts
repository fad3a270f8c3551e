// Our side of one Connected Tool. The connection is opened when it is first needed, opened again after it broke (with
// growing pauses), and closed when it is idle. It decides nothing: a call reaches it only after a committed allow.
// negotiate.ts finds out the upstream's era, and time-limit.ts limits how long an answer may take.

import type { Json, JsonObject } from '../core/wire/json.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { ConnectedTool } from '../store/connected-tools.ts';
import { envelope, negotiate } from './negotiate.ts';
import { metaOf, type RpcNotification, type RpcResponse } from './protocol.ts';
import { type SignIn, SignInFirst } from './sign-in.ts';
import { after, inSeconds, TimeLimit, UpstreamTimeout } from './time-limit.ts';
import type { Trace } from './tracing.ts';
import { UnderWay } from './under-way.ts';
import { AnswersUnread, UpstreamError, type Wire } from './wire.ts';

const BACKOFF_MS = [0, 1000, 2000, 5000, 10_000, 30_000, 60_000];
/** A command that ends sooner after its start counts as a failure. */
const LASTED_MS = 10_000;
const CHANGED =
  'the upstream was connected anew or changed its tools meanwhile, so it was not sent: call again';

export interface UpstreamHealth {
  state: 'idle' | 'ready' | 'down';
  error: string | null;
  since: number;
}

export const UPSTREAM_CONDITIONS = ['connected', 'idle', 'failing', 'sign_in_needed'] as const;
export type UpstreamCondition = (typeof UPSTREAM_CONDITIONS)[number];

export interface UpstreamLimits {
  /** The time to connect to a server on the network. */
  connectMs: number;
  /** The time for a command to start and say that it is ready. The first start may have to download it. */
  startMs: number;
  /** How long a call waits for a command that is still starting. */
  patienceMs: number;
}

export interface RequestOptions {
  /** Aborted by the caller, or when the upstream takes too long; then the reason is an UpstreamError that says so. */
  cancel: AbortController;
  /** Milliseconds without a sign of life after which the request is given up. */
  timeoutMs: number;
  /** Milliseconds after which the request is given up in any case. The default is `timeoutMs`. */
  maxMs?: number;
  /** What the answer has of the key's share. Without one it counts until it is here. */
  ration?: AnswerRation;
  onNotification?: (notification: RpcNotification) => void;
  /** Capabilities of the client behind us, for upstreams of the newer era. */
  capabilities?: Json;
  /**
   * The count of changes at which the request was checked. At another count it is not sent. Null: it is always sent.
   */
  changes?: number | null;
  /** The trace that the request belongs to. It is sent in `_meta`, and as headers to servers that are reached by HTTP. */
  trace?: Trace | undefined;
  /** Makes the headers that the newer era wants beside the body; called only for that era. */
  headers?: () => Record<string, string>;
}

/** A command has not finished starting. The start goes on in the background. */
export class StillStarting extends UpstreamError {}

type OpenWire = (tool: ConnectedTool, signal: AbortSignal) => Promise<Wire>;

export class Upstream {
  readonly tool: ConnectedTool;
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
  #failures = 0;
  #retryAt = 0;
  #underWay = 0;
  #retired = false;
  #awaitsSignIn = false;
  /** Aborts the opening that is under way. */
  #stopOpening: AbortController | null = null;
  #openingSince = 0;
  #usedAt: number;
  #capabilities: JsonObject = {};
  #health: UpstreamHealth;
  /** Counts how often the upstream's offer may have changed: it said so, or a new connection was opened. */
  changes = 0;

  /** `newRation` makes a ration of the tool's key, for requests that are not made for one client. */
  constructor(
    tool: ConnectedTool,
    open: OpenWire,
    newRation: () => AnswerRation,
    now: () => number,
    onListChanged: () => void,
    limits: UpstreamLimits,
    signIn: SignIn | null = null,
    requests: UnderWay = new UnderWay(),
  ) {
    this.tool = tool;
    this.#open = open;
    this.#newRation = newRation;
    this.#now = now;
    this.#onListChanged = onListChanged;
    this.#limits = limits;
    this.#signIn = signIn;
    this.#requests = requests;
    this.#usedAt = now();
    this.#health = { state: 'idle', error: null, since: now() };
  }

  /** What is wrong with a command also says how long the pause before its next start lasts. */
  get health(): UpstreamHealth {
    const { state, error, since } = this.#health;
    const pauseMs = this.#retryAt - this.#now();
    if (error === null || pauseMs <= 0 || !this.#isCommand) return this.#health;
    return {
      state,
      error: `${error}; restarts again in ${inSeconds(Math.ceil(pauseMs / 1000) * 1000)}`,
      since,
    };
  }

  /** What the upstream says it offers; known once connected. */
  offers(capability: string): boolean {
    return this.#capabilities[capability] !== undefined;
  }

  /** How it does, for the metrics of this replica. */
  get condition(): UpstreamCondition {
    if (this.#health.state === 'ready') return 'connected';
    if (this.#health.state === 'idle') return 'idle';
    return this.#awaitsSignIn ? 'sign_in_needed' : 'failing';
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
   * sign in is not quoted: it may repeat the token that it was sent.
   */
  refusal(what: string, error: RpcResponse['error']): UpstreamError {
    const said = this.#signIn === null ? error?.message : `error ${error?.code}`;
    return new UpstreamError(`the upstream refused ${what}: ${said ?? 'no reason'}`);
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

  /** Sends a request, and sends it again if the upstream surely never saw it (it had forgotten our session). */
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

  #ended(): void {
    this.#underWay--;
    if (this.#retired && this.#underWay === 0) this.close();
  }

  /** Skips the pause after the last failure, for an operator who tests the upstream. */
  retryNow(): void {
    this.#retryAt = 0;
  }

  /** Closes it if nobody has used it since. Returns whether it is closed and unused. */
  closeIfIdle(before: number): boolean {
    if (this.#underWay > 0 || this.#usedAt >= before || this.#opening !== null) return false;
    if (this.#wire !== null) this.close();
    return true;
  }

  /** Closes it for good, once the requests under way have ended: it is not the upstream of anybody any more. */
  retire(): void {
    this.#retired = true;
    if (this.#underWay === 0) this.close();
  }

  close(): void {
    const wire = this.#wire;
    this.#wire = null;
    if (wire !== null) this.#failures = 0;
    this.#stopOpening?.abort(new Closed('the connection was closed'));
    wire?.close();
    this.#mark('idle', null);
  }

  async #ask(wire: Wire, method: string, params: JsonObject, asking: RequestOptions): Promise<RpcResponse> {
    const { cancel, timeoutMs, maxMs = timeoutMs, changes = null } = asking;
    if (changes !== null && changes !== this.changes) throw new UpstreamError(CHANGED);
    const limit = new TimeLimit(cancel, timeoutMs, maxMs);
    const ration = asking.ration ?? this.#newRation();
    const token = metaOf(params)['progressToken'];
    const onNotification = (notification: RpcNotification) => {
      // Only progress of this call is a sign of its life: an upstream that sends other things may have forgotten it.
      if (token !== undefined && notification.params['progressToken'] === token) limit.renew();
      asking.onNotification?.(notification);
    };
    try {
      const own = this.#modern ? { ...asking.headers?.(), 'Mcp-Method': method } : {};
      return await wire.request(
        method,
        this.#dressed(params, asking),
        { signal: cancel.signal, ration, onNotification },
        { ...own, ...asking.trace },
      );
    } catch (error) {
      if (limit.exceeded !== null && error instanceof AnswersUnread) throw new UpstreamTimeout(error.message);
      if (cancel.signal.aborted) throw whyEnded(cancel.signal);
      if (error instanceof UpstreamError) throw error;
      throw new UpstreamError('the upstream failed', { cause: error });
    } finally {
      limit.stop();
      if (asking.ration === undefined) ration.free();
    }
  }

  /** The newer era carries its envelope in every request. A trace of ours takes the place of the client's. */
  #dressed(params: JsonObject, { capabilities, trace }: RequestOptions): JsonObject {
    if (!this.#modern && trace === undefined) return params;
    const { traceparent: _, tracestate: __, ...meta } = metaOf(params);
    const kept = trace === undefined ? metaOf(params) : { ...meta, ...trace };
    return { ...params, _meta: { ...kept, ...(this.#modern && envelope(capabilities ?? {})) } };
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
      const { modern, capabilities } = await this.#negotiated(wire, stop.signal);
      if (stop.signal.aborted) throw stop.signal.reason;
      this.#modern = modern;
      this.#capabilities = capabilities;
      this.#wire = wire;
      // One that ends soon has not worked, so what is counted of a command stays until it has lasted.
      if (!this.#isCommand) this.#failures = 0;
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
    this.#awaitsSignIn = error instanceof SignInFirst;
    if (error instanceof SignInFirst) {
      // It is no failure, so the next request needs no pause: somebody may have signed in meanwhile.
      this.#mark('down', error.message);
      return error;
    }
    this.#pause(++this.#failures);
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
      this.#awaitsSignIn = false;
      if (this.#isCommand) this.#pauseIfEndedSoon();
      this.#mark('down', reason);
    };
    if (!this.#modern) wire.listen();
  }

  /** The first restart needs no pause: any command may end once. */
  #pauseIfEndedSoon(): void {
    if (this.#now() - this.#health.since >= LASTED_MS) this.#failures = 0;
    else this.#pause(this.#failures++);
  }

  #pause(failures: number): void {
    this.#retryAt = this.#now() + (BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] as number);
  }

  #drop(wire: Wire): void {
    if (this.#wire === wire) this.#wire = null;
    wire.close();
  }

  #mark(state: UpstreamHealth['state'], error: string | null): void {
    this.#health = { state, error, since: this.#now() };
  }
}

/** We ended the opening ourselves, so it is no failure of the upstream. */
class Closed extends UpstreamError {}

/** Why a request was given up: its time was up, or the caller cancelled it. */
function whyEnded({ reason }: AbortSignal): UpstreamError {
  return reason instanceof UpstreamError ? reason : new UpstreamError('the call was cancelled');
}
