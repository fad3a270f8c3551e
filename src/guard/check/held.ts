// Whether the definitions that a group's calls depend on are held until somebody accepts them, and why. What is known of a
// definition was found when it was recorded, so here little is left to do, except for a tool that may shadow another one of
// its key: then the other tools of the key are read in the same transaction.

import type { HeldFor } from '../../core/decision/reason.ts';
import { heldFor, type Present } from '../../core/definitions/held.ts';
import type { ToolsLock } from '../../core/definitions/lock-file.ts';
import { NOTHING, readLook } from '../../core/definitions/look.ts';
import { listNeighbours, readHasLookAlike } from '../../store/definition-reviews.ts';
import type { Queries } from '../../store/engine/db.ts';
import type { ShownDefinition } from '../../store/tool-definitions.ts';
import { mayBeNamed, namesTool } from '../shadowing.ts';
import type { CheckRequest } from './request.ts';

/** A call that is forwarded, with what its tool shows. */
export interface ShownTo {
  request: CheckRequest;
  row: ShownDefinition;
}

/** The calls whose definition is held. */
export async function readHeld(
  db: Queries,
  calls: readonly ShownTo[],
  lock: ToolsLock | null,
): Promise<Map<CheckRequest, HeldFor>> {
  const held = new Map<CheckRequest, HeldFor>();
  /** Calls of the same tool are looked up once. */
  const shadows = new Map<string, HeldFor | null>();
  for (const { request, row } of calls) {
    const present = presentOf(request, row);
    let why = heldFor(present, lock);
    if (why === 'unless alone') {
      const same = `${row.connectedToolId} ${present.digest} ${present.tool}`;
      let found = shadows.get(same);
      if (found === undefined) {
        found = await shadowedBy(db, row, present);
        shadows.set(same, found);
      }
      why = found;
    }
    if (why !== null) held.set(request, why);
  }
  return held;
}

/** What the caller is shown. Of a tool that its server has not shown yet, nothing is known that would hold it. */
export function presentOf(
  { call, shownDigest, shownLook }: CheckRequest,
  { digest, changedDigest, acceptedDigest, look, sourceName, trust }: ShownDefinition,
): Present {
  const present = shownDigest ?? changedDigest ?? digest ?? '';
  return {
    server: sourceName,
    tool: call.toolName,
    digest: present,
    acceptedDigest,
    trust,
    look: shownLook ?? (digest === null ? NOTHING : readLook(look, present)),
  };
}

async function shadowedBy(db: Queries, row: ShownDefinition, present: Present): Promise<HeldFor | null> {
  const { keyId, skeleton } = row;
  const { look, tool: toolName, digest } = present;
  const sourceId = row.toolServerId ?? row.connectedToolId;
  if (row.isAlike === 1 && skeleton !== null) {
    if (await readHasLookAlike(db, keyId, { sourceId, toolName, skeleton })) return 'shadows';
  }
  if (look === null || look.servers?.length === 0) return null;
  const named = mayBeNamed(look, await listNeighbours(db, keyId, sourceId));
  if (named.length === 0) return null;
  return (await namesTool(db, { sourceId, toolName, digest }, named)) ? 'names_tool' : null;
}
