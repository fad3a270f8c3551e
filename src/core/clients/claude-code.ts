// Claude Code. It is run by test/agents. The switches are those of version 2.1.326.

import { valueAt } from '../text/argument-path.ts';
import { type Json, textsIn } from '../wire/json.ts';
import { type ClientFacts, everywhere, HOOK_SECONDS, type Switches } from './client.ts';
import { hookMark } from './command.ts';
import { address, bearer, grouped, jsonFile, server, settingsFile } from './entries.ts';

const MACHINE = settingsFile(
  'machine',
  'json',
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
  'C:/Program Files/ClaudeCode/managed-settings.json',
);

const hasHook = (settings: Json): boolean =>
  textsIn(valueAt(settings, ['hooks', 'PreToolUse'])).some(text => hookMark('claude-code').test(text));

/** Variables that lead a hook to another service, or to other code. Claude Code starts hooks with those of a project. */
const LEADING = /^(TOOLGATE_BASE_URL|HOME|XDG_CONFIG_HOME|ENV|BASH_ENV|(BUN|LD|DYLD)_\w+)$/;

function leadingIn(settings: Json): string[] {
  const variables = valueAt(settings, ['env']);
  if (typeof variables !== 'object' || variables === null) return [];
  return Object.keys(variables).flatMap(name => (LEADING.test(name) ? [`env.${name}`] : []));
}

const SWITCHES: Switches = {
  files: [
    MACHINE,
    settingsFile('user', 'json', '~/.claude/settings.json'),
    settingsFile('project', 'json', '.claude/settings.json'),
    settingsFile('project', 'json', '.claude/settings.local.json'),
  ],
  off: (settings, of) => [
    ...(valueAt(settings, ['disableAllHooks']) === true ? ['disableAllHooks'] : []),
    ...(of === 'project' ? leadingIn(settings) : []),
    ...(of === 'machine' && valueAt(settings, ['allowManagedHooksOnly']) === true && !hasHook(settings)
      ? ['allowManagedHooksOnly']
      : []),
  ],
  // A hook of managed settings runs whatever other files say.
  decided: settings => (hasHook(settings) ? ['disableAllHooks'] : []),
};

// The command, not the HTTP hook: a server that cannot be reached would not block. onFailure is known since 2.1.295.
const claudeHook = grouped('claude-code', 'PreToolUse', (command, _, __, tells) => ({
  type: 'command',
  command,
  timeout: HOOK_SECONDS,
  ...(tells === undefined && { onFailure: 'block' }),
}));

export const claudeCode: ClientFacts = {
  hooks: jsonFile('~/.claude/settings.json', '.claude/settings.json', claudeHook),
  // Hooks of managed settings run whatever other files say. The same command in two files is run once.
  managed: {
    file: MACHINE,
    entries: setup => claudeHook(setup, 'user'),
    open: '"disableAllHooks" in the settings of a project turns the hook off',
  },
  mcp: jsonFile('~/.claude.json', '.mcp.json', (setup, scope) => [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Claude Code replaces it
    server({ type: 'http', url: address(setup), headers: bearer(setup, scope, '${TOOLGATE_API_KEY}') }),
  ]),
  switches: SWITCHES,
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
