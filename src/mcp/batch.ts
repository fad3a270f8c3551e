// A batch of messages in one request, which only the revision 2025-03-26 has. Every call in one is checked like any
// other, and those of the same tool are submitted together: 50 calls then cost a third less.

import { GuardError } from '../core/errors.ts';
import { IDEMPOTENCY_HEADER } from '../core/text/idempotency-key.ts';
import { type Json, type JsonObject, writeJson } from '../core/wire/json.ts';
import { type AnswerRation, SMALL_ANSWER_BYTES } from '../guard/rations/answer-ration.ts';
import { type Paced, pacedBody } from '../guard/rations/paced-body.ts';
import { keyName } from '../guard/rations/rations.ts';
import { answerTogether } from './answer-call.ts';
import { failure, JSON_HEADERS, type Reply, type ReplyOrStream, responseOf } from './answers.ts';
import { isPlain } from './call.ts';
import { CallCancelled } from './forward.ts';
import { callOptions, mcpSessionOf } from './legacy.ts';
import {
  CODES,
  ENVELOPE,
  errorMessage,
  type Id,
  LEGACY_VERSIONS,
  metaOf,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  readMessage,
  resultMessage,
} from './protocol.ts';
import type { ClientRequest, McpServices } from './services.ts';

const MAX_BATCH = 100;
/** A larger batch takes a turn of its key: on 400 connections, batches of a hundred pings kept others waiting for seconds. */
const SMALL_BATCH = 10;

/** The protocol forbids it, and each would open an MCP session. */
const NOT_HERE = new RpcError(
  CODES.invalidRequest,
  'Invalid request: "initialize" cannot be part of a batch.',
);

/** Answers one message by itself. */
type Answering = (services: McpServices, asked: ClientRequest, message: RpcMessage) => Promise<ReplyOrStream>;

export async function answerBatch(
  services: McpServices,
  asked: ClientRequest,
  messages: Json[],
  answer: Answering,
): Promise<Response> {
  const refused = (what: string) =>
    responseOf(failure(null, new RpcError(CODES.invalidRequest, what, { status: 400 })), asked);
  const version = asked.request.headers.get('mcp-protocol-version') ?? (await negotiated(services, asked));
  if (version !== LEGACY_VERSIONS[0]) return refused(`Batches are not part of revision ${version}.`);
  if (asked.request.headers.has(IDEMPOTENCY_HEADER))
    return refused(
      `The header ${IDEMPOTENCY_HEADER} names one call: give each call of a batch its own key in "_meta".`,
    );
  if (messages.length === 0 || messages.length > MAX_BATCH)
    return refused(`A batch has 1 to ${MAX_BATCH} messages.`);
  const quiet = {
    ...asked,
    request: new Request(asked.request.url, {
      headers: withoutStreams(asked.request.headers),
      signal: asked.request.signal,
    }),
  };
  if (messages.length > SMALL_BATCH) await services.rations.turns.next(keyName(asked.principal.keyId));
  const batch = new Batch(messages.map(() => services.rations.answer(asked.principal.keyId)));
  begin(services, quiet, messages, answer, batch);
  await batch.sizeKnown;
  return batch.isLarge ? pacedBatch(batch, asked) : wholeBatch(batch);
}

/** The members of a batch in the order in which they came. */
function wholeBatch(batch: Batch): Response | Promise<Response> {
  batch.free();
  // If every member was refused for the same reason, the HTTP status says so to clients that do not read the answers.
  const [first] = batch.refusals;
  if (first && batch.refusals.every(each => each?.code === first.code)) throw first;
  const said = batch.refusals.map((_, at) => batch.take(at)).filter(each => each !== null);
  if (said.length === 0) return new Response(null, { status: 202 });
  return new Response(`[${said.map(written).join()}]`, { headers: JSON_HEADERS });
}

/**
 * Members in the order in which they are answered, as fast as the client reads them. So no result of a call that ran is
 * lost, however large all of them are together: a call whose answer has no room waits until the client has read others.
 */
function pacedBatch(batch: Batch, { waiting, reading }: ClientRequest): Response {
  let before = '[';
  const next = async (): Promise<Paced | null> => {
    for (let at = await batch.next(); at !== null; at = await batch.next()) {
      const ration = batch.rations[at] as AnswerRation;
      const answer = batch.take(at);
      if (answer === null) {
        ration.free();
        continue;
      }
      await ration.turn(ration.bytes);
      const bytes = Buffer.from(before + written(answer));
      before = ',';
      return { bytes, free: () => ration.free() };
    }
    if (before === '') return null;
    const end = Buffer.from(before === '[' ? '[]' : ']');
    before = '';
    return { bytes: end, free: () => {} };
  };
  return new Response(pacedBody({ next, waiting, reading, gone: () => batch.free() }), {
    headers: JSON_HEADERS,
  });
}

interface Member {
  /** The answer; null: this message gets none. */
  message: JsonObject | null;
  /** The error that would have refused the whole request if the message had come alone. */
  refusal: GuardError | null;
}

/** The text of a small answer, or a large one. */
type Kept = string | JsonObject;

const written = (answer: Kept): string => (typeof answer === 'string' ? answer : writeJson(answer));

/** What became of the messages of a batch so far. */
class Batch {
  readonly rations: readonly AnswerRation[];
  readonly refusals: (GuardError | null)[] = [];
  readonly #answers: (Kept | null)[] = [];
  /** The numbers of those that are answered and not yet written. */
  readonly #ready: number[] = [];
  readonly #known = Promise.withResolvers<void>();
  #left: number;
  #wake = () => {};

  constructor(rations: readonly AnswerRation[]) {
    this.rations = rations;
    this.#left = rations.length;
  }

  /** Resolves when it is known whether the answer is large: all members are answered, or those so far are large already. */
  get sizeKnown(): Promise<void> {
    return this.#known.promise;
  }

  get isLarge(): boolean {
    return this.refusals.reduce((sum, _, at) => sum + (this.rations[at]?.bytes ?? 0), 0) > SMALL_ANSWER_BYTES;
  }

  answered(at: number, { message, refusal }: Member): void {
    const isLarge = this.rations[at]?.isLarge === true;
    // A small answer does not count for the key, so it is kept as text: parsed, it would take many times the memory.
    this.#answers[at] = message === null || isLarge ? message : writeJson(message);
    this.refusals[at] = refusal;
    this.#ready.push(at);
    this.#left--;
    if (this.#left === 0 || this.isLarge) this.#known.resolve();
    this.#wake();
  }

  /** The number of the next member that is answered; null after the last. */
  async next(): Promise<number | null> {
    while (this.#ready.length === 0 && this.#left > 0) {
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
    return this.#ready.shift() ?? null;
  }

  /** An answer, which is kept no longer: its bytes stop counting once they are read. */
  take(at: number): Kept | null {
    const answer = this.#answers[at] ?? null;
    this.#answers[at] = null;
    return answer;
  }

  free(): void {
    for (const ration of this.rations) ration.free();
  }
}

/** A plain call, and its number in the batch. */
interface Numbered {
  request: RpcRequest;
  ration: AnswerRation;
  index: number;
}

/** Answers each message. What becomes of one leaves the others as they are: a forwarded call gets its result. */
function begin(
  services: McpServices,
  asked: ClientRequest,
  messages: readonly Json[],
  answer: Answering,
  batch: Batch,
): void {
  // By tool, because a call waits for no other tool's server.
  const calls = new Map<Json | undefined, Numbered[]>();
  for (const [index, body] of messages.entries()) {
    const message = read(body);
    const ration = batch.rations[index] as AnswerRation;
    if (message instanceof RpcError) batch.answered(index, failed(null, message));
    else if (message.kind === 'request' && message.method === 'initialize')
      batch.answered(index, failed(message.id, NOT_HERE));
    else if (isPlainCall(message)) {
      const { name } = message.params;
      const same = calls.get(name);
      const call = { request: message, ration, index };
      if (same === undefined) calls.set(name, [call]);
      else same.push(call);
    } else {
      member(message, answer(services, { ...asked, ration }, message)).then(result =>
        batch.answered(index, result),
      );
    }
  }
  for (const each of calls.values()) answerCalls(services, asked, each, batch);
}

function read(body: Json): RpcMessage | RpcError {
  try {
    return readMessage(body);
  } catch (error) {
    return error as RpcError;
  }
}

/** Its header is of the older era, as that of the whole batch. */
function isPlainCall(message: RpcMessage): message is RpcRequest {
  if (message.kind !== 'request' || message.method !== 'tools/call') return false;
  return isPlain(message.params) && metaOf(message.params)[ENVELOPE.version] === undefined;
}

/** The batch is asked for without streams. */
async function member(message: RpcMessage, answer: Promise<ReplyOrStream>): Promise<Member> {
  try {
    return { message: ((await answer) as Reply).message, refusal: null };
  } catch (error) {
    return failed(message.kind === 'request' ? message.id : null, error);
  }
}

async function answerCalls(
  services: McpServices,
  asked: ClientRequest,
  calls: readonly Numbered[],
  batch: Batch,
): Promise<void> {
  try {
    const options = callOptions(await mcpSessionOf(services, asked));
    const results = await answerTogether(services, asked, calls, options);
    for (const [at, { request, index }] of calls.entries()) {
      (results[at] as Promise<JsonObject>).then(
        result => batch.answered(index, { message: resultMessage(request.id, result), refusal: null }),
        error => batch.answered(index, failed(request.id, error)),
      );
    }
  } catch (error) {
    for (const { request, index } of calls) batch.answered(index, failed(request.id, error));
  }
}

function failed(id: Id | null, error: unknown): Member {
  // Clients treat a response to a cancelled request as an error.
  if (error instanceof CallCancelled) return { message: null, refusal: null };
  if (!(error instanceof GuardError) || error.code === 'audit_failed')
    return { message: failure(id, error).message, refusal: null };
  const { code, message: why } = error;
  const refusal = new RpcError(CODES.internal, why, { data: { code } });
  return { message: id === null ? null : errorMessage(id, refusal), refusal: error };
}

async function negotiated(services: McpServices, asked: ClientRequest): Promise<string> {
  if (asked.request.headers.get('mcp-session-id') === null) return LEGACY_VERSIONS[0];
  return (await mcpSessionOf(services, asked)).protocolVersion;
}

function withoutStreams(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.set('accept', 'application/json');
  return plain;
}
