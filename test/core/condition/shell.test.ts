// What `shell.commands` understands, and what it must not.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { shellCommands } from '../../../src/core/condition/shell.ts';
import { isPlainCommand } from '../../../src/core/condition/shell-names.ts';
import { onPath } from '../../support/service.ts';

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
    ['rg "\\a\\ \\;"', 'rg|\\a\\ \\;'],
    ["rg 'a\nb'", 'rg|a\nb'],
    ["rg 'Übung\u00a0😀'", 'rg|Übung\u00a0😀'],
    [`'l's "cat"; \\ls`, 'ls|cat ; ls'],
    ['/usr/bin/ls; ./run.sh; g++ -o a=b', '/usr/bin/ls ; ./run.sh ; g++|-o|a=b'],
    ['echo if eval A=1 . - %1', 'echo|if|eval|A=1|.|-|%1'],
    ['R -e x', 'R|-e|x'],
    ['cd /srv && test -f x && test a = b', 'cd|/srv ; test|-f|x ; test|a|=|b'],
  ];
  for (const [text, commands] of understood) expect([text, read(text)]).toEqual([text, commands]);
});

test('what is expanded, redirected, nested or read in different ways fails', () => {
  const tricks = readFileSync(join(import.meta.dir, 'shell-tricks.yaml'), 'utf8');
  const refused: Record<string, string[]> = {
    ...parse(tricks),
    'half a character': ["ls '\ud800'", "ls '\udc00'"],
  };
  const answers = Object.entries(refused).flatMap(([kind, texts]) =>
    texts.map(text => [kind, text, read(text)]),
  );
  expect(answers.length).toBeGreaterThan(250);
  expect(answers.filter(([, , commands]) => commands !== null)).toEqual([]);
});

test('the length of a text and the number of its parts are bounded', () => {
  expect(shellCommands(`ls ${'a'.repeat(65_533)}`)?.length).toBe(1);
  expect(shellCommands(`ls ${'a'.repeat(65_534)}`)).toBe(null);
  expect(shellCommands('ls a '.repeat(900))?.[0]?.args.length).toBe(1_799);
  for (const part of ['ls ', 'ls;', "'a'b", 'a\\ ', '"\\""'])
    expect([part, read(part.repeat(5_000))]).toEqual([part, null]);
});

/** Neither do they evaluate their arguments, nor do they change what later words mean. */
const HARMLESS =
  ': caller cd chdir dirs echo exit false help kill log popd printf pushd pwd test times true type umask whence where which';

test('every builtin and every word of the grammar is known', () => {
  const lists: Record<string, string[]> = {
    bash: ['-c', 'compgen -b; compgen -k'],
    zsh: ['-fc', 'print -l $' + '{(k)builtins} $' + '{(k)reswords}'],
  };
  for (const [shell, args] of Object.entries(lists)) {
    if (!onPath(shell)) continue;
    const names = Bun.spawnSync([shell, ...args])
      .stdout.toString()
      .trim()
      .split('\n');
    expect(names.length).toBeGreaterThan(60);
    const plain = names.filter(name => isPlainCommand(name, []));
    expect([shell, plain.filter(name => !HARMLESS.split(' ').includes(name))]).toEqual([shell, []]);
  }
});
