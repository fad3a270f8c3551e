// The pages behind an approval link: the question, the answer, or why there is nothing to answer. They are pure
// functions from facts to a response. approve.ts decides who may see or answer what, and passes the time.

import { GRANT_DURATIONS } from '../core/approval.ts';
import { DETAILS_GONE } from '../core/details.ts';
import { joinName } from '../core/name.ts';
import { visible, visibleLines } from '../core/visible.ts';
import type { ShownDetails } from '../guard/approvals/shown-details.ts';
import { card, type Html, html, named, page } from './page.ts';

export interface ApprovalFacts {
  serverName: string;
  toolName: string;
  keyName: string;
  sessionLabel: string | null;
  reason: string;
  /** All times are in milliseconds. */
  createdAt: number;
  expiresAt: number;
  /** The group that has to answer, how many of it have to approve, and how many have; null if no group has to. */
  approvers: { group: string; needed: number; approved: number } | null;
}

export type ApprovalAction = 'approve' | 'deny';

interface Ask {
  token: string;
  /** The action that the link names, or null. */
  action: ApprovalAction | null;
  submitsItself: boolean;
  /** What the call would do, as far as its rule shows it. */
  shown: ShownDetails;
  now: number;
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

const STYLE = `
.lasting { display: grid; gap: 1rem; padding-top: 0.9rem; }
dl.shown dd { overflow-wrap: anywhere; white-space: pre-wrap; }
details { border-top: 1px solid var(--line); padding-top: 1rem; }
`;

export function askPage(facts: ApprovalFacts, ask: Ask): Response {
  const { action, submitsItself, now } = ask;
  const decides = action !== null && submitsItself;
  return page({
    title: 'Tool call awaiting a decision · Toolgate',
    style: STYLE,
    ...(decides ? { script: SUBMIT_AT_ONCE } : {}),
    body: card(
      action === null ? 'May this tool call run?' : HEADINGS[action],
      html`<p class="soft">The agent with the key <b>${named(facts.keyName)}</b> asked to make this call. It has not run.</p>
${whatItWouldDo(ask.shown)}
${factList(facts, now)}
${action === null ? openForms(ask.token, facts) : decidedForm(ask.token, action, submitsItself)}`,
    ),
  });
}

function whatItWouldDo({ details, detailsGone }: ShownDetails): Html | null {
  if (detailsGone) return html`<p class="notice">${DETAILS_GONE}</p>`;
  if (details === undefined) return null;
  const { question, fields, omitted = 0 } = details;
  return html`${question === null ? null : html`<p><b>${named(question)}</b></p>`}
${fields.length === 0 ? null : html`<dl class="facts shown">${fields.map(({ path, value }) => fact(named(path), html`<bdi>${visibleLines(value)}</bdi>`))}</dl>`}
${omitted === 0 ? null : html`<p class="soft small">Not shown, because there is too much: ${omitted === 1 ? '1 more field' : `${omitted} more fields`}.</p>`}`;
}

function decidedForm(token: string, action: ApprovalAction, submitsItself: boolean): Html {
  const other = OTHER[action];
  const choice = html`<div class="row"><button${action === 'deny' ? html` class="plain"` : null}>${BUTTONS[action]}</button>
<a href="${pathOf(token)}?action=${other}">${INSTEAD[other]}</a></div>`;
  return html`<form id="decision" method="post" action="${pathOf(token)}">
<input type="hidden" name="action" value="${action}">
${submitsItself ? html`<noscript>${choice}</noscript>` : choice}
${submitsItself ? html`<p id="sending" class="notice" role="status" hidden>Sending your decision…</p>` : null}
</form>`;
}

// There are two forms, so that no `duration` is sent when only this call is approved.
function openForms(token: string, facts: ApprovalFacts): Html {
  return html`<form id="decision" method="post" action="${pathOf(token)}" class="row">
<button name="action" value="approve">${BUTTONS.approve}</button>
<button name="action" value="deny" class="plain">${BUTTONS.deny}</button>
</form>
<details class="small">
<summary>Approve for a while</summary>
<form id="lasting" method="post" action="${pathOf(token)}" class="lasting">
<input type="hidden" name="action" value="approve">
<p class="soft">Besides this call, further calls of the key ${named(facts.keyName)} to ${fullName(facts)}
that would need approval are then allowed without asking, until the time is over. What the policy denies stays denied.</p>
<div><label for="duration">For</label>
<select id="duration" name="duration">${GRANT_DURATIONS.map(([value, words]) => html`<option value="${value}">${words}</option>`)}</select></div>
<div class="row"><button class="plain">Approve for this long</button></div>
</form>
</details>`;
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
        ? html`The agent is told that this call, and no other, may proceed.`
        : html`This call may proceed. Until ${time(grantExpiresAt)}, further calls of this key to this tool need no approval.`;
  return page({
    title: `${status === 'approved' ? 'Approved' : 'Denied'} · Toolgate`,
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
    body: card(
      'Your approval is counted',
      html`<p class="notice" role="status">The call waits until others have approved it too. A denial by one of them ends it.</p>
${factList(facts, null)}
<p class="soft small">Your decision is recorded. You can close this page.</p>`,
    ),
  });
}

type GoneState = 'approved' | 'denied' | 'timed_out' | 'expired';

const GONE = {
  approved: ['Already approved', 'This call was approved', 'The link works once.'],
  denied: ['Already denied', 'This call was denied', 'The link works once.'],
  timed_out: ['Too late', 'Nobody decided in time: the question lapsed', 'The call was not approved.'],
  expired: ['Too late', 'Nobody decided in time: the question lapsed', 'The call was not approved.'],
} as const;

/** `resolvedAt` is when somebody answered. A question that nobody answered lapsed at its `expiresAt`. */
export function gonePage(
  facts: ApprovalFacts | null,
  state: GoneState,
  resolvedAt: number | null = null,
): Response {
  const [heading, what, then] = GONE[state];
  const lapsed = state === 'timed_out' || state === 'expired';
  const at = lapsed ? (facts?.expiresAt ?? null) : resolvedAt;
  return page({
    title: `${heading} · Toolgate`,
    status: 410,
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
    html`Calls of this key are decided by signed-in operators only. Nothing was decided. <a href="/dashboard">Sign in to the dashboard</a>, then open the link again.`,
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

/** With `now`, for a question that is still open, the list says how much time is left. */
function factList(facts: ApprovalFacts, now: number | null): Html {
  const left = now === null ? null : html` (${spanInWords(facts.expiresAt - now)} left)`;
  return html`<dl class="facts">
${fact('Tool', html`<span class="mono">${named(facts.toolName)}</span>`)}
${fact('Server', html`<span class="mono">${named(facts.serverName)}</span>`)}
${fact('Full name', fullName(facts))}
${fact('Key', named(facts.keyName))}
${facts.sessionLabel === null || facts.sessionLabel === '' ? null : fact('Session', named(facts.sessionLabel))}
${fact('Reason', named(facts.reason))}
${facts.approvers === null ? null : fact('Approved by', approversInWords(facts.approvers))}
${fact('Asked', time(facts.createdAt))}
${now === null ? null : fact('Lapses', html`${time(facts.expiresAt)}${left}`)}
</dl>`;
}

function approversInWords({ group, needed, approved }: NonNullable<ApprovalFacts['approvers']>): Html {
  return html`${String(approved)} of ${String(needed)}, of the group ${named(group)}`;
}

function fact(name: string | Html, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

// Each part is isolated, because a name in a right-to-left script could otherwise swap the two.
function fullName({ serverName, toolName }: ApprovalFacts): Html {
  const between = joinName('', '');
  return html`<bdi dir="ltr" class="mono">${named(serverName)}${between}${named(toolName)}</bdi>`;
}

const MINUTES = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

function time(ms: number): Html {
  const at = new Date(ms);
  const parts = Object.fromEntries(MINUTES.formatToParts(at).map(part => [part.type, part.value]));
  const { day = '', month = '', year = '', hour = '', minute = '' } = parts;
  return html`<time datetime="${at.toISOString()}">${day} ${month} ${year}, ${hour}:${minute} UTC</time>`;
}

const SPANS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** The two largest units of a time span, rounded down so that it never says more than is left. */
function spanInWords(ms: number): string {
  const words: string[] = [];
  let rest = ms;
  for (const [name, length] of SPANS) {
    const count = Math.floor(rest / length);
    if (count < 1) continue;
    words.push(`${count} ${name}${count === 1 ? '' : 's'}`);
    rest -= count * length;
  }
  return words.slice(0, 2).join(' ') || 'less than a minute';
}

function pathOf(token: string): string {
  return `/v1/approve/${encodeURIComponent(token)}`;
}
