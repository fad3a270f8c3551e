// Cursor.

import { type ClientFacts, everywhere, HOOK_SECONDS } from './client.ts';
import { hookMark } from './command.ts';
import { address, bearer, jsonFile, server } from './entries.ts';

/**
 * A command of the shell and a call of an MCP server each have an event of their own; all other tools have only the last
 * one. It must not run for those two as well, because failClosed blocks where a hook has nothing to say.
 */
const CURSOR_EVENTS: [event: string, matcher: { matcher?: string }][] = [
  ['beforeShellExecution', {}],
  ['beforeMCPExecution', {}],
  ['preToolUse', { matcher: '^(?!Shell$|MCP:)' }],
];

export const cursor: ClientFacts = {
  hooks: jsonFile('~/.cursor/hooks.json', '.cursor/hooks.json', ({ command }) => [
    { at: ['version'], how: 'default', value: 1 },
    ...CURSOR_EVENTS.map(([event, matcher]) => ({
      at: ['hooks', event],
      how: 'append' as const,
      mark: hookMark('cursor'),
      value: { command, ...matcher, timeout: HOOK_SECONDS, failClosed: true },
    })),
  ]),
  mcp: jsonFile('~/.cursor/mcp.json', '.cursor/mcp.json', (setup, scope) => [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Cursor replaces it
    server({ url: address(setup), headers: bearer(setup, scope, '${env:TOOLGATE_API_KEY}') }),
  ]),
  windowsShell: 'cmd',
  fails: 'closed',
  about:
    'Every tool call of its agent is judged, its own tools and those of MCP servers. It fails closed: the hooks are marked failClosed.',
  next: 'Restart Cursor.',
  folder: everywhere('~/.cursor'),
  programs: ['cursor', 'cursor-agent'],
  moved: [],
};
