// Opens the conversation with an upstream: finds out which era it speaks and what it offers. The newer era is tried
// first where the wire allows it; an upstream that does not know the newer era is initialized.

import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';
import { ENVELOPE, LATEST_LEGACY, MODERN_VERSION, type RpcResponse } from './protocol.ts';
import { type Hooks, HttpStatusError, UpstreamError, type Wire } from './wire.ts';

const CLIENT_INFO = { name: 'toolgate', version: '1' };

interface Negotiated {
  modern: boolean;
  /** What the upstream says it offers. */
  capabilities: JsonObject;
}

/** `refused` makes the error for an upstream that refuses. */
export async function negotiate(
  wire: Wire,
  hooks: Hooks,
  refused: (what: string, error: RpcResponse['error']) => UpstreamError,
): Promise<Negotiated> {
  const discovered = wire.triesModern ? await discover(wire, hooks) : null;
  if (discovered !== null) return { modern: true, capabilities: discovered };
  const params = { protocolVersion: LATEST_LEGACY, capabilities: {}, clientInfo: CLIENT_INFO };
  const { result, error } = await wire.request('initialize', params, hooks);
  if (result === null) throw refused('to initialize', error);
  const { protocolVersion, capabilities } = result;
  wire.protocolVersion = typeof protocolVersion === 'string' ? protocolVersion : LATEST_LEGACY;
  await wire.notify('notifications/initialized', {});
  return { modern: false, capabilities: isObject(capabilities) ? capabilities : {} };
}

/** The capabilities of an upstream of the newer era; null when it speaks the older one. */
async function discover(wire: Wire, hooks: Hooks): Promise<JsonObject | null> {
  const headers = { 'MCP-Protocol-Version': MODERN_VERSION, 'Mcp-Method': 'server/discover' };
  const params = { _meta: envelope({}) };
  const found = await wire.request('server/discover', params, hooks, headers).catch(error => {
    if (error instanceof UpstreamError && !(error instanceof HttpStatusError)) throw error;
    return null;
  });
  const versions = found?.result?.['supportedVersions'];
  if (!Array.isArray(versions) || !versions.includes(MODERN_VERSION)) return null;
  wire.protocolVersion = MODERN_VERSION;
  const capabilities = found?.result?.['capabilities'];
  return isObject(capabilities) ? capabilities : {};
}

/** What every request of the newer era carries. */
export function envelope(capabilities: Json): JsonObject {
  return {
    [ENVELOPE.version]: MODERN_VERSION,
    [ENVELOPE.capabilities]: capabilities,
    [ENVELOPE.clientInfo]: CLIENT_INFO,
  };
}
