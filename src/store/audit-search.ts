// Searching the audit log, newest first, by any combination of filters and with bounded work. One filter's index
// leads: the one whose next few hundred entries reach farthest back. The others are tested on what it brings. After
// so many entries a page ends, full or not, and says where to go on.

import type { Decision } from '../core/decide.ts';
import type { Surface } from '../core/event.ts';
import { splitName } from '../core/name.ts';
import { AUDIT_COLUMNS, type AuditEntry, firstIdAt } from './audit.ts';
import { tagOf } from './contexts.ts';
import type { Queries, Value } from './db.ts';

export interface AuditFilter {
  /** Inclusive. */
  from?: number | undefined;
  /** Exclusive. */
  to?: number | undefined;
  keyId?: string | undefined;
  sessionId?: string | undefined;
  decision?: Decision | undefined;
  /** A full name, or a bare one without `__`. */
  tool?: string | undefined;
  surface?: Surface | undefined;
}

export interface AuditPage {
  entries: AuditEntry[];
  /** To go on before this id; null at the end. */
  next: string | null;
}

/**
 * Entries that are looked at in one statement, at first and at most: 2048 take about 4 ms on SQLite. Powers of two,
 * and written into the statements: planners go by the number, and there are few different statements to keep.
 */
const FIRST_CHUNK = 256;
const CHUNK = 2048;
/** Entries that are looked at for one page. */
const PER_PAGE = 20_000;

/** One equality, and the index over a column and the id that finds it, if there is one. */
interface Condition {
  field: keyof AuditEntry;
  value: Value;
  index: Index | null;
}

interface Index {
  column: string;
  /** Of a tag, others may have the same: every condition is tested on what its index brings, too. */
  value: Value;
  /** What the index's own condition says, literally, so that it can serve. */
  says: string;
}

export async function searchAudit(
  db: Queries,
  filter: AuditFilter,
  limit: number,
  before: string,
): Promise<AuditPage> {
  const conditions = conditionsOf(filter);
  const low = firstIdAt(filter.from ?? 0);
  const entries: AuditEntry[] = [];
  let at = filter.to === undefined ? before : least(before, firstIdAt(filter.to));
  let size = firstSize(conditions, limit);
  for (let seen = 0; seen < PER_PAGE; size = Math.min(2 * size, CHUNK)) {
    const lead = await chooseLead(db, conditions, low, at, size);
    const chunk = await readChunk(db, lead, conditions, low, at, size, limit + 1 - entries.length);
    entries.push(...chunk.found);
    if (entries.length > limit)
      return { entries: entries.slice(0, limit), next: entries[limit - 1]?.id ?? null };
    if (chunk.reach === null) return { entries, next: null };
    at = chunk.reach;
    seen += size;
    // The embedded engine answers without a turn of the event loop; whoever waits gets one here.
    await new Promise(setImmediate);
  }
  return { entries, next: at };
}

/** Where everything that is looked at matches, no more than a page is. */
function firstSize(conditions: readonly Condition[], limit: number): number {
  const allMatch = conditions.length < 2 && conditions.every(each => each.index !== null);
  return allMatch ? 2 ** Math.ceil(Math.log2(limit + 1)) : FIRST_CHUNK;
}

function conditionsOf({ tool, ...filter }: AuditFilter): Condition[] {
  const name = tool === undefined ? null : splitName(tool);
  const toolName = name?.toolName ?? tool;
  const { keyId, sessionId, decision, surface } = filter;
  const index = (column: string, value: Value | undefined, says = `${column} IS NOT NULL`): Index | null =>
    value === undefined ? null : { column, value, says };
  const all: [keyof AuditEntry, Value | undefined, Index | null][] = [
    ['sessionId', sessionId, index('session_id', sessionId)],
    ['keyId', keyId, index('key_tag', keyId && tagOf(keyId))],
    ['toolName', toolName, index('tool_tag', toolName && tagOf(toolName))],
    ['decision', decision, decision === 'allow' ? null : index('decision', decision, "decision <> 'allow'")],
    ['surface', surface, surface === 'check' ? null : index('surface', surface, "surface <> 'check'")],
    ['serverName', name?.serverName, null],
  ];
  return all.flatMap(([field, value, index]) => (value === undefined ? [] : [{ field, value, index }]));
}

/** The condition whose next chunk reaches farthest back; null when none has an index: the ids themselves. */
async function chooseLead(
  db: Queries,
  conditions: readonly Condition[],
  low: string,
  before: string,
  size: number,
): Promise<Condition | null> {
  const indexed = conditions.filter(each => each.index !== null);
  if (indexed.length < 2) return indexed[0] ?? null;
  let best: { condition: Condition; reach: string } | null = null;
  for (const condition of indexed) {
    const { where, order, params } = range(condition, low, before);
    const [row] = await db.all<{ id: string }>(
      `SELECT id FROM audit_entries WHERE ${where} ORDER BY ${order} LIMIT 1 OFFSET ${size}`,
      params,
    );
    if (row === undefined) return condition;
    if (best === null || row.id < best.reach) best = { condition, reach: row.id };
  }
  return best?.condition ?? null;
}

/** What matches among the next `size` entries of the lead, and the last of these; null when there are no more. */
async function readChunk(
  db: Queries,
  lead: Condition | null,
  conditions: readonly Condition[],
  low: string,
  before: string,
  size: number,
  wanted: number,
): Promise<{ found: AuditEntry[]; reach: string | null }> {
  const { where, order, params } = range(lead, low, before);
  const tests = conditions.map(each => `c."${each.field}" = $${params.push(each.value)}`);
  // One statement, so that an entry committed meanwhile cannot push another out between the two readings. The
  // LIMIT inside keeps planners from leading with another index.
  const rows = await db.all<AuditEntry & { reach: string | null; seen: number }>(
    `WITH chunk AS (SELECT ${AUDIT_COLUMNS} FROM audit WHERE ${where} ORDER BY ${order} LIMIT ${size})
     SELECT r.reach, r.seen, c.* FROM (SELECT min(id) AS reach, count(*) AS seen FROM chunk) AS r
     LEFT JOIN chunk AS c ON ${['1 = 1', ...tests].join(' AND ')} ORDER BY c.id DESC LIMIT $${params.push(wanted)}`,
    params,
  );
  const { reach = null, seen = 0 } = rows[0] ?? {};
  const found = rows.filter(row => row.id !== null).map(({ reach: _, seen: __, ...entry }) => entry);
  return { found, reach: seen < size ? null : reach };
}

/** Ids from `low` up to `before`, of one value: as a range of pairs, whose order only that value's index has. */
function range(
  condition: Condition | null,
  low: string,
  before: string,
): { where: string; order: string; params: Value[] } {
  if (condition?.index == null)
    return { where: 'id >= $1 AND id < $2', order: 'id DESC', params: [low, before] };
  const { column, value, says } = condition.index;
  return {
    where: `(${column}, id) >= ($1, $2) AND (${column}, id) < ($1, $3) AND ${says}`,
    order: `${column} DESC, id DESC`,
    params: [value, low, before],
  };
}

function least(a: string, b: string): string {
  return a < b ? a : b;
}
