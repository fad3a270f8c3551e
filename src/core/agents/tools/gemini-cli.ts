// The tools of Gemini CLI (0.61).

import { plan, type Tools, tool } from './tool.ts';

/** Without a folder it searches all folders of the workspace, which the event does not name. */
const GEMINI_GREP = tool({
  pattern: 'text',
  dir_path: 'reads',
  include_pattern: 'files',
  include: 'files',
  exclude_pattern: 'text',
  names_only: 'flag',
  case_sensitive: 'flag',
  fixed_strings: 'flag',
  context: 'number',
  after: 'number',
  before: 'number',
  max_matches_per_file: 'number',
  total_max_matches: 'number',
  no_ignore: 'off',
});

export const GEMINI_CLI: Tools = {
  read_file: tool({
    file_path: 'reads',
    absolute_path: 'reads',
    start_line: 'number',
    end_line: 'number',
    offset: 'number',
    limit: 'number',
  }),
  list_directory: tool({ dir_path: 'reads', path: 'reads', ignore: 'any', file_filtering_options: 'any' }),
  grep_search: GEMINI_GREP,
  search_file_content: GEMINI_GREP,
  glob: tool({
    pattern: 'names',
    dir_path: 'reads',
    case_sensitive: 'flag',
    respect_git_ignore: 'flag',
    respect_gemini_ignore: 'flag',
  }),
  write_file: tool({ file_path: 'writes', content: 'text' }),
  replace: tool({
    file_path: 'writesAbsolute',
    instruction: 'text',
    old_string: 'text',
    new_string: 'text',
    allow_multiple: 'flag',
    expected_replacements: 'number',
  }),
  run_shell_command: tool({
    command: 'runs',
    description: 'text',
    dir_path: 'here',
    directory: 'here',
    is_background: 'flag',
    delay_ms: 'number',
  }),
  write_todos: plan('todos'),
  update_topic: plan('title', 'summary', 'strategic_intent', 'wait_for_previous'),
  invoke_agent: plan('agent_name', 'prompt', 'wait_for_previous'),
  // The commands that it runs in the background were judged.
  list_background_processes: plan('wait_for_previous'),
  read_background_output: plan('pid', 'lines', 'delay_ms', 'wait_for_previous'),
  complete_task: plan('result', 'response'),
  ask_user: plan('questions'),
  enter_plan_mode: plan('reason'),
  exit_plan_mode: plan('plan_filename'),
  get_internal_docs: plan('path'),
};
