// The program that `npm test` starts as a service some seven hundred times: the executable of `npm run build`, which
// starts with a third of the CPU that the source takes, made once for all test files. It differs in one thing: its
// password hashes are cheap. A test that is about their cost starts the source (`source: true`), as every test does
// that is run by itself with `bun test`. Mutants always are source, with the same cheap hashes (mutant.ts).

import { mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compile } from '../../scripts/build/bundle.ts';
import { cheapPasswords } from './cheap-passwords.ts';

const FILE = join(import.meta.dir, '../../node_modules/.cache/toolgate/toolgate-test');

/** Makes it, and says where it is. A run that is under way meanwhile keeps the file that it started with. */
export async function makeProgram(): Promise<string> {
  mkdirSync(dirname(FILE), { recursive: true });
  const made = `${FILE}-${process.pid}`;
  await compile(made, [cheapPasswords]);
  renameSync(made, FILE);
  return FILE;
}
