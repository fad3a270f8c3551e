// /admin/v1/grants: the grants that approvals with a duration have opened.

import { z } from 'zod';
import { endGrant } from '../../guard/approvals/grants.ts';
import { listGrants } from '../../store/grants.ts';
import { before, iso, isoTime, list, page, paged, uuid } from '../fields.ts';
import { actorOf, type Route, route } from '../route.ts';

const grant = z.object({
  id: uuid,
  referenceId: uuid,
  keyId: uuid,
  serverName: z.string(),
  toolName: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
});

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
      const show = ({ definitionDigest: _, ruleDigest: __, ...row }: (typeof rows)[number]) => ({
        ...row,
        createdAt: iso(row.createdAt),
        expiresAt: iso(row.expiresAt),
      });
      return Response.json(paged('grants', rows, query.limit, row => row.id, show));
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/grants/:id',
    access: 'admin',
    tag,
    summary: 'End a grant at once',
    answers: { 204: { description: 'Ended, now or before.' } },
    handle: async incoming => {
      await endGrant(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
];
