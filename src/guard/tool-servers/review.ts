// What people look at before they accept the tools of a server: each present definition, who accepted which one, what has
// changed since, what was found in it, and for which keys its calls are held. held-keys.ts knows the last.

import type { Finding } from '../../core/definitions/finding.ts';
import { findingsOf } from '../../core/definitions/findings.ts';
import { hidesText } from '../../core/definitions/hidden.ts';
import { neighboursOf } from '../../core/definitions/neighbours.ts';
import { diffLines, type Line, nearChanges, type Skipped } from '../../core/text/diff.ts';
import { canonicalJson } from '../../core/wire/canonical.ts';
import { type Json, type JsonObject, parseJson } from '../../core/wire/json.ts';
import type { Reviewed } from '../../store/definition-reviews.ts';
import type { Deps } from '../deps.ts';
import { HeldKeys, type HeldSource } from './held-keys.ts';

export interface ReviewedTool {
  name: string;
  definition: JsonObject;
  digest: string;
  accepted: Accepted | null;
  /** The lines that changed since the accepted definition, and some around them; null if it is the present one. */
  difference: (Line | Skipped)[] | null;
  findings: Finding[];
  /** The ids of the keys for which its calls wait or are denied until somebody accepts the definition. */
  heldFor: string[];
}

export interface Accepted {
  /** The e-mail address of an operator, `admin`, `first` where nobody had to, or `lock file`. */
  by: string;
  /** Null for what a lock file accepts. */
  at: number | null;
  digest: string;
}

export async function reviewTools(
  deps: Deps,
  source: HeldSource,
  rows: readonly Reviewed[],
): Promise<ReviewedTool[]> {
  const keys = new HeldKeys(deps, source);
  const tools: ReviewedTool[] = [];
  for (const row of rows) {
    const definition = parseJson(row.definition) as JsonObject;
    const { heldFor, neighbours } = await keys.of(row, definition);
    const accepted = acceptedOf(deps, source, row);
    const difference =
      accepted === null || accepted.digest === row.digest ? null : differenceOf(row, definition);
    // Either takes some 100 ms for the largest definition, and others want to be answered meanwhile.
    await new Promise(setImmediate);
    tools.push({
      name: row.toolName,
      definition,
      digest: row.digest,
      accepted,
      difference,
      findings: findingsOf(definition, neighboursOf(neighbours)),
      heldFor,
    });
    await new Promise(setImmediate);
  }
  return tools;
}

export function acceptedOf(
  { settings: { toolsLock } }: Deps,
  { name, trust }: HeldSource,
  row: Reviewed,
): Accepted | null {
  const { toolName, digest, pinnedDigest, acceptedBy, acceptedAt } = row;
  if (toolsLock !== null) {
    // Of what the file has, the definition that was pinned is the only other one that is known.
    const inFile = [digest, pinnedDigest].find(each =>
      toolsLock.has({ server: name, tool: toolName, digest: each }),
    );
    return inFile === undefined ? null : { by: 'lock file', at: null, digest: inFile };
  }
  if (row.acceptedDigest === pinnedDigest && acceptedBy !== null)
    return { by: acceptedBy, at: acceptedAt, digest: pinnedDigest };
  if (trust === 'reviewed' || hidesText(parseJson(row.pinnedDefinition ?? row.definition) as JsonObject))
    return null;
  return { by: 'first', at: row.seenAt, digest: pinnedDigest };
}

const LINES_AROUND = 3;
const MOST_LINES = 1000;

function differenceOf({ pinnedDefinition }: Reviewed, present: JsonObject): (Line | Skipped)[] | null {
  if (pinnedDefinition === null) return null;
  const lines = nearChanges(diffLines(linesOf(parseJson(pinnedDefinition)), linesOf(present)), LINES_AROUND);
  const left = lines.length - MOST_LINES;
  return left > 0 ? [...lines.slice(0, MOST_LINES), { mark: '…', count: left }] : lines;
}

/** The order of members means nothing, so it makes no difference. */
function linesOf(definition: Json): string[] {
  return JSON.stringify(parseJson(canonicalJson(definition)), null, 2).split('\n');
}
