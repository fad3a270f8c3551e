// The wire over Streamable HTTP: one POST for each message, answered as JSON or as a stream of events. The
// credentials of the client never reach this file; where the server wants a sign-in, sign-in.ts has the header.

import { IDEMPOTENCY_HEADER } from '../core/text/idempotency-key.ts';
import { type JsonObject, writeJson } from '../core/wire/json.ts';
import type { TargetRules } from '../guard/outgoing/addresses.ts';
import { HttpClient, headerLines, type Outgoing } from '../guard/outgoing/client/client.ts';
import { BadAnswer } from '../guard/outgoing/client/head.ts';
import type { IncomingResponse } from '../guard/outgoing/client/response.ts';
import { SMALL_ANSWER_BYTES } from '../guard/rations/answer-ration.ts';
import { readEvents } from './event-stream.ts';
import { Listening } from './listening.ts';
import {
  CODES,
  MODERN_VERSION,
  notificationMessage,
  type RpcNotification,
  type RpcResponse,
} from './protocol.ts';
import { authorized, type SignIn } from './sign-in.ts';
import {
  type Hooks,
  HttpStatusError,
  MAX_MESSAGE_BYTES,
  MessageTooLarge,
  readUpstream,
  roomFor,
  UpstreamError,
  type Wire,
} from './wire.ts';

/**
 * How many notices of cancelled calls may be under way; further ones are not sent. A notice lasts for 5 s if the
 * upstream does not take it, and its call has given its slot back by then: a client that called and hung up 2,000 times
 * made us hold 2,000 sockets.
 */
const MAX_NOTICES = 1000;

const NOT_HTTP = 'the upstream sent an answer that breaks the rules of HTTP';
const ACCEPT = 'application/json, text/event-stream';

export interface HttpTarget {
  url: string;
  headers: Record<string, string>;
  rules: TargetRules;
  /** Whether each call carries a key, by which the server knows it again. */
  namesCalls?: boolean;
  /** For a server that wants OAuth. */
  signIn?: SignIn | null;
}

/** The headers of one request that only a call has. */
export function callHeaders({ namesCalls }: HttpTarget, { callKey }: Hooks): Record<string, string> {
  return namesCalls === true && callKey !== undefined ? { [IDEMPOTENCY_HEADER]: callKey() } : {};
}

export class HttpWire implements Wire {
  readonly #target: HttpTarget;
  readonly #http: HttpClient;
  readonly #path: string;
  #sessionId: string | null = null;
  /** Whether the upstream may have forgotten our session. */
  #inDoubt = false;
  /** The headers of a usual call, and the session and version that they are for. */
  #usual: { sessionId: string | null; version: string | null; lines: string } | null = null;
  #nextId = 1;
  #notices = 0;
  #listening: Listening | null = null;
  protocolVersion: string | null = null;
  readonly triesModern = true;
  onNotification: (notification: RpcNotification) => void = () => {};
  onClosed: (reason: string) => void = () => {};

  constructor(target: HttpTarget) {
    this.#target = target;
    const { origin, pathname, search } = new URL(target.url);
    this.#http = new HttpClient(origin, target.rules);
    this.#path = pathname + search;
  }

  async request(
    method: string,
    params: JsonObject,
    hooks: Hooks,
    headers: Record<string, string> = {},
  ): Promise<RpcResponse> {
    const id = this.#nextId++;
    try {
      const message = writeJson({ jsonrpc: '2.0', id, method, params });
      const own = this.#target.namesCalls ? { ...headers, ...callHeaders(this.#target, hooks) } : headers;
      const answer = await this.#send('POST', message, hooks.signal, own);
      if (method === 'initialize') this.#sessionId = answer.header('mcp-session-id');
      if (answer.header('content-type')?.includes('text/event-stream'))
        return await this.#fromStream(answer, id, hooks);
      const body = this.#small(answer, hooks) ?? (await this.#whole(answer, hooks));
      return this.#fromJson(answer, body, id);
    } catch (error) {
      if (hooks.signal.aborted) this.#tellCancelled(id);
      throw error;
    }
  }

  /** The body, if it has arrived and the answer is small with it, as most are. Nothing is waited for then. */
  #small({ body }: IncomingResponse, { ration, signal }: Hooks): Buffer | null {
    const arrived = body.arrivedWithin(SMALL_ANSWER_BYTES - ration.bytes);
    if (arrived !== null) ration.grow(arrived.length, signal);
    return arrived;
  }

  /** The body, once it is the key's turn to have it parsed; null if it is too large. */
  async #whole({ body }: IncomingResponse, hooks: Hooks): Promise<Buffer | null> {
    const bytes = await body.bytes(MAX_MESSAGE_BYTES, more => roomFor(more, hooks));
    await hooks.ration.turn(bytes?.length ?? 0);
    return bytes;
  }

  /** In the older era a closed connection does not cancel a call, so the upstream needs a notice. */
  #tellCancelled(id: number): void {
    if (this.protocolVersion === null || this.protocolVersion === MODERN_VERSION) return;
    if (this.#notices >= MAX_NOTICES) return;
    this.#notices++;
    const why = { requestId: id, reason: 'cancelled by the client' };
    this.notify('notifications/cancelled', why)
      .catch(() => {})
      .finally(() => this.#notices--);
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    const message = writeJson(notificationMessage(method, params));
    const answer = await this.#send('POST', message, AbortSignal.timeout(5000), {});
    await answer.body.cancel();
  }

  /** Opens the stream for notifications of the upstream's own. Many upstreams offer none, which is no failure. */
  listen(): void {
    const open = (signal: AbortSignal) => this.#send('GET', null, signal, {});
    this.#listening = new Listening(open, notification => this.onNotification(notification));
    this.#listening.run();
  }

  close(): void {
    this.#listening?.stop();
    if (this.#sessionId === null || this.#inDoubt) {
      this.#http.close();
      return;
    }
    // The sign-in may be that of another account by now: a refusal says nothing about it.
    const { signIn = null } = this.#target;
    const once = signIn === null ? null : { ...signIn, refused: async () => 'refused' as const };
    this.#send('DELETE', null, AbortSignal.timeout(2000), {}, once)
      .then(answer => answer.body.cancel())
      .catch(() => {})
      .finally(() => this.#http.close());
  }

  async #send(
    method: Outgoing['method'],
    body: string | null,
    signal: AbortSignal,
    extra: Record<string, string>,
    signIn: SignIn | null = this.#target.signIn ?? null,
  ): Promise<IncomingResponse> {
    const send = (own: Record<string, string>) => {
      const headers = this.#headers(body !== null, own);
      return this.#http.send({ method, path: this.#path, headers, body, signal });
    };
    try {
      if (signIn === null) return await send(extra);
      return await authorized(signIn, signal, Authorization => send({ ...extra, Authorization }));
    } catch (error) {
      if (signal.aborted || error instanceof UpstreamError) throw error;
      if (error instanceof BadAnswer) throw new UpstreamError(NOT_HTTP, { cause: error });
      throw new UpstreamError('the upstream cannot be reached', { unsent: isRefused(error), cause: error });
    }
  }

  /** The headers as lines. Those of a call without any of its own are the same until session or version change. */
  #headers(hasBody: boolean, extra: Record<string, string>): string {
    const isUsual = hasBody && Object.keys(extra).length === 0;
    const sessionId = this.#sessionId;
    const version = this.protocolVersion;
    const usual = this.#usual;
    if (isUsual && usual?.sessionId === sessionId && usual.version === version) return usual.lines;
    const headers: Record<string, string> = { ...this.#target.headers, Accept: ACCEPT, ...extra };
    if (hasBody) headers['Content-Type'] = 'application/json';
    if (sessionId !== null) headers['Mcp-Session-Id'] = sessionId;
    if (version !== null) headers['MCP-Protocol-Version'] ??= version;
    const lines = headerLines(headers);
    if (isUsual) this.#usual = { sessionId, version, lines };
    return lines;
  }

  #fromJson(answer: IncomingResponse, body: Buffer | null, id: number): RpcResponse {
    if (body === null) throw new MessageTooLarge('the upstream sent an answer that is too large');
    const text = body.toString('utf8');
    const message = asResponse(text);
    if (message !== null && message.id === id) return message;
    if (this.#sessionId !== null && answer.status === 404)
      throw new HttpStatusError(answer.status, { unsent: true });
    if (this.#sessionId !== null && answer.status === 400 && /session/i.test(text.slice(0, 500)))
      throw this.#doubted(answer.status);
    // An error from before the upstream read the request has no id. Any other answer must have ours.
    if (message !== null && message.id === null && message.error !== null) return message;
    if (!answer.ok) throw new HttpStatusError(answer.status);
    throw new UpstreamError('the upstream sent no answer to the request');
  }

  async #fromStream({ body }: IncomingResponse, id: number, hooks: Hooks): Promise<RpcResponse> {
    let counted = 0;
    const room = (bytes: number) => {
      counted += bytes;
      return roomFor(bytes, hooks);
    };
    for await (const { data } of readEvents(body, MAX_MESSAGE_BYTES, room)) {
      const turn = hooks.ration.turn(data.length);
      if (turn !== null) await turn;
      const message = readUpstream(data);
      if (message.kind === 'response' && message.id === id) return message;
      // What was read so far is not part of the answer, so it stops counting.
      hooks.ration.shrink(counted);
      counted = 0;
      if (message.kind === 'notification') hooks.onNotification(message);
      else if (message.kind === 'request') await this.#decline(message.id);
    }
    throw new UpstreamError('the upstream closed its stream without an answer');
  }

  /**
   * Many servers answer like this when they have forgotten our session, for which the protocol has 404. But the call may
   * have run, so it is not sent again; the next one opens a new session. Calls under way get their answers.
   */
  #doubted(status: number): UpstreamError {
    this.#inDoubt = true;
    this.close();
    const error = new SessionInDoubt(status);
    this.onClosed(error.message);
    return error;
  }

  /** Refuses a request of the upstream: we offer it none. */
  async #decline(id: string | number): Promise<void> {
    const error = { code: CODES.methodNotFound, message: 'This client takes no requests.' };
    const body = writeJson({ jsonrpc: '2.0', id, error });
    const answer = await this.#send('POST', body, AbortSignal.timeout(5000), {}).catch(() => null);
    await answer?.body.cancel();
  }
}

/** The upstream refused a message and spoke of the session. */
class SessionInDoubt extends HttpStatusError {
  constructor(status: number) {
    super(status);
    this.message += ' and spoke of our session, so the next call opens a new one';
  }
}

function asResponse(text: string): RpcResponse | null {
  try {
    const message = readUpstream(text);
    return message.kind === 'response' ? message : null;
  } catch (error) {
    if (error instanceof MessageTooLarge) throw error;
    return null;
  }
}

function isRefused(error: unknown): boolean {
  return (
    (error as { code?: string }).code === 'ConnectionRefused' ||
    (error as { code?: string }).code === 'ECONNREFUSED'
  );
}
