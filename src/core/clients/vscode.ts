// The agent in Visual Studio Code.

import { type ClientFacts, HOOK_SECONDS } from './client.ts';
import { hookMark } from './command.ts';
import { address, bearer, jsonFile, SERVER, telling, XDG } from './entries.ts';

const codeFolder = {
  linux: '~/.config/Code/User',
  macos: '~/Library/Application Support/Code/User',
  windows: '%APPDATA%/Code/User',
};

export const vscode: ClientFacts = {
  hooks: jsonFile('~/.copilot/hooks/toolgate.json', '.github/hooks/toolgate.json', setup => [
    { at: ['version'], how: 'default', value: 1 },
    {
      at: ['hooks', 'PreToolUse'],
      how: 'append',
      mark: hookMark('vscode'),
      value: { type: 'command', command: setup.command, timeout: HOOK_SECONDS },
    },
    ...telling('vscode').map(({ event, tells }) => ({
      at: ['hooks', event],
      how: 'append' as const,
      mark: hookMark('vscode'),
      tells,
      value: { type: 'command', command: setup.telling, timeout: HOOK_SECONDS },
    })),
  ]),
  mcp: {
    format: 'json',
    user: {
      linux: `${codeFolder.linux}/mcp.json`,
      macos: `${codeFolder.macos}/mcp.json`,
      windows: `${codeFolder.windows}/mcp.json`,
    },
    project: '.vscode/mcp.json',
    entries: (setup, scope) => [
      ...(scope === 'user' ? [] : [VSCODE_INPUT]),
      {
        at: ['servers', SERVER],
        how: 'set',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code replaces it
        value: { type: 'http', url: address(setup), headers: bearer(setup, scope, '${input:toolgate-key}') },
      },
    ],
  },
  windowsShell: 'cmd',
  fails: 'open',
  about:
    'The tool calls of its agent are judged. It fails open where VS Code goes on without the hook: when it takes too long, and where an organization has turned hooks off. VS Code also runs the hooks of Claude Code’s settings: connect one of the two.',
  next: 'Reload the window of VS Code. Hooks are a preview there.',
  folder: codeFolder,
  programs: ['code'],
  moved: [XDG, { variable: 'COPILOT_HOME', from: '~/.copilot/', to: '/' }],
};

/** VS Code asks for the key once and keeps it. */
const VSCODE_INPUT = {
  at: ['inputs'],
  how: 'append' as const,
  mark: /^toolgate-key$/,
  value: { type: 'promptString', id: 'toolgate-key', description: 'Toolgate key', password: true },
};
