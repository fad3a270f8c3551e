// The program that `npm test` starts as a service some seven hundred times: the executable of `npm run build`, which
// starts with a third of the CPU that the source takes, made once for all test files. It differs in one thing: its
// password hashes are cheap. A test that is about their cost starts the source (`source: true`), as every test does
// that is run by itself with `bun test`; mutants always are source.

import { mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BunPlugin } from 'bun';
import { compile } from '../../scripts/build/bundle.ts';

const FILE = join(import.meta.dir, '../../node_modules/.cache/toolgate/toolgate-test');

const CHEAPER: [from: string, to: string][] = [
  ['memoryCost: 65_536, timeCost: 2', 'memoryCost: 8, timeCost: 1'],
  ['$m=65536,t=2,p=1$', '$m=8,t=1,p=1$'],
];

const cheapPasswords: BunPlugin = {
  name: 'cheap passwords',
  setup(build) {
    build.onLoad({ filter: /src\/guard\/people\/passwords\.ts$/ }, async ({ path }) => {
      let contents = await Bun.file(path).text();
      for (const [from, to] of CHEAPER) {
        if (contents.split(from).length !== 2) throw new Error(`${path} does not hold once: ${from}`);
        contents = contents.replace(from, () => to);
      }
      return { contents, loader: 'ts' };
    });
  },
};

/** Makes it, and says where it is. A run that is under way meanwhile keeps the file that it started with. */
export async function makeProgram(): Promise<string> {
  mkdirSync(dirname(FILE), { recursive: true });
  const made = `${FILE}-${process.pid}`;
  await compile(made, [cheapPasswords]);
  renameSync(made, FILE);
  return FILE;
}
