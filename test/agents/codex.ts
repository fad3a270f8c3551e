// How Codex is run here: without a terminal, without its sandbox, so that the hook is all that keeps a call back, and with
// a model of ours. A hook counts for Codex once a person has trusted it with /hooks; trustHooks() does what that does.

import { join } from 'node:path';
import { JsonLines } from './json-lines.ts';
import { openai } from './openai.ts';
import { type Agent, programAt, type Workplace } from './workplace.ts';

/** What Codex would fetch or send by itself is turned off. */
const CONFIG = `model = "gpt-5.5"
check_for_update_on_startup = false

[features]
plugins = false
apps = false

[analytics]
enabled = false
`;

export const codex: Agent = {
  id: 'codex',
  program: 'codex',
  dialect: openai,
  args: prompt => ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', prompt],
  files: { '.codex/config.toml': CONFIG },
  flags: model => [
    '-c',
    'model_provider="ours"',
    '-c',
    `model_providers.ours={ name = "ours", base_url = "${model}/v1", wire_api = "responses", env_key = "OURS" }`,
  ],
  env: () => ({ OURS: 'a-key-for-nobody' }),
};

interface Hook {
  key: string;
  currentHash: string;
}

/** Speaks to Codex's app server, as its terminal does: lists the hooks and writes down that they are trusted. */
export async function trustHooks(place: Workplace): Promise<void> {
  const server = Bun.spawn([programAt('codex'), 'app-server'], {
    cwd: place.project,
    env: place.env,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const lines = new JsonLines(server);
  try {
    await lines.ask('initialize', { clientInfo: { name: 'test', version: '1' } });
    const listed = await lines.ask<{ data: { hooks: Hook[] }[] }>('hooks/list', { cwds: [place.project] });
    const edits = listed.data
      .flatMap(({ hooks }) => hooks)
      .map(({ key, currentHash }) => ({
        keyPath: `hooks.state.${JSON.stringify(key)}`,
        value: { trusted_hash: currentHash },
        mergeStrategy: 'upsert',
      }));
    await lines.ask('config/batchWrite', { edits, filePath: join(place.home, '.codex/config.toml') });
  } finally {
    server.kill();
    await server.exited;
  }
}
