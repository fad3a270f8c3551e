// The tools of Goose.

import { type Tools, tool } from './tool.ts';

const OWN: Tools = {
  shell: tool({ command: 'runs', timeout_secs: 'number' }),
  tree: tool({ path: 'reads', depth: 'number' }),
  write: tool({ path: 'writes', content: 'text' }),
  edit: tool({ path: 'writes', before: 'text', after: 'text' }),
  text_editor: tool({
    command: 'text',
    path: 'readsAndWrites',
    file_text: 'text',
    old_str: 'text',
    new_str: 'text',
    insert_line: 'number',
    view_range: 'any',
  }),
};

/** Its own tools belong to the extension `developer`, or to none. */
const DEVELOPER = Object.fromEntries(Object.entries(OWN).map(([name, each]) => [`developer__${name}`, each]));

export const GOOSE: Tools = { ...OWN, ...DEVELOPER };
