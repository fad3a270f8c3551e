// toolgate operators: the people who sign in. A one-time link is printed once, alone on stdout, so that it can be sent
// on.

import { Argument, type Command, Option } from 'commander';
import type { InvitedOperator, Operator, ResetOperator } from '../../core/api/resources.ts';
import { visible } from '../../core/text/visible.ts';
import { operatorId } from '../admin.ts';
import { command, group } from '../help.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

const ROLES = ['admin', 'approver', 'viewer', 'user'] as const;
const WHO = 'their e-mail or id';

export function build(io: IO): Command {
  return group(
    'operators',
    'The people who sign in: invite them, give them a role and groups, let them in again.',
    ['toolgate operators invite ops@example.com --role approver', 'toolgate operators reset ops@example.com'],
    [
      listCommand(io),
      inviteCommand(io),
      setRoleCommand(io),
      setGroupsCommand(io),
      resetCommand(io),
      removeCommand(io),
    ],
  );
}

function listCommand(io: IO): Command {
  const made = command('list', 'List operators, newest first.', ['toolgate operators list --json']);
  return withAdmin(withList(made)).action((options: AdminOptions & ListOptions) =>
    printList<Operator>(io, asAdmin(io, options), options, {
      path: '/operators',
      plural: 'operators',
      nothing: 'There are no operators. The service printed a link to create the first when it started.',
      columns: [
        ['ID', operator => operator.id],
        ['E-MAIL', operator => visible(operator.email)],
        ['ROLE', operator => operator.role],
        ['GROUPS', operator => operator.groups.map(visible).join(', ') || '-'],
        ['STATE', operator => operator.status],
        ['SINCE', operator => time(operator.createdAt, '-')],
      ],
    }),
  );
}

function inviteCommand(io: IO): Command {
  const examples = [
    'toolgate operators invite ops@example.com --role approver',
    'toolgate operators invite lead@example.com --role admin --json',
    'toolgate operators invite ann@example.com --role user',
  ];
  const role = new Option('--role <role>', 'what they may do').choices(ROLES).makeOptionMandatory();
  const made = command('invite', 'Invite somebody. The link is printed this once.', examples)
    .argument('<email>', 'their e-mail')
    .addOption(role);
  return withAdmin(made).action(async (email: string, options: AdminOptions & { role: string }) => {
    const invited = await asAdmin(io, options).post<InvitedOperator>('/operators', {
      email,
      role: options.role,
    });
    if (options.json) return printJson(io, invited);
    io.stdout.write(`${invited.inviteUrl}\n`);
    const until = time(invited.inviteExpiresAt, '-');
    say(io, `${visible(invited.email)} is invited as ${invited.role}. The link works once, until ${until}.`);
  });
}

function setRoleCommand(io: IO): Command {
  const examples = ['toolgate operators set-role ops@example.com admin'];
  const made = command('set-role', 'Change what an operator may do, at once.', examples)
    .argument('<operator>', WHO)
    .addArgument(new Argument('<role>', 'the role from now on').choices(ROLES));
  return withAdmin(made).action(async (who: string, role: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const changed = await http.patch<Operator>(`/operators/${await operatorId(http, who)}`, { role });
    if (options.json) return printJson(io, changed);
    say(io, `${visible(changed.email)} is ${changed.role} now.`);
  });
}

function setGroupsCommand(io: IO): Command {
  const what =
    'Set the groups that an operator is in, at once. Rules name them under approvers, and keys can be open to them.';
  const made = command('set-groups', `${what} Without a group, they are in none.`, [
    'toolgate operators set-groups ops@example.com finance on-call',
    'toolgate operators set-groups ops@example.com',
  ])
    .argument('<operator>', WHO)
    .argument('[groups...]', 'all groups that they are in from now on');
  return withAdmin(made).action(async (who: string, groups: string[], options: AdminOptions) => {
    const http = asAdmin(io, options);
    const changed = await http.patch<Operator>(`/operators/${await operatorId(http, who)}`, { groups });
    if (options.json) return printJson(io, changed);
    const now = changed.groups.length === 0 ? 'no group' : changed.groups.map(visible).join(', ');
    say(io, `${visible(changed.email)} is in ${now} now.`);
  });
}

function resetCommand(io: IO): Command {
  const what = 'Let somebody in who is locked out: print a link, this once, to choose a new password.';
  const made = command('reset', `${what} Their old password, accounts and sign-ins end at once.`, [
    'toolgate operators reset ops@example.com',
    'TOOLGATE_DATA_DIR=/var/lib/toolgate toolgate operators reset ops@example.com',
  ]).argument('<operator>', WHO);
  return withAdmin(made).action(async (who: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const reset = await http.post<ResetOperator>(`/operators/${await operatorId(http, who)}/reset`);
    if (options.json) return printJson(io, reset);
    io.stdout.write(`${reset.resetUrl}\n`);
    const until = time(reset.resetExpiresAt, '-');
    say(io, `${visible(reset.email)} is signed out everywhere. The link works once, until ${until}.`);
  });
}

function removeCommand(io: IO): Command {
  const what = 'Remove an operator. Their sign-ins end at once; single sign-on does not bring them back.';
  const made = command('remove', what, ['toolgate operators remove ops@example.com']);
  return withAdmin(made.argument('<operator>', WHO)).action(async (who: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const id = await operatorId(http, who);
    await http.delete(`/operators/${id}`);
    if (options.json) return printJson(io, { id, removed: true });
    say(io, `${visible(who)} is removed.`);
  });
}
