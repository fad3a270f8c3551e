// Gemini CLI. It is run by test/agents. The switches are those of version 0.61.

import { valueAt } from '../text/argument-path.ts';
import { textsIn } from '../wire/json.ts';
import { type ClientFacts, everywhere, HOOK_SECONDS, type Scope, type Switches } from './client.ts';
import { hookMark } from './command.ts';
import { address, bearer, grouped, jsonFile, server, settingsFile } from './entries.ts';

const MACHINE = {
  ...settingsFile(
    'machine',
    'json',
    '/etc/gemini-cli/settings.json',
    '/Library/Application Support/GeminiCli/settings.json',
    'C:/ProgramData/gemini-cli/settings.json',
  ),
  variable: 'GEMINI_CLI_SYSTEM_SETTINGS_PATH',
};

const SWITCHES: Switches = {
  files: [
    MACHINE,
    settingsFile('user', 'json', '~/.gemini/settings.json'),
    settingsFile('project', 'json', '.gemini/settings.json'),
  ],
  off: settings => [
    ...(valueAt(settings, ['hooksConfig', 'enabled']) === false ? ['hooksConfig.enabled'] : []),
    ...(textsIn(valueAt(settings, ['hooksConfig', 'disabled'])).some(isOurName)
      ? ['hooksConfig.disabled']
      : []),
  ],
  // `hooksConfig.disabled` is not here: the lists of all files are joined, so no file can decide it alone.
  decided: settings =>
    valueAt(settings, ['hooksConfig', 'enabled']) === true ? ['hooksConfig.enabled'] : [],
};

/** Gemini CLI knows a hook by its name, or by its command. */
function isOurName(text: string): boolean {
  return /^toolgate/.test(text) || hookMark('gemini-cli').test(text);
}

/**
 * A project can turn hooks off by their names, and no setting prevents that. So the name of a person's hook has the
 * beginning of the key in it, which a repository cannot know.
 */
function geminiName(key: string, scope: Scope): string {
  const [, start] = (scope === 'user' && /^tg_key_(\w{6})/.exec(key)) || [];
  return start === undefined ? 'toolgate' : `toolgate-${start}`;
}

export const geminiCli: ClientFacts = {
  hooks: jsonFile(
    '~/.gemini/settings.json',
    '.gemini/settings.json',
    grouped('gemini-cli', 'BeforeTool', (command, { key }, scope) => ({
      name: geminiName(key, scope),
      type: 'command',
      command,
      timeout: HOOK_SECONDS * 1000,
    })),
  ),
  managed: {
    file: MACHINE,
    entries: () => [{ at: ['hooksConfig', 'enabled'], how: 'set', value: true }],
    open: '"hooksConfig.enabled: false" in the settings of a trusted project turns the hook off',
  },
  mcp: jsonFile('~/.gemini/settings.json', '.gemini/settings.json', (setup, scope) => [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Gemini CLI replaces it
    server({ httpUrl: address(setup), headers: bearer(setup, scope, '${TOOLGATE_API_KEY}') }),
  ]),
  switches: SWITCHES,
  windowsShell: 'powershell',
  fails: 'open',
  about:
    'Every tool call is judged, its own tools and those of MCP servers. It fails open when the hook takes too long, which Gemini CLI only warns about.',
  next: 'Restart Gemini CLI.',
  folder: everywhere('~/.gemini'),
  programs: ['gemini'],
  moved: [],
};
