// /admin/v1/changes: who changed what through the administration.

import { z } from 'zod';
import { listChanges } from '../../store/changes.ts';
import { before, iso, isoTime, list, page, paged, uuid } from '../serving/fields.ts';
import { type Route, route } from '../serving/route.ts';

const change = z.object({
  id: uuid,
  at: isoTime,
  actor: z.string(),
  action: z.string(),
  target: z.string(),
  detail: z.record(z.string(), z.unknown()),
});

export const changeRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/changes',
    access: 'view',
    tag: 'audit',
    summary: 'List changes made by operators, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'Changes.', schema: list('changes', change) } },
    handle: async ({ services, query }) => {
      const rows = await listChanges(services.deps.db, query.limit + 1, before(query));
      return Response.json(
        paged(
          'changes',
          rows,
          query.limit,
          row => row.id,
          row => ({ ...row, at: iso(row.at) }),
        ),
      );
    },
  }),
];
