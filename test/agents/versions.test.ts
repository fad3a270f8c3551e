// docs/agents.md names the versions of the agents that are run, which are those that .ci/agents installs.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/service.ts';
import { versionsSaid } from './page.ts';

const PACKAGES = {
  'Claude Code': '@anthropic-ai/claude-code',
  Codex: '@openai/codex',
  'Gemini CLI': '@google/gemini-cli',
};

test('the page names the versions that are installed', () => {
  const script = readFileSync(join(ROOT, '.ci/agents'), 'utf8');
  const installed = Object.entries(PACKAGES).map(([name, pack]) => {
    const version = new RegExp(`${pack}@(\\S+)`).exec(script)?.[1];
    return `${name} ${version}`;
  });
  expect(versionsSaid()).toEqual(installed);
});
