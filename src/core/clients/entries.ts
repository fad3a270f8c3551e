// The pieces of which the files of several clients are made.

import { AGENTS, type AgentName } from '../agents.ts';
import type { Json } from '../wire/json.ts';
import {
  type ConfigFile,
  type Entry,
  everywhere,
  type Format,
  type Scope,
  type SettingsFile,
  type Setup,
} from './client.ts';
import { hookMark } from './command.ts';

/** The name under which clients know Toolgate as an MCP server. It stands before the names of tools, so it is short. */
export const SERVER = 'toolgate';
export const XDG = { variable: 'XDG_CONFIG_HOME', from: '~/.config/', to: '/' };

export const address = ({ baseUrl }: Setup): string => `${baseUrl}/mcp`;
/** The header with the key itself in the user's own file, and with the client's way to name a variable in a project's. */
export const bearer = ({ key }: Setup, scope: Scope, variable: string): Json => ({
  Authorization: `Bearer ${scope === 'user' ? key : variable}`,
});

export function jsonFile(user: string, project: string | null, entries: ConfigFile['entries']): ConfigFile {
  return { format: 'json', user: everywhere(user), project, entries };
}

export const server = (value: Json) => ({ at: ['mcpServers', SERVER], how: 'set' as const, value });

/** A hook, for events before a call or for those that tell something. `command` is the one that its events need. */
type Hook = (command: string, setup: Setup, scope: Scope, tells?: Entry['tells']) => Json;

/** A list of groups, each with a pattern for tools and the hooks for them, as Claude Code has it. */
export function grouped(agent: AgentName, before: string, hook: Hook): ConfigFile['entries'] {
  const mark = hookMark(agent);
  return (setup, scope) => [
    {
      at: ['hooks', before],
      how: 'append',
      mark,
      value: { matcher: '*', hooks: [hook(setup.command, setup, scope)] },
    },
    ...telling(agent).map(({ event, tells }) => ({
      at: ['hooks', event],
      how: 'append' as const,
      mark,
      tells,
      // A prompt is of no tool.
      value: {
        ...(tells === 'results' && { matcher: '*' }),
        hooks: [hook(setup.telling, setup, scope, tells)],
      },
    })),
  ];
}

/** The events by which an agent tells what the person wrote, and what calls returned. */
export function telling(agent: AgentName): { event: string; tells: 'prompts' | 'results' }[] {
  const { prompts, results } = AGENTS[agent];
  return [
    ...prompts.map(event => ({ event, tells: 'prompts' as const })),
    ...results.map(event => ({ event, tells: 'results' as const })),
  ];
}

export function settingsFile(
  of: SettingsFile['of'],
  format: Format,
  linux: string,
  macos = linux,
  windows = linux,
): SettingsFile {
  return { of, format, path: { linux, macos, windows } };
}
