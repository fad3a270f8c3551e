// Password hashes that cost next to nothing, for programs that tests start, and for the processes in which `npm test` has
// tests run (cheap-here.ts). A test that is about their cost starts the source as it is.

import { join } from 'node:path';
import type { BunPlugin } from 'bun';

/** Where the source says what a hash costs. */
export const PASSWORDS = 'src/guard/people/passwords.ts';
const OWN = join(import.meta.dir, '../..', PASSWORDS);

const CHEAPER: [from: string, to: string][] = [
  ['memoryCost: 65_536, timeCost: 2', 'memoryCost: 8, timeCost: 1'],
  ['$m=65536,t=2,p=1$', '$m=8,t=1,p=1$'],
];

/** The text of that file with cheap hashes. */
export function withCheapPasswords(text: string): string {
  let cheap = text;
  for (const [from, to] of CHEAPER) {
    if (cheap.split(from).length !== 2) throw new Error(`${PASSWORDS} does not hold once: ${from}`);
    cheap = cheap.replace(from, () => to);
  }
  return cheap;
}

/** For the source of this tree. A mutant has cheap hashes of its own (mutant.ts), also where a test loads it. */
export const cheapPasswords: BunPlugin = {
  name: 'cheap passwords',
  setup(build) {
    build.onLoad({ filter: new RegExp(`^${RegExp.escape(OWN)}$`) }, async ({ path }) => {
      const contents = withCheapPasswords(await Bun.file(path).text());
      return { contents, loader: 'ts' };
    });
  },
};
