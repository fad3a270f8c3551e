// What a notification says to the person who is asked, as data. Names and details come from agents. They are shown
// unchanged, except that invisible characters, and those that reorder text, are written as escapes. The types of
// channels make texts of it.

import type { Resolution } from '../approvals/approval.ts';
import type { Details } from '../approvals/details.ts';
import { clockUtc, NOT_NAMED, type ReadMark, readLines } from '../approvals/read-marks.ts';
import { joinName } from '../text/name.ts';
import { visible } from '../text/visible.ts';

/** What every message says about the call. */
export interface CallFacts {
  referenceId: string;
  keyName: string;
  sessionLabel: string | null;
  /** In whose name the call is made; null if in nobody's. */
  personEmail: string | null;
  serverName: string;
  toolName: string;
  reason: string;
  /** ISO 8601. */
  expiresAt: string;
}

export interface NotificationMessage extends CallFacts {
  /** The same for every attempt to send it. */
  id: string;
  approveUrl: string;
  denyUrl: string;
  /** The link that only shows the question. */
  reviewUrl: string;
  approverGroup: string | null;
  votesNeeded: number;
  /** What each approval has to be signed with; null if it need not be. */
  proof: 'passkey' | null;
  /** What the call would do; null if there is nothing to show, or if this message must not show it. */
  details: Details | null;
  /** Whether the rule shows something of the call that this message does not show. */
  reviewFirst: boolean;
  /** What the run had read when it asked; empty if this message must not show it. */
  marks: readonly ReadMark[];
  /** ISO 8601. */
  askedAt: string;
}

type Links = Pick<NotificationMessage, 'approveUrl' | 'denyUrl' | 'reviewUrl'>;

export function approvalLinks(publicUrl: string, token: string): Links {
  const reviewUrl = `${publicUrl}/v1/approve/${token}`;
  const link = (action: Resolution) => `${reviewUrl}?action=${action}`;
  return { approveUrl: link('approve'), denyUrl: link('deny'), reviewUrl };
}

interface Link {
  what: Resolution | 'review';
  label: string;
  url: string;
}

/** The words of links and buttons are the same in every channel. */
export const REVIEW = 'Review';

/**
 * The links in the order in which a message shows them. A link with an action submits itself, so there is none where the
 * message does not show all that the rule shows of the call. Where there is something to look at, that link comes first.
 */
export function linksOf(message: NotificationMessage): Link[] {
  const review: Link = { what: 'review', label: REVIEW, url: message.reviewUrl };
  if (message.reviewFirst) return [review];
  const answers: Link[] = [
    { what: 'approve', label: 'Approve', url: message.approveUrl },
    { what: 'deny', label: 'Deny', url: message.denyUrl },
  ];
  return message.details === null ? [...answers, review] : [review, ...answers];
}

export const REVIEW_FIRST = 'This message does not show what the call would do. Review it before you answer.';
export const REVIEW_ALL =
  'This message does not show all that the call would do. Review it before you answer.';

/** Shortens a text to at most `max` characters. What `spell` makes of a character is either kept whole or left out. */
export function clipped(text: string, max: number, spell: (char: string) => string = char => char): string {
  const pieces = Array.from(text, spell);
  const whole = pieces.join('');
  if (whole.length <= max) return whole;
  let shown = '';
  for (const piece of pieces) {
    if (shown.length + piece.length >= max) break;
    shown += piece;
  }
  return `${shown}…`;
}

export function fullName(message: Pick<CallFacts, 'serverName' | 'toolName'>): string {
  return visible(joinName(message.serverName, message.toolName));
}

/** For whom the agent asks, in words; nothing if for nobody in particular. */
export function forPerson({ personEmail }: Pick<CallFacts, 'personEmail'>): string[] {
  return personEmail === null ? [] : [`for ${visible(personEmail)}`];
}

/** The person has a line of their own: a tool's name, which has no line breaks, may end in the same words. */
export function callLines(message: Pick<CallFacts, 'serverName' | 'toolName' | 'personEmail'>): string {
  return [fullName(message), ...forPerson(message)].join('\n');
}

export function lapse(message: Pick<CallFacts, 'expiresAt'>): string {
  return message.expiresAt.replace(/^(\S+)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/, '$1 $2 UTC');
}

export interface Fact {
  label: string;
  value: string;
}

export function facts(message: CallFacts): Fact[] {
  const { sessionLabel } = message;
  const session =
    sessionLabel === null ? [] : [{ label: 'Session', value: visible(sessionLabel) || '(no label)' }];
  return [
    { label: 'Server', value: visible(message.serverName) },
    { label: 'Tool', value: visible(message.toolName) },
    { label: 'Key', value: visible(message.keyName) },
    ...session,
    { label: 'Reason', value: visible(message.reason) },
    { label: 'Lapses', value: lapse(message) },
    { label: 'Reference', value: visible(message.referenceId) },
  ];
}

/** Whose approvals are needed, if not anybody's. */
export function needs({
  approverGroup,
  votesNeeded,
  proof,
}: Pick<NotificationMessage, 'approverGroup' | 'votesNeeded' | 'proof'>): Fact[] {
  if (approverGroup === null && proof === null) return [];
  const group = approverGroup === null ? '' : ` of the group "${visible(approverGroup)}"`;
  const value =
    votesNeeded === 1
      ? `an approval by ${group === '' ? 'an approver' : `somebody${group}`}`
      : `${votesNeeded} approvals by different people${group}`;
  return [{ label: 'Needs', value: proof === null ? value : `${value}, signed with a passkey` }];
}

/** What the call would do, one line for each part; a value cannot begin a line, since line breaks are escaped. */
export function detailLines({ question, folder, fields, omitted = 0 }: Details): string[] {
  return [
    ...(question === null ? [] : [visible(question)]),
    ...(folder === undefined ? [] : [`Working folder: ${visible(folder)}`]),
    ...fields.map(fieldLine),
    ...(omitted > 0 ? [`… and ${omitted} more.`] : []),
  ];
}

/** A remark stands before the value, which an agent chose. */
function fieldLine({ path, value, known }: Details['fields'][number]): string {
  return `${visible(path)}${known === false ? ` (${NOT_NAMED})` : ''}: ${visible(value)}`;
}

/** What the run had read when it asked. */
export function runLines({ marks, askedAt }: Pick<NotificationMessage, 'marks' | 'askedAt'>): string[] {
  return readLines(marks, since => clockUtc(since, askedAt));
}

/**
 * What the run has read, which stands before what an agent chose; and what the call would do, or that the message does not
 * show it. Nothing if there is nothing to show.
 */
export function shownLines(message: NotificationMessage): string[] {
  const { details, reviewFirst } = message;
  const unshown = !reviewFirst ? [] : [details === null ? REVIEW_FIRST : REVIEW_ALL];
  return [...runLines(message), ...(details === null ? [] : detailLines(details)), ...unshown];
}

export function advice({ votesNeeded }: NotificationMessage): string {
  const what =
    votesNeeded === 1
      ? 'Approving frees this one call. The links work once; do not pass this message on.'
      : `The call is freed once ${votesNeeded} people have approved it; one denial ends it. Do not pass this message on.`;
  return `${what} If you do nothing, the call stays blocked.`;
}
