// The tools of Claude Code (2.1), of Qoder, which has the same, and of Qwen Code, which speaks like it.

import { GREP } from './grep.ts';
import { plan, type Tools, tool } from './tool.ts';

/** The calls of a subagent are judged like all others, unless it works elsewhere (`isolation`). */
const SUBAGENT = plan(
  'description',
  'prompt',
  'subagent_type',
  'model',
  'effort',
  'run_in_background',
  'name',
  'resume',
);

const OWN: Tools = {
  Read: tool({
    file_path: 'reads',
    offset: 'number',
    limit: 'number',
    pages: 'text',
    allow_large: 'flag',
  }),
  NotebookRead: tool({ notebook_path: 'reads', cell_id: 'text' }),
  LS: tool({ path: 'reads', ignore: 'any' }),
  // It gives ripgrep the option --hidden.
  Grep: { args: GREP, searches: true, printsHiddenUnless: ['glob', 'type'] },
  Glob: { args: { pattern: 'names', path: 'reads' }, searches: true },
  Write: tool({ file_path: 'writes', content: 'text' }),
  Edit: tool({ file_path: 'writes', old_string: 'text', new_string: 'text', replace_all: 'flag' }),
  MultiEdit: tool({ file_path: 'writes', edits: 'any' }),
  NotebookEdit: tool({
    notebook_path: 'writes',
    cell_id: 'text',
    cell_number: 'number',
    new_source: 'text',
    cell_type: 'text',
    edit_mode: 'text',
  }),
  Bash: tool({
    command: 'runs',
    timeout: 'number',
    description: 'text',
    run_in_background: 'flag',
    dangerouslyDisableSandbox: 'off',
  }),
  WebFetch: tool({ url: 'fetches', prompt: 'text', offset: 'number' }),
  Task: SUBAGENT,
  Agent: SUBAGENT,
  TodoWrite: plan('todos'),
  TaskCreate: plan('subject', 'description', 'activeForm', 'metadata'),
  TaskUpdate: plan(
    'taskId',
    'subject',
    'description',
    'activeForm',
    'status',
    'addBlocks',
    'addBlockedBy',
    'owner',
    'metadata',
  ),
  TaskGet: plan('taskId'),
  TaskList: plan(),
  AskUserQuestion: plan('questions', 'answers', 'annotations', 'metadata'),
  EnterPlanMode: plan(),
  ExitPlanMode: plan('allowedPrompts', 'plan', 'planFilePath'),
  // These read the output of a command that was judged when it was started, or end it.
  BashOutput: plan('bash_id', 'filter'),
  TaskOutput: plan('task_id', 'block', 'timeout'),
  KillShell: plan('shell_id'),
  TaskStop: plan('task_id', 'shell_id'),
  ToolSearch: plan('query', 'max_results'),
};

/** Qwen Code speaks like Claude Code, but its tools have other names. It searches all folders of its workspace. */
const QWEN_CODE: Tools = {
  read_file: tool({
    file_path: 'reads',
    absolute_path: 'reads',
    offset: 'number',
    limit: 'number',
    pages: 'text',
  }),
  list_directory: tool({ path: 'reads', ignore: 'any', file_filtering_options: 'any' }),
  write_file: tool({ file_path: 'writesAbsolute', content: 'text' }),
  edit: tool({ file_path: 'writesAbsolute', old_string: 'text', new_string: 'text', replace_all: 'flag' }),
  run_shell_command: tool({
    command: 'runs',
    description: 'text',
    directory: 'here',
    is_background: 'flag',
    timeout: 'number',
  }),
  todo_write: plan('todos'),
};

export const CLAUDE_CODE: Tools = { ...QWEN_CODE, ...OWN };
