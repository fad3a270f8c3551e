// The pages behind an approval link: the question, the answer, or why there is nothing to answer. They are pure
// functions from facts to a response. approve.ts decides who may see or answer what, and passes the time.

import { type Ended, GRANT_DURATIONS, MAX_NOTE, MAX_SAME } from '../../core/approvals/approval.ts';
import { beginningOf, bindable, type Details, seenOf } from '../../core/approvals/details.ts';
import { visible } from '../../core/text/visible.ts';
import type { ShownDetails } from '../../guard/approvals/shown-details.ts';
import { card, type Html, html, named, page } from '../serving/page.ts';
import {
  type ApprovalFacts,
  detailsShown,
  driftShown,
  factList,
  fullName,
  type Insight,
  LOCAL_TIMES,
  PARTS_STYLE,
  readShown,
  recentShown,
  time,
  voteShown,
} from './approve-parts.ts';
import { type Passkey, passkeyShown, SIGN, signButton } from './approve-passkey.ts';

export type ApprovalAction = 'approve' | 'deny';

interface Ask {
  token: string;
  /** The action that the link names, or null. */
  action: ApprovalAction | null;
  submitsItself: boolean;
  /** Whether an approval has to be signed, and whether this person can. */
  passkey: Passkey;
  now: number;
  referenceId: string;
  /** Whether the call was made in a session. */
  inSession: boolean;
  insight: Insight;
}

const OTHER = { approve: 'deny', deny: 'approve' } as const;
const HEADINGS = { approve: 'Approve this tool call?', deny: 'Deny this tool call?' };
const BUTTONS = { approve: 'Approve this call', deny: 'Deny this call' };
const INSTEAD = { approve: 'Approve it instead', deny: 'Deny it instead' };

// A browser may run a page before anybody has clicked its link (prerendering); the script then waits for the click.
const SUBMIT_AT_ONCE = `
const send = () => {
  document.getElementById('sending').hidden = false;
  document.getElementById('decision').submit();
};
if (document.prerendering) document.addEventListener('prerenderingchange', send, { once: true });
else send();
`;

const STYLE = `${PARTS_STYLE}
.answer, .lasting { display: grid; gap: 1rem; }
.lasting { padding-top: 0.9rem; }
details { border-top: 1px solid var(--line); padding-top: 1rem; }
fieldset { margin: 0; padding: 0; border: 0; display: grid; gap: 0.4rem; min-width: 0; }
legend { padding: 0 0 0.3rem; font-weight: 600; }
.check { display: flex; gap: 0.6rem; align-items: baseline; margin: 0; font-weight: 400; overflow-wrap: anywhere; }
.check input { flex: none; width: auto; min-height: 0; }
`;

export function askPage(facts: ApprovalFacts, ask: Ask): Response {
  const { submitsItself, passkey, now, insight } = ask;
  // An approval that has to be signed is given with a button, whatever the link says; and so is one of a call of which
  // there is more to see than messages show.
  const byButton = passkey !== 'not needed' || hasMore(insight.shown);
  const action = ask.action === 'approve' && byButton ? null : ask.action;
  const decides = action !== null && submitsItself;
  const scripts = [LOCAL_TIMES, decides ? SUBMIT_AT_ONCE : '', passkey === 'ready' ? SIGN : ''];
  return page({
    title: 'Tool call awaiting a decision · Toolgate',
    style: STYLE,
    script: scripts.join(''),
    connects: passkey === 'ready',
    body: card(
      ask.action === null ? 'May this tool call run?' : HEADINGS[ask.action],
      html`<p class="soft">The agent with the key <b>${named(facts.keyName)}</b> asked to call ${fullName(facts)}${facts.personEmail === null ? null : html` for <b>${named(facts.personEmail)}</b>`}. It has not run.</p>
${driftShown(insight)}
${readShown(insight, facts.createdAt)}
${detailsShown(insight)}
${factList(facts, now, insight)}
${insight.runs === null ? null : html`<p>${insight.runs}</p>`}
${recentShown(insight, ask.inSession ? 'session' : 'key')}
${action === null ? openForms(facts, ask) : decidedForm(ask.token, action, submitsItself)}
<p class="soft small"><a href="/dashboard/approvals/${ask.referenceId}">The same question in the dashboard</a>, for operators.</p>`,
    ),
  });
}

/** Whether there is more than lists and messages show, or the details are gone. */
function hasMore({ details, detailsGone }: ShownDetails): boolean {
  return detailsGone === true || (details !== undefined && !beginningOf(details).complete);
}

/** The hidden field that says what this page has shown to whoever answers. */
function seenField(shown: ShownDetails): Html | null {
  const seen = seenOf(shown);
  return seen === undefined ? null : html`<input type="hidden" name="seen" value="${seen}">`;
}

function decidedForm(token: string, action: ApprovalAction, submitsItself: boolean): Html {
  const other = OTHER[action];
  const choice = html`<div class="answer">${noteField('note')}
<div class="row"><button${action === 'deny' ? html` class="plain"` : null}>${BUTTONS[action]}</button>
<a href="${pathOf(token)}?action=${other}">${INSTEAD[other]}</a></div></div>`;
  return html`<form id="decision" method="post" action="${pathOf(token)}">
<input type="hidden" name="action" value="${action}">
${submitsItself ? html`<noscript>${choice}</noscript>` : choice}
${submitsItself ? html`<p id="sending" class="notice" role="status" hidden>Sending your decision…</p>` : null}
</form>`;
}

// There are two forms, so that no `duration` is sent when only this call is approved.
function openForms(facts: ApprovalFacts, ask: Ask): Html {
  const { token, passkey, referenceId, insight } = ask;
  const signs = passkey !== 'not needed';
  const isGone = insight.shown.detailsGone === true;
  const approve = signs
    ? signButton(passkey, referenceId)
    : html`<button name="action" value="approve"${isGone ? html` class="plain"` : null}>${BUTTONS.approve}</button>`;
  const deny = html`<button name="action" value="deny"${isGone ? null : html` class="plain"`}>${BUTTONS.deny}</button>`;
  const isSingle = facts.approvers === null || facts.approvers.needed === 1;
  const lasts = !signs && !isGone && isSingle && boundBy(insight.shown.details).length <= MAX_SAME;
  return html`<form id="decision" method="post" action="${pathOf(token)}" class="answer">
${voteShown(facts)}
${signs ? passkeyShown(passkey) : null}
${seenField(insight.shown)}
${noteField('note')}
<div class="row">${isGone ? [deny, approve] : [approve, deny]}</div>
</form>
${lasts ? lastingForm(facts, ask) : null}`;
}

function lastingForm(facts: ApprovalFacts, { token, inSession, insight }: Ask): Html {
  return html`<details class="small">
<summary>Approve for a while</summary>
<form id="lasting" method="post" action="${pathOf(token)}" class="lasting">
<input type="hidden" name="action" value="approve">
${seenField(insight.shown)}
<p class="soft">Besides this call, further calls of the key ${named(facts.keyName)} to ${fullName(facts)}
that would need approval are then allowed without asking, until the time is over: those that have the values that are checked
here, whatever other arguments they have. What the policy denies stays denied.</p>
<div><label for="duration">For how long</label>
<select id="duration" name="duration">${GRANT_DURATIONS.map(([value, words]) => html`<option value="${value}">${words}</option>`)}</select></div>
${inSession ? html`<label class="check"><input type="checkbox" name="only" value="session" checked> In this session only</label>` : null}
${sameFields(insight.shown.details)}
${noteField('lasting-note')}
<div class="row"><button class="plain">Approve for this long</button></div>
</form>
</details>`;
}

/** All that a grant can be bound to. Where that is too much, none is offered: padding must not push a value out of it. */
const boundBy = (details: Details | undefined) => bindable(details?.fields ?? []);

/** All boxes are checked at first, which makes the narrowest grant. */
function sameFields(details: Details | undefined): Html | null {
  const fields = boundBy(details);
  if (fields.length === 0) return null;
  const box = ({ path }: Details['fields'][number]) =>
    html`<label class="check"><input type="checkbox" name="same" value="${path}" checked> ${named(path)}</label>`;
  return html`<fieldset><legend>Only for the same</legend>${fields.map(box)}</fieldset>`;
}

function noteField(id: string): Html {
  return html`<div><label for="${id}">Note to the agent (optional)</label>
<input id="${id}" name="note" maxlength="${MAX_NOTE}" autocomplete="off"></div>`;
}

export function resolvedPage(
  facts: ApprovalFacts,
  status: 'approved' | 'denied',
  grantExpiresAt: number | null,
): Response {
  const outcome =
    status === 'denied'
      ? html`The agent is told not to make this call.`
      : grantExpiresAt === null
        ? html`This call, and no other, may proceed.`
        : html`This call may proceed. Until ${time(grantExpiresAt)}, further calls of this key to this tool need no approval.`;
  return page({
    title: `${status === 'approved' ? 'Approved' : 'Denied'} · Toolgate`,
    script: LOCAL_TIMES,
    body: card(
      status === 'approved' ? 'Approved' : 'Denied',
      html`<p class="notice" role="status">${outcome}</p>
${factList(facts, null)}
<p class="soft small">Your decision is recorded. You can close this page.</p>`,
    ),
  });
}

/** Somebody's approval is counted, and more people have to approve. */
export function votedPage(facts: ApprovalFacts): Response {
  return page({
    title: 'Your approval is counted · Toolgate',
    script: LOCAL_TIMES,
    body: card(
      'Your approval is counted',
      html`<p class="notice" role="status">The call waits until others have approved it too. A denial by one of them ends it.</p>
${factList(facts, null)}
<p class="soft small">Your decision is recorded. You can close this page.</p>`,
    ),
  });
}

const GONE: Record<Ended, readonly [string, string, string]> = {
  approved: ['Already approved', 'This call was approved', 'The link works once.'],
  denied: ['Already denied', 'This call was denied', 'The link works once.'],
  timed_out: ['Too late', 'Nobody decided in time: the question lapsed', 'The call was not approved.'],
  withdrawn: ['No longer asked', 'The agent withdrew this call', 'Nothing was run.'],
};

/** `resolvedAt` is when somebody answered. A question that nobody answered lapsed at its `expiresAt`. */
export function gonePage(
  facts: ApprovalFacts | null,
  state: Ended,
  resolvedAt: number | null = null,
): Response {
  const [heading, what, then] = GONE[state];
  const at = state === 'timed_out' ? (facts?.expiresAt ?? null) : resolvedAt;
  return page({
    title: `${heading} · Toolgate`,
    status: 410,
    script: LOCAL_TIMES,
    body: card(
      heading,
      html`<p class="notice">${what}${at === null ? null : html` on ${time(at)}`}. ${then}</p>
${facts === null ? null : factList(facts, null)}
<p class="soft small">Nothing was changed by opening this page.</p>`,
    ),
  });
}

export function unknownPage(): Response {
  return message(
    404,
    'This link is not known',
    html`It may be incomplete: copy the whole link from the notification. If you are signed in to the dashboard, its inbox shows every call that awaits a decision.`,
  );
}

/** `sentence` says what was wrong. It is shown as plain text. */
export function badRequestPage(sentence: string, status = 400): Response {
  return message(status, 'This request cannot be used', html`${visible(sentence)} Nothing was decided.`);
}

/** For somebody who is signed in. `sentence` says why not. */
export function notYoursPage(sentence: string, status: number): Response {
  return message(status, 'You may not answer this', html`${visible(sentence)} Nothing was decided.`);
}

/** For an approval that came without the signature that it needs. `sentence` says what to do. */
export function passkeyNeededPage(sentence: string, status: number): Response {
  return message(status, 'This needs your passkey', html`${visible(sentence)} Nothing was decided.`);
}

export function tooManyPage(retryAfterSeconds: number): Response {
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds));
  const wait = seconds === 1 ? '1 second' : `${seconds} seconds`;
  return message(
    429,
    'Too many requests',
    html`There were too many requests from your address. Nothing was decided. Try again in ${wait}.`,
    { 'Retry-After': String(seconds) },
  );
}

export function signInNeededPage(): Response {
  return message(
    401,
    'Sign in to decide',
    html`Only signed-in operators may answer this question. Nothing was decided. <a href="/dashboard">Sign in to the dashboard</a>, then open the link again.`,
  );
}

function message(
  status: number,
  heading: string,
  sentence: Html,
  headers: Record<string, string> = {},
): Response {
  const body = card(heading, html`<p class="soft">${sentence}</p>`);
  return page({ title: `${heading} · Toolgate`, status, body, headers });
}

export function pathOf(token: string): string {
  return `/v1/approve/${encodeURIComponent(token)}`;
}
