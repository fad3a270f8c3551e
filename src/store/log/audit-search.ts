// Searches the audit log, newest entries first, by any combination of filters and with bounded work. Each filter can
// have a tag, and a tag has a list of time slots that contain matching entries (slots.ts). The search follows the slots
// of one tag, the lead: the tag whose next slots reach farthest back. It skips slots that lack another filter's tag,
// and tests the entries of the others. A search for several tools follows the slots of all their tags as if they were
// one (merged-slots.ts). After PER_PAGE entries a page ends, full or not, and says where the next one continues.

import type { Decision } from '../../core/decision/decide.ts';
import type { ShadowFilter } from '../../core/foresight/shadow.ts';
import type { ToolName } from '../../core/log/name-search.ts';
import { splitName } from '../../core/text/name.ts';
import type { Surface } from '../../core/text/surface.ts';
import { padded, type Queries, type Value } from '../engine/db.ts';
import { AUDIT_COLUMNS, ENTRY_COLUMNS, firstIdAt } from './audit.ts';
import { type AuditEntry, type AuditRow, withShadow } from './audit-entry.ts';
import { MergedSlots } from './merged-slots.ts';
import {
  AFTER_HEX,
  decisionTag,
  firstIdFrom,
  keyTag,
  markTag,
  personTag,
  sessionTag,
  shadowTag,
  slotOf,
  surfaceTag,
  toolTag,
  traceTag,
} from './slots.ts';
import type { SearchedTools } from './tool-names.ts';

export interface AuditFilter {
  /** Inclusive. */
  from?: number | undefined;
  /** Exclusive. */
  to?: number | undefined;
  keyId?: string | undefined;
  sessionId?: string | undefined;
  personId?: string | undefined;
  decision?: Decision | undefined;
  /** A full name, or a bare one without `__`. */
  tool?: string | undefined;
  /** Several tools instead of one. */
  tools?: SearchedTools | undefined;
  surface?: Surface | undefined;
  /** What the shadow said, or that it differs from the decision. */
  shadow?: ShadowFilter | undefined;
  traceId?: string | undefined;
  /** A mark that the run had. */
  mark?: string | undefined;
}

interface AuditPage {
  entries: AuditEntry[];
  /** The next page continues before this id; null at the end of the log. */
  next: string | null;
}

/** About how many entries one statement reads; they take some 4 ms on SQLite. */
const CHUNK = 2048;
/** How many entries and slots are read for one page. */
const PER_PAGE = 20_000;
/**
 * How many slots or entries a statement reads, at first and at most. The numbers are powers of two and part of the SQL
 * text: query planners use them, and only a few different statements have to be prepared.
 */
const FIRST_SLOTS = 16;
const FIRST_ENTRIES = 256;
const MOST = 2048;

/** One test of an entry, and the tag whose slots contain the matching entries, if there is one. */
interface Condition {
  /** The test as SQL, in which the columns of an entry are those of `c`. */
  test: (param: (value: Value) => string) => string;
  tag: number | null;
}

/** A part of the log, which is read from its end. */
interface Part {
  /** The first id of the part. */
  low: string;
  /** The first id or slot after the part. */
  before: string;
  /** How many slots of the lead to read, or how many entries if there is no lead. */
  size: number;
}

/** What leads a search: a tag whose slots it follows, slots that are known already, or nothing but the ids. */
type Lead = { tag: number } | { slots: string[] } | null;

/** What a search tests entries for, and what it can follow. */
interface Search {
  conditions: Condition[];
  /** The tags of the conditions. */
  tags: number[];
  tools: SearchedTools | undefined;
  /** The slots of the tools, if their names are known. */
  toolSlots: MergedSlots | null;
}

export async function searchAudit(
  db: Queries,
  filter: AuditFilter,
  limit: number,
  before: string,
): Promise<AuditPage> {
  const low = firstIdAt(filter.from ?? 0);
  const search = searchOf(db, filter, low);
  const entries: AuditEntry[] = [];
  let at = filter.to === undefined ? before : least(before, firstIdAt(filter.to));
  let size = search.tags.length > 0 || search.toolSlots !== null ? FIRST_SLOTS : firstSize(search, limit);
  for (let seen = 0; seen < PER_PAGE; ) {
    const part = { low, before: at, size };
    const lead = await leadOf(db, search, part);
    const chunk = await readChunk(db, lead, search, part, limit + 1 - entries.length);
    entries.push(...chunk.found);
    if (entries.length > limit)
      return { entries: entries.slice(0, limit), next: entries[limit - 1]?.id ?? null };
    if (chunk.reach === null) return { entries, next: null };
    at = chunk.reach;
    seen += chunk.seen;
    size = nextSize(size, chunk.seen);
    // SQLite answers without a turn of the event loop, so other requests get one here.
    await new Promise(setImmediate);
  }
  return { entries, next: firstIdFrom(at) };
}

function searchOf(db: Queries, filter: AuditFilter, low: string): Search {
  const conditions = conditionsOf(filter);
  const tags = [...new Set(conditions.flatMap(each => each.tag ?? []))];
  const names = filter.tools?.names ?? null;
  const toolTags = [...new Set(names?.map(({ toolName }) => toolTag(toolName)))];
  const toolSlots = names === null ? null : new MergedSlots(db, toolTags, slotOf(low));
  return { conditions, tags, tools: filter.tools, toolSlots };
}

/** Without conditions every entry matches, so no more than a page has to be read. */
function firstSize({ conditions, tools }: Search, limit: number): number {
  return conditions.length === 0 && tools === undefined ? powerOfTwo(limit + 1) : FIRST_ENTRIES;
}

/** How many slots or entries to read next to get about CHUNK entries, estimated from the last read. */
export function nextSize(size: number, seen: number): number {
  const fitting = powerOfTwo((size * CHUNK) / Math.max(seen, 1) / 2);
  return Math.min(Math.max(fitting, 1), 8 * size, MOST);
}

const powerOfTwo = (atLeast: number): number => 2 ** Math.ceil(Math.log2(atLeast));

function conditionsOf({ tool, ...filter }: AuditFilter): Condition[] {
  const name = tool === undefined ? null : splitName(tool);
  const toolName = name?.toolName ?? tool;
  const { keyId, sessionId, personId, decision, surface, traceId } = filter;
  const all: [keyof AuditEntry, Value | undefined, number | null][] = [
    ['traceId', traceId, traceId === undefined ? null : traceTag(traceId)],
    ['sessionId', sessionId, sessionId === undefined ? null : sessionTag(sessionId)],
    ['personId', personId, personId === undefined ? null : personTag(personId)],
    ['keyId', keyId, keyId === undefined ? null : keyTag(keyId)],
    ['toolName', toolName, toolName === undefined ? null : toolTag(toolName)],
    ['decision', decision, decision === undefined ? null : decisionTag(decision)],
    ['surface', surface, surface === undefined ? null : surfaceTag(surface)],
    ['serverName', name?.serverName, null],
  ];
  const equal = all.flatMap(([field, value, tag]): Condition[] =>
    value === undefined ? [] : [{ test: param => `c."${field}" = ${param(value)}`, tag }],
  );
  if (filter.shadow !== undefined) equal.push(shadowCondition(filter.shadow));
  if (filter.mark !== undefined) equal.push(markCondition(filter.mark));
  return equal;
}

/** Names of marks have no characters that mean something in a pattern. */
function markCondition(mark: string): Condition {
  return { test: param => `' ' || c.marks || ' ' LIKE ${param(`% ${mark} %`)}`, tag: markTag(mark) };
}

/** The decision of an entry without a shadow differs from nothing. */
function shadowCondition(shadow: ShadowFilter): Condition {
  const tag = shadowTag(shadow);
  if (shadow === 'differs') return { test: () => 'c."shadowDecision" <> c.decision', tag };
  return { test: param => `c."shadowDecision" = ${param(shadow)}`, tag };
}

/** The tag or the tools whose next slots reach farthest back; null if the search has to follow the ids. */
async function leadOf(db: Queries, { tags, toolSlots }: Search, part: Part): Promise<Lead> {
  const tag = await chooseLead(db, tags, part);
  if (toolSlots === null) return tag === null ? null : { tag };
  const slots = await toolSlots.before(part.before, part.size);
  if (tag === null || slots.length < part.size) return { slots };
  const reach = await reachOf(db, tag, part);
  return reach === null || reach < (slots.at(-1) as string) ? { tag } : { slots };
}

/** The tag whose next slots reach farthest back; null if there are no tags, and the search then follows the ids. */
export async function chooseLead(db: Queries, tags: readonly number[], part: Part): Promise<number | null> {
  if (tags.length < 2) return tags[0] ?? null;
  let best: { tag: number; reach: string } | null = null;
  for (const tag of tags) {
    const reach = await reachOf(db, tag, part);
    if (reach === null) return tag;
    if (best === null || reach < best.reach) best = { tag, reach };
  }
  return best?.tag ?? null;
}

/** The slot that follows the next `size` slots of a tag; null if there is none. */
async function reachOf(db: Queries, tag: number, { low, before, size }: Part): Promise<string | null> {
  const [row] = await db.all<{ slot: string }>(
    `SELECT slot FROM audit_slots WHERE tag = $1 AND slot >= $2 AND slot < $3 ORDER BY slot DESC LIMIT 1 OFFSET ${size}`,
    [tag, slotOf(low), before],
  );
  return row?.slot ?? null;
}

/**
 * Reads the next `size` slots or entries: the matching entries, how many were read, and the last one; null at the end.
 */
async function readChunk(
  db: Queries,
  lead: Lead,
  { tags, conditions, tools }: Search,
  { low, before, size }: Part,
  wanted: number,
): Promise<{ found: AuditEntry[]; seen: number; reach: string | null }> {
  if (lead !== null && 'slots' in lead && lead.slots.length === 0) return { found: [], seen: 0, reach: null };
  const params: Value[] = [low, before];
  const param = (value: Value) => `$${params.push(value)}`;
  const others = tags
    .filter(tag => lead === null || !('tag' in lead) || tag !== lead.tag)
    .map(tag => hasTag(param(tag)));
  // The LIMIT and, on SQLite, the CROSS JOIN keep query planners from starting with another table.
  const parts =
    lead === null
      ? `chunk AS (SELECT ${AUDIT_COLUMNS} FROM audit WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT ${size}),
         steps AS (SELECT id AS step FROM chunk)`
      : `${stepsOf(lead, low, size, param)},
         chunk AS (SELECT ${ENTRY_COLUMNS} FROM steps CROSS JOIN audit_entries AS e CROSS JOIN audit_contexts AS c
           WHERE ${[`e.id >= step AND e.id < step || '${AFTER_HEX}' AND c.id = e.context`, ...others].join(' AND ')})`;
  const tests = conditions.map(each => each.test(param));
  if (tools?.names) tests.push(isAmong(tools.names, param));
  // Entries that are tested below have to be read first.
  const testsHere = tools?.names === null;
  const most = testsHere ? PER_PAGE : wanted;
  // This is one statement, so that an entry committed in between cannot displace another.
  const rows = await db.all<AuditRow & { reach: string | null; steps: number; seen: number }>(
    `WITH ${parts}
     SELECT r.*, c.* FROM (SELECT (SELECT min(step) FROM steps) AS reach, (SELECT count(*) FROM steps) AS steps,
       (SELECT count(*) FROM chunk) AS seen) AS r
     LEFT JOIN chunk AS c ON ${['c.id >= $1 AND c.id < $2', ...tests].join(' AND ')} ORDER BY c.id DESC LIMIT ${param(most)}`,
    params,
  );
  const [first] = rows;
  if (first === undefined) throw new Error('the search returned no row');
  const found = rows
    .filter(row => row.id !== null && (!testsHere || tools.matches(row)))
    .map(({ reach: _, steps: __, seen: ___, ...row }) => withShadow(row));
  const seen = first.seen + first.steps;
  if (testsHere && rows.length === most) return { found, seen, reach: rows.at(-1)?.id ?? null };
  return { found, seen, reach: first.steps < size ? null : first.reach };
}

/** The slots to read, as the table `steps`. */
function stepsOf(
  lead: NonNullable<Lead>,
  low: string,
  size: number,
  param: (value: Value) => string,
): string {
  if ('tag' in lead)
    return `steps AS (SELECT DISTINCT slot AS step FROM audit_slots WHERE tag = ${param(lead.tag)}
      AND slot >= ${param(slotOf(low))} AND slot < $2 ORDER BY slot DESC LIMIT ${size})`;
  const given = padded(lead.slots).map(slot => `(${param(slot)})`);
  return `given (step) AS (VALUES ${given.join(', ')}), steps AS (SELECT DISTINCT step FROM given LIMIT ${MOST})`;
}

function isAmong(names: readonly ToolName[], param: (value: Value) => string): string {
  const values = padded(names.map((_, index) => index)).map(index => {
    const { toolName, serverName } = names[index] as ToolName;
    return `(${param(toolName)}, ${param(serverName)})`;
  });
  return `(c."toolName", c."serverName") IN (VALUES ${values.join(', ')})`;
}

export const hasTag = (tag: string): string =>
  `EXISTS (SELECT 1 FROM audit_slots AS o WHERE o.tag = ${tag} AND o.slot = step)`;

function least(a: string, b: string): string {
  return a < b ? a : b;
}
