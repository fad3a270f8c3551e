// toolgate keys: the long-lived credentials. A new key is printed once, alone on stdout, so that a script can store it;
// these commands print no other secret.

import type { Command } from 'commander';
import type { Key, KeyWithSecret } from '../../core/api/resources.ts';
import { openToFault } from '../../core/approvals/open-to.ts';
import { visible } from '../../core/text/visible.ts';
import { allOf, keyId, pastKeyId, policyId, policyNames } from '../admin.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { command, group } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { aheadOrNever } from '../moment.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { table } from '../table.ts';
import { shadowCommand } from './keys-shadow.ts';

interface Fields extends AdminOptions {
  name?: string;
  policy?: string;
  /** False for none. */
  shadow?: string | false;
  expires?: string | null;
  signIn?: boolean;
  forward?: string[];
  openTo?: string[];
  tasks?: boolean;
  approveHere?: boolean;
  toolServer?: string[];
}

export function build(io: IO): Command {
  return group(
    'keys',
    'Create, change and revoke the keys that agents ask with.',
    ['toolgate keys list', 'toolgate keys create ci --policy prod', 'toolgate keys revoke ci'],
    [
      listCommand(io),
      showCommand(io),
      createCommand(io),
      updateCommand(io),
      shadowCommand(io),
      revokeCommand(io),
    ],
  );
}

function listCommand(io: IO): Command {
  const examples = ['toolgate keys list', 'toolgate keys list --all --json'];
  const made = command('list', 'List keys, newest first; revoked ones too.', examples);
  return withAdmin(withList(made)).action(async (options: AdminOptions & ListOptions) => {
    const http = asAdmin(io, options);
    const policies = options.json ? new Map<string, string>() : await policyNames(http);
    await printList<Key>(io, http, options, {
      path: '/keys',
      plural: 'keys',
      nothing: 'There are no keys.',
      columns: [
        ['ID', key => key.id],
        ['NAME', key => visible(key.name)],
        ['POLICY', key => visible(policies.get(key.policyId) ?? key.policyId)],
        ['KEY', key => `${key.prefix}…`],
        ['STATE', state],
        ['EXPIRES', key => time(key.expiresAt, 'never')],
        ['OPEN TO', key => openTo(key) || '-'],
      ],
    });
  });
}

const openTo = (key: Key): string => key.openTo.map(visible).join(', ');

function showCommand(io: IO): Command {
  const made = command('show', 'Show a key; its secret is never shown again.', ['toolgate keys show ci']);
  return withAdmin(made.argument('<key>', 'its name or id')).action(
    async (nameOrId: string, options: AdminOptions) => {
      const http = asAdmin(io, options);
      const id = await pastKeyId(http, nameOrId);
      const key = (await allOf<Key>(http, 'keys')).find(each => each.id === id);
      if (key === undefined) throw new CliError(EXIT.failed, 'There is no key with this id.');
      if (options.json) return printJson(io, key);
      const names = await policyNames(http);
      io.stdout.write(table(linesOf(key, id => visible(names.get(id) ?? id))));
    },
  );
}

function linesOf(key: Key, nameOf: (policyId: string) => string): string[][] {
  return [
    ['ID', key.id],
    ['NAME', visible(key.name)],
    ['KEY', `${key.prefix}…`],
    ['POLICY', nameOf(key.policyId)],
    ['SHADOW', key.shadowPolicyId === null ? 'none' : nameOf(key.shadowPolicyId)],
    ['STATE', state(key)],
    ['EXPIRES', time(key.expiresAt, 'never')],
    ['APPROVING NEEDS', key.requireSignInToApprove ? 'a sign-in' : 'the link'],
    ['FORWARDS', ['tools', ...key.forward].join(', ')],
    ['OPEN TO', openTo(key) || 'nobody'],
    ['TASKS', key.tasks ? 'for clients that know them' : 'none'],
    ['APPROVE HERE', key.approveHere ? "clients open the approval's page" : 'no'],
    ['CREATED', time(key.createdAt)],
  ];
}

function state(key: Key): string {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && Date.parse(key.expiresAt) <= Date.now() ? 'expired' : 'live';
}

function withFields(made: Command): Command {
  return made
    .option('--shadow <policy>', 'a policy that also judges its calls, without any effect, by name or id')
    .option('--expires <when>', 'a time, a duration from now (90d), or never', aheadOrNever)
    .option('--sign-in', 'approving its calls needs a signed-in operator')
    .option(
      '--forward <what...>',
      'what besides tools its MCP proxy forwards: resources, prompts, completion',
    )
    .option(
      '--open-to <who...>',
      'who may connect agents of their own to it, by signing in: group:<name>, person:<e-mail>; none for nobody',
    )
    .option('--tasks', 'MCP clients that know tasks get one for a call that waits (the default)')
    .option('--no-tasks', 'they are told that it is pending, as all others are')
    .option('--approve-here', "MCP clients that can open an address show people the approval's page");
}

function createCommand(io: IO): Command {
  const examples = [
    'toolgate keys create ci --policy prod',
    'toolgate keys create ci --policy prod --tool-server github',
    'export TOOLGATE_API_KEY=$(toolgate keys create ci --policy prod --expires 90d)',
  ];
  const made = command('create', 'Create a key. It is printed this once.', examples)
    .argument('<name>', 'for people; approvers see it')
    .requiredOption('--policy <policy>', 'the policy it uses, by name or id')
    .option('--tool-server <name...>', 'tool servers that it gets, by name; see toolgate servers');
  return withAdmin(withFields(made)).action(async (name: string, options: Fields) => {
    const http = asAdmin(io, options);
    const policy = await policyId(http, options.policy ?? '');
    const key = await http.post<KeyWithSecret>('/keys', {
      name,
      policyId: policy,
      ...(await changes(http, options)),
      ...(options.toolServer !== undefined && { toolServers: options.toolServer }),
    });
    if (options.json) return printJson(io, key);
    io.stdout.write(`${key.key}\n`);
    say(io, `Key "${name}" (${key.id}) is created. It is shown this once.`);
    for (const warning of key.warnings ?? []) io.stderr.write(`Warning: ${warning}\n`);
  });
}

function updateCommand(io: IO): Command {
  const examples = [
    'toolgate keys update ci --policy strict',
    'toolgate keys update ci --shadow strict',
    'toolgate keys update ci --expires 24h --sign-in',
    'toolgate keys update team --open-to group:dev --open-to person:ann@example.com',
    'toolgate keys update team --open-to none',
    'toolgate keys update team --approve-here --no-tasks',
  ];
  const made = command('update', 'Change a key. What is not named stays as it is.', examples)
    .argument('<key>', 'its name or id')
    .option('--name <name>', 'a new name')
    .option('--policy <policy>', 'the policy it uses from now on, by name or id');
  return withAdmin(
    withFields(made)
      .option('--no-shadow', 'it has no shadow any more')
      .option('--no-sign-in', 'approving needs no sign-in')
      .option('--no-approve-here', "clients do not show people the approval's page"),
  ).action(async (nameOrId: string, options: Fields) => {
    const http = asAdmin(io, options);
    const body = await changes(http, options);
    if (options.name !== undefined) body['name'] = options.name;
    if (options.policy !== undefined) body['policyId'] = await policyId(http, options.policy);
    if (Object.keys(body).length === 0)
      throw usageError('Nothing to change; see toolgate keys update --help.');
    const key = await http.patch<Key>(`/keys/${await keyId(http, nameOrId)}`, body);
    if (options.json) return printJson(io, key);
    say(io, `Key "${key.name}" is changed: ${Object.keys(body).join(', ')}.`);
  });
}

async function changes(
  http: Http,
  { shadow, expires, signIn, forward, openTo, tasks, approveHere }: Fields,
): Promise<Record<string, unknown>> {
  return {
    ...(shadow === undefined
      ? {}
      : { shadowPolicyId: shadow === false ? null : await policyId(http, shadow) }),
    ...(expires === undefined ? {} : { expiresAt: expires }),
    ...(signIn === undefined ? {} : { requireSignInToApprove: signIn }),
    ...(forward === undefined ? {} : { forward }),
    ...(openTo === undefined ? {} : { openTo: requireOpenTo(openTo) }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(approveHere === undefined ? {} : { approveHere }),
  };
}

function requireOpenTo(entries: readonly string[]): readonly string[] {
  if (entries.join() === 'none') return [];
  for (const entry of entries) {
    const fault = openToFault(entry);
    if (fault !== null) throw usageError(`--open-to: "${visible(entry)}" ${fault}.`);
  }
  return entries;
}

function revokeCommand(io: IO): Command {
  const what = 'Revoke a key and its sessions at once. It cannot be undone.';
  const made = command('revoke', what, ['toolgate keys revoke ci']).argument('<key>', 'its name or id');
  return withAdmin(made).action(async (nameOrId: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const id = await keyId(http, nameOrId);
    await http.delete(`/keys/${id}`);
    if (options.json) return printJson(io, { id, revoked: true });
    say(io, `Key "${nameOrId}" is revoked, and so are its sessions.`);
  });
}
