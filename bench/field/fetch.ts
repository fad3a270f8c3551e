// npm run bench:field: brings the programs of programs.ts into their folder, each by itself, so that one that cannot be
// had does not keep the others away. It says what came and what did not, and why.

import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import {
  executableOf,
  folderOf,
  isThere,
  PROGRAMS,
  type Program,
  type ProgramName,
  titleOf,
} from './programs.ts';

const names = Object.keys(PROGRAMS) as ProgramName[];
const missing = names.filter(name => !bring(name));
if (missing.length > 0) {
  console.log(
    'The benchmark leaves out what could not be had. Whoever has it from elsewhere can put it here:',
  );
  for (const name of missing) console.log(`  ${titleOf(name)}: ${executableOf(name)}`);
  process.exitCode = 1;
}

function bring(name: ProgramName): boolean {
  if (isThere(name)) {
    console.log(`${titleOf(name)}: is there`);
    return true;
  }
  const { commands }: Program = PROGRAMS[name];
  if (commands.length === 0) {
    console.log(`${titleOf(name)}: is in no package registry`);
    return false;
  }
  const folder = folderOf(name);
  fs.mkdirSync(folder, { recursive: true });
  console.log(`${titleOf(name)}: ${commands.map(words => words.join(' ')).join('; ')}`);
  const failure = commands.map(words => run(words, folder)).find(said => said !== null);
  if (failure === undefined && isThere(name)) {
    console.log(`${titleOf(name)}: fetched`);
    return true;
  }
  console.log(`${titleOf(name)}: could not be had. ${failure ?? 'Its executable is missing.'}`);
  fs.rmSync(folder, { recursive: true, force: true });
  return false;
}

/** What the command said when it failed. */
function run([program = '', ...words]: string[], folder: string): string | null {
  // Without cgo a Go program needs no C compiler, and with GOBIN it is installed into its folder.
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
  const { status, error, stderr } = spawnSync(program, words, { cwd: folder, env, encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr.trim().split('\n').slice(-3).join('\n'));
}
