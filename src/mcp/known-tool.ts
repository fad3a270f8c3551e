// A tool as a client knows it: a tool that an upstream offers, by the name that it has for one key.

import type { Look } from '../core/definitions/look.ts';
import { joinName, toolNameFault } from '../core/text/name.ts';
import type { JsonObject } from '../core/wire/json.ts';
import type { CalledTool } from '../guard/check/request.ts';
import type { ConnectedTool } from '../store/connected-tools.ts';
import type { Connected } from './hub.ts';
import type { OfferedTool } from './named-tools.ts';
import type { Upstream } from './upstream.ts';

export interface KnownTool {
  exposedName: string;
  serverName: string;
  toolName: string;
  connectedTool: ConnectedTool;
  upstream: Upstream;
  /** The definition as the upstream shows it. */
  definition: JsonObject;
  /** Its digest, where one person may be shown another definition than others. */
  shownDigest?: string;
  /** What is known of that definition. */
  shownLook?: Look;
  /** The digest of that definition, where a call depends on it, and everybody is shown the same. */
  seenDigest?: string;
  /**
   * Set if somebody has to sign in to the server before a call can be sent. The call is checked nevertheless. `unlisted`:
   * no list is known yet, so the name is taken as it is, and nothing is known about the tool.
   */
  unsigned?: 'listed' | 'unlisted';
}

export function knownTool(
  { tool, upstream }: Connected,
  exposedName: string,
  offered: OfferedTool,
): KnownTool {
  return { ...offered, exposedName, serverName: tool.name, connectedTool: tool, upstream };
}

/** What a call or an access would reach: the state of the server that the connection is for. */
export function calledTool({ id }: ConnectedTool, { source }: Upstream): CalledTool {
  return { id, toolServerId: source.toolServerId, updatedAt: source.updatedAt };
}

/** The tool behind a name of which no list is known. Null if no tool can have this name. */
export function unlisted({ tool, upstream }: Connected, exposedName: string): KnownTool | null {
  const serverName = tool.name;
  const toolName = exposedName.slice(joinName(serverName, '').length);
  if (toolNameFault(toolName) !== null) return null;
  const known = { exposedName, serverName, toolName, connectedTool: tool, upstream };
  return { ...known, definition: {}, unsigned: 'unlisted' };
}
