// /admin/v1/operators: the people who sign in, their roles and invitations. The link of an invitation is shown in the
// answer that creates it and nowhere else.

import { z } from 'zod';
import { groupFault, MAX_GROUPS } from '../../core/text/name.ts';
import {
  changeOperator,
  deleteOperator,
  inviteOperator,
  resetOperator,
} from '../../guard/people/operators.ts';
import { type ListedOperator, listOperators, OPERATOR_STATUSES, ROLES } from '../../store/operators.ts';
import { before, iso, isoTime, list, page, paged, text, uuid } from '../serving/fields.ts';
import { baseUrl } from '../serving/origin.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';

const email = z.email().max(320);
export const role = z.enum(ROLES).meta({
  description:
    '`admin` may do everything, `approver` also resolve approvals, `viewer` only read; `user` uses keys that are open to them and sees only what is their own.',
});

const groups = z
  .array(text(groupFault, 'The name of a group.', 'finance'))
  .max(MAX_GROUPS)
  .meta({ description: 'The groups that rules can name under `approvers`.' });

export const operator = z.object({
  id: uuid,
  email: z.string(),
  role,
  groups: z.array(z.string()),
  status: z
    .enum(OPERATOR_STATUSES)
    .meta({ description: '`invited` until they choose a password or sign in through single sign-on.' }),
  createdAt: isoTime,
});

export function showOperator({
  id,
  email,
  role,
  groups,
  status,
  createdAt,
}: ListedOperator): z.output<typeof operator> {
  return { id, email, role, groups, status, createdAt: iso(createdAt) };
}

const tag = 'operators';

export const operatorRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/operators',
    access: 'view',
    tag,
    summary: 'List operators, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'Operators.', schema: list('operators', operator) } },
    handle: async ({ services, query }) => {
      const rows = await listOperators(services.deps.db, query.limit + 1, before(query));
      return Response.json(paged('operators', rows, query.limit, row => row.id, showOperator));
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/operators',
    access: 'admin',
    tag,
    summary: 'Invite an operator',
    description: '`inviteUrl` is shown in this answer only; it works once, within 7 days.',
    body: z.strictObject({ email, role }),
    answers: {
      201: {
        description: 'The operator, and the link to send them.',
        schema: operator.extend({ inviteUrl: z.string(), inviteExpiresAt: isoTime }),
      },
      409: { description: 'There is an operator with this e-mail.' },
    },
    handle: async incoming => {
      const { services, request, body } = incoming;
      const invited = await inviteOperator(services.deps, actorOf(incoming), body);
      const shown = {
        ...showOperator(invited.operator),
        inviteUrl: joinUrl(services, request, invited.token),
        inviteExpiresAt: iso(invited.expiresAt),
      };
      return Response.json(shown, { status: 201, headers: { 'Cache-Control': 'no-store' } });
    },
  }),
  route({
    method: 'PATCH',
    path: '/admin/v1/operators/:id',
    access: 'admin',
    tag,
    summary: 'Change an operator’s role, groups, or both',
    description:
      'The change takes effect at once, also for open sign-ins. Where `TOOLGATE_OIDC_GROUPS_CLAIM` is set, an ' +
      'operator’s next single sign-on replaces `groups`.',
    body: z
      .strictObject({ role: role.optional(), groups: groups.optional() })
      .refine(({ role, groups }) => role !== undefined || groups !== undefined, 'must change something'),
    answers: {
      200: { description: 'The operator.', schema: operator },
      409: { description: 'The last admin cannot be demoted.' },
    },
    handle: async incoming => {
      const { services, params, body } = incoming;
      const changed = await changeOperator(services.deps, actorOf(incoming), params['id'] ?? '', body);
      return Response.json(showOperator(changed));
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/operators/:id',
    access: 'admin',
    tag,
    summary: 'Delete an operator',
    description: 'Their sign-ins and their connections end at once.',
    answers: { 204: { description: 'Deleted.' }, 409: { description: 'The last admin cannot be deleted.' } },
    handle: async incoming => {
      await deleteOperator(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/operators/:id/reset',
    access: 'admin',
    tag,
    summary: 'Let an operator choose a new password',
    description:
      'Their password, their passkeys, the link to their single sign-on accounts, their sign-ins, their connections and their votes for open approvals end at once. `resetUrl` is shown in this answer only; it works once, within 24 hours.',
    answers: {
      200: {
        description: 'The operator, and the link to send them.',
        schema: operator.extend({ resetUrl: z.string(), resetExpiresAt: isoTime }),
      },
    },
    handle: async incoming => {
      const { services, request, params } = incoming;
      const reset = await resetOperator(services.deps, actorOf(incoming), params['id'] ?? '');
      const shown = {
        ...showOperator(reset.operator),
        resetUrl: joinUrl(services, request, reset.token),
        resetExpiresAt: iso(reset.expiresAt),
      };
      return Response.json(shown, { headers: { 'Cache-Control': 'no-store' } });
    },
  }),
];

/** The address of the page on which the person chooses a password. */
function joinUrl(services: Services, request: Request, token: string): string {
  return `${baseUrl(services.config, request)}/dashboard/join?token=${token}`;
}
