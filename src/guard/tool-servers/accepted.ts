// The accepted definitions of all tool servers, as the lines of a lock file say them. Where a lock file is in force, they are
// its own lines.

import type { LockedTool } from '../../core/definitions/lock-file.ts';
import { lookAt, writeLook } from '../../core/definitions/look.ts';
import { type JsonObject, parseJson } from '../../core/wire/json.ts';
import { listAllReviewed, type Reviewed } from '../../store/definition-reviews.ts';
import type { Deps } from '../deps.ts';
import { HeldKeys, type HeldSource } from './held-keys.ts';
import { acceptedOf } from './review.ts';

export interface AcceptedTools {
  tools: LockedTool[];
  /** Null at the end. */
  next: string | null;
}

/** `after` is the `next` of the page before. Calls that are held for any key count as not accepted. */
export async function acceptedTools(deps: Deps, limit: number, after: string): Promise<AcceptedTools> {
  const { toolsLock } = deps.settings;
  if (toolsLock !== null) return inFile(toolsLock.tools, limit, after);
  const [sourceId = '', ...name] = after.split(' ');
  const rows = await listAllReviewed(deps.db, limit, { sourceId, toolName: name.join(' ') });
  const tools: LockedTool[] = [];
  for (const row of rows) {
    const source = { sourceId: row.sourceId, name: row.server, trust: row.trust };
    const accepted = acceptedOf(deps, source, row);
    if (accepted === null) continue;
    if (accepted.by === 'first' && (await isHeld(deps, source, row))) continue;
    tools.push({ server: row.server, tool: row.toolName, digest: accepted.digest });
  }
  const last = rows.length < limit ? undefined : rows.at(-1);
  return { tools, next: last === undefined ? null : `${last.sourceId} ${last.toolName}` };
}

/** Whether the definition that was seen first shadows a tool of a key. */
async function isHeld(deps: Deps, source: HeldSource, row: Reviewed): Promise<boolean> {
  const definition = parseJson(row.pinnedDefinition ?? row.definition) as JsonObject;
  const digest = row.pinnedDigest;
  const look = writeLook(digest, lookAt(definition));
  const { heldFor } = await new HeldKeys(deps, source).of({ ...row, digest, look }, definition);
  return heldFor.length > 0;
}

function inFile(lines: readonly LockedTool[], limit: number, after: string): AcceptedTools {
  const from = Number(after) || 0;
  const next = from + limit < lines.length ? String(from + limit) : null;
  return { tools: lines.slice(from, from + limit), next };
}
