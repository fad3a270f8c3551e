// How Claude Code is run here: without a terminal, with tools that need no permission of its own, so that the hook is all
// that keeps a call back, with a model of ours, and nothing that it would send to its makers.

import { anthropic } from './anthropic.ts';
import type { Agent } from './workplace.ts';

export const claudeCode: Agent = {
  id: 'claude-code',
  program: 'claude',
  dialect: anthropic,
  args: prompt => ['-p', prompt, '--allowedTools', 'Bash,Write'],
  env: model => ({
    ANTHROPIC_BASE_URL: model,
    ANTHROPIC_API_KEY: 'a-key-for-nobody',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }),
};
