// Which tools the audit log knows, by their names, and which of them a text means that somebody searches by
// (core/log/name-search.ts). Agents choose the names of tools, so the work is bounded: an index is skipped through from one
// name to the next, and beyond MOST_READ names, or MOST_MATCHING that match, the search tests entries instead.

import { exactName, nameMatcher, type ToolName } from '../../core/log/name-search.ts';
import type { Queries } from '../engine/db.ts';

/** The tools that a search of the audit log is for. */
export interface SearchedTools {
  /** All names that match; null if there are too many of them, or too many names to look through. */
  names: ToolName[] | null;
  matches: (name: ToolName) => boolean;
}

/** How many names are looked through: 10,000 take 40 ms on SQLite. */
const MOST_READ = 10_000;
const MOST_MATCHING = 512;
/** How many names one statement reads. SQLite answers without a turn of the event loop, so other requests wait for it. */
const PART = 500;

/** Null if the text is the name of a tool, which a search then has to be for exactly. */
export async function findSearchedTools(db: Queries, text: string): Promise<SearchedTools | null> {
  if (await isTool(db, text)) return null;
  const found = await findNames(db, text);
  return { names: found.all ? found.names : null, matches: nameMatcher(text) };
}

async function isTool(db: Queries, text: string): Promise<boolean> {
  const exact = exactName(text);
  if (exact === null) return false;
  const { serverName, toolName } = exact;
  const rows = await db.all(
    `SELECT 1 AS found FROM audit_contexts WHERE tool_name = $1 ${serverName === null ? '' : 'AND server_name = $2'} LIMIT 1`,
    serverName === null ? [toolName] : [toolName, serverName],
  );
  return rows.length > 0;
}

/** Names that match a text, in the order of the index, and whether these are all. */
export async function findNames(db: Queries, text: string): Promise<{ names: ToolName[]; all: boolean }> {
  const matches = nameMatcher(text);
  const names: ToolName[] = [];
  let after: ToolName = { serverName: '', toolName: '' };
  for (let read = 0; read < MOST_READ; read += PART) {
    const part = await namesAfter(db, after);
    names.push(...part.filter(matches));
    if (names.length > MOST_MATCHING) return { names: names.slice(0, MOST_MATCHING), all: false };
    if (part.length < PART) return { names, all: true };
    after = part.at(-1) as ToolName;
    await new Promise(setImmediate);
  }
  return { names, all: false };
}

/** Each step of the recursion is one seek in the index, however many contexts a name has. */
function namesAfter(db: Queries, { serverName, toolName }: ToolName): Promise<ToolName[]> {
  const next = (column: string, than: string) =>
    `(SELECT ${column} FROM audit_contexts WHERE (tool_name, server_name) > (${than})
      ORDER BY tool_name, server_name LIMIT 1)`;
  return db.all(
    `WITH RECURSIVE names (tool, server) AS (
       SELECT ${next('tool_name', '$1, $2')}, ${next('server_name', '$1, $2')}
       UNION ALL
       SELECT ${next('tool_name', 'tool, server')}, ${next('server_name', 'tool, server')} FROM names
       WHERE tool IS NOT NULL
     )
     SELECT tool AS "toolName", server AS "serverName" FROM names WHERE tool IS NOT NULL LIMIT ${PART}`,
    [toolName, serverName],
  );
}
