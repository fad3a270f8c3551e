// envoy.service.auth.v3.Authorization/Check: a gateway sends the request of its client as a message. The message
// becomes a request to /ext-authz, and the answer to that becomes the CheckResponse. Field numbers are those of Envoy's
// attribute_context.proto and external_auth.proto.

import { field, join, Malformed, mapAt, messageAt, textOf } from '../../core/wire/protobuf.ts';
import { refuse } from '../hooks/ext-authz.ts';
import { invalid } from '../hooks/ext-authz-request.ts';
import type { Metadata } from './listener.ts';

export const CHECK_PATH = '/envoy.service.auth.v3.Authorization/Check';

const ATTRIBUTES = 1;
const REQUEST = 4;
const HTTP = 2;
const METHOD = 2;
const HEADERS = 3;
const BODY = 11;
const RAW_BODY = 12;
const CONTEXT_EXTENSIONS = 10;

/**
 * The headers that state the length of the body. They are replaced, because the gateway may not have passed the body
 * on.
 */
const LENGTHS = ['content-length', 'transfer-encoding'];

/** The headers that name the trace of the gateway's own call. Without them, the trace of its client's request counts. */
const TRACE = ['traceparent', 'tracestate'] as const;

/**
 * The client's request, as a request to /ext-authz. The gateway names the server in `context_extensions`, which no
 * client can set, or in the header X-Toolgate-Server.
 */
export function requestOf(
  message: Uint8Array,
  metadata: Metadata = {},
): { request: Request; server: string | null } {
  const attributes = messageAt(message, ATTRIBUTES);
  const http = messageAt(attributes, REQUEST, HTTP);
  const server = new Map(mapAt(attributes, CONTEXT_EXTENSIONS)).get('server') ?? null;
  const headers = new Headers();
  for (const [name, value] of mapAt(http, HEADERS))
    if (!name.startsWith(':') && !LENGTHS.includes(name.toLowerCase())) headers.set(name, value);
  if (typeof metadata['traceparent'] === 'string')
    for (const name of TRACE) setOrDelete(headers, name, metadata[name]);
  const raw = messageAt(http, RAW_BODY);
  const body = raw.length > 0 ? raw : messageAt(http, BODY);
  const method = textOf(messageAt(http, METHOD));
  // The runtime cannot make a GET request with a body. Such a request gets only its Content-Length, so that reading its
  // body fails.
  const bodiless = body.length === 0 || method === 'GET' || method === 'HEAD';
  headers.set('content-length', String(body.length));
  const url = `http://grpc/ext-authz/${encodeURIComponent(server ?? '')}`;
  const request = new Request(url, { method, headers, ...(!bodiless && { body: new Uint8Array(body) }) });
  // The runtime replaces a method that it does not know by GET.
  if (request.method !== method) throw new Malformed();
  return { request, server };
}

function setOrDelete(headers: Headers, name: string, value: string | string[] | undefined): void {
  if (typeof value === 'string') headers.set(name, value);
  else headers.delete(name);
}

type Ask = (request: Request, server: string | null) => Promise<Response>;

export async function check(message: Uint8Array, ask: Ask, metadata: Metadata): Promise<Uint8Array> {
  const { request, server } = requestOf(message, metadata);
  return checkResponse(await ask(request, server));
}

/** The answer to a message that cannot be read. */
export const unreadable = (): Promise<Uint8Array> =>
  checkResponse(refuse(invalid('The request cannot be read, or is too large.'), null));

const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

/**
 * The answer as a CheckResponse. Every answer but 200 becomes a denial and not an error of gRPC: a gateway that is
 * configured to go on without us would let the request pass after an error.
 */
export async function checkResponse(answer: Response): Promise<Uint8Array> {
  // Headers of an allowed answer would be added to the client's request, so there are none.
  if (answer.status === 200) return join(field(1, new Uint8Array()), field(3, new Uint8Array()));
  const code = answer.status === 401 ? UNAUTHENTICATED : PERMISSION_DENIED;
  const headers = [...answer.headers]
    .filter(([name]) => !LENGTHS.includes(name))
    .map(([name, value]) => field(2, field(1, join(field(1, name), field(2, value)))));
  const denied = join(field(1, field(1, answer.status)), ...headers, field(3, await answer.text()));
  return join(field(1, field(1, code)), field(2, denied));
}
