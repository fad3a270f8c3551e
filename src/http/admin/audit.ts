// /admin/v1/audit: reads the audit log, page by page or as one stream. A stream has one page in memory at a time and
// waits for its reader.

import { z } from 'zod';
import { DECISIONS } from '../../core/decision/decide.ts';
import { GuardError } from '../../core/errors.ts';
import { markFault } from '../../core/flows/names.ts';
import { SHADOWS } from '../../core/foresight/shadow.ts';
import { bestNames, MAX_SEARCH } from '../../core/log/name-search.ts';
import { SURFACES } from '../../core/text/surface.ts';
import { traceLink } from '../../core/wire/trace-context.ts';
import type { Queries } from '../../store/engine/db.ts';
import { findUnknown } from '../../store/executions.ts';
import { findAudit } from '../../store/log/audit.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { type AuditFilter, searchAudit } from '../../store/log/audit-search.ts';
import { findOutcome } from '../../store/log/outcomes.ts';
import { findNames, findSearchedTools } from '../../store/log/tool-names.ts';
import { before, list, page, text, timeIn, uuid } from '../serving/fields.ts';
import { holdOpen, type Route, route } from '../serving/route.ts';
import { stream } from '../serving/stream.ts';
import { contextOf, entryContext } from './audit-context.ts';
import { entry, forwarded, settled, showEntry, showOutcome, showSettled, traceId } from './audit-fields.ts';

const MOST_SUGGESTED = 20;

export const auditFilter = {
  from: timeIn.optional(),
  to: timeIn.optional(),
  keyId: uuid.optional(),
  sessionId: uuid.optional(),
  personId: uuid.optional().meta({ description: 'The operator for whom the session of the call acts.' }),
  decision: z.enum(DECISIONS).optional(),
  tool: z
    .string()
    .min(1)
    .max(MAX_SEARCH)
    .optional()
    .meta({ description: 'A full name, or a bare tool name.' }),
  surface: z.enum(SURFACES).optional(),
  shadow: z.enum(SHADOWS).optional().meta({
    description:
      "What the key's shadow policy decided, or `differs`: it decided otherwise than the policy of the key.",
  }),
  traceId: traceId.optional().meta({ description: 'The trace to which the call belongs.' }),
  mark: text(markFault, 'A mark that the run of the call had.', 'untrusted').optional(),
};

/** The filters for operators who see the whole log, and who may therefore learn which tools occur in it. */
const wholeLogFilter = {
  ...auditFilter,
  tool: auditFilter.tool.meta({
    description:
      'A full name, or a bare tool name: exactly that tool. If there is no such tool, or with `*` (any characters): ' +
      'every tool whose name contains the text or matches the pattern, in upper or lower case. A pattern with `__` is ' +
      'compared with full names only, others also with bare tool names.',
    example: 'github__*',
  }),
};

const traceUrl = z.url().optional().meta({
  description: 'Where the trace can be seen, if TOOLGATE_TRACE_URL says so and the call was traced.',
});

function traceUrlOf(pattern: string | null, { traceId }: AuditEntry): string | null {
  return pattern === null || traceId === null ? null : traceLink(pattern, traceId);
}

export const auditRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/audit',
    access: 'view',
    tag: 'audit',
    summary: 'Read the audit log, newest first',
    description:
      'A page ends after some ten thousand entries have been searched. If few of them match, it has fewer than `limit` ' +
      'entries, or none, and still a `nextCursor` to continue with.',
    query: z.strictObject({ ...page, ...wholeLogFilter }),
    answers: { 200: { description: 'Entries.', schema: list('entries', entry) } },
    handle: async ({ services, query }) => {
      const { db } = services.deps;
      const filter = await withTools(db, query);
      const { entries, next } = await searchAudit(db, filter, query.limit, before(query));
      return Response.json({ entries: entries.map(showEntry), nextCursor: next });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/audit/tools',
    access: 'view',
    tag: 'audit',
    summary: 'Suggest tools that the audit log knows',
    description: 'For a search by `tool`: names that begin with the text come first.',
    query: z.strictObject({
      like: z
        .string()
        .max(MAX_SEARCH)
        .default('')
        .meta({ description: 'A part of a name, or a pattern with `*`.' }),
    }),
    answers: {
      200: {
        description: `At most ${MOST_SUGGESTED} full names.`,
        schema: z.object({ tools: z.array(z.string()) }),
      },
    },
    handle: async ({ services: { deps }, query: { like } }) => {
      const { names } = await findNames(deps.db, like);
      return Response.json({ tools: bestNames(like, names, MOST_SUGGESTED) });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/audit/:id',
    access: 'view',
    tag: 'audit',
    summary: 'Read one entry, the outcome of the call, and what its ids stand for',
    answers: {
      200: {
        description: 'The entry.',
        schema: entry.extend({ forwarded, settled, context: entryContext, traceUrl }),
      },
    },
    handle: async ({ services, params }) => {
      const { deps } = services;
      const row = await findAudit(deps.db, params['id'] ?? '');
      if (row === null) throw new GuardError('not_found', 'There is no audit entry with this id.');
      const forwarded = showOutcome(await findOutcome(deps.db, row.id));
      const settled = showSettled(await findUnknown(deps.db, row.id));
      const context = await contextOf(deps.db, row);
      const traceUrl = traceUrlOf(services.config.traceUrl, row);
      return Response.json({
        ...showEntry(row),
        forwarded,
        settled,
        context,
        ...(traceUrl !== null && { traceUrl }),
      });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/audit/export',
    access: 'view',
    tag: 'audit',
    summary: 'Stream the audit log, newest first',
    query: z.strictObject({ ...wholeLogFilter, format: z.enum(['jsonl', 'csv']).default('jsonl') }),
    answers: { 200: { description: 'One entry per line.', type: 'application/jsonl' } },
    handle: incoming => {
      holdOpen(incoming);
      const { services, query } = incoming;
      const { format, ...filters } = query;
      const { type, write, head } = FORMATS[format];
      return new Response(stream(incoming, lines(services.deps.db, filters, head, write)), {
        headers: {
          'Content-Type': type,
          'Content-Disposition': `attachment; filename="toolgate-audit.${format}"`,
          'Cache-Control': 'no-store',
        },
      });
    },
  }),
];

async function withTools(db: Queries, filter: AuditFilter): Promise<AuditFilter> {
  const { tool, ...others } = filter;
  const tools = tool === undefined ? null : await findSearchedTools(db, tool);
  return tools === null ? filter : { ...others, tools };
}

type Cell = string | number | null | undefined;

const { shadow: _, traceId: __, reasonCode: ___, runId: ____, marks: _____, ...FLAT } = entry.shape;
const COLUMNS = Object.keys(FLAT) as (keyof typeof FLAT)[];
/** These columns were added later. They stay at the end, because readers may address columns by their number. */
const LATER_COLUMNS = [
  'shadowPolicyId',
  'shadowPolicyVersion',
  'shadowDecision',
  'shadowRuleIndex',
  'traceId',
  'runId',
  'marks',
];

function cells(row: AuditEntry): Cell[] {
  const { shadow, traceId, runId, marks, ...shown } = showEntry(row);
  const shadowCells = [shadow?.policyId, shadow?.policyVersion, shadow?.decision, shadow?.ruleIndex];
  return [...COLUMNS.map(column => shown[column]), ...shadowCells, traceId, runId, marks?.join(' ')];
}

const FORMATS = {
  jsonl: {
    type: 'application/jsonl',
    head: '',
    write: (row: AuditEntry) => `${JSON.stringify(showEntry(row))}\n`,
  },
  csv: {
    type: 'text/csv; charset=utf-8',
    head: `${[...COLUMNS, ...LATER_COLUMNS].join(',')}\r\n`,
    write: (row: AuditEntry) => `${cells(row).map(csvCell).join(',')}\r\n`,
  },
};

/** Quotes a cell where needed. One that a spreadsheet would run as a formula gets an apostrophe in front. */
function csvCell(value: Cell): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const EXPORT_PAGE = 1000;

async function* lines(
  db: Queries,
  filter: AuditFilter,
  head: string,
  write: (row: AuditEntry) => string,
): AsyncGenerator<string> {
  if (head !== '') yield head;
  const wanted = await withTools(db, filter);
  for (let from: string | null = before({}); from !== null; ) {
    const { entries, next } = await searchAudit(db, wanted, EXPORT_PAGE, from);
    if (entries.length > 0) yield entries.map(write).join('');
    from = next;
  }
}
