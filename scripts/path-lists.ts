// Writes docs/path-lists.md from src/core/condition/path-lists.ts and shell-programs.ts. test/core/condition/path-names.test.ts compares both.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DECIDES_LATER, type PathList, SECRET, VERSION } from '../src/core/condition/path-lists.ts';
import { GIT, PROGRAMS, VERSIONED } from '../src/core/condition/shell-programs.ts';

const table = ({ groups, except }: PathList) =>
  [
    '| What | Names |',
    '|---|---|',
    ...groups.map(({ why, entries }) => `| ${why} | ${entries.trim().split(/\s+/).map(code).join(' ')} |`),
    ...(except.length === 0 ? [] : ['', `Not on the list: ${except.map(code).join(' ')}.`]),
  ].join('\n');

const code = (text: string) => `\`${text}\``;

export const PAGE = `# Lists of paths

The functions \`path.secret\` and \`path.decidesLater\` of [conditions](conditions.md#functions) go by these two lists. Version: ${VERSION}.
This page is made from \`src/core/condition/path-lists.ts\` by \`npx bun scripts/path-lists.ts\`.

An entry holds at any depth and without regard to case. \`*\` stands for any characters of one name, \`**\` for any number of folders, and
a slash at the end for the folder and everything in it. A path counts in every way in which some program or disk reads it: \`.ENV\`,
\`.env.\`, \`.env/x/..\`, \`a\\.env\`, \`%2eenv\`, \`HEAD:.env\`, \`.env::$DATA\` and the short names of Windows (\`ENV~1\`) are all \`.env\`. A path
with characters that cannot be seen fails, and then the stricter outcome counts.

The lists go by names. They do not know what is in a file, and do not follow links.

## Secrets

What an agent has no business with, neither for reading nor for writing.

${table(SECRET)}

## What decides later

Files that are obeyed by a program which nobody starts for their sake: it reads them when a folder is opened or entered, at a commit or a
push, in continuous integration, when an agent or a shell starts, or before a search. Code of the project is not on the list, nor what
runs it: \`package.json\`, \`Makefile\`, \`conftest.py\` and \`gradlew\` do nothing until somebody runs them, and a policy asks about that command.

${table(DECIDES_LATER)}

## Commands that only read

\`shell.reads\` knows these programs, each with the options of \`src/core/condition/shell-programs.ts\` alone: another option may write a
file or run a program. It gives the paths that they read, and fails on everything else.

${[...Object.keys(PROGRAMS), 'cd', "sed -n '1,9p'"].sort().map(code).join(' ')}

Of git, ${Object.keys(GIT)
  .map(each => code(each === 'stash' ? 'stash list' : each))
  .join(' ')}, which list and show. \`git diff\` has at
most one revision or path, because with two it compares any two files where there is no work tree. The version of
${VERSIONED.map(code).join(' ')} may be asked for.
`;

if (import.meta.main) writeFileSync(join(import.meta.dirname, '../docs/path-lists.md'), PAGE);
