// Codex. It is run by test/agents. The switches are those of version 0.169.

import { valueAt } from '../text/argument-path.ts';
import { type ClientFacts, everywhere, HOOK_SECONDS, type Switches } from './client.ts';
import { address, bearer, grouped, jsonFile, SERVER, settingsFile } from './entries.ts';

const MACHINE = settingsFile(
  'machine',
  'toml',
  '/etc/codex/requirements.toml',
  '/etc/codex/requirements.toml',
  'C:/ProgramData/OpenAI/Codex/requirements.toml',
);

const FEATURES = ['hooks', 'codex_hooks'];

const SWITCHES: Switches = {
  files: [
    MACHINE,
    settingsFile(
      'user',
      'toml',
      '/etc/codex/config.toml',
      '/etc/codex/config.toml',
      'C:/ProgramData/OpenAI/Codex/config.toml',
    ),
    settingsFile('user', 'toml', '~/.codex/config.toml'),
    settingsFile('project', 'toml', '.codex/config.toml'),
  ],
  off: (settings, of) => [
    ...FEATURES.filter(name => valueAt(settings, ['features', name]) === false).map(
      name => `features.${name}`,
    ),
    ...(of === 'machine' && valueAt(settings, ['allow_managed_hooks_only']) === true
      ? ['allow_managed_hooks_only']
      : []),
  ],
  decided: settings =>
    FEATURES.some(name => valueAt(settings, ['features', name]) === true)
      ? FEATURES.map(name => `features.${name}`)
      : [],
};

export const codex: ClientFacts = {
  hooks: jsonFile(
    '~/.codex/hooks.json',
    '.codex/hooks.json',
    grouped('codex', 'PreToolUse', command => ({ type: 'command', command, timeout: HOOK_SECONDS })),
  ),
  managed: {
    file: MACHINE,
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
  switches: SWITCHES,
  windowsShell: 'powershell',
  fails: 'open',
  about:
    'Its tool calls are judged, those of its own tools and of MCP servers; input for a command that runs already is not. It fails open where Codex skips the hook: until you have trusted it, and when it takes too long.',
  next: 'Restart Codex, and trust its hooks with /hooks: until then Codex skips them. In a project, Codex also has to trust the project.',
  folder: everywhere('~/.codex'),
  programs: ['codex'],
  moved: [{ variable: 'CODEX_HOME', from: '~/.codex/', to: '/' }],
};
