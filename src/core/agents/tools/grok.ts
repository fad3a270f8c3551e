// The tools of Grok. What its other tools are called is not published.

import { plan, type Tools, tool } from './tool.ts';

const GROK_SHELL = tool({
  command: 'runs',
  description: 'text',
  explanation: 'text',
  timeout: 'number',
  is_background: 'flag',
});

export const GROK: Tools = {
  run_terminal_command: GROK_SHELL,
  run_terminal_cmd: GROK_SHELL,
  todo_write: plan('todos', 'merge'),
};
