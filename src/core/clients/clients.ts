// The clients, as their makers' documentation described them on 2026-11-16; test/vectors/clients/source.md says where
// each fact was read. Claude Code, Codex and Gemini CLI are run by test/agents. The file is long because it is a list: one client after the other.

import type { Json } from '../wire/json.ts';
import {
  type Client,
  type ClientId,
  type ConfigFile,
  everywhere,
  HOOK_SECONDS,
  type Scope,
  type Setup,
} from './client.ts';
import { hookMark } from './command.ts';
import { MACHINE } from './switches.ts';

/** The name under which clients know Toolgate as an MCP server. It stands before the names of tools, so it is short. */
export const SERVER = 'toolgate';
const XDG = { variable: 'XDG_CONFIG_HOME', from: '~/.config/', to: '/' };

const address = ({ baseUrl }: Setup): string => `${baseUrl}/mcp`;
/** The header with the key itself in the user's own file, and with the client's way to name a variable in a project's. */
const bearer = ({ key }: Setup, scope: Scope, variable: string): Json => ({
  Authorization: `Bearer ${scope === 'user' ? key : variable}`,
});

function jsonFile(user: string, project: string | null, entries: ConfigFile['entries']): ConfigFile {
  return { format: 'json', user: everywhere(user), project, entries };
}

const server = (value: Json) => ({ at: ['mcpServers', SERVER], how: 'set' as const, value });

/** A list of groups, each with a pattern for tools and the hooks for them, as Claude Code has it. */
function grouped(
  agent: ClientId,
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

// The command, not the HTTP hook: a server that cannot be reached would not block. onFailure is known since 2.1.295.
const claudeHook = grouped('claude-code', 'PreToolUse', ({ command }) => ({
  type: 'command',
  command,
  timeout: HOOK_SECONDS,
  onFailure: 'block',
}));

const claudeCode: Client = {
  id: 'claude-code',
  name: 'Claude Code',
  hooks: jsonFile('~/.claude/settings.json', '.claude/settings.json', claudeHook),
  // Hooks of managed settings run whatever other files say. The same command in two files is run once.
  managed: {
    file: MACHINE.claudeCode,
    entries: setup => claudeHook(setup, 'user'),
    open: '"disableAllHooks" in the settings of a project turns the hook off',
  },
  mcp: jsonFile('~/.claude.json', '.mcp.json', (setup, scope) => [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Claude Code replaces it
    server({ type: 'http', url: address(setup), headers: bearer(setup, scope, '${TOOLGATE_API_KEY}') }),
  ]),
  windowsShell: 'sh',
  fails: 'closed',
  about:
    'Every tool call is judged, its own tools and those of MCP servers. It fails closed: a hook that cannot be started does not let the call through, nor, since version 2.1.295, one that takes too long.',
  next: 'Restart Claude Code.',
  folder: everywhere('~/.claude'),
  programs: ['claude'],
  moved: [
    { variable: 'CLAUDE_CONFIG_DIR', from: '~/.claude/', to: '/' },
    { variable: 'CLAUDE_CONFIG_DIR', from: '~/.claude.json', to: '/.claude.json' },
  ],
};

const codex: Client = {
  id: 'codex',
  name: 'Codex',
  hooks: jsonFile(
    '~/.codex/hooks.json',
    '.codex/hooks.json',
    grouped('codex', 'PreToolUse', ({ command }) => ({ type: 'command', command, timeout: HOOK_SECONDS })),
  ),
  managed: {
    file: MACHINE.codex,
    entries: () => [{ at: ['features', 'hooks'], how: 'set', value: true }],
    open: '"features.hooks = false" in .codex/config.toml of a repository turns the hook off, unless you start codex with -c features.hooks=true',
  },
  mcp: {
    format: 'toml',
    user: everywhere('~/.codex/config.toml'),
    project: '.codex/config.toml',
    entries: (setup, scope) => [
      {
        at: ['mcp_servers', SERVER],
        how: 'set',
        value: {
          url: address(setup),
          ...(scope === 'user'
            ? { http_headers: bearer(setup, scope, '') }
            : { bearer_token_env_var: 'TOOLGATE_API_KEY' }),
        },
      },
    ],
  },
  windowsShell: 'powershell',
  fails: 'open',
  about:
    'Its tool calls are judged, those of its own tools and of MCP servers; input for a command that runs already is not. It fails open where Codex skips the hook: until you have trusted it, and when it takes too long.',
  next: 'Restart Codex, and trust the hook with /hooks: until then Codex skips it. In a project, Codex also has to trust the project.',
  folder: everywhere('~/.codex'),
  programs: ['codex'],
  moved: [{ variable: 'CODEX_HOME', from: '~/.codex/', to: '/' }],
};

/**
 * A command of the shell and a call of an MCP server each have an event of their own; all other tools have only the last
 * one. It must not run for those two as well, because failClosed blocks where a hook has nothing to say.
 */
const CURSOR_EVENTS: [event: string, matcher: { matcher?: string }][] = [
  ['beforeShellExecution', {}],
  ['beforeMCPExecution', {}],
  ['preToolUse', { matcher: '^(?!Shell$|MCP:)' }],
];

const cursor: Client = {
  id: 'cursor',
  name: 'Cursor',
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

const codeFolder = {
  linux: '~/.config/Code/User',
  macos: '~/Library/Application Support/Code/User',
  windows: '%APPDATA%/Code/User',
};

const vscode: Client = {
  id: 'vscode',
  name: 'VS Code',
  hooks: jsonFile('~/.copilot/hooks/toolgate.json', '.github/hooks/toolgate.json', ({ command }) => [
    { at: ['version'], how: 'default', value: 1 },
    {
      at: ['hooks', 'PreToolUse'],
      how: 'append',
      mark: hookMark('vscode'),
      value: { type: 'command', command, timeout: HOOK_SECONDS },
    },
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

/**
 * A project can turn hooks off by their names, and nothing closes that. So the name of a person's hook has the beginning of
 * the key in it, which a repository cannot know.
 */
function geminiName(key: string, scope: Scope): string {
  const [, start] = (scope === 'user' && /^tg_key_(\w{6})/.exec(key)) || [];
  return start === undefined ? 'toolgate' : `toolgate-${start}`;
}

const geminiCli: Client = {
  id: 'gemini-cli',
  name: 'Gemini CLI',
  hooks: jsonFile(
    '~/.gemini/settings.json',
    '.gemini/settings.json',
    grouped('gemini-cli', 'BeforeTool', ({ command, key }, scope) => ({
      name: geminiName(key, scope),
      type: 'command',
      command,
      timeout: HOOK_SECONDS * 1000,
    })),
  ),
  managed: {
    file: MACHINE.geminiCli,
    entries: () => [{ at: ['hooksConfig', 'enabled'], how: 'set', value: true }],
    open: '"hooksConfig.enabled: false" in the settings of a trusted project turns the hook off',
  },
  mcp: jsonFile('~/.gemini/settings.json', '.gemini/settings.json', (setup, scope) => [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Gemini CLI replaces it
    server({ httpUrl: address(setup), headers: bearer(setup, scope, '${TOOLGATE_API_KEY}') }),
  ]),
  windowsShell: 'powershell',
  fails: 'open',
  about:
    'Every tool call is judged, its own tools and those of MCP servers. It fails open when the hook takes too long, which Gemini CLI only warns about.',
  next: 'Restart Gemini CLI.',
  folder: everywhere('~/.gemini'),
  programs: ['gemini'],
  moved: [],
};

const desktopFolder = {
  linux: '~/.config/Claude',
  macos: '~/Library/Application Support/Claude',
  windows: '%APPDATA%/Claude',
};

const claudeDesktop: Client = {
  id: 'claude-desktop',
  name: 'Claude Desktop',
  hooks: null,
  mcp: {
    format: 'json',
    user: {
      linux: `${desktopFolder.linux}/claude_desktop_config.json`,
      macos: `${desktopFolder.macos}/claude_desktop_config.json`,
      windows: `${desktopFolder.windows}/claude_desktop_config.json`,
    },
    project: null,
    // Its file has no headers for servers on the network, so mcp-remote stands between. That wants no space after the colon.
    entries: setup => [
      server({
        command: 'npx',
        args: [
          '-y',
          'mcp-remote',
          address(setup),
          '--transport',
          'http-only',
          ...(mayBePlain(setup.baseUrl) ? [] : ['--allow-http']),
          '--header',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: mcp-remote replaces it
          'Authorization:${TOOLGATE_AUTH}',
        ],
        env: { TOOLGATE_AUTH: `Bearer ${setup.key}` },
      }),
    ],
  },
  windowsShell: 'cmd',
  fails: 'closed',
  about:
    'The tools behind Toolgate are judged; those of other servers in the same file are not. It fails closed: without Toolgate there are no tools. It needs Node, for mcp-remote.',
  next: 'Quit Claude Desktop, and start it again.',
  folder: desktopFolder,
  programs: [],
  moved: [XDG],
};

/** Whether mcp-remote connects to this address without being told that it need not be encrypted. */
function mayBePlain(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return (
    protocol === 'https:' || hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
  );
}

const windsurf: Client = {
  id: 'windsurf',
  name: 'Windsurf',
  hooks: null,
  mcp: jsonFile('~/.codeium/windsurf/mcp_config.json', null, setup => [
    server({ serverUrl: address(setup), headers: bearer(setup, 'user', '') }),
  ]),
  windowsShell: 'cmd',
  fails: 'closed',
  about:
    'The tools behind Toolgate are judged; those of other servers, and its own, are not. It fails closed: without Toolgate there are no tools.',
  next: 'Press Refresh in the list of MCP servers of Windsurf.',
  folder: everywhere('~/.codeium/windsurf'),
  programs: ['windsurf'],
  moved: [],
};

const goose: Client = {
  id: 'goose',
  name: 'Goose',
  hooks: null,
  mcp: {
    format: 'yaml',
    user: {
      linux: '~/.config/goose/config.yaml',
      macos: '~/.config/goose/config.yaml',
      windows: '%APPDATA%/Block/goose/config/config.yaml',
    },
    project: null,
    entries: setup => [
      {
        at: ['extensions', SERVER],
        how: 'set',
        value: {
          enabled: true,
          type: 'streamable_http',
          name: SERVER,
          description: 'The tools behind Toolgate',
          uri: address(setup),
          envs: {},
          env_keys: [],
          headers: bearer(setup, 'user', ''),
          timeout: 300,
          bundled: false,
          available_tools: [],
        },
      },
    ],
  },
  windowsShell: 'cmd',
  fails: 'closed',
  about:
    'The tools behind Toolgate are judged; those of other extensions, and its own, are not. It fails closed: without Toolgate there are no tools.',
  next: 'Start a new session of Goose.',
  folder: {
    linux: '~/.config/goose',
    macos: '~/.config/goose',
    windows: '%APPDATA%/Block/goose/config',
  },
  programs: ['goose'],
  moved: [XDG],
};

export const CLIENTS: readonly Client[] = [
  claudeCode,
  codex,
  cursor,
  vscode,
  geminiCli,
  claudeDesktop,
  windsurf,
  goose,
];
