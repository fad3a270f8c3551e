// toolgate connect: writes a client's configuration, so that its calls are judged, and takes it back. What it would
// change is shown first.

import { Argument, type Command, Option } from 'commander';
import { PENDING } from '../../core/agents.ts';
import type { Client, ManagedFile } from '../../core/clients/client.ts';
import { CLIENT_IDS, CLIENTS } from '../../core/clients/clients.ts';
import { connect } from '../clients/connecting.ts';
import { listClients } from '../clients/listing.ts';
import { manage } from '../clients/managing.ts';
import { offer } from '../clients/offering.ts';
import type { Options } from '../clients/options.ts';
import { remove } from '../clients/removing.ts';
import { usageError } from '../exit.ts';
import { command } from '../help.ts';
import type { IO } from '../io.ts';
import { GROUP, withAdmin } from '../service-options.ts';

export function build(io: IO): Command {
  const examples = [
    'toolgate connect --list',
    'toolgate connect claude-code --folder ~/projects',
    'toolgate connect cursor --project --dry-run',
    'toolgate connect codex --remove --revoke',
  ];
  const what =
    'Connect a client: write its configuration, so that Toolgate judges its calls. The change is shown first.';
  const made = command('connect', what, examples)
    .addArgument(new Argument('[client]', 'which one').choices(CLIENT_IDS))
    .option('--list', 'list the clients on this machine, and what is connected')
    .option('--user', 'for everything that you do with it (the default)')
    .option('--project', 'for the project in this folder only')
    .option('--managed', 'for the whole machine: keep the hook on whatever a project says (needs root)')
    .option('--hooks-only', 'only the hook that judges its calls')
    .option('--mcp-only', 'only Toolgate as its MCP server')
    .addOption(
      new Option(
        '--pending <what>',
        'what the agent is told of a call that waits for approval (default: deny)',
      ).choices(PENDING),
    )
    .option('--policy <policy>', 'make a new key with this policy, by name or id')
    .option('--folder <folder>', 'make a new key with the policy of the pack coding, for this folder')
    .option(
      '--unsafe-location',
      'connect also where the policy lets the agent change this program or its data',
    )
    .option('--for-other-machine', 'print a command that connects the client on another machine')
    .option('--dry-run', 'show the change and make none')
    .option('--remove', 'take it back; what else is in the files stays')
    .option('--revoke', 'with --remove: also revoke the key, if it was made here')
    .option('-y, --yes', 'do not ask')
    .addOption(new Option('--key <key>', 'the key that it shall use (TOOLGATE_API_KEY)').helpGroup(GROUP));
  return withAdmin(made).action(async (name: string | undefined, options: Options) => {
    if (options.list) return listClients(io, options.json === true);
    const client = requireClient(name);
    requireOptions(options, client);
    if (options.forOtherMachine) return offer(io, client, options);
    if (options.managed) return manage(io, client, requireManaged(client), options);
    return options.remove ? remove(io, client, options) : connect(io, client, options);
  });
}

function requireClient(name: string | undefined): Client {
  const client = CLIENTS.find(({ id }) => id === name);
  if (client !== undefined) return client;
  throw usageError(`Name a client, or give --list. Clients: ${CLIENT_IDS.join(', ')}.`);
}

function requireManaged({ name, managed }: Client): ManagedFile {
  if (managed !== undefined) return managed;
  throw usageError(`${name} has no settings of the machine that Toolgate knows how to write.`);
}

function requireOptions(options: Options, client: Client): void {
  const { user, project, hooksOnly, mcpOnly, pending, remove: isRemoval, revoke } = options;
  if (user && project) throw usageError('Give --user or --project, not both.');
  if (
    options.managed &&
    (user || project || mcpOnly || options.key || options.policy || options.folder || revoke)
  )
    throw usageError(
      '--managed writes one file of the machine, without a key: give no other scope, and no key.',
    );
  if (options.forOtherMachine && !(options.policy || options.folder))
    throw usageError(
      'Give --policy, or --folder with the folder on the other machine that the agent may work in.',
    );
  if (hooksOnly && mcpOnly) throw usageError('Give --hooks-only or --mcp-only, not both.');
  if (pending && mcpOnly) throw usageError('--pending is for the hook, which --mcp-only leaves out.');
  if (options.key && (options.policy || options.folder))
    throw usageError('--policy and --folder are for a new key, so --key does not go with them.');
  if (options.policy && options.folder)
    throw usageError('--folder makes a policy of its own: give it or --policy, not both.');
  if (isRemoval && (hooksOnly || mcpOnly)) throw usageError('--remove takes back everything.');
  if (revoke && !isRemoval) throw usageError('--revoke needs --remove.');
  if ((hooksOnly || pending) && client.hooks === null)
    throw usageError(`${client.name} is connected by MCP only.`);
  if (project && client.mcp.project === null)
    throw usageError(`${client.name} reads no configuration of a project.`);
}
