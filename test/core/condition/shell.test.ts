// What `shell.commands` understands, and what it must not.

import { expect, test } from 'bun:test';
import { shellCommands } from '../../../src/core/condition/shell.ts';

/** The commands on one line, words between bars. */
const read = (text: string) =>
  shellCommands(text)
    ?.map(({ name, args }) => [name, ...args].join('|'))
    .join(' ; ') ?? null;

test('plain commands are read as a shell reads them', () => {
  const understood: [string, string][] = [
    ['ls', 'ls'],
    ['  ls\t-la  ', 'ls|-la'],
    ['ls\n', 'ls'],
    ['\n\nls\n\n cat x\n', 'ls ; cat|x'],
    ['ls; cat x', 'ls ; cat|x'],
    ['ls;', 'ls'],
    ['ls&&cat x||rg y|wc -l', 'ls ; cat|x ; rg|y ; wc|-l'],
    ['ls &&\n\n cat x |\nwc', 'ls ; cat|x ; wc'],
    ['rg \'a b\' "c d" e\\ f', 'rg|a b|c d|e f'],
    [`rg a'b'"c"\\d`, 'rg|abcd'],
    [`rg 'it'\\''s'`, "rg|it's"],
    [`rg '' ""`, 'rg||'],
    [`rg '$HOME \`x\` * ~ ! \\'`, 'rg|$HOME `x` * ~ ! \\'],
    [`rg "\\$HOME \\\`x\\\` \\" \\\\ \\n * ~"`, 'rg|$HOME `x` " \\ \\n * ~'],
    ['rg \\$HOME \\* \\~ \\! \\; \\| \\& \\< \\# \\{', 'rg|$HOME|*|~|!|;|||&|<|#|{'],
    ["rg 'a\nb'", 'rg|a\nb'],
    ["rg 'Übung\u00a0😀'", 'rg|Übung\u00a0😀'],
    [`'l's "cat"; \\ls`, 'ls|cat ; ls'],
    ['/usr/bin/ls; ./run.sh; g++ -o a=b', '/usr/bin/ls ; ./run.sh ; g++|-o|a=b'],
    ['echo if eval A=1 . - %1', 'echo|if|eval|A=1|.|-|%1'],
    ['cd /srv && test -f x && test a = b', 'cd|/srv ; test|-f|x ; test|a|=|b'],
  ];
  for (const [text, commands] of understood) expect([text, read(text)]).toEqual([text, commands]);
});
