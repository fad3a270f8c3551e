// Whether the agent could replace its guard: the policy of its key is asked whether it may write this program, the data of
// the service, our file of keys, or the settings that start the hook, and whether it may read what opens the service.

import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { TABLE } from '../../core/agents/table.ts';
import type { Argument } from '../../core/agents/tools/tool.ts';
import { isAgent } from '../../core/agents.ts';
import type { Client } from '../../core/clients/client.ts';
import { simulate } from '../../core/decision/simulate.ts';
import { type CompiledPolicy, compilePolicy } from '../../core/policy/compiled-policy.ts';
import { CliError, EXIT } from '../exit.ts';
import type { IO } from '../io.ts';
import { ourProgram, ownFolder, projectAt } from './paths.ts';

interface Guarded {
  path: string;
  what: string;
  /** Also to be kept from being read. */
  isSecret?: true;
}

/** The files by which the guard could be replaced. `settings` are those that are written now. */
export function guardedFiles(io: IO, settings: readonly string[]): Guarded[] {
  const [program = ''] = ourProgram().slice(-1);
  const clone = dirname(dirname(program));
  const main = join(clone, 'src/cli/main.ts');
  const folders = [resolve(io.cwd, io.env['TOOLGATE_DATA_DIR'] || 'data'), join(clone, 'data')];
  const tokens = [...new Set(folders)].map(folder => join(folder, 'admin.token')).filter(existsSync);
  return [
    { path: program, what: 'the program that judges its calls' },
    ...(existsSync(main) ? [{ path: main, what: 'the program that judges its calls' }] : []),
    ...tokens.map(path => ({ path, what: 'the admin token of the service', isSecret: true as const })),
    { path: join(ownFolder(io), 'clients.json'), what: 'the file with its key', isSecret: true },
    ...settings.map(path => ({ path, what: 'its settings, which start the hook' })),
  ];
}

type Rules = Pick<Parameters<typeof compilePolicy>[0], 'name' | 'rules' | 'limits'>;

/** Throws if the policy lets the agent do it, with what to do. */
export function requireSafePlace(io: IO, client: Client, rules: Rules, guarded: readonly Guarded[]): void {
  const policy = compilePolicy({ id: '', version: 0, ...rules });
  for (const { path, what, isSecret } of guarded) {
    const verbs = isSecret ? (['write', 'read'] as const) : (['write'] as const);
    for (const verb of verbs) {
      const tool = new Set([path, realOf(path)])
        .values()
        .map(each => allowedTool(io, client, policy, each, verb))
        .find(each => each !== null);
      if (tool) throw unsafe(rules.name, client, verb, path, what, tool);
    }
  }
}

function unsafe(
  policy: string,
  client: Client,
  verb: string,
  path: string,
  what: string,
  tool: string,
): Error {
  const fault = `The policy "${policy}" lets ${client.name} ${verb} ${path}, ${what}: ${tool} would be allowed.`;
  return new CliError(EXIT.failed, `${fault} Nothing was changed. ${ADVICE}`);
}

const ADVICE =
  'Move Toolgate and its data folder out of the folders that the agent may work in, for example to ~/toolgate, or give the agent a narrower folder. With --unsafe-location it is connected all the same, and can turn its guard off.';

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

type Verb = 'read' | 'write';

/** The tool of the agent by which the policy allows it, in the folder at hand or in that of the file. */
function allowedTool(
  io: IO,
  client: Client,
  policy: CompiledPolicy,
  path: string,
  verb: Verb,
): string | null {
  const tools = isAgent(client.id) ? TABLE[client.id] : {};
  const folders = new Set([io.cwd, dirname(path), projectAt(dirname(path)) ?? dirname(path)]);
  for (const [toolName, { args }] of Object.entries(tools))
    for (const [name, argument] of Object.entries(args)) {
      const text = textFor(argument, path, verb);
      if (text === null) continue;
      const call = { serverName: client.id, toolName };
      const isAllowed = [...folders].some(
        folder =>
          simulate(policy, call, { at: Date.now(), args: { [name]: text }, folder }).decision === 'allow',
      );
      if (isAllowed) return `${client.id}__${toolName}`;
    }
  return null;
}

/** An argument with which a tool would do it. */
function textFor(argument: Argument, path: string, verb: Verb): string | null {
  if (argument === 'runs') return verb === 'read' ? `cat ${path}` : `cp /dev/null ${path}`;
  if (verb === 'read') return argument === 'reads' ? path : null;
  if (argument === 'patch') return `*** Begin Patch\n*** Update File: ${path}\n@@\n-a\n+b\n*** End Patch`;
  return ['writes', 'writesAbsolute', 'readsAndWrites'].includes(argument) ? path : null;
}
