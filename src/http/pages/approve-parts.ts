// What the pages behind an approval link say about a call, in pieces: its facts, what it would do, votes, earlier
// questions, latest calls, times. Agents chose most of these texts, so each is escaped, isolated, and shows its invisible
// characters.

import { answeredBy, earlierCounts } from '../../core/approvals/approval.ts';
import { DETAILS_GONE, type Details, questionParts } from '../../core/approvals/details.ts';
import { BEGINNING } from '../../core/approvals/details-room.ts';
import { clockUtc, HAS_READ, NOT_NAMED } from '../../core/approvals/read-marks.ts';
import { languageOf, partsOf } from '../../core/text/colours.ts';
import { joinName } from '../../core/text/name.ts';
import { codePoints } from '../../core/text/text-length.ts';
import { MOST_BREAKS, visible, visibleLines } from '../../core/text/visible.ts';
import type { Context } from '../../guard/approvals/context.ts';
import type { ShownDetails } from '../../guard/approvals/shown-details.ts';
import { type Html, html, named } from '../serving/page.ts';

export interface ApprovalFacts {
  serverName: string;
  toolName: string;
  keyName: string;
  sessionLabel: string | null;
  /** The person in whose name the call was made, or null. */
  personEmail: string | null;
  reason: string;
  /** All times are in milliseconds. */
  createdAt: number;
  expiresAt: number;
  /** Who has to answer (null: any approvers), how many have to approve, and how many have; null if nobody votes. */
  approvers: { group: string | null; needed: number; approved: number } | null;
}

/** What helps to answer a question that is open. */
export interface Insight {
  /** What the call would do, as far as its rule shows it. */
  shown: ShownDetails;
  /** Who has approved, if a group has to. */
  approvedBy: readonly string[];
  context: Pick<Context, 'toolDescription' | 'drifted' | 'earlier' | 'recentCalls' | 'marks'>;
  /** Said to whoever answers, if the call is made as soon as it is approved. */
  runs: string | null;
}

export const PARTS_STYLE = `
.question { padding-inline-end: 0.2em; font-size: 1.2rem; font-weight: 650; line-height: 1.35; overflow-wrap: anywhere; }
.given { padding: 0 0.2em; border-bottom: 2px solid var(--accent); border-radius: 3px 3px 0 0; background: var(--tint); color: inherit; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.values { border: 1px solid var(--line); border-radius: 9px; background: var(--ground); }
.values > div { display: grid; grid-template-columns: minmax(5rem, 9rem) minmax(0, 1fr); gap: 0.1rem 1rem; padding: 0.4rem 0.75rem; }
.values > div + div { border-top: 1px solid var(--line); }
.values dt { color: var(--soft); font-family: var(--mono); font-size: 0.9em; overflow-wrap: anywhere; }
.values dd { font-family: var(--mono); font-size: 0.95em; white-space: pre-wrap; overflow-wrap: anywhere; overflow: clip; min-width: 0; }
.values dd:has(> .unnamed) { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.1rem 0.75rem; }
.values dd > :first-child { min-width: 0; }
.unnamed { color: light-dark(#b3261e, #ff9a94); font-family: system-ui, sans-serif; font-size: 0.9em; font-weight: 600; }
.values details { border: 0; padding: 0; }
.values summary { white-space: normal; cursor: pointer; }
.values .whole { display: block; max-height: 60vh; margin-top: 0.4rem; padding: 0.5rem; overflow: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--sheet); }
.v-name { color: var(--accent); }
.v-string { color: light-dark(#1b6e3c, #7fd1a0); }
.v-number, .v-word { color: light-dark(#8a3ffc, #c3a6ff); }
.v-sign { font-weight: 700; }
.v-comment { color: var(--soft); }
.v-added { color: light-dark(#1b6e3c, #7fd1a0); }
.v-removed { color: light-dark(#b3261e, #ff9a94); }
.v-part { font-weight: 600; }
.length { color: var(--soft); font-family: system-ui, sans-serif; }
.warning { border-left-color: #b3261e; font-weight: 600; }
.recent { list-style: none; padding-top: 0.6rem; display: grid; gap: 0.3rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) { .values > div { grid-template-columns: minmax(0, 1fr); } }
`;

/** Shows times in the reader's zone, as the dashboard does. Without script they stay in UTC, and say so. */
export const LOCAL_TIMES = `
const local = new Intl.DateTimeFormat(undefined, {
  day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short',
});
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const today = new Date().toDateString();
for (const each of document.querySelectorAll('time')) {
  const at = new Date(each.dateTime);
  const isShort = each.className === 'clock' && at.toDateString() === today;
  each.title = each.textContent;
  each.textContent = (isShort ? clock : local).format(at);
}
`;

/** What the call would do, or that it can no longer be shown; nothing if the rule shows nothing. */
export function detailsShown({ shown: { details, detailsGone } }: Insight): Html | null {
  if (detailsGone) return html`<p class="notice warning">${DETAILS_GONE}</p>`;
  if (details === undefined) return null;
  const { question, folder, fields } = details;
  return html`${question === null ? null : html`<h2 class="question" aria-label="${visible(question)}"><bdi>${questionParts(details).map(part)}</bdi></h2>`}
${folder === undefined ? null : html`<dl class="facts">${fact('Working folder', html`<span class="mono">${named(folder)}</span>`)}</dl>`}
${fields.length === 0 ? null : html`<dl class="values">${fields.map(value)}</dl>`}
${details.complete ? null : html`<p class="notice warning">${incompleteWords(details)}</p>`}`;
}

/** What the call gave is marked, so that it cannot pass for words of the rule. */
function part({ text, given }: ReturnType<typeof questionParts>[number]): Html {
  return given ? html`<mark class="given">${named(text)}</mark>` : html`${visible(text)}`;
}

/** A long value is folded: its beginning and its length are shown, and all of it once somebody opens it. */
function value({ path, value, known }: Details['fields'][number]): Html {
  const remark = known === false ? html`<span class="unnamed">${NOT_NAMED}</span>` : null;
  return html`<div><dt>${named(path)}</dt><dd>${isLong(value) ? folded(path, value) : html`<bdi>${coloured(path, value, visibleLines(value))}</bdi>`}${remark}</dd></div>`;
}

/** A longer value has no colours: the page would be several times as large. */
const MOST_COLOURED = 8_192;

/** The text as it is shown, with colours where the language of the value is known. */
function coloured(path: string, value: string, shown: string): Html[] {
  const language = value.length > MOST_COLOURED ? null : languageOf(path, value);
  return partsOf(shown, language).map(({ text, kind }) =>
    kind === null ? html`${text}` : html`<span class="v-${kind}">${text}</span>`,
  );
}

function isLong(value: string): boolean {
  return codePoints(value) > BEGINNING.value || value.split('\n', MOST_BREAKS + 2).length > MOST_BREAKS + 1;
}

const FOLDED_CHARS = 200;

function folded(path: string, value: string): Html {
  const start = Array.from(value.slice(0, 2 * FOLDED_CHARS))
    .slice(0, FOLDED_CHARS)
    .join('');
  const lines = value.split('\n').length;
  const length = `${codePoints(value).toLocaleString('en')} characters${lines === 1 ? '' : `, ${lines.toLocaleString('en')} lines`}`;
  return html`<details><summary><bdi>${visible(start)}</bdi>… <span class="length">(${length}: show all)</span></summary>
<bdi class="whole">${coloured(path, value, visibleLines(value, Number.POSITIVE_INFINITY))}</bdi></details>`;
}

function incompleteWords({ omitted = 0, omittedCharacters = 0 }: Details): string {
  const fields =
    omitted === 0 ? '' : `${omitted.toLocaleString('en')} ${omitted === 1 ? 'field' : 'fields'}, `;
  return `This call is too large to be shown completely. Not shown: ${fields}${omittedCharacters.toLocaleString('en')} characters.`;
}

export function driftShown({ context: { drifted } }: Insight): Html | null {
  return drifted
    ? html`<p class="notice warning">This tool has changed: its definition differs from the one that was accepted.</p>`
    : null;
}

/** What the run had read when it asked; nothing if it had no marks. */
export function readShown({ context: { marks } }: Insight, askedAt: number): Html | null {
  if (marks.length === 0) return null;
  const each = marks.map(
    (mark, at) =>
      html`${at === 0 ? '' : ', '}<b>${named(mark.name)}</b> (${fullName(mark)}, ${clockOf(mark.since, askedAt)})`,
  );
  return html`<p class="notice">${HAS_READ} ${each}</p>`;
}

/** Who has approved is only shown to whoever may answer. */
function approversShown({ group, needed, approved }: Approvers, by: readonly string[]): Html {
  const who = by.map((each, at) => html`${at === 0 ? '' : ', '}${person(each)}`);
  return html`${approved} of ${needed}${group === null ? null : html` of ${named(group)}`}${by.length === 0 ? null : html` (${who})`}`;
}

type Approvers = NonNullable<ApprovalFacts['approvers']>;

/** What an approval does where several people have to approve. */
export function voteShown({ approvers }: ApprovalFacts): Html | null {
  if (approvers === null || approvers.needed === 1) return null;
  const left = approvers.needed - approvers.approved;
  const needed =
    left <= 1 ? 'Yours is the last approval that is needed' : `${left} more approvals are needed`;
  return html`<p class="soft">${needed}; one denial ends the question.</p>`;
}

const person = (by: string): Html => named(answeredBy(by));

/** With `now`, for a question that is still open, the list says how much time is left. */
export function factList(facts: ApprovalFacts, now: number | null, insight: Insight | null = null): Html {
  const left = now === null ? null : html` (${spanInWords(facts.expiresAt - now)} left)`;
  return html`<dl class="facts">
${fact('Tool', html`<span class="mono">${named(facts.toolName)}</span>`)}
${fact('Server', html`<span class="mono">${named(facts.serverName)}</span>`)}
${fact('Full name', fullName(facts))}
${fact('Key', named(facts.keyName))}
${facts.sessionLabel === null || facts.sessionLabel === '' ? null : fact('Session', named(facts.sessionLabel))}
${facts.personEmail === null ? null : fact('For', named(facts.personEmail))}
${fact('Reason', named(facts.reason))}
${facts.approvers === null ? null : fact('Approved by', approversShown(facts.approvers, insight?.approvedBy ?? []))}
${insight === null ? null : insightFacts(insight)}
${fact('Asked', time(facts.createdAt))}
${now === null ? null : fact('Lapses', html`${time(facts.expiresAt)}${left}`)}
</dl>`;
}

function insightFacts({ context: { toolDescription, earlier } }: Insight): Html {
  return html`${toolDescription === null ? null : fact('Tool says', named(toolDescription))}
${fact('Before', earlierShown(earlier))}`;
}

/** How the same key's questions about the same tool ended. */
function earlierShown(earlier: Context['earlier']): Html {
  const { asked, lastBy, lastAt } = earlier;
  if (asked === 0) return html`not asked in the last 30 days`;
  const times = asked === 1 ? 'once' : `${asked} times`;
  const counts = html`asked ${times} in the last 30 days: ${earlierCounts(earlier)}`;
  if (lastAt === null || lastBy === null) return counts;
  return html`${counts}; last answered by ${person(lastBy)}, ${time(lastAt)}`;
}

/** The latest calls of the session, or of the key. */
export function recentShown({ context: { recentCalls } }: Insight, of: 'session' | 'key'): Html | null {
  if (recentCalls.length === 0) return null;
  return html`<details class="small">
<summary>Latest calls of the ${of}</summary>
<ul class="recent">${recentCalls.map(
    call => html`<li>${call.decision} ${fullName(call)}, ${time(call.at)}</li>`,
  )}</ul>
</details>`;
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

// Each part is isolated, because a name in a right-to-left script could otherwise swap the two.
export function fullName({ serverName, toolName }: { serverName: string; toolName: string }): Html {
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

export function time(ms: number): Html {
  const at = new Date(ms);
  const parts = Object.fromEntries(MINUTES.formatToParts(at).map(part => [part.type, part.value]));
  const { day = '', month = '', year = '', hour = '', minute = '' } = parts;
  return html`<time datetime="${at.toISOString()}">${day} ${month} ${year}, ${hour}:${minute} UTC</time>`;
}

/** The time of day, if it is that of the day on which the question was asked. */
function clockOf(ms: number, askedAt: number): Html {
  const since = new Date(ms).toISOString();
  const words = clockUtc(since, new Date(askedAt).toISOString());
  return html`<time class="clock" datetime="${since}">${words}</time>`;
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
