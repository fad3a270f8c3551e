// /admin/v1/limits: how much of the limits of policies is used, and by whom.

import { z } from 'zod';
import { LIMIT } from '../../core/policy/limit-fields.ts';
import { textFault } from '../../core/text/name.ts';
import { type LimitUse, listLimits, resetLimit } from '../../guard/check/limit-admin.ts';
import type { Counted } from '../../store/limits.ts';
import { iso, isoTime, label, list, page, text, uuid } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';

const subject =
  'The id of the key, session or policy, or the e-mail address of the person, for which the limit counts.';
const MAX_SUBJECT = 320;
const MAX_CURSOR = 400;

const use = z.object({
  policyId: uuid,
  name: z.string(),
  per: z.enum(LIMIT.per.type.offers),
  subject: z.string().meta({ description: subject }),
  used: z.number().meta({ description: 'In calls, or the sum of the amounts.' }),
  atMost: z.number(),
  windowEndsAt: isoTime.meta({ description: 'When all that is counted now has stopped counting.' }),
});

/** A cursor is the limit's id, which has no dot, and the subject. */
const cursor = text(
  value => (value.includes('.') ? textFault(value, 1, MAX_CURSOR) : 'must be a nextCursor of this list'),
  '`nextCursor` of the page before.',
).optional();

function after(cursor = '.'): Counted {
  const at = cursor.indexOf('.');
  return { limitId: cursor.slice(0, at), subject: cursor.slice(at + 1) };
}

const show = (row: LimitUse) => ({ ...row, windowEndsAt: iso(row.windowEndsAt) });

const tag = 'policies';

export const limitRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/limits',
    access: 'view',
    tag,
    summary: 'List what is used of limits',
    description:
      'Each entry is a limit and a subject for which it has counted something that still counts. With `keyId`, only limits that count per key or per session are listed.',
    query: z.strictObject({ ...page, cursor, policyId: uuid.optional(), keyId: uuid.optional() }),
    answers: {
      200: {
        description: 'What is used. A page may be short although another one follows.',
        schema: list('limits', use),
      },
    },
    handle: async ({ services, query }) => {
      const { limits, last } = await listLimits(services.deps, query, query.limit, after(query.cursor));
      const nextCursor = last === null ? null : `${last.limitId}.${last.subject}`;
      return Response.json({ limits: limits.map(show), nextCursor });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/limits/reset',
    access: 'admin',
    tag,
    summary: 'Let a limit count anew for a subject',
    body: z.strictObject({
      policyId: uuid,
      name: label(1, 200, 'The name of the limit in the policy.'),
      subject: label(1, MAX_SUBJECT, subject),
    }),
    answers: { 204: { description: 'What was counted for the subject counts no more.' } },
    handle: async incoming => {
      await resetLimit(incoming.services.deps, actorOf(incoming), incoming.body);
      return new Response(null, { status: 204 });
    },
  }),
];
