// /admin/v1/approvals: the approvals that wait for an answer, and those that were answered.

import { z } from 'zod';
import { APPROVAL_STATUSES } from '../../core/approvals/approval.ts';
import { DECISIONS } from '../../core/decision/decide.ts';
import { ACTIONS } from '../../core/policy/policy.ts';
import { SURFACES } from '../../core/text/surface.ts';
import { attention, lackingFor } from '../../guard/approvals/able.ts';
import { requireApproval, resolveByOperator, withdraw } from '../../guard/approvals/approvals.ts';
import { type Context, contextOf } from '../../guard/approvals/context.ts';
import { freedCall } from '../../guard/approvals/freed.ts';
import { listedDetails, type ShownDetails, shownDetails } from '../../guard/approvals/shown-details.ts';
import { votesFor } from '../../guard/approvals/votes.ts';
import type { Deps } from '../../guard/deps.ts';
import { type ApprovalRecord, approvalListed, listApprovals, listEnded } from '../../store/approvals.ts';
import { listNotifications, NOTIFICATION_STATUSES } from '../../store/notifications.ts';
import { answerIn, resolution } from '../serving/approval-answer.ts';
import { before, iso, isoOrNull, isoTime, list, page, paged, uuid, votes } from '../serving/fields.ts';
import { actorOf, answererOf, type Route, route } from '../serving/route.ts';
import { forwarded, showOutcome } from './audit.ts';

const time = isoTime.nullable();

const proofKind = z
  .enum(['passkey'])
  .nullable()
  .meta({ description: 'What each approval has to be signed with.' });

const approval = z.object({
  referenceId: uuid,
  toolCallId: uuid,
  policyId: uuid,
  keyId: uuid,
  sessionId: uuid.nullable(),
  personId: uuid
    .optional()
    .meta({ description: 'The operator for whom the session acts; absent if it acts for nobody.' }),
  personEmail: z.string().optional().meta({ description: 'Their e-mail.' }),
  surface: z.enum(SURFACES),
  serverName: z.string(),
  toolName: z.string(),
  status: z.enum(APPROVAL_STATUSES),
  reason: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
  resolvedAt: isoTime.nullable(),
  resolvedBy: z.string().nullable(),
  grantExpiresAt: isoTime.nullable(),
  spentAt: isoTime.nullable().meta({ description: 'When the one call that it frees was allowed.' }),
  withdrawnAt: isoTime.nullable(),
  usableUntil: isoTime.nullable().meta({
    description:
      'For an approval that frees a single call: when it becomes unusable, if it is not spent or withdrawn before.',
  }),
  note: z.string().nullable().meta({ description: 'What the person who answered wrote to the agent.' }),
  approverGroup: z.string().nullable().meta({ description: 'The group whose members have to answer.' }),
  proof: proofKind,
  votes,
});

const context = z
  .object({
    toolDescription: z.string().nullable(),
    drifted: z
      .boolean()
      .meta({ description: 'Whether the tool’s definition differs from the accepted one.' }),
    rule: z
      .object({
        policyId: uuid,
        policyName: z.string(),
        policyVersion: z.int(),
        index: z.int(),
        name: z.string().nullable(),
        tool: z.string(),
        action: z.enum(ACTIONS),
        when: z.array(z.string()),
        reason: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'The rule that asks, in the version of the policy that was in force.' }),
    earlier: z
      .object({
        asked: z.int(),
        approved: z.int(),
        denied: z.int(),
        timedOut: z.int(),
        lastBy: z.string().nullable(),
        lastAt: time,
      })
      .meta({ description: 'Questions of the same key about the same tool, in the 30 days before.' }),
    recentCalls: z
      .array(
        z.object({
          at: isoTime,
          serverName: z.string(),
          toolName: z.string(),
          decision: z.enum(DECISIONS),
        }),
      )
      .meta({ description: 'The last ten calls of the session, or of the key.' }),
    keyName: z.string(),
    sessionLabel: z.string().nullable(),
  })
  .meta({ description: 'What is known about the question from what is stored anyway.' });

const lacking = {
  group: z.string(),
  needed: z.int().meta({ description: 'How many have to approve.' }),
  able: z.int().meta({ description: 'How many operators of the group could.' }),
};

const waiting = z.object({
  full: z
    .array(
      z.object({
        keyId: uuid,
        keyName: z.string(),
        sessionId: uuid.nullable().meta({ description: 'Null if the limit of the key itself is reached.' }),
        open: z.int(),
        atMost: z.int(),
      }),
    )
    .meta({ description: 'Whose limit on open approvals is reached: further calls that ask are denied.' }),
  unanswerable: z
    .array(z.object({ ...lacking, open: z.int(), referenceId: uuid }))
    .meta({ description: 'Groups that have to answer and have too few people; with the oldest question.' }),
});

const shownOfCall = {
  details: z
    .object({
      question: z.string().nullable(),
      folder: z.string().optional().meta({
        description: 'The folder in which a coding agent works, as its harness says it, not the model.',
      }),
      fields: z.array(
        z.object({
          path: z.string(),
          value: z.string(),
          characters: z.int().nullable().optional().meta({
            description: 'Where the value is cut: how many characters it has; null if they were not counted.',
          }),
        }),
      ),
      omitted: z.int().optional().meta({ description: 'Fields that were left out for want of room.' }),
      omittedCharacters: z.int().optional().meta({
        description: 'Characters that were left out: of these fields, and of values that are cut.',
      }),
      complete: z.boolean().meta({
        description:
          'Whether nothing was left out. Lists give values of at most 500 characters and 8 KiB in all; the approval itself has all that is held, which is at most 256 KiB.',
      }),
      digest: z.string().meta({
        description: 'Stands for the whole of them, also where they are not given whole: see `seen`.',
      }),
    })
    .optional()
    .meta({
      description: 'What the rule shows of the arguments, while it is held in memory, to whoever may answer.',
    }),
  detailsInserted: z
    .array(z.object({ from: z.int(), to: z.int() }))
    .optional()
    .meta({ description: 'Which parts of the question are values of the call, in UTF-16 code units.' }),
  detailsGone: z.literal(true).optional().meta({
    description: 'The rule shows something, but it is no longer held: after an answer, or after a restart.',
  }),
  detailsHidden: z
    .literal(true)
    .optional()
    .meta({ description: 'You may not answer, so you do not see it.' }),
};

const listedApproval = approval.extend({
  ...shownOfCall,
  detailsElsewhere: z.literal(true).optional().meta({
    description:
      'The replica that made this list does not hold them. Read the approval itself, which asks the others.',
  }),
});

const wholeApproval = approval.extend({
  ...shownOfCall,
  lacking: z.object(lacking).optional().meta({
    description:
      'Too few operators of the group may approve it; absent if there are enough, or it is answered.',
  }),
  context,
  notifications: z
    .array(
      z.object({
        channel: z.string(),
        state: z.enum(NOTIFICATION_STATUSES),
        time: time.meta({ description: 'When it was tried, or will be.' }),
        lastError: z.string().nullable(),
      }),
    )
    .meta({ description: 'Who was told about the question: oldest first.' }),
  freed: z
    .object({ toolCallId: uuid, forwarded })
    .nullable()
    .meta({ description: 'The call that was allowed by it, if it was spent.' }),
});

function showDetails({ details, ...rest }: ShownDetails) {
  if (details === undefined) return rest;
  const { inserted, ...shown } = details;
  return { ...rest, details: shown, ...(inserted && { detailsInserted: inserted }) };
}

function showContext({ earlier, recentCalls, ...rest }: Context): z.output<typeof context> {
  return {
    ...rest,
    rule: rest.rule && { ...rest.rule, when: [...rest.rule.when] },
    earlier: { ...earlier, lastAt: isoOrNull(earlier.lastAt) },
    recentCalls: recentCalls.map(each => ({ ...each, at: iso(each.at) })),
  };
}

async function listed(deps: Deps, record: ApprovalRecord): Promise<z.output<typeof approval>> {
  return approvalListed(record, await votesFor(deps.db, [record]), deps.settings.approvedFor);
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
      const show = (row: ApprovalRecord) => ({
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
      const [shown, context, notifications, freed, details, lacking] = await Promise.all([
        listed(deps, found),
        contextOf(deps, found),
        notificationsOf(deps, found.id),
        freedCall(deps, found),
        shownDetails(deps, found, answererOf(incoming)),
        found.status === 'pending' ? lackingFor(deps.db, found) : null,
      ]);
      const whole = {
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
