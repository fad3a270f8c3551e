// /admin/v1/approvals: the approvals that wait for an answer, and those that were answered.
// approval-fields.ts describes what is shown of them.

import { z } from 'zod';
import { APPROVAL_STATUSES } from '../../core/approvals/approval.ts';
import { attention, lackingFor } from '../../guard/approvals/able.ts';
import { requireApproval, resolveByOperator, withdraw } from '../../guard/approvals/approvals.ts';
import { type Context, contextOf } from '../../guard/approvals/context.ts';
import { freedCall } from '../../guard/approvals/freed.ts';
import { listedDetails, type ShownDetails, shownDetails } from '../../guard/approvals/shown-details.ts';
import { votesFor } from '../../guard/approvals/votes.ts';
import type { Deps } from '../../guard/deps.ts';
import { approvalListed } from '../../store/approval-views.ts';
import { type ApprovalRecord, listApprovals, listEnded } from '../../store/approvals.ts';
import { listNotifications } from '../../store/notifications.ts';
import { findTaskViews, type TaskView } from '../../store/task-views.ts';
import { answerIn, resolution } from '../serving/approval-answer.ts';
import { before, iso, isoOrNull, list, page, paged } from '../serving/fields.ts';
import { actorOf, answererOf, type Route, route } from '../serving/route.ts';
import { approval, type context, listedApproval, waiting, wholeApproval } from './approval-fields.ts';
import { showOutcome } from './audit-fields.ts';
import { showMark } from './runs.ts';

function showDetails({ details, ...rest }: ShownDetails) {
  if (details === undefined) return rest;
  const { inserted, ...shown } = details;
  return { ...rest, details: shown, ...(inserted && { detailsInserted: inserted }) };
}

function showContext({ earlier, recentCalls, marks, ...rest }: Context): z.output<typeof context> {
  return {
    ...rest,
    rule: rest.rule && { ...rest.rule, when: [...rest.rule.when] },
    earlier: { ...earlier, lastAt: isoOrNull(earlier.lastAt) },
    recentCalls: recentCalls.map(each => ({ ...each, at: iso(each.at) })),
    marks: marks.map(showMark),
  };
}

async function listed(deps: Deps, record: ApprovalRecord): Promise<z.output<typeof approval>> {
  return approvalListed(record, await votesFor(deps.db, [record]), deps.settings.approvedFor);
}

function taskOf(tasks: Map<string, TaskView>, { id }: ApprovalRecord) {
  const task = tasks.get(id);
  return task && { task };
}

/** The limit of the query; a question has fewer messages. */
const MOST_NOTIFICATIONS = 1000;

async function notificationsOf(
  deps: Deps,
  approvalId: string,
): Promise<z.output<typeof wholeApproval>['notifications']> {
  const sent = await listNotifications(deps.db, { status: null, approvalId }, MOST_NOTIFICATIONS, before({}));
  return sent.reverse().map(({ channel, status, nextAttemptAt, attemptedAt, createdAt, lastError }) => ({
    channel,
    state: status,
    time: iso(nextAttemptAt ?? attemptedAt ?? createdAt),
    lastError,
  }));
}

export const approvalAdminRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/approvals',
    access: 'view',
    tag: 'approvals (administration)',
    summary: 'List approvals, newest first',
    query: z.strictObject({
      ...page,
      status: z.enum(APPROVAL_STATUSES).optional(),
      order: z.enum(['asked', 'ended']).default('asked').meta({
        description:
          '`ended`: only those that have ended, in the order in which they did, the last one first.',
      }),
    }),
    answers: { 200: { description: 'Approvals.', schema: list('approvals', listedApproval) } },
    handle: async incoming => {
      const { services, query } = incoming;
      const { deps } = services;
      const { status, order, limit, cursor = null } = query;
      const reader = answererOf(incoming);
      const rows =
        order === 'ended'
          ? await listEnded(deps.db, { status }, limit + 1, cursor)
          : await listApprovals(deps.db, { status }, limit + 1, before(query));
      const cast = Map.groupBy(await votesFor(deps.db, rows), vote => vote.approvalId);
      const tasks = await findTaskViews(
        deps.db,
        rows.map(row => row.id),
      );
      const show = (row: ApprovalRecord) => ({
        ...taskOf(tasks, row),
        ...approvalListed(row, cast.get(row.id) ?? [], deps.settings.approvedFor),
        ...(row.status === 'pending' && showDetails(listedDetails(deps, row, reader))),
      });
      const shown = paged('approvals', rows, limit, row => row.id, show);
      return Response.json(shown, { headers: { 'Cache-Control': 'no-store' } });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/waiting',
    access: 'view',
    tag: 'approvals (administration)',
    summary: 'Read what is wrong with the queue of open approvals',
    answers: { 200: { description: 'Nothing is wrong if both lists are empty.', schema: waiting } },
    handle: async ({ services: { deps } }) =>
      Response.json(await attention(deps.db, deps.now(), deps.settings)),
  }),
  route({
    method: 'GET',
    path: '/admin/v1/approvals/:referenceId',
    access: 'view',
    tag: 'approvals (administration)',
    summary: 'Read one approval, with what helps to answer it',
    answers: { 200: { description: 'The approval.', schema: wholeApproval } },
    handle: async incoming => {
      const { deps } = incoming.services;
      const found = await requireApproval(deps, incoming.params['referenceId'] ?? '');
      const [shown, tasks, context, notifications, freed, details, lacking] = await Promise.all([
        listed(deps, found),
        findTaskViews(deps.db, [found.id]),
        contextOf(deps, found),
        notificationsOf(deps, found.id),
        freedCall(deps, found),
        shownDetails(deps, found, answererOf(incoming)),
        found.status === 'pending' ? lackingFor(deps.db, found) : null,
      ]);
      const whole = {
        ...taskOf(tasks, found),
        ...shown,
        context: showContext(context),
        notifications,
        freed: freed && { ...freed, forwarded: showOutcome(freed.forwarded) },
        ...showDetails(details),
        ...(lacking && { lacking }),
      };
      return Response.json(whole, { headers: { 'Cache-Control': 'no-store' } });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/approvals/:referenceId/resolve',
    access: 'resolve',
    tag: 'approvals (administration)',
    summary: 'Answer an approval',
    description:
      'If several people have to approve, the approval stays `pending` until the last of them has. One denial ends it.',
    body: resolution,
    answers: {
      200: { description: 'The approval: answered, or with one more vote.', schema: approval },
      403: {
        description:
          'Only a group may answer it (`not_an_approver`), the call was made in your name (`own_call`), or your passkey has to sign the approval (`proof_needed`).',
      },
      409: {
        description:
          'It was answered before, also by you, or has lapsed (`conflict`); or it has details that are not complete in lists, or are gone, and `seen` does not name them (`not_seen`).',
      },
    },
    handle: async incoming => {
      const referenceId = incoming.params['referenceId'] ?? '';
      const { deps } = incoming.services;
      const answer = answerIn(incoming);
      const resolved = await resolveByOperator(deps, answererOf(incoming), referenceId, answer);
      return Response.json(await listed(deps, resolved));
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/approvals/:referenceId/withdraw',
    access: 'resolve',
    tag: 'approvals (administration)',
    summary: 'Withdraw an approval that is not spent',
    description:
      'From then on it frees no call. An approval with a duration has opened a grant, which is ended separately.',
    answers: {
      204: { description: 'Withdrawn.' },
      409: { description: 'It is spent, was withdrawn before, opened a grant, or was never given.' },
    },
    handle: async incoming => {
      const referenceId = incoming.params['referenceId'] ?? '';
      await withdraw(incoming.services.deps, actorOf(incoming), referenceId);
      return new Response(null, { status: 204 });
    },
  }),
];
