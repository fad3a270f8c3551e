// The settings by which an agent's hooks are turned off, as read in Claude Code 2.1.326, Codex 0.169 and Gemini CLI 0.61, and
// where the agent reads them. A switch in a project's own files turns off the hook of the person, too.

import { valueAt } from '../text/argument-path.ts';
import { type Json, textsIn } from '../wire/json.ts';
import type { ClientId, Format, SettingsFile } from './client.ts';
import { hookMark } from './command.ts';

export interface Switches {
  files: readonly SettingsFile[];
  /** The keys in a file that turn hooks, or ours, off. */
  off: (settings: Json, of: SettingsFile['of']) => string[];
  /** The keys that a file of the machine decides, so that no other file can. */
  decided: (settings: Json) => string[];
}

function file(
  of: SettingsFile['of'],
  format: Format,
  linux: string,
  macos = linux,
  windows = linux,
): SettingsFile {
  return { of, format, path: { linux, macos, windows } };
}

/** Where Claude Code, Codex and Gemini CLI read settings that no project can change. */
export const MACHINE = {
  claudeCode: file(
    'machine',
    'json',
    '/etc/claude-code/managed-settings.json',
    '/Library/Application Support/ClaudeCode/managed-settings.json',
    'C:/Program Files/ClaudeCode/managed-settings.json',
  ),
  codex: file(
    'machine',
    'toml',
    '/etc/codex/requirements.toml',
    '/etc/codex/requirements.toml',
    'C:/ProgramData/OpenAI/Codex/requirements.toml',
  ),
  geminiCli: {
    ...file(
      'machine',
      'json',
      '/etc/gemini-cli/settings.json',
      '/Library/Application Support/GeminiCli/settings.json',
      'C:/ProgramData/gemini-cli/settings.json',
    ),
    variable: 'GEMINI_CLI_SYSTEM_SETTINGS_PATH',
  },
};

const hasHook = (settings: Json, agent: ClientId): boolean =>
  textsIn(valueAt(settings, ['hooks', 'PreToolUse'])).some(text => hookMark(agent).test(text));

/** Variables that lead a hook to another service, or to other code. Claude Code starts hooks with those of a project. */
const LEADING = /^(TOOLGATE_BASE_URL|HOME|XDG_CONFIG_HOME|ENV|BASH_ENV|(BUN|LD|DYLD)_\w+)$/;

function leadingIn(settings: Json): string[] {
  const variables = valueAt(settings, ['env']);
  if (typeof variables !== 'object' || variables === null) return [];
  return Object.keys(variables).flatMap(name => (LEADING.test(name) ? [`env.${name}`] : []));
}

const claudeCode: Switches = {
  files: [
    MACHINE.claudeCode,
    file('user', 'json', '~/.claude/settings.json'),
    file('project', 'json', '.claude/settings.json'),
    file('project', 'json', '.claude/settings.local.json'),
  ],
  off: (settings, of) => [
    ...(valueAt(settings, ['disableAllHooks']) === true ? ['disableAllHooks'] : []),
    ...(of === 'project' ? leadingIn(settings) : []),
    ...(of === 'machine' &&
    valueAt(settings, ['allowManagedHooksOnly']) === true &&
    !hasHook(settings, 'claude-code')
      ? ['allowManagedHooksOnly']
      : []),
  ],
  // A hook of managed settings runs whatever other files say.
  decided: settings => (hasHook(settings, 'claude-code') ? ['disableAllHooks'] : []),
};

const CODEX_FEATURES = ['hooks', 'codex_hooks'];

const codex: Switches = {
  files: [
    MACHINE.codex,
    file(
      'user',
      'toml',
      '/etc/codex/config.toml',
      '/etc/codex/config.toml',
      'C:/ProgramData/OpenAI/Codex/config.toml',
    ),
    file('user', 'toml', '~/.codex/config.toml'),
    file('project', 'toml', '.codex/config.toml'),
  ],
  off: (settings, of) => [
    ...CODEX_FEATURES.filter(name => valueAt(settings, ['features', name]) === false).map(
      name => `features.${name}`,
    ),
    ...(of === 'machine' && valueAt(settings, ['allow_managed_hooks_only']) === true
      ? ['allow_managed_hooks_only']
      : []),
  ],
  decided: settings =>
    CODEX_FEATURES.some(name => valueAt(settings, ['features', name]) === true)
      ? CODEX_FEATURES.map(name => `features.${name}`)
      : [],
};

const geminiCli: Switches = {
  files: [
    MACHINE.geminiCli,
    file('user', 'json', '~/.gemini/settings.json'),
    file('project', 'json', '.gemini/settings.json'),
  ],
  off: settings => [
    ...(valueAt(settings, ['hooksConfig', 'enabled']) === false ? ['hooksConfig.enabled'] : []),
    ...(textsIn(valueAt(settings, ['hooksConfig', 'disabled'])).some(isOurName)
      ? ['hooksConfig.disabled']
      : []),
  ],
  // Lists of names are joined, so that nothing closes that one.
  decided: settings =>
    valueAt(settings, ['hooksConfig', 'enabled']) === true ? ['hooksConfig.enabled'] : [],
};

/** Gemini CLI knows a hook by its name, or by its command. */
function isOurName(text: string): boolean {
  return /^toolgate/.test(text) || hookMark('gemini-cli').test(text);
}

export const SWITCHES: Partial<Record<ClientId, Switches>> = {
  'claude-code': claudeCode,
  codex,
  'gemini-cli': geminiCli,
};
