// The events of Windsurf, by the actions that they are about.

import { type Tools, tool } from './tool.ts';

export const WINDSURF: Tools = {
  run_command: tool({ command_line: 'runs' }),
  read_code: tool({ file_path: 'reads' }),
  write_code: tool({ file_path: 'writes', edits: 'any' }),
};
