// The pieces of which the files of several clients are made.

import type { AgentName } from '../agents.ts';
import type { Json } from '../wire/json.ts';
import {
  type ConfigFile,
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

/** A list of groups, each with a pattern for tools and the hooks for them, as Claude Code has it. */
export function grouped(
  agent: AgentName,
  event: string,
  hook: (setup: Setup, scope: Scope) => Json,
): ConfigFile['entries'] {
  return (setup, scope) => [
    {
      at: ['hooks', event],
      how: 'append',
      mark: hookMark(agent),
      value: { matcher: '*', hooks: [hook(setup, scope)] },
    },
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
