// The tools of the agent in Visual Studio Code.

import { plan, type Tools, tool } from './tool.ts';

const VSCODE_SHELL = tool({
  command: 'runs',
  explanation: 'text',
  goal: 'text',
  isBackground: 'flag',
  timeout: 'number',
});

/** Its searches look into all folders of the workspace, which the event does not name, so they are not here. */
export const VSCODE: Tools = {
  read_file: tool({
    filePath: 'reads',
    startLine: 'number',
    endLine: 'number',
    offset: 'number',
    limit: 'number',
  }),
  list_dir: tool({ path: 'reads' }),
  create_file: tool({ filePath: 'writes', content: 'text' }),
  create_directory: tool({ dirPath: 'writes' }),
  replace_string_in_file: tool({
    filePath: 'writes',
    oldString: 'text',
    newString: 'text',
    explanation: 'text',
  }),
  insert_edit_into_file: tool({ filePath: 'writes', code: 'text', explanation: 'text' }),
  edit_notebook_file: tool({
    filePath: 'writes',
    editType: 'text',
    cellId: 'text',
    newCode: 'any',
    language: 'text',
    explanation: 'text',
  }),
  run_in_terminal: VSCODE_SHELL,
  runTerminalCommand: VSCODE_SHELL,
  manage_todo_list: plan('todoList', 'operation', 'explanation'),
};
