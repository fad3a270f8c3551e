// /admin/v1/grants: the grants that approvals with a duration have opened.

import { z } from 'zod';
import { endGrant } from '../../guard/approvals/grants.ts';
import { type GrantRecord, listGrants } from '../../store/grants.ts';
import { before, iso, isoTime, list, page, paged, uuid } from '../serving/fields.ts';
import { answererOf, type Route, route } from '../serving/route.ts';

const grant = z.object({
  id: uuid,
  referenceId: uuid,
  keyId: uuid,
  serverName: z.string(),
  toolName: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
  openedBy: z.string().nullable().meta({ description: 'Null if it was opened before this was recorded.' }),
  used: z.int().meta({ description: 'How many calls it has freed.' }),
  only: z.literal('session').nullable().meta({ description: '`session`: it frees one session alone.' }),
  sessionId: uuid.nullable().meta({ description: 'That session.' }),
  same: z.array(z.string()).meta({
    description: 'It frees only calls that have the same values at these paths as the approved call.',
  }),
});

function showGrant(record: GrantRecord): z.output<typeof grant> {
  const { definitionDigest: _, ruleDigest: __, sameDigest: ___, samePaths, ...rest } = record;
  return {
    ...rest,
    createdAt: iso(record.createdAt),
    expiresAt: iso(record.expiresAt),
    only: record.sessionId === null ? null : 'session',
    same: samePaths === null ? [] : (JSON.parse(samePaths) as string[]),
  };
}

const tag = 'approvals (administration)';

export const grantRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/grants',
    access: 'view',
    tag,
    summary: 'List open grants, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'Grants.', schema: list('grants', grant) } },
    handle: async ({ services: { deps }, query }) => {
      const rows = await listGrants(deps.db, deps.now(), query.limit + 1, before(query));
      return Response.json(paged('grants', rows, query.limit, row => row.id, showGrant));
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/grants/:id',
    access: 'resolve',
    tag,
    summary: 'End a grant at once',
    description: 'Admins may end every grant, approvers those that they opened.',
    answers: {
      204: { description: 'Ended, now or before.' },
      403: { description: 'Somebody else opened it.' },
    },
    handle: async incoming => {
      await endGrant(incoming.services.deps, answererOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
];
