// The tools of GitHub Copilot CLI.

import { plan, type Tools, tool } from './tool.ts';

const COPILOT_SHELL = tool({
  command: 'runs',
  description: 'text',
  timeout: 'number',
  initial_wait: 'number',
});
const COPILOT_READ = tool({
  path: 'reads',
  file_path: 'reads',
  view_range: 'any',
  offset: 'number',
  limit: 'number',
});
const COPILOT_WRITE = tool({ path: 'writes', file_path: 'writes', file_text: 'text', content: 'text' });
const COPILOT_EDIT = tool({
  path: 'writes',
  file_path: 'writes',
  old_str: 'text',
  new_str: 'text',
  old_string: 'text',
  new_string: 'text',
  replace_all: 'flag',
});

/** A shell that goes on (`sessionId`) may be in another folder than the agent. Newer versions have Claude Code's names. */
export const COPILOT: Tools = {
  bash: COPILOT_SHELL,
  Bash: COPILOT_SHELL,
  view: COPILOT_READ,
  Read: COPILOT_READ,
  create: COPILOT_WRITE,
  Write: COPILOT_WRITE,
  edit: COPILOT_EDIT,
  Edit: COPILOT_EDIT,
  report_intent: plan('intent'),
  update_todo: plan('todos'),
};
