// Our connection to one Connected Tool: opened when first needed, in whichever era the upstream speaks, opened
// anew after it broke (with growing pauses), closed when idle. Judging is not its business: whoever calls it
// holds a committed allow.

import type { Json } from '../core/json.ts';
import type { ConnectedTool } from '../store/connected-tools.ts';
import {
  ENVELOPE,
  isObject,
  type JsonObject,
  LATEST_LEGACY,
  MODERN_VERSION,
  metaOf,
  type RpcNotification,
  type RpcResponse,
} from './protocol.ts';
import { UpstreamError, type Wire } from './wire.ts';

const CONNECT_MS = 10_000;
const BACKOFF_MS = [0, 1000, 2000, 5000, 10_000, 30_000, 60_000];
const MAX_PAGES = 1000;
const CLIENT_INFO = { name: 'toolgate', version: '1' };

export interface UpstreamHealth {
  state: 'idle' | 'ready' | 'down';
  error: string | null;
  since: number;
}

export interface Asking {
  /** Aborted by whoever asks, and when the upstream is silent for too long. */
  cancel: AbortController;
  /** Milliseconds without a sign of life after which the request is given up. */
  timeoutMs: number;
  onNotification?: (notification: RpcNotification) => void;
  /** Capabilities of the client behind us, for upstreams of the newer era. */
  capabilities?: Json;
  /** Header values that the newer era wants beside the body; made only for it. */
  headers?: () => Record<string, string>;
}

/** Aborted when this signal is, also if it was before. */
export function cancelledBy(signal: AbortSignal): AbortController {
  const cancel = new AbortController();
  if (signal.aborted) cancel.abort();
  signal.addEventListener('abort', () => cancel.abort());
  return cancel;
}

/** The upstream said nothing for too long. */
export class UpstreamTimeout extends UpstreamError {}

export type OpenWire = (tool: ConnectedTool, signal: AbortSignal) => Promise<Wire>;

export class Upstream {
  readonly tool: ConnectedTool;
  readonly #open: OpenWire;
  readonly #now: () => number;
  readonly #onListChanged: () => void;
  #wire: Wire | null = null;
  #opening: Promise<Wire> | null = null;
  #modern = false;
  #failures = 0;
  #retryAt = 0;
  #underWay = 0;
  /** Counts closings, so that a connection being opened meanwhile is not kept. */
  #closings = 0;
  #usedAt: number;
  #capabilities: JsonObject = {};
  health: UpstreamHealth;
  /** Counts up whenever what it offers may have changed: it said so, or it was connected anew. */
  changes = 0;

  constructor(tool: ConnectedTool, open: OpenWire, now: () => number, onListChanged: () => void) {
    this.tool = tool;
    this.#open = open;
    this.#now = now;
    this.#onListChanged = onListChanged;
    this.#usedAt = now();
    this.health = { state: 'idle', error: null, since: now() };
  }

  /** What the upstream says it offers; known once connected. */
  offers(capability: string): boolean {
    return this.#capabilities[capability] !== undefined;
  }

  async connect(): Promise<void> {
    await this.#connected();
  }

  /** Sends a request; once more when the upstream surely never saw it (it had forgotten our session). */
  async request(method: string, params: JsonObject, asking: Asking): Promise<RpcResponse> {
    this.#underWay++;
    this.#usedAt = this.#now();
    try {
      const wire = await this.#connected();
      return await this.#ask(wire, method, params, asking).catch(async error => {
        if (!(error instanceof UpstreamError && error.unsent) || asking.cancel.signal.aborted) throw error;
        this.#drop(wire);
        return this.#ask(await this.#connected(), method, params, asking);
      });
    } finally {
      this.#underWay--;
      this.#usedAt = this.#now();
    }
  }

  /** All items of a paged list. */
  async list(method: string, field: string, asking: Asking): Promise<JsonObject[]> {
    const items: JsonObject[] = [];
    let cursor: Json | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const { result, error } = await this.request(method, cursor === undefined ? {} : { cursor }, asking);
      if (result === null)
        throw new UpstreamError(`the upstream refused ${method}: ${error?.message ?? 'no reason'}`);
      const here = result[field];
      if (Array.isArray(here)) items.push(...here.filter(isObject));
      cursor = result['nextCursor'];
      if (typeof cursor !== 'string') return items;
    }
    throw new UpstreamError(`the upstream has more than ${MAX_PAGES} pages for ${method}`);
  }

  /** An operator wants to know now, whatever the pause after the last failure. */
  retryNow(): void {
    this.#retryAt = 0;
  }

  closeIfIdle(before: number): void {
    if (this.#underWay === 0 && this.#usedAt < before && this.#wire !== null) this.close();
  }

  close(): void {
    const wire = this.#wire;
    this.#wire = null;
    this.#closings++;
    wire?.close();
    this.#mark('idle', null);
  }

  async #ask(wire: Wire, method: string, params: JsonObject, asking: Asking): Promise<RpcResponse> {
    const { cancel } = asking;
    let late = false;
    const expire = () => {
      late = true;
      cancel.abort();
    };
    let timer = setTimeout(expire, asking.timeoutMs);
    const token = metaOf(params)['progressToken'];
    const onNotification = (notification: RpcNotification) => {
      // Only progress of this very call is a sign of its life; a chatty upstream may have forgotten it.
      if (token !== undefined && notification.params['progressToken'] === token) {
        clearTimeout(timer);
        timer = setTimeout(expire, asking.timeoutMs);
      }
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
      if (late) throw new UpstreamTimeout(`the upstream did not answer within ${asking.timeoutMs} ms`);
      if (cancel.signal.aborted || error instanceof UpstreamError) throw error;
      throw new UpstreamError('the upstream failed', { cause: error });
    } finally {
      clearTimeout(timer);
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

  async #connectOnce(): Promise<Wire> {
    if (this.#now() < this.#retryAt) {
      throw new UpstreamError(this.health.error ?? 'the upstream is down', { unsent: false });
    }
    const signal = AbortSignal.timeout(CONNECT_MS);
    const closings = this.#closings;
    let wire: Wire | null = null;
    try {
      wire = await this.#open(this.tool, signal);
      await this.#negotiate(wire, signal);
      if (closings !== this.#closings) throw new UpstreamError('the connection was closed');
      this.#wire = wire;
      this.#failures = 0;
      this.changes++;
      this.#mark('ready', null);
      this.#follow(wire);
      return wire;
    } catch (error) {
      wire?.close();
      this.#failures++;
      this.#retryAt = this.#now() + (BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] as number);
      const message = error instanceof UpstreamError ? error.message : 'the upstream did not answer in time';
      this.#mark('down', message);
      throw new UpstreamError(message, { cause: error });
    }
  }

  /** The newer era first, where the transport can tell; an upstream that knows it not is initialized. */
  async #negotiate(wire: Wire, signal: AbortSignal): Promise<void> {
    const hooks = { signal, onNotification: () => {} };
    this.#modern = false;
    if (this.tool.transport === 'http' && (await this.#discover(wire, signal))) return;
    const params = { protocolVersion: LATEST_LEGACY, capabilities: {}, clientInfo: CLIENT_INFO };
    const { result, error } = await wire.request('initialize', params, hooks);
    if (result === null)
      throw new UpstreamError(`the upstream refused to initialize: ${error?.message ?? ''}`);
    wire.protocolVersion =
      typeof result['protocolVersion'] === 'string' ? result['protocolVersion'] : LATEST_LEGACY;
    this.#capabilities = isObject(result['capabilities']) ? result['capabilities'] : {};
    await wire.notify('notifications/initialized', {});
  }

  async #discover(wire: Wire, signal: AbortSignal): Promise<boolean> {
    const headers = { 'MCP-Protocol-Version': MODERN_VERSION, 'Mcp-Method': 'server/discover' };
    const params = { _meta: envelope({}) };
    const hooks = { signal, onNotification: () => {} };
    const found = await wire.request('server/discover', params, hooks, headers).catch(error => {
      if (error instanceof UpstreamError && !/HTTP status/.test(error.message)) throw error;
      return null;
    });
    const versions = found?.result?.['supportedVersions'];
    if (!Array.isArray(versions) || !versions.includes(MODERN_VERSION)) return false;
    this.#modern = true;
    wire.protocolVersion = MODERN_VERSION;
    const capabilities = found?.result?.['capabilities'];
    this.#capabilities = isObject(capabilities) ? capabilities : {};
    return true;
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
    if (!this.#modern && 'listen' in wire) (wire as Wire & { listen: () => Promise<void> }).listen();
  }

  #drop(wire: Wire): void {
    if (this.#wire === wire) this.#wire = null;
    wire.close();
  }

  #mark(state: UpstreamHealth['state'], error: string | null): void {
    this.health = { state, error, since: this.#now() };
  }
}

function envelope(capabilities: Json): JsonObject {
  return {
    [ENVELOPE.version]: MODERN_VERSION,
    [ENVELOPE.capabilities]: capabilities,
    [ENVELOPE.clientInfo]: CLIENT_INFO,
  };
}
