// /admin/v1/sessions: lists and ends the sessions of all keys.

import { z } from 'zod';
import { endAnySession, listedSessions } from '../../guard/sessions.ts';
import type { ListedSession } from '../../store/sessions.ts';
import { showSession } from '../agent/sessions.ts';
import { before, isoOrNull, isoTime, list, page, uuid } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';

const shown = z.object({
  id: uuid,
  keyId: uuid,
  label: z.string(),
  prefix: z.string(),
  scopeTools: z.array(z.string()).nullable(),
  createdAt: isoTime,
  expiresAt: isoTime,
  attributes: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'What its owner said of it; absent if nothing.' }),
  revokedAt: isoTime.nullable(),
  revokedBecause: z
    .string()
    .nullable()
    .meta({ description: 'Why it was revoked, if nobody revoked this session itself.' }),
  personId: uuid.nullable().meta({ description: 'The operator for whom it acts; null: for nobody.' }),
  personEmail: z.string().nullable().meta({ description: 'Null also for somebody who was removed.' }),
  clientId: z.string().nullable(),
  clientName: z.string().nullable().meta({ description: 'What the OAuth client calls itself.' }),
  lastUsedAt: isoTime
    .nullable()
    .meta({ description: 'For people’s sessions, to about a quarter of an hour; else null.' }),
});

function show(session: ListedSession): z.output<typeof shown> {
  const { keyId, revokedBecause, personId, personEmail, clientId, clientName } = session;
  return {
    ...showSession(session),
    keyId,
    revokedAt: isoOrNull(session.revokedAt),
    revokedBecause,
    personId,
    personEmail,
    clientId,
    clientName,
    lastUsedAt: isoOrNull(session.usedAt),
  };
}

const tag = 'sessions (administration)';

export const sessionAdminRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/sessions',
    access: 'view',
    tag,
    summary: 'List sessions, ended ones too, newest first',
    description:
      'A page whose sessions have long scopes has fewer of them than `limit`: `nextCursor` says whether there are more.',
    query: z.strictObject({ ...page, keyId: uuid.optional() }),
    answers: { 200: { description: 'Sessions.', schema: list('sessions', shown) } },
    handle: async ({ services, query }) => {
      const { keyId = null, limit } = query;
      const { sessions, more } = await listedSessions(services.deps, keyId, limit, before(query));
      const nextCursor = more ? (sessions.at(-1)?.id ?? null) : null;
      return Response.json({ sessions: sessions.map(show), nextCursor });
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/sessions/:id',
    access: 'admin',
    tag,
    summary: 'Revoke a session of any key at once',
    answers: { 204: { description: 'Revoked, now or before.' } },
    handle: async incoming => {
      await endAnySession(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
];
