// One approval as text: what is asked, what is known about it, and its course so far. Everything that an agent, a tool
// server or a person wrote is made visible, so that it can neither hide a part of itself nor steer the terminal.

import type { ListedApproval, WholeApproval } from '../core/api/resources.ts';
import { earlierCounts } from '../core/approvals/approval.ts';
import { DETAILS_GONE, questionParts } from '../core/approvals/details.ts';
import { clockUtc, NOT_NAMED, readLines } from '../core/approvals/read-marks.ts';
import { runsOnApproval } from '../core/approvals/runs-on-approval.ts';
import { taskText } from '../core/approvals/task-text.ts';
import { joinName } from '../core/text/name.ts';
import { surfaceName } from '../core/text/surface.ts';
import { visible } from '../core/text/visible.ts';
import type { Output } from './io.ts';
import { time, word } from './print.ts';
import { table } from './table.ts';

/** `1/2 finance (passkey)`; a dash where one answer of anybody is enough. */
export function votesText({ approverGroup, proof, votes }: ListedApproval): string {
  if (approverGroup === null && proof === null) return '-';
  const group = approverGroup === null ? '' : ` ${visible(approverGroup)}`;
  return `${votes.approved.length}/${votes.needed}${group}${proof === null ? '' : ` (${proof})`}`;
}

export function approvalText(approval: WholeApproval, output: Output): string {
  const { status, serverName, toolName } = approval;
  const name = output.style('bold', visible(joinName(serverName, toolName)));
  const parts = [
    `${name}: ${word(output, status)}\n${detailsText(approval)}`,
    table(factRows(approval)),
    `Course:\n${indented(table(courseRows(approval)))}`,
    recentText(approval, output),
  ];
  return parts.filter(part => part !== '').join('\n');
}

/** What the run has read, and what the rule shows of the call, whole, as far as it is held. */
export function detailsText(approval: WholeApproval): string {
  return readText(approval) + shownText(approval);
}

/** What the run had read when it asked. */
function readText({ context, createdAt }: WholeApproval): string {
  const lines = readLines(context.marks, since => clockUtc(since, createdAt));
  return lines.map(line => `${line}\n`).join('');
}

function shownText(approval: WholeApproval): string {
  const { details, detailsInserted, detailsGone, detailsHidden, status, approverGroup } = approval;
  if (status !== 'pending') return '';
  if (detailsGone === true) return `${DETAILS_GONE}\n`;
  if (detailsHidden === true && approverGroup !== null)
    return `What the rule shows of the call is for operators of the group "${visible(approverGroup)}" only.\n`;
  if (details === undefined) return '';
  const { question, folder, fields, complete, omitted = 0, omittedCharacters = 0 } = details;
  const asked =
    question === null
      ? ''
      : `${questionParts({ ...details, inserted: detailsInserted ?? [] })
          .map(partText)
          .join('')}\n`;
  const hasUnnamed = fields.some(({ known }) => known === false);
  const remark = (known: boolean | undefined) => (known === false ? NOT_NAMED : '');
  const rows = fields.map(({ path, value, known }) => [
    visible(path),
    ...(hasUnnamed ? [remark(known)] : []),
    visible(value),
  ]);
  const place = folder === undefined ? '' : `Working folder: ${visible(folder)}\n`;
  const more = complete
    ? ''
    : `  The call is too large to be shown completely: ${omitted} fields and ${omittedCharacters} characters are left out.\n`;
  return `${asked}${place}${indented(table(rows))}${more}`;
}

/** What the call gave is in quotes, which it cannot close itself. */
function partText({ text, given }: ReturnType<typeof questionParts>[number]): string {
  return given ? `“${visible(text).replaceAll('”', '\\u{201D}')}”` : visible(text);
}

function factRows(approval: WholeApproval): string[][] {
  const { context, reason, referenceId, surface } = approval;
  const { rule, sessionLabel, toolDescription, drifted } = context;
  const rows = [
    ['Reference', referenceId],
    ['Reason', visible(reason)],
    ['Digest', approval.details?.digest ?? null],
    ['Key', visible(context.keyName)],
    ['Person', approval.personEmail === undefined ? null : visible(approval.personEmail)],
    ['Session', sessionLabel === null ? null : visible(sessionLabel)],
    ['Surface', surfaceName(surface)],
    ['Rule', rule === null ? null : ruleText(rule)],
    ['Tool', toolDescription === null ? null : visible(toolDescription.replace(/\s+/g, ' '))],
    ['Changed', drifted ? 'The definition of the tool differs from the one that was accepted.' : null],
    ['Votes', votesText(approval) === '-' ? null : votesText(approval)],
    ['Task', runsOnApproval(approval) ?? taskText(approval)],
    ['Earlier', earlierText(context.earlier)],
  ];
  return rows.filter((row): row is string[] => row[1] !== null);
}

type Rule = NonNullable<WholeApproval['context']['rule']>;

function ruleText({ index, name, policyName, policyVersion, action, tool }: Rule): string {
  const named = name === null ? '' : ` ("${visible(name)}")`;
  return `${index}${named} of policy "${visible(policyName)}", version ${policyVersion} (${action} ${visible(tool)})`;
}

function earlierText(earlier: WholeApproval['context']['earlier']): string {
  const { asked, lastBy, lastAt } = earlier;
  if (asked === 0) return 'This key has not asked for this tool in the last 30 days.';
  const times = asked === 1 ? 'once' : `${asked} times`;
  const counts = `asked ${times} in the last 30 days: ${earlierCounts(earlier)}`;
  return lastAt === null ? counts : `${counts}; last ${time(lastAt)} by ${visible(lastBy ?? 'nobody')}`;
}

/** What happened to the question, in order. */
function courseRows(approval: WholeApproval): string[][] {
  const { votes, resolvedAt, status, note, grantExpiresAt, spentAt, withdrawnAt } = approval;
  const rows: [at: string | null, what: string][] = [
    [approval.createdAt, 'asked'],
    ...approval.notifications.map(toldRow),
    ...voteRows(votes),
    [resolvedAt, `${status}${byWhom(approval)}${note === null ? '' : `: "${visible(note)}"`}`],
    [grantExpiresAt === null ? null : resolvedAt, `opened a grant until ${time(grantExpiresAt)}`],
    [spentAt, `spent: the call ${approval.freed?.toolCallId ?? ''} was allowed`],
    forwardedRow(approval.freed),
    [withdrawnAt, 'withdrawn'],
    [status === 'pending' ? approval.expiresAt : null, 'lapses, if nobody answers before'],
    [canBeSpent(approval) ? approval.usableUntil : null, 'can no longer be spent'],
  ];
  return rows.flatMap(([at, what]) => (at === null ? [] : [[time(at), what]])).sort(byTime);
}

const byTime = ([a = '']: string[], [b = '']: string[]): number => (a < b ? -1 : a > b ? 1 : 0);

function toldRow({ channel, state, time: at, lastError }: WholeApproval['notifications'][number]) {
  const why = lastError === null ? '' : `: ${visible(lastError)}`;
  const row: [string | null, string] = [at, `message to ${visible(channel)}: ${state}${why}`];
  return row;
}

/** A single vote is the answer itself. */
function voteRows({ needed, approved }: WholeApproval['votes']): [at: string, what: string][] {
  if (needed === 1) return [];
  return approved.map(({ by, at }, index) => [at, `approval ${index + 1} of ${needed} by ${visible(by)}`]);
}

function forwardedRow(freed: WholeApproval['freed']): [at: string | null, what: string] {
  const { at, outcome } = freed?.forwarded ?? { at: null, outcome: '' };
  return [at, `forwarded: ${outcome}`];
}

function byWhom({ resolvedBy }: WholeApproval): string {
  return resolvedBy === null ? '' : ` by ${visible(resolvedBy)}`;
}

function canBeSpent({ usableUntil, spentAt, withdrawnAt }: WholeApproval): boolean {
  return usableUntil !== null && spentAt === null && withdrawnAt === null;
}

function recentText({ context: { recentCalls }, sessionId }: WholeApproval, output: Output): string {
  if (recentCalls.length === 0) return '';
  const rows = recentCalls.map(({ at, serverName, toolName, decision }) => [
    time(at),
    word(output, decision),
    visible(joinName(serverName, toolName)),
  ]);
  return `Last calls of ${sessionId === null ? 'the key' : 'the session'}:\n${indented(table(rows))}`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
