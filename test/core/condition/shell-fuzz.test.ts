// `shell.commands` against real shells. Random texts that it accepts are run with a PATH that holds only programs which
// record how they were called; the record has to say what `shell.commands` says. With TOOLGATE_TEST_LONG=1, many more.

import { expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ShellCommand, shellCommands } from '../../../src/core/condition/shell.ts';
import { onPath } from '../../support/service.ts';
import { sized } from '../../support/when-changed.ts';
import { type Random, seeded } from '../oracle.ts';

const SEED = 34;
const TEXTS = sized(5_000, 150, 30);
const SHELLS = ['dash', 'bash', 'zsh', 'sh'];
const NAMES = ['a', 'b', 'c', 'ls', 'rm', 'x1'];

/** Writes the number of its arguments, its name and its arguments in one go, so that those of a pipe do not mix. */
const RECORDER = `#!/bin/sh
printf '%s\\0' "$#" "\${0##*/}" "$@" >> "$RECORD"
exit "$STATUS"
`;

/** The texts are read by subshells of one shell, because starting a shell for each would take most of the time. */
const DRIVER = `for text in ../texts/*; do
  RECORD="../$1/\${text##*/}" STATUS=\${text##*.}
  export RECORD STATUS
  ( . "$text" ) < /dev/null > /dev/null 2>&1
done
`;

const WORDS = 'a b ls rm x1 a=b = -c %s : , ./a @ + 0 echo true false'.split(' ');
/** The characters outside ASCII have bytes in UTF-8 by which shells mark quotes inside. */
const QUOTED = [...'a ;|$`*~\\#!{\n\té\u00a0😀Áƈ>(', '&&', '\\\\', '$a', '`rm`', '\\$', '\\"', '\\a'];
const ODD = [...'$`*?[]{}~!#^<>()&\r\u00a0é', ..."{a,b} >x 2> \\\n $(rm) `rm` $a =rm '' ==".split(' ')];
const JOINTS = [' ', ' ', ' ', '', ...';/; / && /&&/ || /||/ | /|/\n/\n\n/\t/;\n/ &&\n/|\n'.split('/')];

const pick = <Item>(random: Random, items: readonly Item[]): Item => items[random(items.length)] as Item;

function randomPiece(random: Random): string {
  const inside = () => Array.from({ length: random(4) }, () => pick(random, QUOTED)).join('');
  const kind = random(32);
  if (kind < 11) return pick(random, WORDS);
  if (kind < 14) return `'${inside().replaceAll("'", '')}'`;
  if (kind < 17) return `"${inside()}"`;
  if (kind < 18) return `\\${pick(random, [...' ;|&$`*~#!{}()<>"\'\\=ab?[^'])}`;
  return pick(random, ODD);
}

function randomShellText(random: Random): string {
  let text = pick(random, NAMES);
  for (let left = 1 + random(7); left > 0; left--) text += pick(random, JOINTS) + randomPiece(random);
  return text;
}

/** Builtins are run by the shell itself, and leave no record. */
const BUILTINS = ['echo', 'true', 'false', ':'];
const isRecorded = ({ name }: ShellCommand) => NAMES.includes(name.replace('./', ''));

interface Case {
  text: string;
  /** The status of every program, so that as many as possible are run. */
  status: 0 | 1;
  commands: ShellCommand[];
}

function randomCases(): Case[] {
  const random = seeded(SEED);
  const cases: Case[] = [];
  while (cases.length < TEXTS) {
    const text = randomShellText(random);
    const commands = shellCommands(text);
    // One word, or a name that nobody records, shows nothing.
    if (commands === null || text.length < 6) continue;
    if (!commands.every(command => isRecorded(command) || BUILTINS.includes(command.name))) continue;
    cases.push({ text, status: text.includes('||') && !text.includes('&&') ? 1 : 0, commands });
  }
  return cases;
}

const lineOf = (name: string, args: string[]) => JSON.stringify([name.replace('./', ''), ...args]);

function recordedLines(file: string): string[] {
  const fields = readFileSync(file, 'utf8').split('\0');
  const lines: string[] = [];
  for (let at = 0; at < fields.length - 1; ) {
    const count = Number(fields[at]);
    lines.push(lineOf(fields[at + 1] as string, fields.slice(at + 2, at + 2 + count)));
    at += 2 + count;
  }
  return lines;
}

/** With one status for all, every program is run, unless `&&` and `||` are mixed or a builtin has another status. */
function runsAll({ text, commands }: Case): boolean {
  const [and, or] = [text.includes('&&'), text.includes('||')];
  return (!and && !or) || (and !== or && commands.every(isRecorded));
}

function compare(shell: string, file: string, each: Case): void {
  const wanted = each.commands.filter(isRecorded).map(({ name, args }) => lineOf(name, args));
  const ran = existsSync(file) ? recordedLines(file) : [];
  const left = without(wanted, ran);
  if (left === null || (left.length > 0 && runsAll(each)))
    throw new Error(
      `seed ${SEED}, ${shell}: ${JSON.stringify(each.text)} ran ${ran}, but was read as ${wanted}`,
    );
}

/** What stays of the first list when the items of the second are taken from it; null if one of them is not there. */
function without(list: string[], taken: string[]): string[] | null {
  const left = [...list];
  for (const item of taken) {
    const at = left.indexOf(item);
    if (at === -1) return null;
    left.splice(at, 1);
  }
  return left;
}

test('what is accepted runs exactly those commands', () => {
  const folder = mkdtempSync(join(tmpdir(), 'shell-'));
  for (const name of ['work', 'texts', 'programs', ...SHELLS]) mkdirSync(join(folder, name));
  for (const name of NAMES) {
    for (const place of ['work', 'programs']) {
      writeFileSync(join(folder, place, name), RECORDER);
      chmodSync(join(folder, place, name), 0o755);
    }
  }
  const cases = randomCases();
  for (const [i, { text, status }] of cases.entries())
    writeFileSync(join(folder, 'texts', `${i}.${status}`), text);
  writeFileSync(join(folder, 'driver'), DRIVER);

  for (const shell of SHELLS) {
    if (!onPath(shell)) {
      console.warn(`\n*** SKIPPED, because this machine lacks it: ${shell} ***\n`);
      continue;
    }
    const program = Bun.which(shell) as string;
    // Often sh is one of the others.
    if (shell === 'sh' && /(dash|bash|zsh)$/.test(realpathSync(program))) continue;
    const env = { PATH: join(folder, 'programs'), HOME: '/home', LC_ALL: 'C.UTF-8' };
    const run = Bun.spawnSync([program, '../driver', shell], { cwd: join(folder, 'work'), env });
    expect(run.stderr.toString()).toBe('');
    for (const [i, each] of cases.entries()) compare(shell, join(folder, shell, `${i}.${each.status}`), each);
  }
  expect(readdirSync(join(folder, 'work')).sort()).toEqual(NAMES);
  rmSync(folder, { recursive: true });
}, 300_000);
