// Answers clients of the older era (2025-03-26 to 2025-11-25): `initialize` opens an MCP session, which is a row.

import type { JsonObject } from '../core/wire/json.ts';
import type { McpSessionRecord } from '../store/mcp-sessions.ts';
import { answerCall, DEFAULT_LOG_LEVEL, LOG_LEVELS } from './answer-call.ts';
import { accepted, capabilities, json, type Reply, type ReplyOrStream, toolsOf } from './answers.ts';
import { elicitsUrl } from './own-questions.ts';
import {
  CODES,
  type Id,
  LATEST_LEGACY,
  LEGACY_VERSIONS,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  resultMessage,
} from './protocol.ts';
import { isRelayed, relay } from './relay.ts';
import type { ClientRequest, McpServices } from './services.ts';

export async function answerLegacy(
  services: McpServices,
  asked: ClientRequest,
  message: RpcMessage,
): Promise<ReplyOrStream> {
  if (message.kind === 'request' && message.method === 'initialize')
    return initialize(services, asked, message);
  const mcpSession = await mcpSessionOf(services, asked);
  if (message.kind !== 'request' || message.method !== 'tools/call')
    await asked.shared.once('confirm', asked.confirm);
  if (message.kind === 'notification') {
    if (message.method === 'notifications/cancelled') {
      services.mcpSessions.cancel(mcpSession.id, message.params['requestId'] as Id);
    }
    return accepted();
  }
  if (message.kind === 'response') return accepted();
  const { id, method, params } = message;
  switch (method) {
    case 'tools/call':
      return answerCall(services, asked, message, callOptions(mcpSession));
    case 'ping':
      return json(resultMessage(id, {}));
    case 'tools/list':
      return json(resultMessage(id, await toolsOf(services, asked)));
    case 'logging/setLevel':
      if (!LOG_LEVELS.includes(params['level'] as string)) {
        throw new RpcError(
          CODES.invalidParams,
          `Invalid params: "level" is one of ${LOG_LEVELS.join(', ')}.`,
        );
      }
      await setLevel(services, asked, mcpSession.id, params['level'] as string);
      return json(resultMessage(id, {}));
    default: {
      const inRun = { ...asked, run: asked.run ?? mcpSession.id };
      const relayed = isRelayed(method) ? await relay(services, inRun, message) : null;
      if (relayed !== null) return json(resultMessage(id, relayed));
      throw new RpcError(CODES.methodNotFound, `Method not found: ${method}`);
    }
  }
}

function setLevel({ mcpSessions }: McpServices, { shared }: ClientRequest, id: string, level: string) {
  return shared.once(`level ${level}`, () => mcpSessions.setLevel(id, level));
}

/** The MCP session that a request names. */
export function mcpSessionOf(
  { mcpSessions }: McpServices,
  { request: { headers }, principal, shared }: ClientRequest,
): Promise<McpSessionRecord> {
  const version = headers.get('mcp-protocol-version');
  if (version !== null && !(LEGACY_VERSIONS as readonly string[]).includes(version)) {
    throw new RpcError(CODES.invalidRequest, `Unsupported protocol version: ${version}.`, { status: 400 });
  }
  const id = headers.get('mcp-session-id');
  if (id === null) {
    throw new RpcError(CODES.invalidRequest, 'The header Mcp-Session-Id is missing.', { status: 400 });
  }
  return shared.once('MCP session', () => mcpSessions.find(id, principal));
}

/** How the calls of an MCP session are answered. */
export function callOptions({ id, logLevel, elicitsUrl, protocolVersion }: McpSessionRecord) {
  return {
    modern: false,
    logLevel: logLevel ?? DEFAULT_LOG_LEVEL,
    // Older revisions have no error code for URL elicitation.
    elicitsUrl: elicitsUrl === 1 && protocolVersion === LATEST_LEGACY,
    mcpSessionId: id,
    protocolVersion,
  };
}

async function initialize(
  services: McpServices,
  asked: ClientRequest,
  { id, params }: RpcRequest,
): Promise<Reply> {
  await asked.confirm();
  const wished = params['protocolVersion'];
  const known = LEGACY_VERSIONS.find(version => version === wished);
  const protocolVersion = known ?? LATEST_LEGACY;
  const elicits = elicitsUrl(params['capabilities']);
  const mcpSessionId = await services.mcpSessions.open(asked.principal, protocolVersion, elicits);
  // The upstreams are opened all at once and nobody waits for them: a dead one must not delay the client.
  const { keyId, personId } = asked.principal;
  for (const { upstream } of await services.hub.of(keyId, personId)) upstream.connect().catch(() => {});
  const result: JsonObject = {
    protocolVersion,
    capabilities: await capabilities(services, asked.principal, true),
    serverInfo: { name: 'toolgate', version: services.version },
  };
  return json(resultMessage(id, result), 200, { 'Mcp-Session-Id': mcpSessionId });
}
