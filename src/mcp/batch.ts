// A batch of messages in one request, which only the revision 2025-03-26 has. Every call in one is checked like any
// other, and those of the same tool are submitted together: 50 calls then cost a third less.

import { GuardError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { answerTogether } from './answer-call.ts';
import { type Answer, accepted, failure, type Reply, responseOf } from './answers.ts';
import { CallCancelled, isPlain } from './call.ts';
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

/** Answers one message by itself. */
type Answering = (services: McpServices, asked: ClientRequest, message: RpcMessage) => Promise<Answer>;

export async function answerBatch(
  services: McpServices,
  asked: ClientRequest,
  messages: Json[],
  answer: Answering,
): Promise<Response> {
  const refused = (what: string) =>
    responseOf(failure(null, new RpcError(CODES.invalidRequest, what, { status: 400 })));
  const version = asked.request.headers.get('mcp-protocol-version') ?? (await negotiated(services, asked));
  if (version !== LEGACY_VERSIONS[0]) return refused(`Batches are not part of revision ${version}.`);
  if (messages.length === 0 || messages.length > MAX_BATCH)
    return refused(`A batch has 1 to ${MAX_BATCH} messages.`);
  const quiet = {
    ...asked,
    request: new Request(asked.request.url, {
      headers: withoutStreams(asked.request.headers),
      signal: asked.request.signal,
    }),
  };
  const answers = await members(services, quiet, messages, answer);
  // If every member was refused for the same reason, the HTTP status says so to clients that do not read the answers.
  const [first] = answers;
  if (first?.refusal && answers.every(each => each.refusal?.code === first.refusal?.code))
    throw first.refusal;
  const said = answers.flatMap(each => each.message ?? []);
  return said.length === 0 ? responseOf(accepted()) : Response.json(said);
}

interface Member {
  /** The answer; null: this message gets none. */
  message: JsonObject | null;
  /** The error that would have refused the whole request if the message had come alone. */
  refusal: GuardError | null;
}

/** A plain call, and its number in the batch. */
interface Numbered {
  request: RpcRequest;
  index: number;
}

/** Answers each message. What becomes of one leaves the others as they are: a forwarded call gets its result. */
async function members(
  services: McpServices,
  asked: ClientRequest,
  messages: readonly Json[],
  answer: Answering,
): Promise<Member[]> {
  const answers: Member[] = [];
  const work: Promise<void>[] = [];
  // By tool, because a call waits for no other tool's server.
  const calls = new Map<Json | undefined, Numbered[]>();
  for (const [index, body] of messages.entries()) {
    const message = read(body);
    if (message instanceof RpcError) answers[index] = failed(null, message);
    else if (isPlainCall(message)) {
      const { name } = message.params;
      const same = calls.get(name);
      if (same === undefined) calls.set(name, [{ request: message, index }]);
      else same.push({ request: message, index });
    } else {
      const answered = member(message, answer(services, asked, message));
      work.push(
        answered.then(told => {
          answers[index] = told;
        }),
      );
    }
  }
  for (const each of calls.values()) work.push(answerCalls(services, asked, each, answers));
  await Promise.all(work);
  return answers;
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
async function member(message: RpcMessage, answer: Promise<Answer>): Promise<Member> {
  try {
    return { message: ((await answer) as Reply).message, refusal: null };
  } catch (error) {
    return failed(message.kind === 'request' ? message.id : null, error);
  }
}

/** Answers calls of the same tool. */
async function answerCalls(
  services: McpServices,
  asked: ClientRequest,
  calls: readonly Numbered[],
  answers: Member[],
): Promise<void> {
  try {
    const options = callOptions(await mcpSessionOf(services, asked));
    const requests = calls.map(each => each.request);
    const results = await answerTogether(services, asked, requests, options);
    for (const [at, { request, index }] of calls.entries()) {
      const result = results[at] as PromiseSettledResult<JsonObject>;
      answers[index] =
        result.status === 'fulfilled'
          ? { message: resultMessage(request.id, result.value), refusal: null }
          : failed(request.id, result.reason);
    }
  } catch (error) {
    for (const { request, index } of calls) answers[index] = failed(request.id, error);
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

async function negotiated(services: McpServices, { request, principal }: ClientRequest): Promise<string> {
  const id = request.headers.get('mcp-session-id');
  if (id === null) return LEGACY_VERSIONS[0];
  return (await services.mcpSessions.find(id, principal)).protocolVersion;
}

function withoutStreams(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.set('accept', 'application/json');
  return plain;
}
