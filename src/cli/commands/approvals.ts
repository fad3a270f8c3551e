// toolgate approvals: lists the approvals that wait for a human, shows one, and resolves them.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ListedApproval, WholeApproval } from '../../core/api/resources.ts';
import { APPROVAL_STATUSES, type Resolution } from '../../core/approvals/approval.ts';
import { beginningOf, seenOf } from '../../core/approvals/details.ts';
import { joinName } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { parseGrantDuration } from '../../core/time/duration.ts';
import { keyNames } from '../admin.ts';
import { approvalText, detailsText, votesText } from '../approval-lines.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { command, group } from '../help.ts';
import { Refused } from '../http.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { type Column, printJson, time, word } from '../print.ts';
import { type AdminOptions, asAdmin, baseUrl, withAdmin } from '../service-options.ts';
import { verifyCommand } from './approvals-verify.ts';

const REFERENCE = '01890000-0000-7000-8000-000000000000';

export function build(io: IO): Command {
  return group(
    'approvals',
    'Calls that wait for approval by a human: list, show, approve or deny them, and verify who signed.',
    ['toolgate approvals list', `toolgate approvals approve ${REFERENCE} --for 1h`],
    [
      listCommand(io),
      showCommand(io),
      approveCommand(io),
      denyCommand(io),
      withdrawCommand(io),
      verifyCommand(io),
    ],
  );
}

function listCommand(io: IO): Command {
  const examples = ['toolgate approvals list', 'toolgate approvals list --status all --json'];
  const status = new Option('--status <status>', 'which ones')
    .choices([...APPROVAL_STATUSES, 'all'])
    .default('pending');
  const made = command('list', 'List approvals, newest first; only open ones by default.', examples);
  return withAdmin(withList(made.addOption(status))).action(
    async (options: AdminOptions & ListOptions & { status: string }) => {
      const http = asAdmin(io, options);
      const keys = options.json ? new Map<string, string>() : await keyNames(http);
      await printList<ListedApproval>(io, http, options, {
        path: '/approvals',
        plural: 'approvals',
        query: { status: options.status === 'all' ? undefined : options.status },
        nothing:
          options.status === 'pending' ? 'Nothing waits for approval.' : 'There are no such approvals.',
        columns: [
          ['REFERENCE', approval => approval.referenceId],
          ['STATUS', (approval, output) => word(output, approval.status)],
          ['TOOL', approval => visible(joinName(approval.serverName, approval.toolName))],
          ['VOTES', votesText],
          ['KEY', approval => visible(keys.get(approval.keyId) ?? approval.keyId)],
          ['ASKED', approval => time(approval.createdAt)],
          ['EXPIRES', approval => time(approval.expiresAt)],
          ...(options.status === 'pending' ? [] : [USE]),
        ],
      });
    },
  );
}

/** What an approval frees, or how it was used. */
const USE: Column<ListedApproval> = ['USE', approval => use(approval)];

function use({ grantExpiresAt, spentAt, withdrawnAt, usableUntil }: ListedApproval): string {
  if (grantExpiresAt !== null) return `grant until ${time(grantExpiresAt)}`;
  if (spentAt !== null) return `spent ${time(spentAt)}`;
  if (withdrawnAt !== null) return `withdrawn ${time(withdrawnAt)}`;
  return usableUntil === null ? '-' : `one call until ${time(usableUntil)}`;
}

function showCommand(io: IO): Command {
  const what = 'Show one approval: what is asked, what is known about it, and what happened to it so far.';
  const examples = [`toolgate approvals show ${REFERENCE}`, `toolgate approvals show ${REFERENCE} --json`];
  const made = command('show', what, examples).argument('<referenceId>', 'as listed');
  return withAdmin(made).action(async (referenceId: string, options: AdminOptions) => {
    const approval = await asAdmin(io, options).get<WholeApproval>(pathOf(referenceId));
    if (options.json) return printJson(io, approval);
    io.stdout.write(approvalText(approval, io.stdout));
  });
}

interface AnswerOptions extends AdminOptions {
  note?: string;
}

interface ApproveOptions extends AnswerOptions {
  for?: string;
  sessionOnly?: boolean;
  same?: string[];
  seen?: string;
}

const NOTE = 'a text for the agent, at most 500 characters';

function approveCommand(io: IO): Command {
  const what = 'Approve a call: that call only, or with --for every such call of its key until then.';
  const examples = [
    `toolgate approvals approve ${REFERENCE} --note "Only this once."`,
    `toolgate approvals approve ${REFERENCE} --for 1h`,
    `toolgate approvals approve ${REFERENCE} --for 1h --session-only --same customer.id`,
  ];
  const made = command('approve', what, examples)
    .argument('<referenceId>', 'as listed')
    .option('--note <text>', NOTE)
    .option(
      '--seen <digest>',
      'what you have seen of the call: the digest that show prints, incomplete or gone',
    )
    .option('--for <duration>', 'open a grant: 30m, 1h, 7d at most', grantDuration)
    .option('--session-only', 'with --for: only for the session that asked')
    .option('--same <path...>', 'with --for: only for calls with the same values at these paths');
  return withAdmin(made).action(async (referenceId: string, options: ApproveOptions) => {
    const { for: duration, sessionOnly, same } = options;
    if (duration === undefined && (sessionOnly || same !== undefined))
      throw usageError('--session-only and --same say what a grant frees: give --for, too.');
    const only = sessionOnly ? 'session' : undefined;
    const seen = options.seen ?? (await look(io, referenceId, options));
    const { note } = options;
    return answer(io, referenceId, options, { action: 'approve', note, duration, only, same, seen });
  });
}

/**
 * Shows what the call would do, and returns what was seen of it. Where there is more of it than a list shows, or nobody
 * can see it any more, the person at the terminal has to say that they looked.
 */
async function look(io: IO, referenceId: string, options: ApproveOptions): Promise<string | undefined> {
  const approval = await asAdmin(io, options).get<WholeApproval>(pathOf(referenceId));
  const { details, detailsGone, status } = approval;
  if (status !== 'pending' || (details === undefined && detailsGone !== true)) return undefined;
  io.stderr.write(detailsText(approval));
  const seen = seenOf(approval);
  if (details !== undefined && beginningOf(details).complete) return seen;
  if (!io.stdin.isTTY || !io.stderr.isTTY || options.json)
    throw new CliError(
      EXIT.failed,
      `There is more to see of this call than a list shows, or it cannot be seen any more. Read it above, then approve it with --seen ${seen}, or deny it.`,
    );
  io.stderr.write('Approve this call? [y/N] ');
  if (/^y(es)?$/i.test((await io.stdin.line()).trim())) return seen;
  throw new CliError(EXIT.failed, 'Nothing was decided.');
}

function grantDuration(text: string): string {
  if (parseGrantDuration(text) !== null) return text;
  throw new InvalidArgumentError('It must be 1m to 7d, such as 30m, 1h or 2d.');
}

function denyCommand(io: IO): Command {
  const examples = [
    `toolgate approvals deny ${REFERENCE}`,
    `toolgate approvals deny ${REFERENCE} --note "Refund at most 50, and ask again."`,
  ];
  const made = command('deny', 'Deny a call. One denial is enough, however many votes it needs.', examples)
    .argument('<referenceId>', 'as listed')
    .option('--note <text>', NOTE);
  return withAdmin(made).action((referenceId: string, options: AnswerOptions) =>
    answer(io, referenceId, options, { action: 'deny', note: options.note }),
  );
}

function withdrawCommand(io: IO): Command {
  const what = 'Take back an approval that is not spent; a grant is ended with `toolgate grants revoke`.';
  const made = command('withdraw', what, [`toolgate approvals withdraw ${REFERENCE}`]);
  return withAdmin(made.argument('<referenceId>', 'as listed')).action(
    async (referenceId: string, options: AdminOptions) => {
      await asAdmin(io, options).post(`${pathOf(referenceId)}/withdraw`);
      if (options.json) return printJson(io, { referenceId, withdrawn: true });
      say(io, `Approval ${referenceId} is withdrawn.`);
    },
  );
}

interface ResolveBody {
  action: Resolution;
  note: string | undefined;
  duration?: string | undefined;
  only?: 'session' | undefined;
  same?: string[] | undefined;
  seen?: string | undefined;
}

async function answer(io: IO, referenceId: string, options: AdminOptions, body: ResolveBody): Promise<void> {
  const path = `${pathOf(referenceId)}/resolve`;
  const approval = await asAdmin(io, options)
    .post<ListedApproval>(path, body)
    .catch(error => {
      throw isForPeople(error)
        ? askPeople(error, `${baseUrl(io, options)}/dashboard${pathOf(referenceId)}`)
        : error;
    });
  if (options.json) return printJson(io, approval);
  say(io, answered(approval, body));
}

function answered(approval: ListedApproval, { only, same }: ResolveBody): string {
  const { serverName, toolName, status, grantExpiresAt } = approval;
  const name = visible(joinName(serverName, toolName));
  if (grantExpiresAt === null) return `${name} is ${status}.`;
  const ofSession = only === undefined ? '' : ' of its session';
  const alike = same === undefined ? '' : ` with the same ${visible(same.join(', '))}`;
  return `${name} is ${status}, and until ${time(grantExpiresAt)} every such call${ofSession}${alike}.`;
}

/** Where a rule names approvers or wants their passkeys, only they can answer, as people who signed in. */
function isForPeople(error: unknown): error is Refused {
  return error instanceof Refused && ['not_an_approver', 'proof_needed'].includes(error.code);
}

function askPeople({ code, detail, exitCode, status }: Refused, page: string): CliError {
  const who = code === 'proof_needed' ? 'an approver' : 'somebody of the group';
  const how = `The admin token is not a person: let ${who} sign in and answer`;
  return new CliError(exitCode, `${detail} ${how} at ${page} (${status})`);
}

function pathOf(referenceId: string): string {
  return `/approvals/${encodeURIComponent(referenceId)}`;
}
