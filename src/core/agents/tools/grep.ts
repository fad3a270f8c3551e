// A search by ripgrep, as Claude Code and Cursor have it.

import type { Tool } from './tool.ts';

export const GREP: Tool['args'] = {
  pattern: 'text',
  path: 'reads',
  glob: 'files',
  output_mode: 'text',
  '-A': 'number',
  '-B': 'number',
  '-C': 'number',
  '-i': 'flag',
  '-n': 'flag',
  '-o': 'flag',
  context: 'number',
  type: 'type',
  head_limit: 'number',
  offset: 'number',
  multiline: 'flag',
};
