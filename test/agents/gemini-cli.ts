// How Gemini CLI is run here: without a terminal, with all calls approved beforehand (`--yolo`), so that the hook is all
// that keeps one back, in a trusted folder, and with a model of ours.

import { gemini } from './gemini.ts';
import { JsonLines } from './json-lines.ts';
import { Model } from './model.ts';
import { type Agent, programAt, Run, type Workplace } from './workplace.ts';

const SETTINGS = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
};

export const geminiCli: Agent = {
  id: 'gemini-cli',
  program: 'gemini',
  dialect: gemini,
  args: prompt => ['--yolo', '--model', 'gemini-2.5-pro', '-p', prompt],
  files: { '.gemini/settings.json': `${JSON.stringify(SETTINGS, null, 2)}\n` },
  env: model => ({
    GEMINI_API_KEY: 'a-key-for-nobody',
    GOOGLE_GEMINI_BASE_URL: model,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    // Otherwise it starts itself once more, with more memory, and that process outlives the one that a test ends.
    GEMINI_CLI_NO_RELAUNCH: 'true',
  }),
};

/** As editors start it: they speak to it instead of a person at a terminal. */
export async function startAcp(place: Workplace): Promise<Run> {
  const model = new Model(gemini);
  const child = Bun.spawn([programAt('gemini'), '--acp', '--yolo', '--model', 'gemini-2.5-pro'], {
    cwd: place.project,
    env: { ...place.env, ...geminiCli.env(model.url) },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const editor = new JsonLines(child);
  await editor.ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await editor.ask<{ sessionId: string }>('session/new', {
    cwd: place.project,
    mcpServers: [],
  });
  editor.send('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'Do what has to be done.' }] });
  return new Run(place, model, child, { text: '' });
}
