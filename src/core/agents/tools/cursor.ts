// The tools of Cursor, and its events about one thing each.

import { GREP } from './grep.ts';
import { plan, type Tools, tool } from './tool.ts';

/** The first four are not its tools but events of their own. A search without a path looks into all open folders. */
export const CURSOR: Tools = {
  shell: tool({ command: 'runs' }),
  read_file: tool({ file_path: 'reads' }),
  tab_read_file: tool({ file_path: 'reads' }),
  subagent: plan('subagent_type', 'task'),
  Read: tool({ file_path: 'reads', path: 'reads', target_file: 'reads', offset: 'number', limit: 'number' }),
  Grep: tool(GREP),
  Write: tool({ file_path: 'writes', path: 'writes', content: 'text', contents: 'text' }),
  Edit: tool({
    file_path: 'writes',
    path: 'writes',
    old_string: 'text',
    new_string: 'text',
    replace_all: 'flag',
  }),
  Delete: tool({ file_path: 'writes', path: 'writes' }),
  TodoWrite: plan('todos', 'merge'),
  Task: plan('description', 'prompt', 'subagent_type', 'model'),
};
