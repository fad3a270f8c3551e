// toolgate grants: lists and revokes grants, which approvals with a duration open.

import type { Command } from 'commander';
import type { Grant } from '../../core/api/resources.ts';
import { joinName } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { keyNames } from '../admin.ts';
import { command, group } from '../help.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

export function build(io: IO): Command {
  return group(
    'grants',
    'Calls that an approval with a duration lets through without asking again.',
    ['toolgate grants list', 'toolgate grants revoke 01890000-0000-7000-8000-000000000000'],
    [listCommand(io), revokeCommand(io)],
  );
}

function listCommand(io: IO): Command {
  const made = command('list', 'List open grants, newest first.', ['toolgate grants list --json']);
  return withAdmin(withList(made)).action(async (options: AdminOptions & ListOptions) => {
    const http = asAdmin(io, options);
    const keys = options.json ? new Map<string, string>() : await keyNames(http);
    await printList<Grant>(io, http, options, {
      path: '/grants',
      plural: 'grants',
      nothing: 'There are no open grants.',
      columns: [
        ['ID', grant => grant.id],
        ['TOOL', grant => visible(joinName(grant.serverName, grant.toolName))],
        ['KEY', grant => visible(keys.get(grant.keyId) ?? grant.keyId)],
        ['FREES', bounds],
        ['USED', grant => String(grant.used)],
        ['OPENED BY', grant => visible(grant.openedBy ?? '-')],
        ['ENDS', grant => time(grant.expiresAt)],
        ['APPROVAL', grant => grant.referenceId],
      ],
    });
  });
}

/** Which calls of the key to the tool it frees. */
function bounds({ only, same }: Grant): string {
  const parts = [only === null ? [] : ['one session'], same.length === 0 ? [] : [`same ${same.join(', ')}`]];
  return visible(parts.flat().join(', ')) || 'all';
}

function revokeCommand(io: IO): Command {
  const examples = ['toolgate grants revoke 01890000-0000-7000-8000-000000000000'];
  const made = command('revoke', 'End a grant at once.', examples).argument('<id>', 'its id, as listed');
  return withAdmin(made).action(async (id: string, options: AdminOptions) => {
    await asAdmin(io, options).delete(`/grants/${encodeURIComponent(id)}`);
    if (options.json) return printJson(io, { id, revoked: true });
    say(io, `Grant ${id} is ended.`);
  });
}
