// GET and POST /v1/approve/:token: the target of the links in notifications. GET shows the question and never answers
// it, because mail scanners and previews open links too. POST answers it, once, or once for each person if several have
// to approve. A client that accepts text/html gets pages; others get JSON.

import { z } from 'zod';
import { RESOLUTIONS } from '../../core/approvals/approval.ts';
import { runsOnApproval } from '../../core/approvals/runs-on-approval.ts';
import { GuardError } from '../../core/errors.ts';
import { findQuestion, linkAnswerer, type Question, resolveByLink } from '../../guard/approvals/approvals.ts';
import { contextOf } from '../../guard/approvals/context.ts';
import { shownDetails } from '../../guard/approvals/shown-details.ts';
import { votesFor } from '../../guard/approvals/votes.ts';
import type { Deps } from '../../guard/deps.ts';
import { rpOf } from '../../guard/people/passkeys.ts';
import type { SignedIn } from '../../guard/people/sign-ins.ts';
import { approvalVotes } from '../../store/approval-views.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import { listPasskeys } from '../../store/passkeys.ts';
import { findTaskViews } from '../../store/task-views.ts';
import type { VoteRecord } from '../../store/votes.ts';
import { answerIn, answerInForm, resolution } from '../serving/approval-answer.ts';
import { signedInOperator } from '../serving/auth.ts';
import { STATUS } from '../serving/errors.ts';
import { isoOrNull, isoTime, uuid, votes } from '../serving/fields.ts';
import { requireSender } from '../serving/origin.ts';
import { type Incoming, type Route, route } from '../serving/route.ts';
import {
  askPage,
  badRequestPage,
  gonePage,
  notYoursPage,
  passkeyNeededPage,
  pathOf,
  resolvedPage,
  signInNeededPage,
  tooManyPage,
  unknownPage,
  votedPage,
} from './approve-page.ts';
import type { ApprovalFacts, Insight } from './approve-parts.ts';
import type { Passkey } from './approve-passkey.ts';
import { toSignIn } from './sign-in.ts';

const resolved = z.object({
  referenceId: uuid,
  status: z
    .enum(['pending', 'approved', 'denied'])
    .meta({ description: '`pending` if more people have to approve.' }),
  grantExpiresAt: isoTime.nullable(),
  note: z.string().nullable(),
  votes,
});

const shared = { path: '/v1/approve/:token', access: 'public', tag: 'approvals', rateLimited: true } as const;

export const approveRoutes: Route[] = [
  route({
    ...shared,
    method: 'GET',
    summary: 'Show the question behind an approval link',
    description:
      'With `action`, the page submits it by itself in a browser. The request itself changes nothing.',
    query: z.strictObject({ action: z.enum(RESOLUTIONS).optional() }),
    answers: {
      200: { description: 'A page.', type: 'text/html' },
      303: { description: 'A signed-in operator has to answer; redirects to the sign-in.' },
      403: { description: 'The signed-in operator may not approve, as a page.', type: 'text/html' },
      404: { description: 'Unknown link, as a page.', type: 'text/html' },
      410: { description: 'Used or expired link, as a page.', type: 'text/html' },
    },
    refusal: refusalPage,
    handle: show,
  }),
  route({
    ...shared,
    method: 'POST',
    summary: 'Answer the question behind an approval link, once',
    description:
      'If several people have to approve, each of them can use the link until the question is resolved.',
    body: resolution,
    form: answerInForm,
    answers: {
      200: { description: 'The outcome; a page if `Accept` asks for text/html.', schema: resolved },
      401: { description: 'A signed-in operator has to answer (`sign_in_required`).' },
      403: {
        description:
          'The signed-in operator may not answer (`forbidden`, `not_an_approver`, `own_call`), a passkey has to sign the approval (`proof_needed`), or a page of another site sent this.',
      },
      404: { description: 'Unknown link.' },
      409: {
        description:
          'You have approved it before (`conflict`), or `seen` does not name its details, which are not complete in lists, or are gone (`not_seen`).',
      },
      410: { description: 'Used or expired link.' },
      429: { description: 'Too many requests from this address.' },
    },
    refusal: (error, request) => (wantsPage(request) ? refusalPage(error) : null),
    handle: resolve,
  }),
];

async function show(
  incoming: Incoming<unknown, { action?: 'approve' | 'deny' | undefined }>,
): Promise<Response> {
  const { services, query } = incoming;
  const token = incoming.params['token'] ?? '';
  const question = await findQuestion(services.deps, token);
  if (question === null) return unknownPage();
  if (question.ended !== null) return gone(question);
  let passkey: Passkey = 'not needed';
  if (question.requiresSignIn) {
    const visitor = await signedInOperator(services, incoming.request);
    if (visitor === null) {
      const asked = query.action === undefined ? '' : `?action=${query.action}`;
      return toSignIn(incoming, `/v1/approve/${token}${asked}`);
    }
    const { operator } = visitor;
    linkAnswerer(question, operator);
    if (question.votes.some(each => each.operatorId === operator.operatorId))
      return votedPage(factsOf(question));
    if (question.approval.proof !== null) passkey = await passkeyOf(incoming, operator);
  }
  return askPage(factsOf(question), {
    token,
    passkey,
    action: query.action ?? null,
    submitsItself: services.config.approvePage === 'auto',
    now: services.deps.now(),
    referenceId: question.approval.id,
    inSession: question.approval.sessionId !== null,
    insight: await insightOf(services.deps, question),
  });
}

/** Whether this person can sign an approval here. */
async function passkeyOf(
  { services, request }: Pick<Incoming<unknown, unknown>, 'services' | 'request'>,
  { operatorId }: SignedIn,
): Promise<Passkey> {
  if (rpOf(services.config, request) === null) return 'impossible here';
  return (await listPasskeys(services.deps.db, operatorId)).length === 0 ? 'missing' : 'ready';
}

/** Whoever gets here may answer with this link. */
async function insightOf(deps: Deps, { approval, votes }: Question): Promise<Insight> {
  const [shown, context, tasks] = await Promise.all([
    shownDetails(deps, approval, 'link'),
    contextOf(deps, approval),
    findTaskViews(deps.db, [approval.id]),
  ]);
  const runs = runsOnApproval({ status: approval.status, task: tasks.get(approval.id) });
  return { shown, context, runs, approvedBy: votes.map(each => each.by) };
}

async function resolve(incoming: Incoming<z.output<typeof resolution>, unknown>): Promise<Response> {
  const { services, request } = incoming;
  const token = incoming.params['token'] ?? '';
  // Under `no-referrer` a form hides its origin, and over plain HTTP, except on loopback, Chromium sends no Sec-Fetch-Site
  // either. Such a form is accepted: Lax cookies are not sent with forms of other sites, and it needs the link's token.
  requireSender(services.config, request, 'own page', 'unnamed page', 'program');
  try {
    const visitor = await signedInOperator(services, request);
    const { deps } = visitor?.services ?? services;
    const approval = await resolveByLink(deps, token, answerIn(incoming), visitor?.operator ?? null);
    if (wantsPage(request)) return await outcomePage(services.deps, token);
    return outcomeJson(approval, await votesFor(services.deps.db, [approval]));
  } catch (error) {
    if (!(error instanceof GuardError && wantsPage(request))) throw error;
    // There is more to see than whoever sent this form was shown, and the page of the link shows it.
    if (error.code === 'not_seen')
      return new Response(null, { status: 303, headers: { Location: pathOf(token) } });
    if (error.code !== 'gone') throw error;
    return outcomePage(services.deps, token, true);
  }
}

function outcomeJson(approval: ApprovalRecord, votes: readonly VoteRecord[]): Response {
  const { id: referenceId, status, grantExpiresAt, note } = approval;
  return Response.json(
    {
      referenceId,
      status,
      grantExpiresAt: isoOrNull(grantExpiresAt),
      note,
      votes: approvalVotes(approval, votes),
    },
    { headers: { 'Cache-Control': 'no-store' } },
  );
}

/** The page that says how the question ended. `before` means that another request answered it first. */
async function outcomePage(deps: Deps, token: string, before = false): Promise<Response> {
  const question = await findQuestion(deps, token);
  if (question === null) return unknownPage();
  const { status, grantExpiresAt } = question.approval;
  if (!before && question.ended === null) return votedPage(factsOf(question));
  if (before || (status !== 'approved' && status !== 'denied')) return gone(question);
  return resolvedPage(factsOf(question), status, grantExpiresAt);
}

function wantsPage(request: Request): boolean {
  return (request.headers.get('accept') ?? '').includes('text/html');
}

function refusalPage(error: GuardError): Response | null {
  switch (error.code) {
    case 'not_found':
      return unknownPage();
    case 'rate_limited':
      return tooManyPage(error.retryAfter ?? 1);
    case 'sign_in_required':
    case 'unauthenticated':
      return signInNeededPage();
    case 'invalid_input':
    case 'invalid_json':
      return badRequestPage(error.message);
    case 'proof_needed':
      return passkeyNeededPage(error.message, STATUS[error.code]);
    case 'not_an_approver':
    case 'own_call':
      return notYoursPage(error.message, STATUS[error.code]);
    case 'forbidden':
    case 'conflict':
    case 'not_seen':
    case 'too_large':
    case 'unsupported_media_type':
      return badRequestPage(error.message, STATUS[error.code]);
    default:
      return null;
  }
}

function gone(question: Question): Response {
  return gonePage(factsOf(question), question.ended ?? 'timed_out', question.approval.resolvedAt);
}

function factsOf({ approval, keyName, sessionLabel, votes, isVotedOn }: Question): ApprovalFacts {
  const { serverName, toolName, reason, createdAt, expiresAt, personEmail, approverGroup: group } = approval;
  const approvers = isVotedOn ? { group, needed: approval.votesNeeded, approved: votes.length } : null;
  return {
    serverName,
    toolName,
    reason,
    createdAt,
    expiresAt,
    keyName,
    sessionLabel,
    personEmail,
    approvers,
  };
}
