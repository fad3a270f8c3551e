// toolgate approvals: lists the approvals that wait for a human, and resolves them.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { APPROVAL_STATUSES, parseGrantDuration, type Resolution } from '../../core/approval.ts';
import { joinName } from '../../core/name.ts';
import type { ListedApproval } from '../../core/resources.ts';
import { visible } from '../../core/visible.ts';
import { keyNames } from '../admin.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../connect.ts';
import { command, group } from '../help.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { type Column, printJson, time, word } from '../print.ts';

const REFERENCE = '01890000-0000-7000-8000-000000000000';

export function build(io: IO): Command {
  return group(
    'approvals',
    'Calls that wait for approval by a human: list, approve or deny them.',
    ['toolgate approvals list', `toolgate approvals approve ${REFERENCE} --for 1h`],
    [listCommand(io), approveCommand(io), denyCommand(io), withdrawCommand(io)],
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

function approveCommand(io: IO): Command {
  const what = 'Approve a call: that call only, or with --for every such call of its key until then.';
  const examples = [
    `toolgate approvals approve ${REFERENCE}`,
    `toolgate approvals approve ${REFERENCE} --for 1h`,
  ];
  const made = command('approve', what, examples)
    .argument('<referenceId>', 'as listed')
    .option('--for <duration>', 'open a grant: 30m, 1h, 7d at most', grantDuration);
  return withAdmin(made).action((referenceId: string, options: AdminOptions & { for?: string }) =>
    answer(io, referenceId, 'approve', options),
  );
}

function grantDuration(text: string): string {
  if (parseGrantDuration(text) !== null) return text;
  throw new InvalidArgumentError('It must be 1m to 7d, such as 30m, 1h or 2d.');
}

function denyCommand(io: IO): Command {
  const made = command('deny', 'Deny a call.', [`toolgate approvals deny ${REFERENCE}`]);
  return withAdmin(made.argument('<referenceId>', 'as listed')).action(
    (referenceId: string, options: AdminOptions) => answer(io, referenceId, 'deny', options),
  );
}

function withdrawCommand(io: IO): Command {
  const what = 'Take back an approval that is not spent; a grant is ended with `toolgate grants revoke`.';
  const made = command('withdraw', what, [`toolgate approvals withdraw ${REFERENCE}`]);
  return withAdmin(made.argument('<referenceId>', 'as listed')).action(
    async (referenceId: string, options: AdminOptions) => {
      await asAdmin(io, options).post(`/approvals/${encodeURIComponent(referenceId)}/withdraw`);
      if (options.json) return printJson(io, { referenceId, withdrawn: true });
      say(io, `Approval ${referenceId} is withdrawn.`);
    },
  );
}

async function answer(
  io: IO,
  referenceId: string,
  action: Resolution,
  options: AdminOptions & { for?: string },
): Promise<void> {
  const path = `/approvals/${encodeURIComponent(referenceId)}/resolve`;
  const body = { action, ...(options.for === undefined ? {} : { duration: options.for }) };
  const approval = await asAdmin(io, options).post<ListedApproval>(path, body);
  if (options.json) return printJson(io, approval);
  const until =
    approval.grantExpiresAt === null ? '' : `, and until ${time(approval.grantExpiresAt)} every such call`;
  say(io, `${joinName(approval.serverName, approval.toolName)} is ${approval.status}${until}.`);
}
