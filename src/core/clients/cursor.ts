// Cursor.

import { type ClientFacts, everywhere, HOOK_SECONDS } from './client.ts';
import { hookMark } from './command.ts';
import { address, bearer, jsonFile, server, telling } from './entries.ts';

const BEFORE = ['beforeShellExecution', 'beforeMCPExecution', 'preToolUse'];

/**
 * A command of the shell and a call of an MCP server each have events of their own; all other tools have only these. They
 * must not run for those two as well, because failClosed blocks where a hook has nothing to say.
 */
const OTHER_TOOLS = ['preToolUse', 'postToolUse'];
const matcherOf = (event: string) => (OTHER_TOOLS.includes(event) ? { matcher: '^(?!Shell$|MCP:)' } : {});

export const cursor: ClientFacts = {
  hooks: jsonFile('~/.cursor/hooks.json', '.cursor/hooks.json', setup => [
    { at: ['version'], how: 'default', value: 1 },
    ...BEFORE.map(event => ({
      at: ['hooks', event],
      how: 'append' as const,
      mark: hookMark('cursor'),
      value: { command: setup.command, ...matcherOf(event), timeout: HOOK_SECONDS, failClosed: true },
    })),
    ...telling('cursor').map(({ event, tells }) => ({
      at: ['hooks', event],
      how: 'append' as const,
      mark: hookMark('cursor'),
      tells,
      value: { command: setup.telling, ...matcherOf(event), timeout: HOOK_SECONDS },
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
