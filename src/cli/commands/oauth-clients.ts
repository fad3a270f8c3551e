// toolgate oauth-clients: the OAuth clients that an admin registers, for clients that can neither register themselves nor
// show a document about themselves. Their ids are no secrets.

import type { Command } from 'commander';
import type { OAuthClient } from '../../core/api/resources.ts';
import { visible } from '../../core/text/visible.ts';
import { command, group } from '../help.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

const ID = '01890000-0000-7000-8000-000000000000';
const REDIRECT = 'https://app.example.com/oauth/callback';

export function build(io: IO): Command {
  return group(
    'oauth-clients',
    'OAuth clients that are registered by hand; most MCP clients register themselves.',
    ['toolgate oauth-clients list', `toolgate oauth-clients create "Our app" ${REDIRECT}`],
    [listCommand(io), createCommand(io), deleteCommand(io)],
  );
}

function listCommand(io: IO): Command {
  const made = command('list', 'List clients, newest first.', ['toolgate oauth-clients list --json']);
  return withAdmin(withList(made)).action((options: AdminOptions & ListOptions) =>
    printList<OAuthClient>(io, asAdmin(io, options), options, {
      path: '/oauth-clients',
      plural: 'oauthClients',
      nothing: 'No client is registered by hand.',
      columns: [
        ['CLIENT ID', client => client.clientId],
        ['NAME', client => visible(client.name)],
        ['REDIRECTS', client => client.redirectUris.map(visible).join(', ')],
        ['SINCE', client => time(client.createdAt)],
      ],
    }),
  );
}

function createCommand(io: IO): Command {
  const made = command('create', 'Register a client. Its id is printed; there is no secret.', [
    `toolgate oauth-clients create "Our app" ${REDIRECT}`,
  ])
    .argument('<name>', 'people see it when they are asked for consent')
    .argument('<redirectUri...>', 'where it may be sent back to: whole addresses');
  return withAdmin(made).action(async (name: string, redirectUris: string[], options: AdminOptions) => {
    const client = await asAdmin(io, options).post<OAuthClient>('/oauth-clients', { name, redirectUris });
    if (options.json) return printJson(io, client);
    io.stdout.write(`${client.clientId}\n`);
    say(io, `Client "${visible(client.name)}" is registered. Enter this id in it as its client id.`);
  });
}

function deleteCommand(io: IO): Command {
  const what = 'Delete a client, and end what people have connected with it.';
  const made = command('delete', what, [`toolgate oauth-clients delete ${ID}`]);
  return withAdmin(made.argument('<clientId>', 'as listed')).action(
    async (clientId: string, options: AdminOptions) => {
      await asAdmin(io, options).delete(`/oauth-clients/${encodeURIComponent(clientId)}`);
      if (options.json) return printJson(io, { clientId, deleted: true });
      say(io, `Client ${visible(clientId)} is deleted.`);
    },
  );
}
