// Renaming a policy changes the name and the description inside its text, and nothing else of it.

import { expect, test } from 'bun:test';
import { renamed } from '../../dashboard/src/pages/policies/renamed.ts';

const about = { name: 'new: name', description: 'for # us' };

test.each([
  [
    'plain',
    '# first\nname: old # the name\ndescription: before\nrules: [] # none\n',
    '# first\nname: "new: name" # the name\ndescription: "for # us"\nrules: [] # none\n',
  ],
  [
    'a block of text',
    'rules: []\ndescription: |\n  two\n  lines\nname: old\n',
    'rules: []\ndescription: "for # us"\nname: "new: name"\n',
  ],
  ['JSON', '{"name":"old","rules":[]}', '{"name":"new: name","rules":[]}'],
  ['a text without a name', 'rules: [] # name: old\n', 'rules: [] # name: old\n'],
  ['a list of rules', '- { tool: name, action: deny }\n', '- { tool: name, action: deny }\n'],
])('%s', (_, text, wanted) => {
  expect(renamed(text, about)).toBe(wanted);
});
