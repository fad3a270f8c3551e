// /admin/v1/sessions: every session, for operators to see.

import { z } from 'zod';
import { listSessions } from '../../store/sessions.ts';
import { before, isoOrNull, isoTime, list, page, paged, uuid } from '../fields.ts';
import { type Route, route } from '../route.ts';
import { showSession } from '../sessions.ts';

const shown = z.object({
  id: uuid,
  keyId: uuid,
  label: z.string(),
  prefix: z.string(),
  scopeTools: z.array(z.string()).nullable(),
  createdAt: isoTime,
  expiresAt: isoTime,
  revokedAt: isoTime.nullable(),
});

export const sessionAdminRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/sessions',
    access: 'view',
    tag: 'sessions (administration)',
    summary: 'List sessions, ended ones too, newest first',
    query: z.strictObject({ ...page, keyId: uuid.optional() }),
    answers: { 200: { description: 'Sessions.', schema: list('sessions', shown) } },
    handle: async ({ services, query }) => {
      const rows = await listSessions(services.guard.db, query.keyId ?? null, query.limit + 1, before(query));
      return Response.json(
        paged(
          'sessions',
          rows,
          query.limit,
          row => row.id,
          row => ({
            ...showSession(row),
            keyId: row.keyId,
            revokedAt: isoOrNull(row.revokedAt),
          }),
        ),
      );
    },
  }),
];
