// /admin/v1/me/connections, calls and approvals: what the signed-in person has connected, and the calls and approvals
// in their name. Every role may read this, and each person only about themselves. sign-ins.ts has the rest of
// /admin/v1/me.

import { z } from 'zod';
import { APPROVAL_STATUSES } from '../../core/approvals/approval.ts';
import { endConnection } from '../../guard/sessions.ts';
import { type ApprovalRecord, listApprovals } from '../../store/approvals.ts';
import type { Queries } from '../../store/engine/db.ts';
import { listKeyNames } from '../../store/keys.ts';
import { searchAudit } from '../../store/log/audit-search.ts';
import { listConnections, type PersonSession } from '../../store/sessions.ts';
import { before, iso, isoOrNull, isoTime, list, page, paged, uuid } from '../serving/fields.ts';
import { type Route, route, signedInOf } from '../serving/route.ts';
import { auditFilter } from './audit.ts';
import { entry, showEntry } from './audit-fields.ts';

const tag = 'mine';
const keyName = z.string().meta({ description: 'The name of the key, which you may not read yourself.' });

const connection = z.object({
  id: uuid,
  clientId: z.string().nullable(),
  clientName: z.string().nullable().meta({ description: 'What the client calls itself.' }),
  keyId: uuid,
  keyName,
  createdAt: isoTime,
  lastUsedAt: isoTime.nullable().meta({ description: 'To about a quarter of an hour; null: not yet.' }),
  expiresAt: isoTime,
});

function showConnection(row: PersonSession): z.output<typeof connection> {
  const { id, clientId, clientName, label, keyId, keyName } = row;
  return {
    id,
    clientId,
    clientName: clientName ?? (label || null),
    keyId,
    keyName,
    createdAt: iso(row.createdAt),
    lastUsedAt: isoOrNull(row.usedAt),
    expiresAt: iso(row.expiresAt),
  };
}

const ownApproval = z.object({
  referenceId: uuid,
  toolCallId: uuid,
  keyId: uuid,
  keyName,
  sessionId: uuid.nullable(),
  serverName: z.string(),
  toolName: z.string(),
  status: z.enum(APPROVAL_STATUSES),
  reason: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
  resolvedAt: isoTime.nullable(),
  note: z.string().nullable().meta({ description: 'What the person who answered wrote to the agent.' }),
});

/**
 * It contains neither the details of the call nor a link, because nobody may answer an approval for a call in their own
 * name.
 */
function showApproval(row: ApprovalRecord, keyName: string): z.output<typeof ownApproval> {
  const { toolCallId, keyId, sessionId, serverName, toolName, status, reason, note } = row;
  return {
    referenceId: row.id,
    toolCallId,
    keyId,
    keyName,
    sessionId,
    serverName,
    toolName,
    status,
    reason,
    createdAt: iso(row.createdAt),
    expiresAt: iso(row.expiresAt),
    resolvedAt: isoOrNull(row.resolvedAt),
    note,
  };
}

async function namesOf(db: Queries, rows: readonly { keyId: string }[]): Promise<(keyId: string) => string> {
  const names = await listKeyNames(db, [...new Set(rows.map(({ keyId }) => keyId))]);
  return keyId => names.get(keyId) ?? '';
}

export const myRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/me/connections',
    access: 'own',
    tag,
    summary: 'List what I have connected, newest first',
    query: z.strictObject(page),
    answers: {
      200: { description: 'The valid connections.', schema: list('connections', connection) },
    },
    handle: async incoming => {
      const { services, query } = incoming;
      const { deps } = services;
      const { operatorId } = signedInOf(incoming);
      const rows = await listConnections(deps.db, operatorId, deps.now(), query.limit + 1, before(query));
      return Response.json(paged('connections', rows, query.limit, row => row.id, showConnection));
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/me/connections/:id',
    access: 'own',
    tag,
    summary: 'End one of my connections at once',
    answers: { 204: { description: 'Ended, now or before.' } },
    handle: async incoming => {
      const { services, params } = incoming;
      await endConnection(services.deps, signedInOf(incoming), params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/me/calls',
    access: 'own',
    tag,
    summary: 'Read the audit log of the calls in my name, newest first',
    description: 'It is paged like `GET /admin/v1/audit`.',
    query: z.strictObject({ ...page, ...auditFilter }).omit({ personId: true, shadow: true }),
    answers: {
      200: {
        description: 'Entries.',
        schema: list('entries', entry.omit({ shadow: true }).extend({ keyName })),
      },
    },
    handle: async incoming => {
      const { services, query } = incoming;
      const { db } = services.deps;
      const filter = { ...query, personId: signedInOf(incoming).operatorId };
      const { entries, next } = await searchAudit(db, filter, query.limit, before(query));
      const nameOf = await namesOf(db, entries);
      // Whoever uses a key is not told what its shadow would say.
      const shown = entries.map(each => ({
        ...showEntry({ ...each, shadow: null }),
        keyName: nameOf(each.keyId),
      }));
      return Response.json({ entries: shown, nextCursor: next });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/me/approvals',
    access: 'own',
    tag,
    summary: 'List the approvals of calls in my name, newest first',
    description: 'Somebody else has to answer them, so they have neither details nor links.',
    query: z.strictObject({ ...page, status: z.enum(APPROVAL_STATUSES).optional() }),
    answers: { 200: { description: 'Approvals.', schema: list('approvals', ownApproval) } },
    handle: async incoming => {
      const { services, query } = incoming;
      const { db } = services.deps;
      const personId = signedInOf(incoming).operatorId;
      const { status, limit } = query;
      const rows = await listApprovals(db, { status, personId }, limit + 1, before(query));
      const nameOf = await namesOf(db, rows);
      const show = (row: ApprovalRecord) => showApproval(row, nameOf(row.keyId));
      return Response.json(paged('approvals', rows, limit, row => row.id, show));
    },
  }),
];
