// toolgate servers presets, add and edit: registers a tool server, from a preset or by its address, and changes one. What is
// registered here begins with the trust `reviewed`: nobody's agent calls a tool at which nobody has looked.

import { type Command, Option } from 'commander';
import type { ServerFile, ToolServer, ToolServerPreset } from '../../core/api/resources.ts';
import { didYouMean } from '../../core/text/did-you-mean.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { command } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import { printJson, printTable, quoted } from '../print.ts';
import {
  type ChangeOptions,
  changesOf,
  fieldsOf,
  type TargetOptions,
  withChanges,
  withTarget,
} from '../server-fields.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { foundServer } from '../tool-servers.ts';

const WHOSE = 'all keys';

interface AddOptions extends AdminOptions, TargetOptions {
  preset?: string;
}

export function presetsCommand(io: IO): Command {
  const what = 'List presets: well-known tool servers for which there is a pack, to be added by name.';
  const made = command('presets', what, ['toolgate servers presets', 'toolgate servers add stripe']);
  return withAdmin(made).action(async (options: AdminOptions) => {
    const { presets } = await fetchPresets(asAdmin(io, options));
    if (options.json) return printJson(io, presets);
    printTable(
      io,
      presets,
      [
        ['NAME', preset => preset.name],
        ['WHAT', preset => preset.title],
        ['BY', preset => preset.by],
        ['REACHED', preset => preset.url ?? `${preset.package?.name} ${preset.package?.version}`],
        ['PACK', preset => preset.pack],
      ],
      'There are no presets.',
    );
  });
}

function fetchPresets(http: Http): Promise<{ presets: ToolServerPreset[] }> {
  return http.get('/tool-server-presets');
}

export function addCommand(io: IO): Command {
  const examples = [
    'toolgate servers add stripe                  # a preset, as toolgate servers presets lists them',
    'toolgate servers add github --header "Authorization: Bearer $TOKEN"',
    'toolgate servers add wiki --url https://mcp.example.com/mcp --oauth person',
    'toolgate servers add files --stdio files     # declared under stdioServers in toolgate.yaml',
  ];
  const what =
    'Register a tool server, which any number of keys can share. Calls of its tools wait until somebody has ' +
    'accepted their definitions, unless --trust first is given.';
  const made = command('add', what, examples)
    .argument('<name>', 'its name, or that of a preset: lower-case letters, digits and "-"')
    .option('--preset <preset>', 'begin with this preset, under another name');
  // What the API calls the command of a server.
  withTarget(made, WHOSE, 'reviewed').addOption(new Option('--server <server>').hideHelp());
  return withAdmin(made).action(async (name: string, options: AddOptions & { server?: string }) => {
    const http = asAdmin(io, options);
    const { server: declaredAs, ...rest } = options;
    const given: AddOptions = declaredAs === undefined ? rest : { ...rest, stdio: declaredAs };
    const preset = await presetOf(http, name, given);
    const fields = await fieldsOf(io, preset === null ? given : await withPreset(http, preset, given));
    const server = await http.post<ToolServer>('/tool-servers', { name, ...fields });
    if (options.json) return printJson(io, server);
    say(io, `Tool server "${name}" is registered.`);
    if (preset !== null) sayNeeds(io, preset, name);
    say(io, next(server));
  });
}

/** The preset that is meant, or null where an address or a command is given. */
async function presetOf(
  http: Http,
  name: string,
  { preset, url, stdio }: AddOptions,
): Promise<ToolServerPreset | null> {
  if (url !== undefined || stdio !== undefined) {
    if (preset !== undefined) throw usageError('Name either --preset, or --url or --stdio.');
    return null;
  }
  const { presets } = await fetchPresets(http);
  const wanted = preset ?? name;
  const found = presets.find(each => each.name === wanted);
  if (found !== undefined) return found;
  const meant = didYouMean(
    wanted,
    presets.map(each => each.name),
  );
  throw usageError(
    `"${wanted}" is not a preset; \`toolgate servers presets\` lists them. For another server, name --url or --stdio.${meant}`,
  );
}

/** What was given, completed by what the preset says. */
async function withPreset(http: Http, preset: ToolServerPreset, options: AddOptions): Promise<TargetOptions> {
  if (preset.transport === 'stdio') return { ...options, stdio: await declared(http, preset) };
  const completed = { ...options, url: preset.url ?? '' };
  if (options.header !== undefined || options.oauth !== undefined) return completed;
  if (preset.accepts?.[0] === 'oauth') return { ...completed, oauth: 'key' };
  const headers = Object.entries(preset.headers ?? {}).map(
    ([header, value]) => `--header "${header}: ${value}"`,
  );
  const oauth = preset.accepts?.includes('oauth') ? ', or --oauth key or --oauth person' : '';
  throw new CliError(EXIT.usage, `The preset "${preset.name}" needs ${headers.join(' ')}${oauth}:`, {
    list: preset.needs,
  });
}

/** The name of its command, which somebody has to declare first: a command never comes through the API. */
async function declared(http: Http, { name, install, declaration }: ToolServerPreset): Promise<string> {
  const { path, stdioServers } = await http.get<ServerFile>('/server-file');
  if (stdioServers.some(each => each.name === name)) return name;
  throw new CliError(
    EXIT.failed,
    `The server file${path === null ? '' : ` (${path})`} declares no command "${name}". On the machine of the service:`,
    {
      list: [
        ...(install == null ? [] : [`1. Install it: ${install}`]),
        `${install == null ? 1 : 2}. Put this under stdioServers in ${path ?? 'toolgate.yaml'}, with your own values:`,
        ...(declaration ?? '')
          .trimEnd()
          .split('\n')
          .map(line => `     ${line}`),
        `${install == null ? 2 : 3}. Have the service read the file again (toolgate servers reload), and repeat this command.`,
      ],
    },
  );
}

function sayNeeds(
  io: IO,
  { name: known, needs, pack, source, readOn }: ToolServerPreset,
  name: string,
): void {
  for (const each of needs) say(io, `It needs: ${each}`);
  const renamed = known === name ? '' : `, whose rules say ${known}__… for ${name}__…`;
  say(io, `A policy for it: toolgate policies new --from ${pack}${renamed}.`);
  say(io, `Its own page, as read on ${readOn}: ${source}`);
}

function next({ name, oauth }: ToolServer): string {
  const word = quoted(name);
  if (oauth?.as === 'person')
    return 'People sign in to it for themselves: in the dashboard, or when a call needs it.';
  if (oauth !== null) return `Sign in to it: toolgate servers sign-in ${word}`;
  return `Have it list its tools: toolgate servers test ${word}`;
}

export function editCommand(io: IO): Command {
  const examples = [
    'toolgate servers edit github --header "Authorization: Bearer $NEW_TOKEN"',
    'toolgate servers edit github --trust reviewed',
  ];
  const what =
    'Change a tool server, for all keys that have it. What is not named stays as it is, and so do the accepted ' +
    'definitions. Another address, another client id or another --oauth ends its sign-ins.';
  const made = command('edit', what, examples).argument('<server>', 'the tool server, by name or id');
  const name = 'its name from now on, also in a lock file; keys that have it keep the prefix of its tools';
  return withAdmin(withChanges(made, WHOSE, name)).action(
    async (nameOrId: string, options: AdminOptions & ChangeOptions) => {
      const http = asAdmin(io, options);
      const { path, server } = await foundServer(http, nameOrId);
      const changes = await changesOf(io, server, options);
      const fields = Object.keys(changes);
      if (fields.length === 0) throw usageError('Nothing to change; see toolgate servers edit --help.');
      const changed = await http.patch<ToolServer>(path, changes);
      if (options.json) return printJson(io, changed);
      say(io, `Tool server "${changed.name}" is changed: ${fields.join(', ')}.`);
    },
  );
}
