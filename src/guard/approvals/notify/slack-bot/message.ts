// What the bot's messages say: the question with buttons that answer it, and afterwards how it ended, without buttons.
// A message carries no approval link: whoever reads the channel could answer with it, operator or not. A button carries
// only the approval's reference, which answers nothing by itself; answer.ts decides who may answer.

import { answeredBy, type Ended } from '../../../../core/approvals/approval.ts';
import { DETAILS_GONE, type Details } from '../../../../core/approvals/details.ts';
import {
  type CallFacts,
  callLines,
  detailLines,
  type Fact,
  facts,
  fullName,
  lapse,
  needs,
  REVIEW,
  REVIEW_FIRST,
} from '../../../../core/channels/message.ts';
import {
  DETAIL_SECTIONS,
  packed,
  plain,
  SECTION_CHARS,
  slackEscape,
} from '../../../../core/channels/slack-text.ts';
import { visible } from '../../../../core/text/visible.ts';
import type { ApprovalRecord } from '../../../../store/approvals.ts';
import type { SlackMessage } from './api.ts';

/** A press of one of these answers. Slack also reports when somebody opens the link, which answers nothing. */
export const BUTTONS = { toolgate_approve: 'approve', toolgate_deny: 'deny' } as const;

/** Lower than Slack's own limits, because Slack sends the message back with every press, and a press is bounded too. */
const NAME_CHARS = 600;
const READ_CHARS = 1000;
const FIELD_CHARS = 300;
const LINE_CHARS = 400;

/** What a message is about. */
export interface About extends CallFacts {
  approval: ApprovalRecord;
  /** Who has approved so far, such as `operator:ana@example.com`. */
  approvedBy: readonly string[];
  /** The approval's own page. */
  pageUrl: string;
}

/** What a message says about the call's details: them, or why they are not there. */
export type Shown = Details | 'none' | 'on the page' | 'gone';

/** Whether a message that says this shows all that the rule shows of the call. */
export function showsAll(shown: Shown): boolean {
  if (typeof shown === 'string') return shown === 'none';
  return shown.complete && detailTexts(shown).length <= DETAIL_SECTIONS;
}

/** `read` says what the run has read. */
export function questionMessage(about: About, shown: Shown, read: readonly string[] = []): SlackMessage {
  const texts = detailTexts(shown);
  return {
    text: `Approve ${slackEscape(fullName(about), LINE_CHARS)}? Lapses ${lapse(about)}.`,
    blocks: [
      section(`An agent asks to call ${callLines(about)}`, NAME_CHARS),
      ...read.map(text => section(text, READ_CHARS)),
      ...texts.map(text => section(text, SECTION_CHARS)),
      fieldsOf([...facts(about), ...needs(about.approval)]),
      ...votesTexts(about).map(text => section(text, SECTION_CHARS)),
      { type: 'actions', elements: buttons(about, shown) },
    ],
  };
}

const OUTCOMES: Record<Ended, string> = {
  approved: 'Approved',
  denied: 'Denied',
  timed_out: 'Nobody answered in time',
  withdrawn: 'The agent withdrew the call',
};

/** The details go with the buttons: nobody needs them any more, and the service does not keep them either. */
export function endedMessage(about: About): SlackMessage {
  const { status, resolvedBy, note, grantExpiresAt } = about.approval;
  const by = status === 'timed_out' || resolvedBy === null ? '' : ` by ${person(resolvedBy)}`;
  const outcome = `${OUTCOMES[status as Ended]}${by}: `;
  const granted =
    grantExpiresAt === null ? [] : [`Calls like this one are allowed until ${time(grantExpiresAt)}.`];
  const said = note === null ? [] : [`Note: ${visible(note)}`];
  return {
    text: slackEscape(outcome + fullName(about), LINE_CHARS),
    blocks: [
      section(outcome + callLines(about), NAME_CHARS),
      ...[...said, ...votesTexts(about), ...granted].map(text => section(text, SECTION_CHARS)),
      fieldsOf(facts(about).filter(({ label }) => label !== 'Lapses')),
    ],
  };
}

function detailTexts(shown: Shown): string[] {
  if (shown === 'none') return [];
  if (shown === 'gone') return [DETAILS_GONE];
  return shown === 'on the page' ? [REVIEW_FIRST] : packed(detailLines(shown));
}

/**
 * Nobody can approve here what the message does not show: the link to the page that shows it comes first. A call can be
 * denied without having been seen.
 */
function buttons({ approval, pageUrl }: About, shown: Shown): object[] {
  const review = { ...button(REVIEW, 'toolgate_open'), url: pageUrl };
  const approve = { ...button('Approve', 'toolgate_approve'), value: approval.id };
  const deny = { ...button('Deny', 'toolgate_deny'), value: approval.id, style: 'danger' };
  // No passkey can sign in Slack, so an approval that needs one is given on the page.
  if (approval.proof !== null || !showsAll(shown)) return [{ ...review, style: 'primary' }, deny];
  if (shown === 'none') return [{ ...approve, style: 'primary' }, deny, review];
  return [{ ...review, style: 'primary' }, approve, deny];
}

/** Where several people have to approve, who has. */
function votesTexts({ approval: { votesNeeded }, approvedBy }: About): string[] {
  if (votesNeeded === 1) return [];
  const names = approvedBy.length === 0 ? '' : `: ${approvedBy.map(person).join(', ')}`;
  return [`${approvedBy.length} of ${votesNeeded} approvals${names}.`];
}

const person = (by: string): string => visible(answeredBy(by));

function time(at: number): string {
  return lapse({ expiresAt: new Date(at).toISOString() });
}

function fieldsOf(shown: readonly Fact[]): object {
  return {
    type: 'section',
    fields: shown.map(({ label, value }) => plain(`${label}: ${value}`, FIELD_CHARS)),
  };
}

function section(text: string, max: number): object {
  return { type: 'section', text: plain(text, max) };
}

function button(label: string, actionId: string): object {
  return { type: 'button', action_id: actionId, text: plain(label, LINE_CHARS) };
}
