// POST, GET and DELETE /mcp: reads the body within its limit. http/steps.ts has checked the origin and the credential
// before; mcp/endpoint.ts handles the messages.

import { GuardError } from '../../core/errors.ts';
import { type Json, MAX_CHECK_VALUES, parseJsonBytes } from '../../core/wire/json.ts';
import { end, listen, post } from '../../mcp/endpoint.ts';
import { CODES, errorMessage, RpcError } from '../../mcp/protocol.ts';
import type { ClientRequest } from '../../mcp/services.ts';
import { SharedWork } from '../../mcp/shared-work.ts';
import { bearer } from '../serving/auth.ts';
import { isJson, readBytes } from '../serving/body.ts';
import { agentOf, holdOpen, type Incoming, type Route, route } from '../serving/route.ts';
import { runOf } from '../serving/run-header.ts';

/** A client that takes nothing of a large answer for this long is disconnected, and its share is free again. */
const READ_SECONDS = 30;

const shared = { path: '/mcp', access: 'agent', tag: 'mcp', checksOrigin: true, challenges: true } as const;

export const mcpRoutes: Route[] = [
  route({
    ...shared,
    method: 'POST',
    summary: 'Speak MCP (Streamable HTTP) to the key’s Connected Tools',
    description:
      'JSON-RPC messages of the revisions 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28. Every `tools/call` is checked and recorded before it is forwarded.',
    answers: {
      200: { description: 'An answer, as JSON or as a stream of events.', type: 'application/json' },
      202: { description: 'The notification was accepted.' },
    },
    handle: async incoming => {
      const asked = clientRequestOf(incoming);
      const body = await readBody(incoming);
      if (body instanceof Response) return body;
      holdOpen(incoming);
      try {
        return await post(incoming.services.mcp, asked, body);
      } catch (error) {
        forgetDead(incoming, error);
        throw error;
      }
    },
  }),
  route({
    ...shared,
    method: 'GET',
    summary: 'Listen to the messages that the service sends on an MCP session by itself',
    answers: { 200: { description: 'A stream of events.', type: 'text/event-stream' } },
    handle: async incoming => {
      const asked = clientRequestOf(incoming);
      await asked.confirm();
      const stream = await listen(incoming.services.mcp, asked);
      if (stream === null) {
        const what = 'A stream needs the header Mcp-Session-Id and Accept: text/event-stream.';
        throw new GuardError('method_not_allowed', what, { allow: 'POST' });
      }
      holdOpen(incoming);
      return stream;
    },
  }),
  route({
    ...shared,
    method: 'DELETE',
    summary: 'End an MCP session',
    answers: { 204: { description: 'Ended.' } },
    handle: async incoming => {
      const asked = clientRequestOf(incoming);
      await asked.confirm();
      return end(incoming.services.mcp, asked);
    },
  }),
];

function clientRequestOf(incoming: Incoming<unknown, unknown>): ClientRequest {
  const { services, request, startedAt, span } = incoming;
  const principal = agentOf(incoming);
  const confirm = () => services.principals.confirm(bearer(request));
  const ration = services.rations.answer(principal.keyId);
  // The runtime counts from this call on, and not from the client's last read.
  const reading = () => incoming.server.timeout(request, READ_SECONDS);
  const waiting = () => holdOpen(incoming);
  const run = runOf(request.headers);
  return {
    request,
    principal,
    run,
    startedAt,
    span,
    confirm,
    ration,
    shared: new SharedWork(),
    reading,
    waiting,
  };
}

async function readBody({ services, request, ration }: Incoming<unknown, unknown>): Promise<Json | Response> {
  if (!isJson(request))
    throw new GuardError('unsupported_media_type', 'Send the message as application/json.');
  const bytes = await readBytes(request, { limit: services.config.mcpBodyLimit, ration });
  try {
    return parseJsonBytes(bytes, MAX_CHECK_VALUES);
  } catch (error) {
    const parse = new RpcError(CODES.parse, `Parse error: ${(error as Error).message}`);
    return Response.json(errorMessage(null, parse), { status: 400 });
  }
}

/** If the audit transaction found the credential invalid, the next request with it reads the store first. */
function forgetDead(incoming: Incoming<unknown, unknown>, error: unknown): void {
  if (error instanceof GuardError && error.code === 'unauthenticated') {
    incoming.services.principals.forget(agentOf(incoming));
  }
}
