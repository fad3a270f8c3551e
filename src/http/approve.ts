// GET and POST /v1/approve/:token: the target of the links in notifications. GET shows the question and never answers
// it, because mail scanners and previews open links too. POST answers it, once. A client that accepts text/html gets
// pages; others get JSON.

import { z } from 'zod';
import { parseGrantDuration, RESOLUTIONS } from '../core/approval.ts';
import { GuardError } from '../core/errors.ts';
import { findQuestion, type Question, resolveByLink, resolver } from '../guard/approvals/approvals.ts';
import { shownDetails } from '../guard/approvals/shown-details.ts';
import type { Deps } from '../guard/deps.ts';
import { keepReturnPath } from '../guard/people/return-targets.ts';
import type { ApprovalRecord } from '../store/approvals.ts';
import {
  type ApprovalFacts,
  askPage,
  badRequestPage,
  gonePage,
  resolvedPage,
  signInNeededPage,
  tooManyPage,
  unknownPage,
} from './approve-page.ts';
import { signedInOperator } from './auth.ts';
import { STATUS } from './errors.ts';
import { isoOrNull, isoTime, uuid } from './fields.ts';
import { type Incoming, type Route, route } from './route.ts';

const duration = z
  .string()
  .transform(value => parseGrantDuration(value) ?? Number.NaN)
  .refine(ms => !Number.isNaN(ms), 'must be <n>m, <n>h or <n>d, from 1 minute to 7 days')
  .meta({ type: 'string', example: '1h', description: 'Opens a grant for this long; only with `approve`.' });

/** The body of every answer to an approval. */
export const resolution = z
  .strictObject({ action: z.enum(RESOLUTIONS), duration: duration.optional() })
  .refine(body => body.duration === undefined || body.action === 'approve', {
    path: ['duration'],
    message: 'only goes with approve',
  });

const resolved = z.object({
  referenceId: uuid,
  status: z.enum(['approved', 'denied']),
  grantExpiresAt: isoTime.nullable(),
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
      303: { description: 'Approvals of this key need a signed-in operator; redirects to the sign-in.' },
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
    body: resolution,
    form: true,
    answers: {
      200: { description: 'The outcome; a page if `Accept` asks for text/html.', schema: resolved },
      401: { description: 'Approvals of this key need a signed-in operator (`sign_in_required`).' },
      403: { description: 'The signed-in operator may not approve, or a page of another site sent this.' },
      404: { description: 'Unknown link.' },
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
  if (question.requiresSignIn) {
    const operator = await signedInOperator(services, incoming.request);
    if (operator === null) return toSignIn(incoming, token);
    resolver(operator);
  }
  return askPage(factsOf(question), {
    token,
    action: query.action ?? null,
    submitsItself: services.config.approvePage === 'auto',
    // Whoever gets here may answer with this link.
    shown: await shownDetails(services.deps, question.approval, 'link'),
    now: services.deps.now(),
  });
}

/** Keeps the path on the server and gives the sign-in page a name for it. A HEAD request needs none. */
async function toSignIn(
  { services, request, query }: Incoming<unknown, { action?: 'approve' | 'deny' | undefined }>,
  token: string,
): Promise<Response> {
  const path = `/v1/approve/${token}${query.action === undefined ? '' : `?action=${query.action}`}`;
  const name = request.method === 'HEAD' ? '' : await keepReturnPath(services.deps, path);
  const location = `/dashboard/sign-in${name === '' ? '' : `?continue=${name}`}`;
  return new Response(null, { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } });
}

async function resolve(incoming: Incoming<z.output<typeof resolution>, unknown>): Promise<Response> {
  const { services, request, body } = incoming;
  const token = incoming.params['token'] ?? '';
  refuseForeignPages(request);
  try {
    const answer = { action: body.action, grantMs: body.duration ?? null };
    const operator = await signedInOperator(services, request);
    const approval = await resolveByLink(services.deps, token, answer, operator);
    return wantsPage(request) ? await outcomePage(services.deps, token) : outcomeJson(approval);
  } catch (error) {
    if (!(error instanceof GuardError && error.code === 'gone' && wantsPage(request))) throw error;
    return outcomePage(services.deps, token, true);
  }
}

function outcomeJson({ id, status, grantExpiresAt }: ApprovalRecord): Response {
  return Response.json(
    { referenceId: id, status, grantExpiresAt: isoOrNull(grantExpiresAt) },
    { headers: { 'Cache-Control': 'no-store' } },
  );
}

/** The page that says how the question ended. `before` means that another request answered it first. */
async function outcomePage(deps: Deps, token: string, before = false): Promise<Response> {
  const question = await findQuestion(deps, token);
  if (question === null) return unknownPage();
  const { status, grantExpiresAt } = question.approval;
  if (before || (status !== 'approved' && status !== 'denied')) return gone(question);
  return resolvedPage(factsOf(question), status, grantExpiresAt);
}

/**
 * Refuses forms of other sites, by the headers in which browsers name a form's origin. Under `no-referrer` the origin
 * is hidden (`null`), and over plain HTTP, except on loopback, Chromium sends no Sec-Fetch-Site either. Such a request
 * is accepted: Lax cookies are not sent with other sites' forms, and a form needs the token of the link.
 */
function refuseForeignPages(request: Request): void {
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  if (site === 'same-origin' || site === 'none') return;
  if (site === null && (origin === null || origin === 'null' || origin === new URL(request.url).origin))
    return;
  throw new GuardError('forbidden', 'Only the approval page itself may send this form.');
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
      return signInNeededPage();
    case 'invalid_input':
    case 'invalid_json':
      return badRequestPage(error.message);
    case 'forbidden':
    case 'too_large':
    case 'unsupported_media_type':
      return badRequestPage(error.message, STATUS[error.code]);
    default:
      return null;
  }
}

function gone(question: Question): Response {
  return gonePage(factsOf(question), question.ended ?? 'expired', question.approval.resolvedAt);
}

function factsOf({ approval, keyName, sessionLabel }: Question): ApprovalFacts {
  const { serverName, toolName, reason, createdAt, expiresAt } = approval;
  return { serverName, toolName, reason, createdAt, expiresAt, keyName, sessionLabel };
}
